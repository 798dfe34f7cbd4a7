// The things that handles of the CUDA APIs point to. They are never freed: a late handle is an error, not a crash.
#pragma once
#include <string>
#include <thread>
#include <vector>

#include "types.h"

namespace sim {

struct Dim {
  u32 x = 1, y = 1, z = 1;
};

// Kinds of memory and of copies, numbered as CUPTI numbers them.
enum class MemoryKind : u8 { unknown = 0, pageable = 1, pinned = 2, device = 3, array = 4, managed = 5 };
enum class CopyKind : u8 { htod = 1, dtoh = 2, dtod = 8, htoh = 9, ptop = 10 };

struct Device {
  int index = 0;
  char name[64] = {};
  u8 uuid[16] = {};
  u64 memory_bytes = 0, memory_bytes_per_s = 0;
};

struct Stream;

struct Context {
  u32 id = 0;
  Device* device = nullptr;
  bool primary = false, alive = true;
  Stream* legacy = nullptr;
  std::vector<Stream*> streams;  // legacy first; destroyed ones are taken out
};

struct Kernel {
  std::string name;
  const void* host = nullptr;                        // what the runtime's callers name it by
  void (*body)(void**, Dim, Dim, size_t) = nullptr;  // simk_<name>, if the program has one
  bool loaded = false;
  u32 registers = 0, shared_bytes = 0, local_bytes = 0;
  u64 duration_ns = 0;
  std::vector<u32> parameter_bytes;
};

struct Launch {
  Kernel* kernel = nullptr;
  Dim grid, block, cluster;
  size_t shared_bytes = 0;
  void** arguments = nullptr;
  Stream* stream = nullptr;
  u64 begin = 0, duration_ns = 0;  // 0: as the stream and the kernel have it
};

// A copy of up to three dimensions; lines of `width` bytes.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  size_t width = 0, height = 1, depth = 1;
  size_t to_pitch = 0, from_pitch = 0, to_slice = 0, from_slice = 0;
  int direction = 4;                     // cudaMemcpyKind; 4: told from the addresses
  int to_device = -1, from_device = -1;  // set for copies between peers
  Stream* stream = nullptr;
  bool async = false;
};

// Elements of 1, 2 or 4 bytes.
struct Fill {
  void* to = nullptr;
  u32 value = 0, element = 1;
  size_t width = 0, height = 1, depth = 1, pitch = 0, slice = 0;  // width in elements
  Stream* stream = nullptr;
};

using HostFunction = void (*)(void*);

struct Graph;

struct Node {
  enum Kind { kernel, copy, fill, host, empty } kind = empty;
  u64 id = 0;
  u32 lane = 0;  // captured streams in order of appearance; each runs on a stream of its own
  std::vector<Node*> after;
  Launch launch;
  Copy copying;
  Fill filling;
  HostFunction function = nullptr;
  void* function_data = nullptr;
  std::vector<std::vector<u8>> arguments;  // values at capture, for kernels that declare their parameters
};

enum class CaptureMode { global, thread_local_, relaxed };  // cudaStreamCaptureMode

struct Graph {
  u32 id = 0;
  CaptureMode mode = CaptureMode::global;  // of the capture that makes it
  bool invalid = false;                    // something happened that a capture does not allow
  std::thread::id thread;                  // where the capture was begun
  std::vector<Node*> nodes;
  std::vector<Stream*> captured;  // who records into it, in order of lanes
};

struct GraphExec {
  u32 id = 0;
  std::vector<Node*> nodes;
  std::vector<Stream*> lanes;  // [0] stays null: the stream it is launched on
};

struct Stream {
  u32 id = 0;
  Context* context = nullptr;
  bool blocking = true, alive = true;
  u32 flags = 0;
  int priority = 0;
  u64 busy_until = 0;
  Graph* capture = nullptr;
  std::vector<Node*> capture_tail;
};

struct Event {
  u32 id = 0;
  bool timing = true, recorded = false;
  u64 time = 0;
  Context* context = nullptr;
  Graph* capture = nullptr;
  std::vector<Node*> capture_tail;
};

struct Pool {
  Device* device = nullptr;
  u64 address = 0, used_bytes = 0, reserved_bytes = 0, release_threshold = 0;
};

}  // namespace sim
