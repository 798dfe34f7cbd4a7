// TPROF_WINDOW=cudaProfilerApi: the program's own calls of cudaProfilerStart and Stop (also torch.cuda.profiler) open
// and close windows, as with Nsight Systems. Those of the driver, cuProfilerStart and Stop, are not heard.
#pragma once

namespace tprof {

// One of the two was called; `start`: cudaProfilerStart. Does nothing without the option.
void cuda_profiler_range(bool start);

}  // namespace tprof
