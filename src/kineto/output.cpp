#include "kineto/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>

#include "base/error.h"

namespace tprof::kineto {
namespace {

// Level 1 packs a trace to about a tenth, in half the time of level 6.
constexpr int kGzipLevel = 1;
constexpr int kGzipMember = 15 + 16;  // window bits, gzip header

}  // namespace

OutputFile::OutputFile(const std::string& path, bool gzip) : path_(path), tmp_(path + ".tmp") {
  fd_ = open(tmp_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) fail("cannot be made");
  struct stat mine, named;
  if (flock(fd_, LOCK_EX) != 0 || ftruncate(fd_, 0) != 0 || fstat(fd_, &mine) != 0) fail("cannot be locked");
  // Whoever held the lock may have renamed the file away meanwhile.
  if (stat(tmp_.c_str(), &named) != 0 || mine.st_ino != named.st_ino)
    fail("is being written by another tprof");
  buffer_ = std::make_unique_for_overwrite<char[]>(kBufferBytes);
  if (!gzip) return;
  gzip_ = std::make_unique<z_stream>();
  memset(gzip_.get(), 0, sizeof(z_stream));
  if (deflateInit2(gzip_.get(), kGzipLevel, Z_DEFLATED, kGzipMember, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    fail("cannot be compressed");
  packed_ = std::make_unique_for_overwrite<char[]>(kBufferBytes);
}

OutputFile::~OutputFile() {
  if (gzip_) deflateEnd(gzip_.get());
  if (fd_ < 0) return;
  unlink(tmp_.c_str());
  close(fd_);
}

void OutputFile::put_us(i64 ns) {
  ns = std::max<i64>(ns, 0);
  if (kBufferBytes - used_ < 32) flush();
  char* at = std::to_chars(buffer_.get() + used_, buffer_.get() + kBufferBytes, ns / 1000).ptr;
  int rest = static_cast<int>(ns % 1000);
  *at++ = '.';
  *at++ = static_cast<char>('0' + rest / 100);
  *at++ = static_cast<char>('0' + rest / 10 % 10);
  *at++ = static_cast<char>('0' + rest % 10);
  used_ = at - buffer_.get();
}

void OutputFile::finish() {
  flush();
  if (gzip_) deflate_all(true);
  if (rename(tmp_.c_str(), path_.c_str()) != 0) fail("cannot be renamed into place");
  close(fd_);
  fd_ = -1;
}

void OutputFile::put_slowly(std::string_view text) {
  while (!text.empty()) {
    if (used_ == kBufferBytes) flush();
    size_t n = std::min(text.size(), kBufferBytes - used_);
    text.copy(buffer_.get() + used_, n);
    used_ += n;
    text.remove_prefix(n);
  }
}

void OutputFile::flush() {
  bytes_ += used_;
  if (gzip_)
    deflate_all(false);
  else
    write_all(buffer_.get(), used_);
  used_ = 0;
}

void OutputFile::deflate_all(bool last) {
  z_stream& z = *gzip_;
  z.next_in = reinterpret_cast<Bytef*>(buffer_.get());
  z.avail_in = static_cast<uInt>(used_);
  int status;
  do {
    z.next_out = reinterpret_cast<Bytef*>(packed_.get());
    z.avail_out = kBufferBytes;
    status = deflate(&z, last ? Z_FINISH : Z_NO_FLUSH);
    write_all(packed_.get(), kBufferBytes - z.avail_out);
  } while (last ? status != Z_STREAM_END : z.avail_out == 0);
}

void OutputFile::write_all(const char* data, size_t size) {
  while (size) {
    ssize_t n = write(fd_, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("cannot be written");
    data += n;
    size -= static_cast<size_t>(n);
  }
}

void OutputFile::fail(const char* what) {
  std::string line = path_ + " " + what + ": " + strerror(errno);
  throw Error(kExitPartial, line);
}

}  // namespace tprof::kineto
