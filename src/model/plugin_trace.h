// A Kineto trace as the TensorBoard plugin (torch_tb_profiler 0.4.3) sees it: what --plugin-compat computes with.
//
// The Model repairs and sorts, but the results of the plugin depend on the exact order, times and ids of the file, also
// of categories that it does not know or takes for others. Filled beside the Model on request.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"

namespace tprof {

enum class PluginType : u8 {
  ignored,
  op,
  python,
  label,
  step,
  python_function,
  module,
  runtime,
  kernel,
  copy,
  set,
  span,
  memory,
  lightning_profile,
  lightning_module  // ranges of PyTorch Lightning's own profiler, in traces that name it
};

struct PluginEvent {
  static constexpr i64 kAbsent = INT64_MIN;

  double ts_us = 0, dur_us = 0;  // as written
  i64 external_id = kAbsent;
  i64 correlation = kAbsent;
  i64 pid = 0, tid = 0;     // texts such as "stream 7" get negative numbers
  u32 name = 0;             // index into Model::names
  u32 item = 0xffffffff;    // index into Model::events, calls, gpu or memory, by type; kNone: it is in none of them
  u32 device = 0xffffffff;  // kernels: the device in its arguments; kNone: there is none
  PluginType type = PluginType::ignored;
  bool tid_is_text = false;  // "25738" as a text: the plugin does not find such a call if its External id is 0

  double end_us() const { return ts_us + dur_us; }
};

// The fields of deviceProperties[i] that the plugin uses.
struct PluginDevice {
  std::optional<i64> memory_bytes, major, minor;
  std::optional<std::string> name;
};

struct PluginTrace {
  std::vector<PluginEvent> events;  // in order of time, those of equal time as in the file
  struct ArrowEnd {
    i64 id;
    double ts_us;
    bool start;
  };
  std::vector<ArrowEnd> arrows;       // from forward operators to backward nodes, as in the file
  std::vector<PluginDevice> devices;  // by position
  bool lightning = false;
  bool is_list = false;  // Chrome's form without a top-level object: the plugin drops the file
};

}  // namespace tprof
