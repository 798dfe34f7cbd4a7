#include "kineto/gzip.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "record/regular_file.h"

namespace tprof::kineto {

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

std::string gzip_error(gzFile_s* file) {
  int code = Z_OK;
  std::string text = gzerror(file, &code);
  if (size_t name = text.find(">: "); text.starts_with("<fd:") && name != text.npos) text.erase(0, name + 3);
  return text;
}

}  // namespace tprof::kineto
