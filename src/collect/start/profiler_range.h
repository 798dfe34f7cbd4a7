// TPROF_WINDOW=cudaProfilerApi: the program's own calls of cudaProfilerStart and Stop (torch.cuda.profiler, and
// cuProfilerStart and Stop of the driver) open and close windows, as users of Nsight Systems know it.
#pragma once

namespace tprof {

// One of the four was called; start: cudaProfilerStart or cuProfilerStart. Nothing happens unless the option asks for it.
void cuda_profiler_range(bool start);

}  // namespace tprof
