// FLOPs from the inputs of operators: by the definitions of torch.utils.flop_counter where it has one.
#include "analysis/time/flops.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "unit/model_builder.h"

namespace tprof {
namespace {

// Inputs of an operator as a recording has them.
class Inputs {
 public:
  using Sizes = std::vector<u32>;

  Inputs& tensor(const Sizes& sizes, u8 dtype = 6) {
    append({static_cast<u8>(InputTag::tensor), dtype, kInputNoStrides, 0, u32(sizes.size())}, sizes.data(),
           sizes.size() * 4);
    return *this;
  }
  Inputs& strided(const Sizes& sizes) {
    Sizes both = sizes;
    both.resize(2 * sizes.size(), 1);
    return append({static_cast<u8>(InputTag::tensor), 6, 0, 0, u32(sizes.size())}, both.data(), both.size() * 4);
  }
  Inputs& wide(const std::vector<i64>& sizes) {
    return append({static_cast<u8>(InputTag::tensor), 6, kInputWide | kInputNoStrides, 0, u32(sizes.size())},
                  sizes.data(), sizes.size() * 8);
  }
  Inputs& none() { return append({static_cast<u8>(InputTag::none), 0, 0, 0, 0}, nullptr, 0); }
  Inputs& flag(bool value) { return append({static_cast<u8>(InputTag::boolean), 0, 0, 0, value}, nullptr, 0); }
  Inputs& number(i64 value) { return append({static_cast<u8>(InputTag::integer), 0, 0, 0, 0}, &value, 8); }
  Inputs& real(double value) { return append({static_cast<u8>(InputTag::floating), 0, 0, 0, 0}, &value, 8); }
  Inputs& numbers(const std::vector<i64>& list) {
    return append({static_cast<u8>(InputTag::integer_list), 0, 0, 0, u32(list.size())}, list.data(), list.size() * 8);
  }
  Inputs& flags(const std::string& list) {  // "\1\0"
    return append({static_cast<u8>(InputTag::boolean_list), 0, 0, 0, u32(list.size())}, list.data(), list.size());
  }
  Inputs& tensors(const std::vector<Sizes>& list, bool cut = false) {
    append({static_cast<u8>(InputTag::tensor_list), 0, u8(cut ? kInputCut : 0), 0, u32(list.size())}, nullptr, 0);
    for (const Sizes& sizes : list) tensor(sizes), count_--;
    return *this;
  }

  void give_to(Model& model, u32 event) const {
    Event& e = model.events[event];
    e.inputs = model.arena.copy(bytes_.data(), bytes_.size());
    e.inputs_bytes = u32(bytes_.size());
    e.inputs_count = count_;
    e.flags |= kEventHasInputs;
  }

 private:
  Inputs& append(const InputHead& head, const void* payload, size_t size) {
    bytes_.append(reinterpret_cast<const char*>(&head), sizeof head);
    bytes_.append(static_cast<const char*>(payload), size);
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    count_++;
    return *this;
  }

