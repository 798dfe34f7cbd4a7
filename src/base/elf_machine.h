// The processor architecture that this is compiled for, as ELF files name it.
#pragma once
#include <elf.h>

namespace tprof {

#if defined(__x86_64__)
constexpr Elf64_Half kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kOwnMachine = EM_AARCH64;
#else
constexpr Elf64_Half kOwnMachine = EM_NONE;  // unknown: nothing is told apart by it
#endif

}  // namespace tprof
