#include "kineto/write/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "base/file_modes.h"
#include "base/plain_file.h"
#include "record/give_up.h"

namespace tprof::kineto {
namespace {

// Level 1 compresses a trace to about a tenth, in half the time of level 6.
constexpr int kGzipLevel = 1;
constexpr int kGzipMember = 15 + 16;  // window bits, gzip header

constexpr char kTmpPrefix[] = ".tprof-", kTmpSuffix[] = ".tmp";

// A temporary is abandoned if nobody holds its lock and it was not written to for this long. The age matters on file
// systems where one machine does not see the locks of another.
constexpr time_t kLeftOverSeconds = 60;

std::string random_word() {
  u64 word = 0;
  while (getrandom(&word, sizeof word, 0) != sizeof word) {
  }
  char text[17];
  snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(word));
  return text;
}

// Removes temporaries whose writers were killed.
void remove_left_over(int directory) {
  DIR* listed = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!listed) return;
  while (dirent* entry = readdir(listed)) {
    std::string_view name = entry->d_name;
    if (!name.starts_with(kTmpPrefix) || !name.ends_with(kTmpSuffix)) continue;
    mode_t kind;
    int fd = open_plain_at(directory, entry->d_name, O_RDONLY | O_NOFOLLOW, kind);
    if (fd < 0) continue;
    struct stat s;
    bool old = fstat(fd, &s) == 0 && s.st_mtime < time(nullptr) - kLeftOverSeconds;
    if (old && flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(directory, entry->d_name, 0);
    close(fd);
  }
  closedir(listed);
}

}  // namespace

bool is_unfinished_name(const std::string& name) { return name.starts_with(kTmpPrefix) && name.ends_with(kTmpSuffix); }

OutputFile::OutputFile(const std::string& path, bool gzip) : path_(path) {
  // With a handler of SIGXFSZ, a limit on the size of files is an error of write(), like a full disk. It is not
  // SIG_IGN, which the command of TPROF_ON_TRACE_READY would inherit.
  signal(SIGXFSZ, [](int) {});
  size_t slash = path.rfind('/');
  std::string directory = slash == path.npos ? "." : path.substr(0, slash + 1);
  directory_.reset(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory_.fd < 0) fail("cannot be made");
  remove_left_over(directory_.fd);
  make_temporary();
  buffer_.reset(new char[kBufferBytes]);
  if (!gzip) return;
  gzip_ = std::make_unique<z_stream>();
  memset(gzip_.get(), 0, sizeof(z_stream));
  if (deflateInit2(gzip_.get(), kGzipLevel, Z_DEFLATED, kGzipMember, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    fail("cannot be compressed");
  packed_.reset(new char[kBufferBytes]);
}

OutputFile::~OutputFile() {
  if (gzip_) deflateEnd(gzip_.get());
  if (file_.fd >= 0) unlinkat(directory_.fd, tmp_.c_str(), 0);
}

void OutputFile::Descriptor::reset(int other) {
  if (fd >= 0) close(fd);
  fd = other;
}

void OutputFile::make_temporary() {
  tmp_ = kTmpPrefix + random_word() + kTmpSuffix;
  file_.reset(openat(directory_.fd, tmp_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kUmaskMode));
  if (file_.fd < 0) fail("cannot be made");
  flock(file_.fd, LOCK_EX);  // without locks, its age shows that it is being written
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
  // Network file systems say only now whether all could be stored. file_ keeps the lock.
  if (int copy = dup(file_.fd); copy < 0 || close(copy) != 0) fail("cannot be written");
  std::string name = path_.substr(path_.rfind('/') + 1);
  if (renameat(directory_.fd, tmp_.c_str(), directory_.fd, name.c_str()) != 0) fail("cannot be renamed into place");
  file_.reset(-1);
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
  may_give_up();
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
    ssize_t n = write(file_.fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("cannot be written");
    data += n;
    size -= static_cast<size_t>(n);
  }
}

void OutputFile::fail(const char* what) {
  std::string line = path_ + " " + what + ": " + strerror(errno);
  throw Error(Fault::partial, line);
}

}  // namespace tprof::kineto
