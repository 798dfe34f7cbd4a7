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

// What zlib says of the last call that failed: "unexpected end of file", "incorrect data check".
std::string gzip_error(gzFile_s* file);

}  // namespace tprof::kineto
