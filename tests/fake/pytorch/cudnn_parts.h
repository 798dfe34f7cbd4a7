// What the parts of the stand-in for cuDNN share.
#pragma once
#include <cudnn.h>

#include <vector>

#include "standin.h"

namespace sim::standin {

struct Tensor {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  std::vector<int> sizes, strides;
};

template <typename T>
Tensor& tensor(T descriptor) {
  return *reinterpret_cast<Tensor*>(descriptor);
}

inline size_t bytes_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? 2 : 4;
}

}  // namespace sim::standin
