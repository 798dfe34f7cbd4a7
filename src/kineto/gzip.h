// Traces are read through zlib, which also reads what is not compressed.
#pragma once
#include <memory>
#include <string>

struct gzFile_s;

namespace tprof::kineto {

struct GzipClose {
  void operator()(gzFile_s* file) const;
};
using GzipFile = std::unique_ptr<gzFile_s, GzipClose>;

// Throws Error if it cannot be opened or is no regular file.
GzipFile open_gzip(const std::string& path);

}  // namespace tprof::kineto
