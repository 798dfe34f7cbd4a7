// cuDNN: its version, streams and shapes. Recurrent layers are in cudnn_rnn.cpp, graphs in cudnn_backend.cpp;
// `standins` generates everything else.
#include <algorithm>

#include "cudnn_parts.h"

using namespace sim::standin;

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }

size_t cudnnGetCudartVersion() { return CUDART_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS" : "the simulated cuDNN does not have this";
}

void cudnnGetLastErrorString(char* message, size_t bytes) {
  if (bytes > 0) *message = 0;
}

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  *value = type == MAJOR_VERSION ? CUDNN_MAJOR : type == MINOR_VERSION ? CUDNN_MINOR : CUDNN_PATCHLEVEL;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  at(handle).stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = static_cast<cudaStream_t>(at(handle).stream);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) {
  *made = reinterpret_cast<cudnnTensorDescriptor_t>(new Tensor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int count,
                                         const int* sizes, const int* strides) {
  tensor(descriptor) = {type, CUDNN_TENSOR_NCHW, {sizes, sizes + count}, {strides, strides + count}};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t descriptor, int wanted, cudnnDataType_t* type,
                                         int* count, int* sizes, int* strides) {
  const Tensor& from = tensor(descriptor);
  size_t filled = std::min(size_t(wanted), from.sizes.size());
  *type = from.type;
  *count = int(from.sizes.size());
  std::copy_n(from.sizes.begin(), filled, sizes);
  std::copy_n(from.strides.begin(), filled, strides);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made) {
  *made = reinterpret_cast<cudnnFilterDescriptor_t>(new Tensor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int count, const int* sizes) {
  tensor(descriptor) = {type, format, {sizes, sizes + count}, {}};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t descriptor, int wanted, cudnnDataType_t* type,
                                         cudnnTensorFormat_t* format, int* count, int* sizes) {
  const Tensor& from = tensor(descriptor);
  *type = from.type;
  *format = from.format;
  *count = int(from.sizes.size());
  std::copy_n(from.sizes.begin(), std::min(size_t(wanted), from.sizes.size()), sizes);
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