  std::string bytes_;
  u16 count_ = 0;
};

const std::vector<DevicePeak>& table() {
  static const std::vector<DevicePeak> kTable = device_table();
  return kTable;
}

Flops flops_of(ModelBuilder&& b) {
  Model model = b.model();
  return flops(model, windows_of(model), table());
}
// -1: not known
double flops_with(const std::string& op, const Inputs& inputs) {
  ModelBuilder b;
  inputs.give_to(b.raw(), b.op(op, 0, 10));
  Flops f = flops_of(std::move(b));
  return f.counted ? f.total : -1;
}
double flops_of(const std::string& op, std::vector<ModelBuilder::Shape> shapes) {
  ModelBuilder b;
  b.op(op, 0, 10, std::move(shapes));
  Flops f = flops_of(std::move(b));
  return f.counted ? f.total : -1;
}

TEST(Flops, FollowFromShapes) {
  EXPECT_EQ(flops_of("aten::mm", {{{3, 5}}, {{5, 7}}}), 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::addmm", {{{7}}, {{3, 5}}, {{5, 7}}}), 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::bmm", {{{4, 3, 5}}, {{4, 5, 7}}}), 4 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::baddbmm", {{{4, 3, 7}}, {{4, 3, 5}}, {{4, 5, 7}}}), 4 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::linear", {{{2, 3, 5}}, {{7, 5}}}), 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::scaled_dot_product_attention", {{{2, 4, 8, 16}}, {{2, 4, 9, 16}}, {{2, 4, 9, 12}}}),
            2.0 * 2 * 4 * 8 * 9 * (16 + 12));
  EXPECT_EQ(flops_of("aten::convolution_backward", {{{2, 8, 5, 5}}, {{2, 3, 7, 7}}, {{8, 3, 3, 3}}}),
            2 * 2.0 * (2 * 8 * 5 * 5) * 3 * 9);
  EXPECT_EQ(flops_of("aten::_grouped_mm", {{{32, 5}}, {{4, 5, 7}}}), 2 * 32 * 5 * 7);
  EXPECT_EQ(flops_of("aten::_grouped_mm", {{{4, 3, 5}}, {{5, 32}}}), 2 * 3 * 5 * 32);
  EXPECT_EQ(flops_of("aten::_grouped_mm", {{{3, 32}}, {{32, 7}}}), 2 * 3 * 32 * 7);
  EXPECT_EQ(flops_of("aten::bilinear", {{{6, 3}}, {{6, 4}}, {{5, 3, 4}}}), 2 * 6 * (5 * 3 * 4 + 5 * 4));
  EXPECT_EQ(flops_of("aten::dot", {{{9}}, {{9}}}), 18);
}

TEST(Flops, OfATransposedConvolutionAreThoseOfItsInput) {
  auto inputs = [](bool transposed) {
    return Inputs()
        .tensor({2, 3, 7, 7})
        .tensor({3, 8, 3, 3})
        .none()
        .numbers({2, 2})
        .numbers({0, 0})
        .numbers({1, 1})
        .flag(transposed)
        .numbers({0, 0})
        .number(1);
  };
  EXPECT_EQ(flops_with("aten::convolution", inputs(true)), 2.0 * (2 * 3 * 7 * 7) * 8 * 9);
  auto backward = [](bool transposed) {
    return Inputs()
        .tensor({2, 8, 15, 15})
        .tensor({2, 3, 7, 7})
        .tensor({3, 8, 3, 3})
        .none()
        .numbers({2, 2})
        .numbers({0, 0})
        .numbers({1, 1})
        .flag(transposed)
        .numbers({0, 0})
        .number(1)
        .flags(std::string("\1\0\0", 3));
  };
  // Of the input's gradient only, as the last list says.
  EXPECT_EQ(flops_with("aten::convolution_backward", backward(true)), 2.0 * (2 * 3 * 7 * 7) * 8 * 9);
}

TEST(Flops, OfRecurrentLayersAreThoseOfTheirWeights) {
  // Two layers of 4 gates, 5 features, 7 hidden; 11 steps of a batch of 3.
  std::vector<Inputs::Sizes> weights = {{28, 5}, {28, 7}, {28}, {28}, {28, 7}, {28, 7}, {28}, {28}};
  double forward = 2.0 * 11 * 3 * (28 * 5 + 3 * 28 * 7);
  std::vector<Inputs::Sizes> state = {{2, 3, 7}, {2, 3, 7}};
  EXPECT_EQ(flops_with("aten::lstm", Inputs().tensor({11, 3, 5}).tensors(state).tensors(weights).flag(true)), forward);
  Inputs packed = Inputs().tensor({33, 5}).tensor({11}, 4).tensors(state).tensors(weights);
  EXPECT_EQ(flops_with("aten::lstm", packed), forward);
  EXPECT_EQ(flops_with("aten::_cudnn_rnn", Inputs().tensor({11, 3, 5}).tensors(weights).number(4)), forward);
  EXPECT_EQ(flops_with("aten::_cudnn_rnn_backward", Inputs().tensor({11, 3, 5}).tensors(weights)), 2 * forward);
  Inputs gru = Inputs().tensor({11, 3, 5}).tensor({1, 3, 7}).tensors({{21, 5}, {21, 7}, {21}, {21}});
  EXPECT_EQ(flops_with("aten::gru", gru), 2.0 * 11 * 3 * (21 * 5 + 21 * 7));
  EXPECT_EQ(flops_with("aten::mkldnn_rnn_layer",
                       Inputs().tensor({11, 3, 5}).tensor({28, 5}).tensor({28, 7}).tensor({28}).tensor({28})),
            2.0 * 11 * 3 * (28 * 5 + 28 * 7));
  EXPECT_EQ(flops_with("aten::lstm", Inputs().tensor({11, 3, 5}).tensors(state).tensors(weights, true)), -1);
}

