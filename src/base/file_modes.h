// The permissions with which files are made.
#pragma once

namespace tprof {

// Recordings and what stands beside them: raw data, which their user alone may read.
constexpr unsigned kPrivateMode = 0600;
// What is written to be shown, such as traces and reports: the user's umask decides, as with torch.profiler's traces.
constexpr unsigned kUmaskMode = 0666;

}  // namespace tprof
