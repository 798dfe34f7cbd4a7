// cuSOLVER: all of it is generated but the stream of a handle.
#include <cusolverDn.h>

#include "standin.h"

using namespace sim::standin;

extern "C" {

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  at(handle).stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream) {
  *stream = static_cast<cudaStream_t>(at(handle).stream);
  return CUSOLVER_STATUS_SUCCESS;
}

}  // extern "C"