TEST(Flops, OfAttentionAreHalvedByTheFlagForCausalAlone) {
  double full = 2.0 * 2 * 4 * 8 * 9 * (16 + 12);
  auto inputs = [] { return Inputs().tensor({2, 4, 8, 16}).tensor({2, 4, 9, 16}).tensor({2, 4, 9, 12}); };
  for (bool causal : {false, true}) {
    double expected = causal ? full / 2 : full;
    EXPECT_EQ(flops_with("aten::scaled_dot_product_attention", inputs().none().real(0).flag(causal)), expected);
    for (const char* op :
         {"aten::_scaled_dot_product_efficient_attention", "aten::_scaled_dot_product_cudnn_attention"})
      for (bool sums : {false, true})
        EXPECT_EQ(flops_with(op, inputs().none().flag(sums).real(0).flag(causal)), expected) << op << sums;
    EXPECT_EQ(flops_with("aten::_scaled_dot_product_flash_attention_for_cpu", inputs().real(0).flag(causal)), expected);
    auto by_sequence = [] { return Inputs().tensor({2, 8, 4, 16}).tensor({2, 9, 4, 16}).tensor({2, 9, 4, 12}); };
    EXPECT_EQ(flops_with("aten::_flash_attention_forward",
                         by_sequence().none().none().number(8).number(9).real(0).flag(causal).flag(false)),
              expected);
  }
  auto packed = Inputs().tensor({16, 4, 16}).tensor({18, 4, 16}).tensor({18, 4, 12}).tensor({3}, 3).tensor({3}, 3);
  EXPECT_EQ(flops_with("aten::_flash_attention_forward", packed), -1);
}

TEST(Flops, OfTheFastPathOfTransformersHoldAllItsProducts) {
  double rows = 2 * 9, e = 16, f = 64;
  double attention = rows * (2 * 3 * e * e + 2 * e * e) + 2.0 * 2 * 9 * 9 * (e + e);
  Inputs mha = Inputs()
                   .tensor({2, 9, 16})
                   .tensor({2, 9, 16})
                   .tensor({2, 9, 16})
                   .number(16)
                   .number(4)
                   .tensor({48, 16})
                   .tensor({48})
                   .tensor({16, 16})
                   .tensor({16});
  EXPECT_EQ(flops_with("aten::_native_multi_head_attention", mha), attention);
  Inputs layer = Inputs()
                     .tensor({2, 9, 16})
                     .number(16)
                     .number(4)
                     .tensor({48, 16})
                     .tensor({48})
                     .tensor({16, 16})
                     .tensor({16})
                     .flag(true)
                     .flag(false)
                     .real(1e-5)
                     .tensor({16})
                     .tensor({16})
                     .tensor({16})
                     .tensor({16})
                     .tensor({64, 16})
                     .tensor({64})
                     .tensor({16, 64})
                     .tensor({16});
  EXPECT_EQ(flops_with("aten::_transformer_encoder_layer_fwd", layer), attention + rows * 4 * e * f);
}

