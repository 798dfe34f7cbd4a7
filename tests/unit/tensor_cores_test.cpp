// Which kernels and operators the table counts as tensor cores'. Kernel names are real ones.
#include "analysis/basis/tensor_cores.h"

#include <gtest/gtest.h>

#include "analysis/tables/kernels.h"
#include "analysis/time/gpu_summary.h"
#include "unit/model_builder.h"

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
    EXPECT_EQ(kernel_uses_tensor_cores(name, RuleSet::tprof), TensorCoreUse::yes) << name;
  for (const char* name :
       {"ampere_sgemm_128x64_tn", "volta_sgemm_32x128_nn", "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        "sm80_xmma_fprop_implicit_gemm_indexed_f32f32_f32f32_f32_nhwckrsc_nchw_tilesize128x128x8_g1_ffma_kernel",
        "cutlass_80_simt_sgemm_128x128_8x4_nn_align1", "void at::native::vectorized_elementwise_kernel<4>"})
    EXPECT_EQ(kernel_uses_tensor_cores(name, RuleSet::tprof), TensorCoreUse::no) << name;
}

TEST(TensorCores, ProductsAndAttentionOfHopperAndBlackwell) {
  for (const char* name :
       {"void cutlass::device_kernel<dpsk::grouped_gemm::cuda::fp8_dptp128c_acc::GemmKernel>(Params)",
        "void cutlass::device_kernel<dpsk::grouped_gemm::cuda::m_grouped_fp8_ptp128c::GemmKernel>(Params)",
        "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 2112u, 7168u>(float*)",
        "void flash::compute_attn_ws<Flash_fwd_kernel_traits<192, 128, 128, 12, 2, false, 1, cutlass::bfloat16_t>>()",
        "void cutlass::device_kernel<flash::FlashAttnBwd<flash::CollectiveMainloopBwd<2, cute::tuple<int> > > >()",
        "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::Mainloop>>>()",
        "void flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64, 64>>(Flash_fwd_mla_params)",
        "void sm90::fwd::sparse_attn_fwd_kernel<sm90::fwd::KernelTemplate<512, true>>(Params)",
        "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<1>>(PagedParams)",
        "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_cga1x1x1_16dp256b_rM_TN_sm100f",
        "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext",
        "void marlin_moe_wna16::Marlin<1125899906909960l, 562949953487106l>(int4 const*)",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1",
        "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>(Params)"})
    EXPECT_EQ(kernel_uses_tensor_cores(name, RuleSet::tprof), TensorCoreUse::yes) << name;
  for (const char* name :
       {"void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<cute::tuple<cute::C<64> > > >(Params)",
        "void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8> >, 5, 256> >(Params)",
        "void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, 128, 128>>(Flash_bwd_params)",
        "void marlin::gptq_marlin_repack_kernel<8, 256>(unsigned int const*)",
        "fmha_cutlassF_f32_aligned_64x64_rf_sm75(PyTorchMemEffAttention::AttentionKernel<float>::Params)",
        "void gemv2T_kernel_val<int, int, __nv_bfloat16>(cublasGemvParamsEx<int>)",
        "void cuda::per_token_cast_to_fp8_with_channels<__nv_bfloat16, 128>(__nv_bfloat16 const*)",
        "triton_red_fused_add_addmm_mul_native_layer_norm_split_unsqueeze_view_16"})
    EXPECT_EQ(kernel_uses_tensor_cores(name, RuleSet::tprof), TensorCoreUse::no) << name;
}

TEST(TensorCores, OfWhichTheNameDoesNotTellAreNotKnown) {
  for (const char* name :
       {"_fwd_kernel", "matmul_kernel", "triton_tem_fused_mm_0", "kernel_unified_attention_2d",
        "void cutlass::device_kernel<at::MyKernel>(at::MyKernel::Params)", "void my_gemm_kernel<float, 128>(float*)"})
    EXPECT_EQ(kernel_uses_tensor_cores(name, RuleSet::tprof), TensorCoreUse::unknown) << name;
  for (const char* name : {"_fwd_kernel", "void my_gemm_kernel<float, 128>(float*)"})  // the plugin never doubts
    EXPECT_EQ(kernel_uses_tensor_cores(name, RuleSet::plugin), TensorCoreUse::no) << name;
}

TEST(TensorCores, AmdNamesItsOwnInstructions) {
  for (const char* name :
       {"Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x128_MI16x16x1_SN_LDSB0_AFC1_AFEM1_ISA942",
        "Cijk_Ailk_Bljk_BBS_BH_MT256x256x32_MI32x32x8x1_SN_1LDSB1", "attn_fwd",
        "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x64x8_wt64x16x4_ws1x1",
        "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_40BlockFmhaBatchPrefillPipelineE",
        "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_34Gridwise",
        "void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16, __hip_bfloat16>(__hip_bfloat16 const*)"})
    EXPECT_EQ(kernel_uses_tensor_cores(name, RuleSet::tprof, Vendor::amd), TensorCoreUse::yes) << name;
  for (const char* name :
       {"Cijk_Ailk_Bljk_SB_MT64x64x8_SE_K1_TT4_4_WG16_16_1", "Cijk_SB_BiasS_HAS_ScaleAlphaVec_PostGSU8_VW4",
        "batched_transpose_32x32_half", "triton_poi_fused_cat_0",
        "void paged_attention_ll4mi_reduce_kernel<__hip_bfloat16, 128>(__hip_bfloat16*)",
        "__amd_rocclr_fillBufferAligned", "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassE",
        "void at::native::vectorized_elementwise_kernel<4>(int)"})
    EXPECT_EQ(kernel_uses_tensor_cores(name, RuleSet::tprof, Vendor::amd), TensorCoreUse::no) << name;
  for (const char* name : {"sage_fwd", "_fwd_kernel", "kernel_unified_attention_3d"})
    EXPECT_EQ(kernel_uses_tensor_cores(name, RuleSet::tprof, Vendor::amd), TensorCoreUse::unknown) << name;
}

