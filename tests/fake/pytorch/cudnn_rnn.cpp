// Where the weights of a recurrent layer lie in their buffer: the matrices of all layers, then the biases of all.
#include "cudnn_parts.h"

using namespace sim::standin;

namespace {

struct Rnn {
  cudnnDataType_t type;
  size_t gates, directions, layers, input, hidden, projected;
  bool biased;

  size_t matrices() const { return 2 * gates; }  // of one layer: those for the input, then those for the state
  size_t input_of(size_t pseudo_layer) const { return pseudo_layer < directions ? input : projected * directions; }
  size_t columns(size_t pseudo_layer, size_t matrix) const {
    return matrix < gates ? input_of(pseudo_layer) : projected;
  }
  bool projects() const { return projected != hidden; }
  size_t layer_elements(size_t pseudo_layer) const {
    return gates * hidden * (input_of(pseudo_layer) + projected) + (projects() ? projected * hidden : 0);
  }
  size_t matrices_elements(size_t pseudo_layers) const {
    size_t sum = 0;
    for (size_t i = 0; i < pseudo_layers; i++) sum += layer_elements(i);
    return sum;
  }
  size_t all_layers() const { return layers * directions; }
};

Rnn& rnn(cudnnRNNDescriptor_t descriptor) { return *reinterpret_cast<Rnn*>(descriptor); }

// The caller may ask for the matrix or the bias alone.
void put(void** to, void* place) {
  if (to != nullptr) *to = place;
}

void put(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, size_t rows, size_t columns) {
  if (descriptor != nullptr)
    tensor(
        descriptor) = {type, CUDNN_TENSOR_NCHW, {1, int(rows), int(columns)}, {int(rows * columns), int(columns), 1}};
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* made) {
  *made = reinterpret_cast<cudnnRNNDescriptor_t>(new Rnn{});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t descriptor, cudnnRNNAlgo_t, cudnnRNNMode_t cell,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t directions, cudnnRNNInputMode_t,
                                       cudnnDataType_t type, cudnnDataType_t, cudnnMathType_t, int32_t input,
                                       int32_t hidden, int32_t projected, int32_t layers, cudnnDropoutDescriptor_t,
                                       uint32_t) {
  Rnn& made = rnn(descriptor);
  made.type = type;
  made.gates = cell == CUDNN_LSTM ? 4 : cell == CUDNN_GRU ? 3 : 1;
  made.directions = directions == CUDNN_BIDIRECTIONAL ? 2 : 1;
  made.layers = size_t(layers);
  made.input = size_t(input);
  made.hidden = size_t(hidden);
  made.projected = size_t(projected);
  made.biased = bias != CUDNN_RNN_NO_BIAS;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t descriptor, size_t* bytes) {
  const Rnn& of = rnn(descriptor);
  size_t biases = of.biased ? of.all_layers() * of.matrices() * of.hidden : 0;
  *bytes = (of.matrices_elements(of.all_layers()) + biases) * bytes_of(of.type);
  return CUDNN_STATUS_SUCCESS;
}

// Matrix 2 * gates is the projection, which has no bias.
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t descriptor, int32_t pseudo_layer, size_t,
                                      const void* space, int32_t matrix, cudnnTensorDescriptor_t matrix_shape,
                                      void** matrix_at, cudnnTensorDescriptor_t bias_shape, void** bias_at) {
  const Rnn& of = rnn(descriptor);
  size_t layer = size_t(pseudo_layer), number = size_t(matrix);
  auto* begin = static_cast<char*>(const_cast<void*>(space));
  bool projection = number == of.matrices();
  size_t before = of.matrices_elements(layer);
  for (size_t i = 0; i < number; i++) before += of.hidden * of.columns(layer, i);
  size_t rows = projection ? of.projected : of.hidden, columns = projection ? of.hidden : of.columns(layer, number);
  put(matrix_at, begin + before * bytes_of(of.type));
  put(matrix_shape, of.type, rows, columns);
  if (!of.biased || projection) {
    put(bias_at, nullptr);
    return CUDNN_STATUS_SUCCESS;
  }
  size_t biases = of.matrices_elements(of.all_layers()) + (layer * of.matrices() + number) * of.hidden;
  put(bias_at, begin + biases * bytes_of(of.type));
  put(bias_shape, of.type, of.hidden, 1);
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
