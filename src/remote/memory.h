// Another program, seen from outside: its memory, and the files that are mapped in it. A live process (process.h) and a
// core file (core.h) are both read through this interface; nothing here runs in that program.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"

namespace tprof::remote {

struct Mapping {
  u64 begin = 0, end = 0;  // addresses
  u64 offset = 0;          // in the file
  bool executable = false;
  std::string path = {};  // as that program sees it; empty: no file
  u64 inode = 0;          // of the file; 0: unknown
  bool operator==(const Mapping&) const = default;
};

class Memory {
 public:
  virtual ~Memory() = default;

  // Reads all of the bytes, or returns false. The program may run on meanwhile: what it writes is seen, or not.
  virtual bool read(u64 address, void* to, size_t bytes) const = 0;

  // In order of address.
  const std::vector<Mapping>& mappings() const { return mappings_; }

  // A path by which this process can open a mapped file of that program, which may live in another root directory.
  virtual std::string path_here(const Mapping& mapping) const { return mapping.path; }

  // Whether all that is known of the program is what a file says, which anybody may have written.
  virtual bool is_hearsay() const { return false; }

  // The user that the program runs, or ran, as.
  virtual u32 user() const = 0;

  template <class T>
  std::optional<T> get(u64 address) const {
    T value;
    if (!read(address, &value, sizeof value)) return std::nullopt;
    return value;
  }

 protected:
  std::vector<Mapping> mappings_;
};

}  // namespace tprof::remote
