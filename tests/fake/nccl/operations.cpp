#include "operations.h"

#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "switches.h"

namespace sim_nccl {
namespace {

constexpr u32 kLaunchCbid = 430;  // cudaLaunchKernelExC: NCCL has a runtime of its own, which no wrapper sees
constexpr u64 kTransfer_ns = 5000;

thread_local int group_depth;
thread_local std::vector<Operation> group;

Driver* driver() {
  static Driver* found = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto get = library ? reinterpret_cast<Driver* (*)()>(dlsym(library, "simcuda_driver")) : nullptr;
    return get ? get() : nullptr;
  }();
  return found;
}

size_t bytes_of(const Operation& op) { return op.count * type_of(op.type)->bytes; }

template <class T>
void combine(T* to, const T* from, size_t count, int reduction) {
  for (size_t i = 0; i < count; i++)
    to[i] = reduction == 1   ? T(to[i] * from[i])
            : reduction == 2 ? std::max(to[i], from[i])
            : reduction == 3 ? std::min(to[i], from[i])
                             : T(to[i] + from[i]);  // sum, and avg before its division
}

// Types that the host has; of others the first rank's values stay.
void combine(int type, void* to, const void* from, size_t bytes, int reduction) {
  auto as = [&](auto one) {
    using T = decltype(one);
    combine(static_cast<T*>(to), static_cast<const T*>(from), bytes / sizeof(T), reduction);
  };
  switch (type) {
    case 0: return as(int8_t());
    case 1: return as(u8());
    case 2: return as(i32());
    case 3: return as(u32());
    case 4: return as(i64());
    case 5: return as(u64());
    case 7: return as(float());
    case 8: return as(double());
  }
}

// Every rank shows `bytes` in pieces, and takes from the pieces of all: take(rank, offset, piece, bytes).
template <class Take>
bool exchange(World& world, const void* from, size_t bytes, Take take) {
  for (size_t at = 0; at < bytes; at += kStageBytes) {
    size_t size = std::min(bytes - at, kStageBytes);
    if (from) memcpy(world.seat(world.rank).stage, static_cast<const char*>(from) + at, size);
    if (!world.barrier()) return false;
    for (int r = 0; r < world.ranks; r++) take(r, at, world.seat(r).stage, size);
    if (!world.barrier()) return false;
  }
  return true;
}

bool move_data(const Operation& op) {
  World& world = *op.comm->world;
  size_t each = bytes_of(op);
  auto* to = static_cast<char*>(op.to);
  bool mine = world.rank == op.root;
  auto put = [&](size_t offset, const char* piece, size_t bytes) { memcpy(to + offset, piece, bytes); };
  auto reduce = [&](size_t offset, int r, const char* piece, size_t bytes) {
    r == 0 ? put(offset, piece, bytes) : combine(op.type, to + offset, piece, bytes, op.reduction);
  };
  // The part of a piece that lies in this rank's slice.
  auto of_slice = [&](size_t at, const char* piece, size_t bytes, auto use) {
    size_t begin = std::max(at, each * size_t(world.rank)), end = std::min(at + bytes, each * size_t(world.rank + 1));
    if (begin < end) use(begin - each * size_t(world.rank), piece + (begin - at), end - begin);
  };
  size_t all = each * size_t(world.ranks);
  switch (op.func) {
    case Func::all_reduce:
      return exchange(world, op.from, each, [&](int r, size_t at, const char* p, size_t n) { reduce(at, r, p, n); });
    case Func::reduce:
      return exchange(world, op.from, each, [&](int r, size_t at, const char* p, size_t n) {
        if (mine) reduce(at, r, p, n);
      });
    case Func::broadcast:
      return exchange(world, mine ? op.from : nullptr, each, [&](int r, size_t at, const char* p, size_t n) {
        if (r == op.root) put(at, p, n);
      });
    case Func::all_gather:
    case Func::gather:
      return exchange(world, op.from, each, [&](int r, size_t at, const char* p, size_t n) {
        if (op.func == Func::all_gather || mine) put(each * size_t(r) + at, p, n);
      });
    case Func::reduce_scatter:
      return exchange(world, op.from, all, [&](int r, size_t at, const char* p, size_t n) {
        of_slice(at, p, n, [&](size_t offset, const char* part, size_t bytes) { reduce(offset, r, part, bytes); });
      });
    case Func::scatter:
      return exchange(world, mine ? op.from : nullptr, all, [&](int r, size_t at, const char* p, size_t n) {
        if (r == op.root) of_slice(at, p, n, put);
      });
    case Func::all_to_all:
      return exchange(world, op.from, all, [&](int r, size_t at, const char* p, size_t n) {
        of_slice(at, p, n,
                 [&](size_t offset, const char* part, size_t bytes) { put(each * size_t(r) + offset, part, bytes); });
      });
    default: return false;
  }
}

// A send or receive on its way. Those of a group go on side by side.
class Pair {
 public:
  Pair(const Operation& op, u64 ready)
      : op_(op),
        sends_(op.func == Func::send),
        box_(sends_ ? op.comm->world->box(op.comm->world->rank, op.root)
                    : op.comm->world->box(op.root, op.comm->world->rank)) {
    (sends_ ? box_.send_value : box_.receive_value) = ready;
    message_ = ++(sends_ ? box_.offered : box_.wanted);
  }
  // True: done.
  bool go_on() {
    if ((sends_ ? box_.wanted : box_.offered) < message_) return false;
    if (!other_) other_ = sends_ ? box_.receive_value : box_.send_value;
    while (!done_) {
      size_t size = std::min(bytes_of(op_) - at_, kBoxBytes);
      if (sends_) {
        if (box_.sent != box_.taken) return false;
        memcpy(box_.stage, static_cast<const char*>(op_.from) + at_, size);
        box_.sent++;
      } else {
        if (box_.sent == box_.taken) return false;
        memcpy(static_cast<char*>(op_.to) + at_, box_.stage, size);
        box_.taken++;
      }
      at_ += size;
      done_ = at_ == bytes_of(op_);
    }
    return true;
  }
  u64 other() const { return other_; }

