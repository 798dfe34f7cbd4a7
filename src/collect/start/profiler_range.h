// TPROF_WINDOW=cudaProfilerApi: the program's own calls of cudaProfilerStart and Stop (torch.cuda.profiler, and
// cuProfilerStart and Stop of the driver) open and close windows, as with Nsight Systems.
#pragma once

namespace tprof {

// One of the four was called; `start`: cudaProfilerStart or cuProfilerStart. Does nothing without the option.
void cuda_profiler_range(bool start);

}  // namespace tprof