TEST(Flops, WhatDoesNotFitIsUnknownAndNotZero) {
  EXPECT_EQ(flops_of("aten::mm", {{{3, 5}}, {{6, 7}}}), -1);
  EXPECT_EQ(flops_of("aten::conv2d", {{{1, 3, 8, 8}}, {{4, 3, 3, 3}}}), -1);  // stride is not known
  EXPECT_EQ(flops_of("aten::mm", {}), -1);
}

TEST(Flops, ImpossibleSizesAreUnknown) {
  constexpr i64 kMost = i64(1) << 48;  // elements
  auto product = [](i64 m, i64 k, i64 n) { return flops_with("aten::mm", Inputs().wide({m, k}).wide({k, n})); };
  EXPECT_EQ(product(kMost / 8, 8, 16), 2.0 * double(kMost) * 16);
  EXPECT_EQ(product(kMost / 8 + 1, 8, 16), -1);
  EXPECT_EQ(product(INT64_MAX, INT64_MAX, INT64_MAX), -1);
  EXPECT_EQ(product(-3, -5, -7), -1);
  auto strange = Inputs().tensor({2, 3, 8, 8}).tensor({4, 3, 3, 3}).none().numbers({1, 1});
  EXPECT_EQ(flops_with("aten::conv2d", strange.numbers({INT64_MIN, 0}).numbers({INT64_MAX, 1}).number(1)), -1);
}

