// Secrets in command lines, which are recorded, and shown to whoever may read a trace or a report. No malloc, no throw.
#pragma once

namespace tprof {

// Copies a command line, words that end with NUL each as in /proc/<pid>/cmdline, with "***" for each secret: the value
// of an option or NAME= whose name says that it is one, the user's part of a URL, tokens that are known by their shape
// (secrets.def). Numbers and flags stay as they are. `words` is overwritten. Returns the bytes written to `out`, where
// what has no room is left out.
int mask_secrets(char* words, int bytes, char* out, int size);

// The words of this process's command line, so masked, with a NUL behind the last; those that do not fit are left out.
// -1: it cannot be read.
int read_own_command(char* out, int size);

}  // namespace tprof
