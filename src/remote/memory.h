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

// A part of a program's memory to be read with others.
struct Piece {
  u64 address = 0;
  void* to = nullptr;
  size_t bytes = 0;
  bool read = false;  // set: all of it was read
};

class Memory {
 public:
  virtual ~Memory() = default;

  // Reads all of the bytes, or returns false. The program may run on meanwhile: what it writes is seen, or not.
  virtual bool read(u64 address, void* to, size_t bytes) const = 0;

  // Reads the pieces in their order. False if nothing at all could be read.
  virtual bool read_pieces(std::vector<Piece>& pieces) const {
    bool any = false;
    for (Piece& piece : pieces) any |= piece.read = read(piece.address, piece.to, piece.bytes);
    return any;
  }

  // The ids of its threads.
  virtual std::vector<int> threads() const = 0;

  // In order of address.
  const std::vector<Mapping>& mappings() const { return mappings_; }

  // A path by which this process can open a mapped file of that program, which may live in another root directory.
  virtual std::string path_here(const Mapping& mapping) const { return mapping.path; }

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
