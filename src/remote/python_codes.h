// Code objects of a running Python, kept by address. An object that is freed may leave its address to another one, so
// those of each moment are compared with what was at their addresses before: a few words each, all in one call.
#pragma once
#include <unordered_map>

#include "remote/python_reader.h"

namespace tprof::remote {

struct KnownCode {
  bool is_shown = false;  // false: none, or the interpreter's own
  u32 number = 0;         // of its content: equal code objects have equal numbers, from 1; 0: it cannot be read
};

class PythonCodes {
 public:
  PythonCodes(const Memory& memory, const PythonLayout& layout);

  // To be called with the objects of one moment, before at().
  void look_at(const std::vector<u64>& addresses);
  // What was there at the last look.
  KnownCode at(u64 address) const;

  // By number, from 1.
  const PythonCode& code(u32 number) const { return *codes_[number - 1]; }
  u32 count() const { return u32(codes_.size()); }

 private:
  static constexpr size_t kHead = 256;  // bytes of a code object: all fields of the layout lie in them
  struct Identity {
    u64 type = 0, name = 0, file = 0, table = 0;
    i32 first_line = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Entry {
    Identity identity;
    KnownCode code;
    u64 looked = 0;  // the number of the last look at it
  };
  Identity identity_in(const char* head) const;
  KnownCode read(u64 address, const Identity& identity);
  void forget_old();

  const Memory& memory_;
  const PythonLayout layout_;
  PythonReader reader_;
  u64 looks_ = 0;
  std::unordered_map<u64, Entry> known_;                                 // by address
  size_t kept_bytes_ = 0;                                                // of numbers_
  std::vector<const PythonCode*> codes_;                                 // keys of numbers_
  std::unordered_map<std::string, std::pair<u32, PythonCode>> numbers_;  // by content
};

}  // namespace tprof::remote
