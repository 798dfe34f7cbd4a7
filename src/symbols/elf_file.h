// The functions of an ELF file on disk: its own small reader of .symtab and .dynsym, for any 64-bit file, whole or
// damaged. Reads by pread (a file that is cut off meanwhile is a short read) and checks every bound.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace tprof {

class ElfFile {
 public:
  // nullptr: not such a file.
  static std::unique_ptr<ElfFile> open(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;

  const std::string& path() const { return path_; }
  const std::string& build_id() const { return build_id_; }  // bytes, empty if there is none
  const std::string& debug_link() const {
    return debug_link_;
  }                                                // .gnu_debuglink: name of the file with debug information
  bool has_lines() const { return has_lines_; }    // line tables of debug information
  bool has_symtab() const { return has_symtab_; }  // not stripped

  // The function that holds an address of the file, as it is named there; empty if none does.
  std::string_view function_at(u64 address) const;

 private:
  struct Section;
  struct Function {
    u64 begin, end;  // end: of the symbol; that of one without a size is the next one's begin
    u32 name;        // offset in names_
    u8 rank;         // of several names for one address the lowest is shown
  };
  ElfFile() = default;
  bool read();
  bool read_bytes(u64 offset, u64 bytes, std::string& out) const;
  void read_notes(const Section& section);
  void read_symbols(const Section& table, const Section& names);
  void finish();

  std::string path_, build_id_, debug_link_;
  int fd_ = -1;
  u64 bytes_ = 0;
  bool has_lines_ = false, has_symtab_ = false;
  std::string names_;
  std::vector<Function> functions_;  // in order of address
};

}  // namespace tprof