TEST(Flops, InnerOperatorsArePartOfTheOuterOne) {
  ModelBuilder b;
  b.device(0, 8, 0, 1ull << 36, "NVIDIA A100-SXM4-40GB");
  b.op("aten::linear", 0, 100, {{{64, 64}, 5}, {{64, 64}, 5}});
  b.op("aten::addmm", 10, 90, {{{64}, 5}, {{64, 64}, 5}, {{64, 64}, 5}});
  b.launch("hmma", 20, 50, 150);
  b.op("aten::conv2d", 200, 300, {{{1, 3, 8, 8}}, {{4, 3, 3, 3}}});
  b.op("aten::convolution", 210, 290, {{{1, 3, 8, 8}}, {{4, 3, 3, 3}}});
  Flops f = flops_of(std::move(b));
  EXPECT_EQ(f.counted, 1u);
  EXPECT_EQ(f.unknown, 1u);
  EXPECT_EQ(f.total, 2.0 * 64 * 64 * 64);
  ASSERT_NE(f.peak, nullptr);
  EXPECT_NEAR(f.mfu, f.total / 312e12 / 300e-6, 1e-12);
  EXPECT_TRUE(f.memory_bound(f.rows[0]));
  EXPECT_EQ(f.rows[0].gpu_ns, 100'000);
  EXPECT_GT(f.of_roof(f.rows[0]), 0);
}

TEST(Flops, WhatASumHoldsIsSaidInTime) {
  ModelBuilder b;
  b.op("aten::embedding", 0, 100, {{{1000, 64}}, {{32}, 4}});
  b.launch("gather", 10, 100, 150);
  b.op("aten::linear", 100, 200, {{{64, 64}}, {{64, 64}}});
  b.op("aten::addmm", 110, 190, {{{64}}, {{64, 64}}, {{64, 64}}});
  b.launch("gemm", 120, 200, 300);
  b.op("aten::gelu", 200, 260, {{{64, 64}}});
  b.launch("gelu", 210, 300, 340);
  b.kernel("somewhere", 340, 350);
  Model model = b.model();
  Flops f = flops(model, windows_of(model), table());
  EXPECT_EQ(f.rows.size(), 1u);  // the embedding takes none, which is known
  EXPECT_EQ(f.coverage.gpu_ns, 200'000);
  EXPECT_EQ(f.coverage.gpu_known_ns, 150'000);
  EXPECT_DOUBLE_EQ(f.coverage.share(), 0.75);
  EXPECT_EQ(f.coverage.host_ns, 260'000);
  EXPECT_EQ(f.coverage.host_known_ns, 200'000);
  ASSERT_EQ(f.missing.size(), 2u);
  EXPECT_EQ(model.names[f.missing[0].name], "aten::gelu");
  EXPECT_EQ(f.missing[0].gpu_ns, 40'000);
  EXPECT_EQ(f.missing[0].calls, 1u);
  EXPECT_EQ(f.missing[1].name, kNone);
}

// Its dense shape would give it a hundred times as many.
TEST(Flops, OfSparseProductsAreNotKnownAndNotThoseOfDenseOnes) {
  ModelBuilder b;
  b.op("aten::_sparse_mm", 0, 100, {{{64, 64}}, {{64, 64}}});
  b.op("aten::addmm", 10, 90, {{{64, 64}}, {{64, 64}}, {{64, 64}}});
  Flops f = flops_of(std::move(b));
  EXPECT_EQ(f.counted, 0u);
  EXPECT_EQ(f.unknown, 1u);
  EXPECT_EQ(f.coverage.host_known_ns, 0);
  EXPECT_DOUBLE_EQ(f.coverage.share(), 0);
  // torch.mm of a sparse matrix is aten::mm as well; a sparse tensor has no strides.
  EXPECT_EQ(flops_with("aten::mm", Inputs().strided({64, 64}).strided({64, 32})), 2.0 * 64 * 64 * 32);
  EXPECT_EQ(flops_with("aten::mm", Inputs().tensor({64, 64}).strided({64, 32})), -1);
}

TEST(Flops, TheDeviceTableCanBeExtended) {
  std::vector<DevicePeak> table = device_table("# mine\nGadget 3000; 100; 1; 2; 0; 4; 0\n");
  ASSERT_NE(find_peak(table, "Some Gadget Mk 3000"), nullptr);
  EXPECT_EQ(find_peak(table, "Some Gadget Mk 3000")->half, 4);
  EXPECT_EQ(find_peak(table, "Gadget 2000"), nullptr);
  struct Known {
    const char* device;
    double bytes_gbps, half;  // 0: not in the table
  };
  for (const Known& known : {Known{"NVIDIA H100 PCIe", 2000, 756},
                             Known{"NVIDIA H100 80GB HBM3", 3350, 989},
                             Known{"NVIDIA H200", 4800, 989},
                             Known{"NVIDIA GH200 480GB", 4000, 989},
                             Known{"NVIDIA GB200", 8000, 2500},
                             Known{"NVIDIA B200", 8000, 2250},
                             Known{"NVIDIA A100-SXM4-80GB", 2039, 312},
                             Known{"NVIDIA A100 80GB PCIe", 1935, 312},
                             Known{"NVIDIA A100-SXM4-40GB", 1555, 312},
                             Known{"NVIDIA A10G", 600, 70},
                             Known{"NVIDIA A10", 600, 125},
                             Known{"NVIDIA L40S", 864, 362},
                             Known{"NVIDIA L4", 300, 121},
                             Known{"Tesla V100-DGXS-32GB", 900, 125},
                             Known{"Tesla V100-PCIE-16GB", 900, 112},
                             Known{"Tesla V100S-PCIE-32GB", 1134, 130},
                             Known{"Tesla T4", 320, 65},
                             Known{"NVIDIA GeForce RTX 5090", 1792, 209.5},
                             Known{"NVIDIA RTX 6000 Ada Generation", 960, 364.2},
                             Known{"NVIDIA RTX A6000", 768, 154.8},
                             Known{"NVIDIA RTX A4000", 0, 0},
                             Known{"NVIDIA RTX A1000", 0, 0},
                             Known{"NVIDIA T400 4GB", 0, 0},
                             Known{"Quadro P1000", 0, 0}}) {
    const DevicePeak* peak = find_peak(table, known.device);
    EXPECT_EQ(peak ? peak->bytes_gbps : 0, known.bytes_gbps) << known.device;
    EXPECT_EQ(peak ? peak->half : 0, known.half) << known.device;
  }
  EXPECT_THROW(device_table("Gadget; 100; 1\n"), Error);
  EXPECT_THROW(device_table("Gadget; 100; 1; 2; 0; 4; x\n"), Error);
}

}  // namespace
}  // namespace tprof
