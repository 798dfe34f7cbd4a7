// The layout of torch's C++ objects, found at run time without a torch header or a version number.
//
// discover_layout() resolves the exported functions and lets torch itself show where the rest is: it constructs an
// at::RecordFunction with a sentinel as sequence number and searches it for the sentinel (layout.cpp), and lets
// exported accessors read objects that it made (values.cpp). Each capability is proven on its own; what is not proven
// stays off, with a reason. values.cpp lists the layouts of some versions.
#pragma once
#include "collect/torch/values.h"

namespace tprof {

// torch's std::unique_ptr<ObserverContext>. The empty destructor makes the ABI return it like one, through a hidden
// pointer. The default value means "no context".
struct ObserverContext {
  void* context = nullptr;
  ~ObserverContext() {}
};

// at::RecordFunctionCallback, passed by value. torch reads the prefix that it knows; the rest allows for new fields.
struct RecordFunctionCallback {
  using Start = ObserverContext (*)(const void* record_function);
  using End = void (*)(const void* record_function, void* context);

  Start start = nullptr;
  End end = nullptr;
  double probability = 1.0;
  u8 scopes[10] = {};  // by Scope
  u8 needs_inputs = 0;
  u8 needs_outputs = 0;
  u8 needs_ids = 0;
  u8 padding[27] = {};
};
static_assert(sizeof(RecordFunctionCallback) == 64 && offsetof(RecordFunctionCallback, needs_inputs) == 34);

constexpr u8 kNamedByText = 0, kNamedBySchema = 1;

struct TorchLayout {
  // Exported functions of libtorch_cpu; nullptr when absent.
  u64 (*add_global_callback)(RecordFunctionCallback) = nullptr;
  u64 (*add_thread_local_callback)(RecordFunctionCallback) = nullptr;
  void (*remove_callback)(u64 handle) = nullptr;
  const char* (*name)(const void* record_function) = nullptr;
  bool (*is_async)(const void* record_function) = nullptr;
  u64 (*num_inputs)(const void* record_function) = nullptr;
  u64 (*current_thread_id)() = nullptr;

  // Offsets in at::RecordFunction; -1 unproven.
  int thread = -1;          // u64, torch's id of the thread the range began on
  int scope = -1;           // u8
  int sequence = -1;        // i64
  int inputs = -1;          // {const IValue*, u64}
  int forward_thread = -1;  // u64
  int is_async_at = -1;     // u8

  // Its name, a std::variant of a std::string and of a reference to the schema that an operator was registered with.
  // Candidates until name_ok.
  int named = -1;       // u8, which of them: kNamedByText or kNamedBySchema
  int name_at = -1;     // const char* or const FunctionSchema*
  int name_bytes = -1;  // u64, of the text; -1: it is not here

  ValueLayout values;

  bool ops = false;  // callbacks, names, scope: anything at all
  bool sequence_ok = false;
  bool forward_thread_ok = false;
  bool name_ok = false;         // known operators were named by a schema (calibration_end)
  bool inputs_ok = false;       // encode_inputs() may be used
  bool inputs_checked = false;  // ... and known operators decoded as expected (calibration_end)
  char why[160] = {};           // the first reason why something about ranges is off, "" if nothing is
  char inputs_why[160] = {};    // the same for inputs
  char version[24] = {};        // "2.14.1" where libtorch_cpu says so itself (torch >= 2.7), else empty
  char path[512] = {};          // of libtorch_cpu
};

// Fills `layout`. False: no torch is mapped, or not even names can be read. Call it once, on a thread that may run
// torch code, while no dlopen is in progress. Handles SIGSEGV and SIGBUS while it runs.
bool discover_layout(TorchLayout& layout);

// For the files of this folder. Keeps the first reason.
void set_why(char (&why)[160], const char* reason);

template <class T>
inline T load(const void* object, long offset) {
  T value;
  __builtin_memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
  return value;
}

}  // namespace tprof
