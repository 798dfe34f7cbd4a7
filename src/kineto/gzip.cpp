#include "kineto/gzip.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "record/regular_file.h"

namespace tprof::kineto {

namespace {
u64 g_most = ~u64(0);  // set once, before there are threads
}

void GzipClose::operator()(gzFile_s* file) const { gzclose(file); }

GzipFile open_gzip(const std::string& path) {
  int fd = open_regular(path, O_RDONLY);
  GzipFile file(gzdopen(fd, "rb"));
  if (!file) {
    close(fd);
    throw Error(Fault::unreadable, path + ": cannot be read: out of memory");
  }
  gzbuffer(file.get(), 256 << 10);
  return file;
}

int read_gzip(const GzipFile& file, const std::string& path, char* to, size_t bytes) {
  int n = gzread(file.get(), to, static_cast<unsigned>(bytes));
  if (n > 0 && u64(gztell(file.get())) > g_most)
    throw Error(Fault::unreadable,
                path + ": holds more than " + std::to_string(g_most >> 20) +
                    " MiB when it is unpacked, the most that a page for others is made of; tprof report has no limit");
  return n;
}

void unpack_at_most(u64 bytes) { g_most = bytes; }

std::string gzip_error(gzFile_s* file) {
  int code = Z_OK;
  std::string text = gzerror(file, &code);
  if (size_t name = text.find(">: "); text.starts_with("<fd:") && name != text.npos) text.erase(0, name + 3);
  return text;
}

}  // namespace tprof::kineto
