#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace tprof {

std::string text_of_file(const std::string& path) {
  std::string text;
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char part[4096];
  for (ssize_t n; (n = read(fd, part, sizeof part)) > 0 || (n < 0 && errno == EINTR);)
    if (n > 0) text.append(part, size_t(n));
  close(fd);
  return text;
}

}  // namespace tprof