 private:
  const Operation& op_;
  bool sends_, done_ = false;
  Box& box_;
  u64 message_, other_ = 0;
  size_t at_ = 0;
};

void sleep_if_late() {
  const char *text = text_of(Switch::SIMNCCL_DELAY), *own = getenv("RANK");
  char* rest;
  long rank = strtol(text, &rest, 10);
  if (!*text || *rest != ':' || !own || rank != atol(own)) return;
  u64 ns = strtoull(rest + 1, nullptr, 10);
  timespec time{time_t(ns / 1000000000), long(ns % 1000000000)};
  nanosleep(&time, nullptr);
}

u64 transfer_ns(const Operation& op) {
  return kTransfer_ns + bytes_of(op) / std::max<u64>(number_of(Switch::SIMNCCL_GBPS), 1);
}

Kernel* kernel_of(const Operation& op) {
  std::string name = "SendRecv";
  if (!is_pair(op.func)) {
    bool reduces = op.func == Func::all_reduce || op.func == Func::reduce || op.func == Func::reduce_scatter;
    name = text_of(op.func);
    name += reduces ? std::string("_Sum_") + type_of(op.type)->kernel + "_RING_LL" : "_RING_LL";
  }
  name = "ncclDevKernel_" + name + "(ncclDevKernelArgsStorage<4096ul>)";
  static std::mutex mutex;
  static std::map<std::string, Kernel*> kernels;
  std::lock_guard<std::mutex> guard(mutex);
  Kernel*& kernel = kernels[name];
  if (!kernel) kernel = driver()->add_kernel(nullptr, name.c_str());
  return kernel;
}

// Runs the operations of one communicator and stream as one kernel, which ends when the last rank has come.
int run_kernel(std::vector<Operation*>& ops) {
  Operation& first = *ops[0];
  World& world = *first.comm->world;
  Stream* stream = driver()->stream(first.stream, false);
  if (!stream) return kInvalidArgument;
  sleep_if_late();
  Call call;
  call.cbid = kLaunchCbid;
  call.name = "cudaLaunchKernelExC";
  driver()->enter(call);
  u64 ready = driver()->would_begin(stream), last = ready, transfer = 0;
  for (Operation* op : ops) op->profiled = profiler_starts(*op);
  bool ok = true;
  std::vector<Pair> pairs;
  for (Operation* op : ops) {
    transfer += transfer_ns(*op);
    if (is_pair(op->func))
      pairs.emplace_back(*op, ready);
    else if (u64 all = 0; (ok = ok && world.meet(ready, &all) && move_data(*op)))
      last = std::max(last, all);
  }
  ok = ok && wait_until(world, [&] {
         size_t done = 0;
         for (Pair& pair : pairs) done += pair.go_on();
         return done == pairs.size();
       });
  for (Pair& pair : pairs) last = std::max(last, pair.other());
  for (Operation* op : ops) profiler_stops(*op);
  Launch launch;
  launch.kernel = kernel_of(first);
  launch.grid = {2, 1, 1};
  launch.block = {512, 1, 1};
  launch.stream = stream;
  launch.begin = ready;
  launch.duration_ns = last - ready + transfer;
  int result = ok ? driver()->launch(launch) : kRemoteError;
  driver()->leave(call);
  if (!ok) world.fail();
  return !ok ? kRemoteError : result == 0 ? kSuccess : kUnhandledCudaError;
}

int run_group() {
  std::vector<Operation> all;
  all.swap(group);
  int result = kSuccess;
  for (bool pairs : {false, true}) {
    std::vector<std::pair<std::pair<Comm*, void*>, std::vector<Operation*>>> kernels;
    for (Operation& op : all) {
      if (is_pair(op.func) != pairs) continue;
      std::pair<Comm*, void*> key{op.comm, op.stream};
      auto found = std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) { return k.first == key; });
      if (found == kernels.end()) found = kernels.insert(kernels.end(), {key, {}});
      found->second.push_back(&op);
    }
    for (auto& [key, ops] : kernels)
      if (int failed = run_kernel(ops)) result = failed;
  }
  return result;
}

}  // namespace

const char* text_of(Func func) {
  static constexpr const char* kTexts[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce",
                                           "Send",      "Recv",   "AlltoAll",  "Gather",        "Scatter"};
  return kTexts[int(func)];
}

int enqueue(const Operation& op) {
  if (!op.comm || !type_of(op.type)) return kInvalidArgument;
  if (op.root < 0 || op.root >= op.comm->world->ranks) return kInvalidArgument;
  if (!driver() || driver()->initialize() != 0) return kUnhandledCudaError;
  group.push_back(op);
  return group_depth ? kSuccess : run_group();
}

int group_start() { return group_depth++, kSuccess; }

int group_end() {
  if (!group_depth) return kInvalidUsage;
  return --group_depth ? kSuccess : run_group();
}

int group_forget() {
  group.clear();
  return group_depth ? (group_depth--, kSuccess) : kInvalidUsage;
}

}  // namespace sim_nccl
