// cuSPARSE: matrices know their sizes. A product of sparse matrices is empty.
#include <cusparse.h>

#include "standin.h"

using namespace sim::standin;

namespace {

struct Sparse {
  int64_t rows, columns, values;
};

cusparseStatus_t make_sparse(cusparseSpMatDescr_t* made, int64_t rows, int64_t columns, int64_t values) {
  *made = reinterpret_cast<cusparseSpMatDescr_t>(new Sparse{rows, columns, values});
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  at(handle).stream = stream;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream) {
  *stream = static_cast<cudaStream_t>(at(handle).stream);
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* made, int64_t rows, int64_t columns, int64_t values, void*,
                                   void*, void*, cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t,
                                   cudaDataType) {
  return make_sparse(made, rows, columns, values);
}

cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* made, int64_t rows, int64_t columns, int64_t values, void*,
                                   void*, void*, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType) {
  return make_sparse(made, rows, columns, values);
}

cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t, void*, void*, void*) { return CUSPARSE_STATUS_SUCCESS; }

cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, int64_t* rows, int64_t* columns,
                                      int64_t* values) {
  auto& sparse = *reinterpret_cast<const Sparse*>(matrix);
  *rows = sparse.rows;
  *columns = sparse.columns;
  *values = sparse.values;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseXcsrgeam2Nnz(cusparseHandle_t, int, int, const cusparseMatDescr_t, int, const int*, const int*,
                                      const cusparseMatDescr_t, int, const int*, const int*, const cusparseMatDescr_t,
                                      int*, int* values, void*) {
  *values = 0;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // extern "C"