TEST(TensorCores, OfOtherVendorsNothingIsKnown) {
  for (const char* name : {"gemm_kernel", "at::native::xpu::VectorizedElementwiseKernel<4, Add>"})
    EXPECT_EQ(kernel_uses_tensor_cores(name, RuleSet::tprof, Vendor::other), TensorCoreUse::unknown) << name;
}

Vendor vendor(const char* call, const char* device, u32 warp = 0) {
  ModelBuilder b;
  if (*call) b.call(call, 1, 2);
  if (*device) b.device(0, 9, 0, 1 << 30, device).warp_size = warp;
  return vendor_of(b.model());
}

TEST(TensorCores, TheVendorIsSeenInCallsAndDevices) {
  EXPECT_EQ(vendor("cudaLaunchKernel", ""), Vendor::nvidia);
  EXPECT_EQ(vendor("cuLaunchKernelEx", ""), Vendor::nvidia);
  EXPECT_EQ(vendor("hipExtModuleLaunchKernel", ""), Vendor::amd);
  EXPECT_EQ(vendor("urEnqueueKernelLaunch", ""), Vendor::other);
  EXPECT_EQ(vendor("", "AMD Instinct MI300X"), Vendor::amd);
  EXPECT_EQ(vendor("", "Some GPU", 64), Vendor::amd);  // ROCm's traces may leave the name empty
  EXPECT_EQ(vendor("", "Intel(R) Data Center GPU Max 1550"), Vendor::other);
  EXPECT_EQ(vendor("", ""), Vendor::nvidia);
}

std::vector<GpuFigures> figures_of(ModelBuilder&& b) {
  Model model = b.model();
  std::vector<std::string> notes;
  return gpu_figures(model, windows_of(model), notes);
}

TEST(TensorCores, AShareSaysHowMuchOfTheTimeIsNotKnown) {
  ModelBuilder cuda;
  cuda.launch("ampere_bf16_s16816gemm_bf16_128x128", 1, 10, 50);
  cuda.launch("_fwd_kernel", 51, 60, 80);
  cuda.launch("ampere_sgemm_128x64_tn", 81, 90, 130);
  GpuFigures some = figures_of(std::move(cuda))[0];
  EXPECT_DOUBLE_EQ(some.tensor_cores, 0.4);
  EXPECT_DOUBLE_EQ(some.tensor_cores_unknown, 0.2);

  ModelBuilder xpu;
  xpu.kernel("gemm_kernel", 10, 50, xpu.call("urEnqueueKernelLaunch", 1, 2));
  GpuFigures none = figures_of(std::move(xpu))[0];
  EXPECT_EQ(none.tensor_cores, -1);
  EXPECT_DOUBLE_EQ(none.tensor_cores_unknown, 1);
}

TEST(TensorCores, OperatorsAndKernelsKeepWhatIsNotKnown) {
  ModelBuilder b;
  b.op("aten::mm", 0, 10, {{{4, 4}}, {{4, 4}}});
  b.launch("_fwd_kernel", 2, 10, 20);
  Model model = b.model();
  Kernels kernels = kernels_by_name(model, RuleSet::tprof);
  EXPECT_EQ(kernels.rows[0].tensor_cores, TensorCoreUse::unknown);
  EXPECT_EQ(kernels.tensor_unknown_ns, 10'000);
  EXPECT_EQ(kernels_by_name(model, RuleSet::plugin).rows[0].tensor_cores, TensorCoreUse::no);
  OpTree tree = build_op_tree(model);
  EXPECT_TRUE(tree.nodes[0].tensor_total_unknown);
}

TEST(TensorCores, BeforeVoltaThereAreNone) {
  ModelBuilder b;
  b.launch("_fwd_kernel", 1, 10, 20);
  b.device(0, 6, 0, 1 << 30, "Tesla P100");
  Model model = b.model();
  EXPECT_EQ(TensorCoreNames(model, RuleSet::tprof).answer(model.gpu[0].name), TensorCoreUse::no);
  model.devices[0].compute_major = 7;
  EXPECT_EQ(TensorCoreNames(model, RuleSet::tprof).answer(model.gpu[0].name), TensorCoreUse::unknown);
}

TEST(TensorCores, ThePluginKnowsItsOwnListOnly) {
  EXPECT_EQ(kernel_uses_tensor_cores("nvjet_hsh_128x256_64x4", RuleSet::plugin), TensorCoreUse::no);
  EXPECT_EQ(kernel_uses_tensor_cores("void conv1x1_kernel()", RuleSet::plugin), TensorCoreUse::yes);
  EXPECT_EQ(kernel_uses_tensor_cores("void conv1x1_kernel()", RuleSet::tprof), TensorCoreUse::no);
  EXPECT_TRUE(op_is_tensor_core_eligible("aten::prelu", RuleSet::plugin));
  EXPECT_FALSE(op_is_tensor_core_eligible("aten::prelu", RuleSet::tprof));
  EXPECT_FALSE(op_is_tensor_core_eligible("aten::_scaled_mm", RuleSet::plugin));
  EXPECT_TRUE(op_is_tensor_core_eligible("aten::_scaled_mm", RuleSet::tprof));
  for (RuleSet rules : {RuleSet::tprof, RuleSet::plugin}) {
    EXPECT_TRUE(op_is_tensor_core_eligible("aten::mm", rules));
    EXPECT_FALSE(op_is_tensor_core_eligible("aten::mm_", rules));
  }
}

}  // namespace
}  // namespace tprof
