// cuFFT: a plan is a number; a transform is one kernel.
#include <cufftXt.h>

#include "standin.h"

using namespace sim::standin;

namespace {

struct Plan {
  void* stream = nullptr;
  size_t length = 0, batch = 0;
};

std::mutex mutex;
std::map<cufftHandle, Plan> plans;
cufftHandle last_plan;

}  // namespace

extern "C" {

cufftResult cufftCreate(cufftHandle* plan) {
  std::lock_guard<std::mutex> guard(mutex);
  plans[*plan = ++last_plan];
  return ready() ? CUFFT_SUCCESS : CUFFT_SETUP_FAILED;
}

cufftResult cufftDestroy(cufftHandle plan) {
  std::lock_guard<std::mutex> guard(mutex);
  return plans.erase(plan) != 0 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream) {
  std::lock_guard<std::mutex> guard(mutex);
  plans[plan].stream = stream;
  return CUFFT_SUCCESS;
}

cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long* lengths, long long*, long long, long long,
                                cudaDataType, long long*, long long, long long, cudaDataType, long long batch,
                                size_t* work_bytes, cudaDataType) {
  std::lock_guard<std::mutex> guard(mutex);
  plans[plan].length = 1;
  for (int i = 0; i < rank; i++) plans[plan].length *= size_t(lengths[i]);
  plans[plan].batch = size_t(batch);
  *work_bytes = 0;
  return CUFFT_SUCCESS;
}

cufftResult cufftXtExec(cufftHandle number, void*, void*, int) {
  Plan plan;
  {
    std::lock_guard<std::mutex> guard(mutex);
    auto found = plans.find(number);
    if (found == plans.end()) return CUFFT_INVALID_PLAN;
    plan = found->second;
  }
  bool done =
      launch("_Z10vector_fftILj64EL9padding_t1EEv18kernel_arguments_t", plan.stream, plan.length, 1, plan.batch);
  return done ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

}  // extern "C"
