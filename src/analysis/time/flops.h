// Floating-point operations of operators from the shapes of their inputs, what of a device's peak they reach, and what
// bounds them.
//
//   matrices [.., M, K] x [.., K, N]: 2 * batch * M * N * K
//   convolution: 2 * output elements * Cin / groups * kernel
//   attention: 2 * B * H * S * T * (D + Dv), half of it if causal; backward twice the forward (2.5 with recomputation,
//   which is not counted: these are the model's operations)
//   LSTM, GRU, RNN: 2 * T * B * elements of all weight matrices; backward twice the forward
// As torch.utils.flop_counter counts, but for attention, of which that counts masked products and recomputed ones as
// well, and for the weights' gradients of grouped convolutions, which that multiplies by the groups.
// Sums, norms, activations and optimizers are counted by neither; what part of the time lies in operators that were
// counted is said beside every sum.
// Bytes are those of the inputs and of the output, each once. A roof is min(peak of the type, bytes per second * FLOP /
// byte). MFU = sum over types of FLOP / peak, over the time looked at and the devices that had kernels (which are taken
// to be alike).
#pragma once
#include <map>
#include <string>

#include "analysis/basis/windows.h"

namespace tprof {

struct DevicePeak {
  std::string name;       // words that must all be words of a device's name
  double bytes_gbps = 0;  // 10^9 bytes per second, as the figures below 0: not known or not there
  double fp64 = 0, fp32 = 0, tf32 = 0, half = 0, fp8 = 0;  // 10^12 operations per second

  bool matches(std::string_view device) const;
  double peak(u8 dtype, bool tf32_used) const;
};

// The built-in table, behind the rows of `own`: lines "words; GB/s; fp64; fp32; tf32; half; fp8", # begins a comment.
// Throws Error(Fault::usage) that names the line.
std::vector<DevicePeak> device_table(const std::string& own = "");
const DevicePeak* find_peak(const std::vector<DevicePeak>& table, std::string_view device);

// Calls of one operator with one set of inputs.
struct FlopsRow {
  u32 event;  // the first call: index into Model::events
  u8 dtype = 255;
  bool tf32 = false;  // its kernels say so by name
  u64 calls = 0;
  double flops = 0, bytes = 0;  // of all calls; bytes < 0: not known
  i64 gpu_ns = 0;               // of the kernels launched in it; 0: none
  i64 host_ns = 0;

  i64 time_ns() const { return gpu_ns ? gpu_ns : host_ns; }
  double tflops() const { return time_ns() > 0 ? flops / double(time_ns()) / 1e3 : 0; }
};

// Time of kernels, and time that threads spent in operators themselves (not in those inside): all, and in operators
// whose operations are known, be they 0.
struct FlopsCoverage {
  i64 gpu_ns = 0, gpu_known_ns = 0;
  i64 host_ns = 0, host_known_ns = 0;

  // Of the kernel time if there is any, else of the operators'; 0 to 1, -1: no time.
  double share() const {
    i64 all = gpu_ns ? gpu_ns : host_ns;
    return all ? double(gpu_ns ? gpu_known_ns : host_known_ns) / double(all) : -1;
  }
};

// An operator that no sum holds.
struct FlopsMissing {
  u32 name;  // index into Model::names; kNone: kernels that no operator launched
  u64 calls = 0;
  i64 gpu_ns = 0, host_ns = 0;
};

struct Flops {
  bool shapes_known = false;   // some operator with a formula had inputs
  std::vector<FlopsRow> rows;  // most time first
  double total = 0;            // operations in the window
  u64 counted = 0;             // calls
  u64 unknown = 0;             // calls of operators with a formula that could not be computed
  std::map<std::string, u64> unknown_by_name;
  const DevicePeak* peak = nullptr;  // of the first device; nullptr: not in the table, or no GPU
  double mfu = -1;                   // 0 to 1; -1 unknown
  double tflops = -1;                // achieved over the window
  FlopsCoverage coverage;
  std::vector<FlopsMissing> missing;  // most time first

  // Of the roof, 0 to 1; -1 unknown.
  double of_roof(const FlopsRow& row) const;
  bool memory_bound(const FlopsRow& row) const;
};
// `table` must outlive the result.
Flops flops(const Model& model, const Windows& windows, const std::vector<DevicePeak>& table);

}  // namespace tprof
