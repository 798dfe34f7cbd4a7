// An ELF file on disk, of which functions are named.
#include "scratch.h"
#include "symbols/elf_file.h"

using namespace tprof;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  static const fuzz::Scratch scratch;
  std::map<std::string, u64> objects = {{"_PyRuntime", 0}, {"value", 0}};
  std::string path = scratch.file("library.so", data, size);
  ElfFile::open(path, &objects);
  std::unique_ptr<ElfFile> elf = ElfFile::open(path);
  if (!elf) return 0;
  for (u64 offset : {u64(0), u64(1) << 12, u64(1) << 32, ~u64(0)}) {
    std::optional<u64> address = elf->address_of(offset);
    elf->function_at(address.value_or(offset));
  }
  for (u64 address = 0; address < 1 << 16; address += 64) elf->function_at(address);
  return 0;
}
