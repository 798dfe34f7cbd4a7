// The companion of a recording (record/companion.h), as the sampler writes it. Stacks form one bounded tree, and its
// size is bounded as that of a recording is (TPROF_MAX_SIZE).
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "record/record.h"
#include "record/writer.h"
#include "remote/snapshots.h"

namespace tprof {

class SamplesFile {
 public:
  // Throws Error if it cannot be created, or is there already.
  SamplesFile(const std::string& recording, const FileHeader& header, u64 max_bytes);
  ~SamplesFile();

  void info(const char* key, const std::string& value) { writer_.add_info(key, value.c_str()); }
  // `comm`: the name of a thread that is seen for the first time.
  bool knows_thread(u32 tid) const { return threads_.count(tid); }
  void add_thread(u32 tid, const std::string& comm);

  void add_image(u32 maps, ImageRecord image, const std::string& path);
  void add_sample(u32 epoch, u32 tid, u64 ns, StackRef stack, u32 flags, u32 stopped_ns);
  void add_round(u32 epoch, u64 ns, u32 samples, u32 missed, u32 unread);
  // Ids of a Python and of a native stack. `cut`: frames further out are missing. `maps`: see kMapShift.
  u32 stack_of(const remote::ThreadSnapshot& thread, const remote::PythonCodes& codes);
  u32 stack_of(const std::vector<u64>& addresses, bool cut, u32 maps);
  // The numbers of code objects are those of a program file that was replaced (exec).
  void forget_codes();

  void sampled_until(u64 ns) { writer_.header()->sampled_until_ns.store(ns, std::memory_order_release); }
  void used(u64 cpu_ns) { writer_.header()->own_ticks.store(cpu_ns, std::memory_order_relaxed); }
  bool stopped() const { return writer_.stopped(); }
  // Removes the file if its recording is gone. One without samples stays: it says why there are none.
  void close();

 private:
  struct Frame {
    u32 parent, code;
    u64 at;
    bool operator==(const Frame&) const = default;
  };
  struct Hash {
    size_t operator()(const Frame& f) const {
      return (u64(f.parent) << 32 | f.code) * 0x9e3779b97f4a7c15 ^ (f.at + 0x7f4a7c15) * 0xbf58476d1ce4e5b9;
    }
  };
  char* space(u32 epoch, size_t bytes);
  void publish(char* at, Kind kind, u32 id, size_t bytes);
  u32 name(const std::string& text);
  u32 code(u32 number, const remote::PythonCodes& codes);
  u32 frame(const Frame& frame);

  Writer writer_;
  std::string path_;
  ChunkHeader* chunk_ = nullptr;
  size_t used_ = 0;
  u32 epoch_ = 0;
  std::unordered_set<u32> threads_;
  std::unordered_map<std::string, u32> names_;
  std::unordered_map<u32, u32> codes_;  // number -> id
  u32 next_code_ = 1;
  std::unordered_map<Frame, u32, Hash> frames_;
};

}  // namespace tprof
