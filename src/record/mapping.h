// Shared mappings of recordings. Anybody may shorten the file under them (truncate, cp onto it, a log cleaner, a
// network file system); the next touch of a lost page is a SIGBUS. Which addresses are recordings is known here, in a
// table that a handler of that signal can read.
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include <atomic>

namespace tprof {

// mmap() of a file, shared; MAP_FAILED with errno. `cut` is set once pages of it are lost; nullptr: nobody asks.
void* map_shared(int fd, off_t offset, size_t bytes, int protection, std::atomic<bool>* cut);
void unmap_shared(void* at, size_t bytes);
// From now on somebody else asks whether pages are lost, or nobody.
void reassign_mapping(const void* at, std::atomic<bool>* cut);

// For a handler of SIGBUS, async-signal-safe. If the address lies in one of these mappings, empty pages of our own take
// the place of the whole mapping, so that the code that faulted can go on. False: it lies elsewhere.
bool replace_mapping(const void* address);

}  // namespace tprof
