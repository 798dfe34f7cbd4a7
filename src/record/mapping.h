// Shared mappings of recordings. Anybody may shorten the file under them (truncate, cp onto it, a log cleaner, a
// network file system); the next access to a lost page raises SIGBUS. This file keeps the table of the addresses of all
// recordings, which the handler of that signal can read.
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include <atomic>

namespace tprof {

// Maps a file, shared; returns MAP_FAILED with errno on failure. `cut` is set once pages of it are lost; it may be
// nullptr.
void* map_shared(int fd, off_t offset, size_t bytes, int protection, std::atomic<bool>* cut);
void unmap_shared(void* at, size_t bytes);
// Replaces the `cut` of a mapping.
void reassign_mapping(const void* at, std::atomic<bool>* cut);

// For the handler of SIGBUS; async-signal-safe. If the address lies in one of these mappings, the whole mapping is
// replaced by empty private pages, so that the code that faulted can go on. Returns false if it lies elsewhere.
bool replace_mapping(const void* address);

}  // namespace tprof
