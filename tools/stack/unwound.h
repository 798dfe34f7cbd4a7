// What libunwind needs to unwind another program's stack, from a remote::Memory: words of its memory, and for an
// address the unwind table (.eh_frame_hdr) of the file that is mapped there. Registers come from ptrace or from a core
// file.
//
// libunwind's own way to the tables opens the mapped files by their paths, anew for each thread. Read from memory they
// are also found for the vdso, for deleted files and in containers.
#pragma once
#include <libunwind.h>

#include <map>
#include <string>
#include <unordered_map>

#include "remote/memory.h"

namespace tprof {

class Unwound {
 public:
  using AccessRegister = int (*)(unw_addr_space_t, unw_regnum_t, unw_word_t*, int write, void* registers);

  // `most`: frames of a stack, the innermost ones.
  Unwound(const remote::Memory& memory, AccessRegister access, size_t most);

  // The stack of one thread as the rest of a line that tprof-stack answers with: " <end> <address>...".
  // `registers`: what AccessRegister takes.
  std::string stack_of(void* registers);
  // To be called if other files are mapped than before.
  void forget_tables();

 private:
  static unw_accessors_t accessors();
  static int find_table(unw_addr_space_t, unw_word_t, unw_proc_info_t*, int need, void* self);
  static int access_memory(unw_addr_space_t, unw_word_t, unw_word_t*, int write, void* self);

  const char* page_at(u64 number);
  bool read(u64 address, void* to, size_t bytes);
  const unw_dyn_info_t* table_at(u64 address);
  bool find_file(u64 address, unw_dyn_info_t& out);

  const remote::Memory& memory_;
  AccessRegister access_;
  size_t most_;
  unw_addr_space_t space_;
  void* registers_ = nullptr;
  std::unordered_map<u64, std::string> pages_;  // of one stack
  std::map<u64, unw_dyn_info_t> tables_;        // by the end of their file's code
};

}  // namespace tprof
