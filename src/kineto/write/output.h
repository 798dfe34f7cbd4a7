// A file that appears complete or not at all: buffered, optionally one gzip member, written under a temporary name
// (.tprof-<random>.tmp) and renamed. No existing file of the directory is written to, whatever its name, since it may
// be a link that somebody else put there. The temporary file of a writer that was killed is removed by the next one.
#pragma once
#include <charconv>
#include <memory>
#include <string>
#include <string_view>

#include "base/reals.h"

struct z_stream_s;

namespace tprof::kineto {

// The temporary name of a file that is being written, or was when its writer was killed.
bool is_unfinished_name(const std::string& name);

class OutputFile {
 public:
  // Throws Error if the file cannot be created.
  OutputFile(const std::string& path, bool gzip);
  ~OutputFile();  // without finish(): removes the .tmp
  OutputFile(const OutputFile&) = delete;

  void put(std::string_view text) {
    if (text.size() > kBufferBytes - used_) {
      put_slowly(text);
      return;
    }
    text.copy(buffer_.get() + used_, text.size());
    used_ += text.size();
  }
  void put(char c) { put(std::string_view(&c, 1)); }
  void put_number(double value) { put(write_real(value)); }
  void put_number(float value) { put(write_real(value)); }
  template <class Integer>
  void put_number(Integer value) {
    if (kBufferBytes - used_ < 32) flush();
    used_ = std::to_chars(buffer_.get() + used_, buffer_.get() + kBufferBytes, value).ptr - buffer_.get();
  }
  // A time in microseconds with three decimals; the format has no negative times.
  void put_us(i64 ns);

  // Writes the rest and renames the file. Throws Error.
  void finish();

  u64 bytes() const { return bytes_; }  // before compression

 private:
  static constexpr size_t kBufferBytes = 256 << 10;

  void put_slowly(std::string_view text);
  void flush();
  void deflate_all(bool last);
  void write_all(const char* data, size_t size);
  void make_temporary();
  [[noreturn]] void fail(const char* what);

  struct Descriptor {
    int fd = -1;
    ~Descriptor() { reset(-1); }
    void reset(int other);
  };

  std::string path_, tmp_;  // tmp_: relative to the directory
  Descriptor directory_, file_;
  std::unique_ptr<char[]> buffer_;
  size_t used_ = 0;
  u64 bytes_ = 0;
  std::unique_ptr<z_stream_s> gzip_;
  std::unique_ptr<char[]> packed_;
};

}  // namespace tprof::kineto
