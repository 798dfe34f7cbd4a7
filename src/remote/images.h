// The files that a program has mapped to run code from, as the records by which Symbols (symbols/symbols.h) names its
// addresses.
#pragma once
#include "record/reader.h"
#include "remote/memory.h"
#include "symbols/elf_file.h"

namespace tprof::remote {

// A meta stream that holds these images and their names, and nothing else.
Meta images_of(const Memory& memory);

// What must be added to an address of the file for its address in the program; nothing if the mapping is none of the
// file's segments.
std::optional<u64> bias_of(const Mapping& mapping, const ElfFile& file);

}  // namespace tprof::remote
