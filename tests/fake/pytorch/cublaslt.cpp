// cuBLASLt: it has one algorithm, which takes every product.
#include <cublasLt.h>

#include "standin.h"

using namespace sim::standin;

namespace {

struct Layout {
  cudaDataType type;
  uint64_t rows, columns;
};

Layout& layout(cublasLtMatrixLayout_t of) { return *reinterpret_cast<Layout*>(of); }

const char* kernel_for(cudaDataType type) {
  return type == CUDA_R_16F    ? "nvjet_hsh_128x128_64x5_2x1_v_bz_coopA_TNN"
         : type == CUDA_R_16BF ? "nvjet_tst_128x128_64x5_2x1_v_bz_coopA_TNN"
                               : "_ZN7cutlass7Kernel2I41cutlass_80_simt_sgemm_64x64_8x5_tn_align1EEvNT_6ParamsE";
}

}  // namespace

extern "C" {

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

size_t cublasLtGetCudartVersion() { return CUDART_VERSION; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t, cudaDataType_t) {
  return make(made) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t) {
  *made = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t* found, int* count) {
  if (wanted > 0) memset(found, 0, sizeof *found);
  *count = wanted > 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t*, cublasLtMatmulHeuristicResult_t* result) {
  memset(result, 0, sizeof *result);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*,
                              cublasLtMatrixLayout_t a, const void*, cublasLtMatrixLayout_t, const void*, const void*,
                              cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t*,
                              void*, size_t, cudaStream_t stream) {
  bool done = launch(kernel_for(layout(a).type), stream, layout(d).rows, layout(d).columns);
  return done ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
