// Which kernels communicate, by their names. The names are those of public traces and of the libraries' sources.
#include <gtest/gtest.h>

#include "analysis/basis/name_classes.h"
#include "unit/model_builder.h"

namespace tprof {
namespace {

Work work_of(const std::string& kernel, const std::string& op = "") {
  ModelBuilder b;
  if (!op.empty()) b.op(op, 0, 10);
  b.kernel(kernel, 20, 30, op.empty() ? kNone : b.call("cudaLaunchKernel", 1, 2));
  Model model = b.model();
  return NameClasses(model).work(model.gpu[0]);
}

TEST(Communication, IsKnownByTheNamesOfItsLibraries) {
  for (const char* name :
       {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "void dpsk::ep::internode::combine<false, 8, __nv_bfloat16, 8, 2, 16, 24>(int4*, float*, bool const*)",
        "void dpsk::ep::internode::cached_notify<false>(int, int, int, int, int*, int, int, int const*)",
        "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*, void*, int*, long*, int*, int*)",
        "void deep_ep::intranode::notify_dispatch<8>(int const*, int*, int const*, int*, int, int, int)",
        "void deep_ep::elastic::hybrid_dispatch_impl<4, 8>(void*)",
        "_ZN7deep_ep9intranode8dispatchILi8ELi768EEEvPv",
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
        "void (anonymous namespace)::one_shot_all_reduce_kernel<float, 16, 8>(float**, float*, float*, unsigned long)",
        "void c10d::symmetric_memory::twoShotAllReduceKernel<8u>(c10::BFloat16*)",
        "barrier_kernel(unsigned int**, int, int, int, unsigned long)",
        "allToAllV(void*, void*, long*, unsigned long)",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(vllm::RankData*, vllm::RankSignals, vllm::Signal*)",
        "void sglang::cross_device_reduce_2stage<__half, 8>(sglang::RankData*, sglang::RankSignals)",
        "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half, 8>>(__half const*)",
        "void barrier_on_stream_kernel_threadgroup<(threadgroup_t)2>(nvshmemi_team_t*)",
        "void mscclpp::executionKernel<float, mscclpp::LL16Packet>(int, float*)",
        "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<8>(AllReduceFusionParams)",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_twoshot_sync<(Pattern)1, __half>(Params)",
        "void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8, __nv_bfloat16>(Params)",
        "void aiter::allreduce_fusion_kernel_1stage<__hip_bfloat16, 8>(aiter::RankData*)",
        "void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int, int, int, int)",
        "executor_kernel(ucc_ec_cuda_executor*, int)",
        "AllreduceMediumKernel_GlobalSync",
        "EpCombineInterNodeV1Kernel",
        "void flashinfer::trtllm_alltoall::moeAllToAllKernel(MoeCommFieldInfo)"})
    EXPECT_EQ(work_of(name), Work::communication) << name;
}

TEST(Communication, IsNotWhatMerelyBearsItsName) {
  for (const char* name :
       {"triton_poi_fused_add_all_reduce_bitwise_and_bitwise_or_embedding_ge_lt_masked_fill_mul_sub_0",
        "void dpsk::ep::cuda::get_dispatch_layout<256, 32, 8>(long const*, int*, int*, int*, bool*)",
        "void deep_ep::elastic::dispatch_copy_epilogue_impl<8>(void*)",
        "void cutlass::device_kernel<flux::GemmReduceScatter<cutlass::bfloat16_t>>(Params)",
        "void flashinfer::trtllm_alltoall::moe_prepare::computeCountAndIndiceDevice(int*)",
        "void flashinfer::trtllm_allreduce::reduce_fusion::rms_norm_kernel<__half>(AllReduceParams<__half>)",
        "void tensorrt_llm::kernels::groupRmsNorm<WarpAllReduce>(float*)", "ampere_sgemm_128x64_tn",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(at::native::ReduceOp<float>)",
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>(__nv_bfloat16 const*)"})
    EXPECT_EQ(work_of(name), Work::computation) << name;
}

TEST(Communication, IsWhatAnOperatorThatCommunicatesLaunches) {
  EXPECT_EQ(work_of("void copy_kernel<float>(float*)", "xccl:all_reduce"), Work::communication);
  EXPECT_EQ(work_of("void copy_kernel<float>(float*)", "aten::copy_"), Work::computation);
}

}  // namespace
}  // namespace tprof
