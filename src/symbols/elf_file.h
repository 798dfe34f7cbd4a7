// The functions of an ELF file on disk, from .symtab or .dynsym: any 64-bit file, whole or damaged. For the tool, where
// the recorded addresses get their names: base/elf.h reads only what is mapped in its own process, which holds no
// .symtab. Reads by pread (a file that is cut off meanwhile is a short read) and checks every bound.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace tprof {

class ElfFile {
 public:
  // nullptr if it is no such file. `objects`: names of data symbols; those that the file defines get their address, and
  // its functions are not read.
  static std::unique_ptr<ElfFile> open(const std::string& path, std::map<std::string, u64>* objects = nullptr);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;

  const std::string& path() const { return path_; }
  const std::string& build_id() const { return build_id_; }  // bytes, empty if there is none
  // From .gnu_debuglink: the name of the file with debug information.
  const std::string& debug_link() const { return debug_link_; }
  bool has_lines() const { return has_lines_; }    // debug information with line tables
  bool has_symtab() const { return has_symtab_; }  // not stripped

  // Where the byte at this offset of the file is loaded, in addresses of the file; nothing if it is not.
  std::optional<u64> address_of(u64 offset) const;

  // The mangled name of the function that holds an address of the file; empty if none does.
  std::string_view function_at(u64 address) const;

 private:
  struct Section;
  struct Segment {
    u64 offset, bytes, address;  // what is loaded, in the file and in memory
  };
  struct Function {
    u64 begin, end;  // a function without a size ends where the next one starts
    u32 name;        // offset in names_
    u8 rank;         // of several names for one address, that of the lowest rank is shown
  };
  ElfFile() = default;
  bool read();
  void read_segments();
  bool read_sections(std::vector<Section>& sections) const;
  bool read_bytes(u64 offset, u64 bytes, std::string& out) const;
  void read_notes(const Section& section);
  void read_symbols(const Section& table, const Section& names);
  void sort_functions();

  std::string path_, build_id_, debug_link_;
  int fd_ = -1;
  u64 bytes_ = 0;
  bool has_lines_ = false, has_symtab_ = false;
  std::vector<Segment> segments_;
  std::string names_;
  std::vector<Function> functions_;                // in order of address
  std::map<std::string, u64>* objects_ = nullptr;  // while the file is read
};

}  // namespace tprof
