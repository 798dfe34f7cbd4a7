// Opens traces for reading through zlib, which also reads uncompressed files.
#pragma once
#include <memory>
#include <string>

#include "base/types.h"

struct gzFile_s;

namespace tprof::kineto {

struct GzipClose {
  void operator()(gzFile_s* file) const;
};
using GzipFile = std::unique_ptr<gzFile_s, GzipClose>;

// Throws Error if it cannot be opened or is no regular file.
GzipFile open_gzip(const std::string& path);

// As gzread().
int read_gzip(const GzipFile& file, const std::string& path, char* to, size_t bytes);

// From now on read_gzip() throws Error where a file holds more than this when it is unpacked: for a process that reads
// for others what they choose (tprof view).
void unpack_at_most(u64 bytes);

// The error of the last call that failed, in the words of zlib: "unexpected end of file", "incorrect data check".
std::string gzip_error(gzFile_s* file);

}  // namespace tprof::kineto
