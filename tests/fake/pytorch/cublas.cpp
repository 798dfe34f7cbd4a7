// cuBLAS: products of matrices, named as on an H100; `standins` generates everything else.
#include <cublas_v2.h>

#include "standin.h"

using namespace sim::standin;

namespace {

constexpr const char *kSingle = "ampere_sgemm_32x32_sliced1x4_tn", *kHalf = "nvjet_hsh_64x64_64x16_1x2_h_bz_TNT",
                     *kBrain = "nvjet_tst_64x64_64x16_1x2_h_bz_TNT",
                     *kDouble =
                         "sm80_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize64x64x16_stage4_warpsize2x2x1_tensor8x8x4_"
                         "execute_kernel__5x_cublas";

const char* kernel_for(cudaDataType type) {
  return type == CUDA_R_64F ? kDouble : type == CUDA_R_16F ? kHalf : type == CUDA_R_16BF ? kBrain : kSingle;
}

cublasStatus_t product(cublasHandle_t handle, const char* kernel, int m, int n, int batch = 1) {
  return launch(kernel, at(handle).stream, m, n, batch) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

struct Settings : Handle {
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
};

Settings& settings(cublasHandle_t handle) { return *reinterpret_cast<Settings*>(handle); }

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(new Settings);
  return ready() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasGetCudartVersion() { return CUDART_VERSION; }

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  at(handle).stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = static_cast<cudaStream_t>(at(handle).stream);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  settings(handle).math = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = settings(handle).math;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  settings(handle).pointers = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = settings(handle).pointers;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m, int n, int,
                              const float*, const float*, int, const float*, int, const float*, float*, int) {
  return product(handle, kSingle, m, n);
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m, int n, int,
                              const double*, const double*, int, const double*, int, const double*, double*, int) {
  return product(handle, kDouble, m, n);
}

cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m, int n, int,
                             const float*, const void*, cudaDataType type, int, const void*, cudaDataType, int,
                             const float*, void*, cudaDataType, int) {
  return product(handle, kernel_for(type), m, n);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m, int n, int, const void*,
                            const void*, cudaDataType type, int, const void*, cudaDataType, int, const void*, void*,
                            cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t) {
  return product(handle, kernel_for(type), m, n);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m, int n,
                                          int, const void*, const void*, cudaDataType type, int, long long, const void*,
                                          cudaDataType, int, long long, const void*, void*, cudaDataType, int,
                                          long long, int batch, cublasComputeType_t, cublasGemmAlgo_t) {
  return product(handle, kernel_for(type), m, n, batch);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m, int n, int,
                                         const float*, const float*, int, long long, const float*, int, long long,
                                         const float*, float*, int, long long, int batch) {
  return product(handle, kSingle, m, n, batch);
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m, int n, int,
                                         const double*, const double*, int, long long, const double*, int, long long,
                                         const double*, double*, int, long long, int batch) {
  return product(handle, kDouble, m, n, batch);
}

}  // extern "C"
