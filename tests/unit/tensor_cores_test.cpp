// Which kernels and operators the table counts as tensor cores'. Kernel names are real ones.
#include "analysis/tensor_cores.h"

#include <gtest/gtest.h>

namespace tprof {
namespace {

TEST(TensorCores, KernelsOfEveryGeneration) {
  for (const char* name :
       {"volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "turing_fp16_s1688gemm_fp16_256x128_ldg8_f2f_tn",
        "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
        "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize32x32x64_stage4_warpsize2x2x1_tensor16x8x8_kernel",
        "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x64_warpgroupsize1x1x1_g1",
        "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTN", "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128>>",
        "fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention)",
        "void cutlass::device_kernel<cutlass::gemm::collective::MainloopSm90TmaGmmaWarpSpecialized<4>>"})
    EXPECT_TRUE(kernel_uses_tensor_cores(name, Rules::tprof)) << name;
  for (const char* name :
       {"ampere_sgemm_128x64_tn", "volta_sgemm_32x128_nn", "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        "sm80_xmma_fprop_implicit_gemm_indexed_f32f32_f32f32_f32_nhwckrsc_nchw_tilesize128x128x8_g1_ffma_kernel",
        "cutlass_80_simt_sgemm_128x128_8x4_nn_align1", "void at::native::vectorized_elementwise_kernel<4>"})
    EXPECT_FALSE(kernel_uses_tensor_cores(name, Rules::tprof)) << name;
}

TEST(TensorCores, ThePluginKnowsItsOwnListOnly) {
  EXPECT_FALSE(kernel_uses_tensor_cores("nvjet_hsh_128x256_64x4", Rules::plugin));
  EXPECT_TRUE(kernel_uses_tensor_cores("void conv1x1_kernel()", Rules::plugin));
  EXPECT_FALSE(kernel_uses_tensor_cores("void conv1x1_kernel()", Rules::tprof));
  EXPECT_TRUE(op_is_tensor_core_eligible("aten::prelu", Rules::plugin));
  EXPECT_FALSE(op_is_tensor_core_eligible("aten::prelu", Rules::tprof));
  EXPECT_FALSE(op_is_tensor_core_eligible("aten::_scaled_mm", Rules::plugin));
  EXPECT_TRUE(op_is_tensor_core_eligible("aten::_scaled_mm", Rules::tprof));
  for (Rules rules : {Rules::tprof, Rules::plugin}) {
    EXPECT_TRUE(op_is_tensor_core_eligible("aten::mm", rules));
    EXPECT_FALSE(op_is_tensor_core_eligible("aten::mm_", rules));
  }
}

}  // namespace
}  // namespace tprof
