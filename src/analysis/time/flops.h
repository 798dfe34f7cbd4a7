// Floating-point operations of operators from the shapes of their inputs, what of a device's peak they reach, and what
// bounds them.
//
//   matrices [.., M, K] x [.., K, N]: 2 * batch * M * N * K
//   convolution: 2 * output elements * Cin / groups * kernel
//   attention: 2 * B * H * S * T * (D + Dv), half of it if causal; backward twice the forward (2.5 with recomputation,
//   which is not counted: these are the model's operations)
//   LSTM, GRU, RNN: 2 * T * B * elements of all weight matrices; backward twice the forward
// As torch.utils.flop_counter counts, with two exceptions: for attention that also counts masked and recomputed
// products, and it multiplies the weight gradients of grouped convolutions by the number of groups.
// Neither counts sums, norms, activations and optimizers; every sum therefore states the share of the time that the
// counted operators take.
// Bytes are those of the inputs and the output, each once. A roof is min(peak of the type, bytes per second * FLOP /
// byte). MFU = sum over types of FLOP / peak, divided by the time of the window and the number of devices that had
// kernels (which are assumed to be equal).
#pragma once
#include <map>
#include <string>

#include "analysis/basis/windows.h"

namespace tprof {

struct DevicePeak {
  std::string name;       // words that a device's name must contain
  double bytes_gbps = 0;  // 10^9 bytes per second; 0, here and below: not known or not supported
  double fp64 = 0, fp32 = 0, tf32 = 0, half = 0, fp8 = 0;  // 10^12 operations per second

  bool matches(std::string_view device) const;
  double peak(u8 dtype, bool tf32_used) const;
};

// The rows of `own`, then the built-in table. A line of `own` is "words; GB/s; fp64; fp32; tf32; half; fp8"; # starts a
// comment.
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

// Kernel time and the operators' self time on the host: all of it, and the part in operators whose FLOPs are known
// (which may be 0).
struct FlopsCoverage {
  i64 gpu_ns = 0, gpu_known_ns = 0;
  i64 host_ns = 0, host_known_ns = 0;

  // The known share of the kernel time, or without kernels of the operators' time: 0 to 1; -1: there is no time.
  double share() const {
    i64 all = gpu_ns ? gpu_ns : host_ns;
    return all ? double(gpu_ns ? gpu_known_ns : host_known_ns) / double(all) : -1;
  }
};

// An operator whose FLOPs are not counted.
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

  // The share of its roof that the row reaches, 0 to 1; -1: not known.
  double of_roof(const FlopsRow& row) const;
  bool memory_bound(const FlopsRow& row) const;
};
// `table` must outlive the result.
Flops flops(const Model& model, const Windows& windows, const std::vector<DevicePeak>& table);

}  // namespace tprof
