// Writes a table as one Parquet file, a group of rows at a time, in bounded memory.
//
// What is written is what every reader knows: format version 1, data pages of version 1, one page for each column and
// group of rows, compressed by gzip; integers and reals plain, texts by a dictionary; nulls by definition levels; the
// least and the largest value of each column and group. The format: github.com/apache/parquet-format.
//
// Own code, since Debian 12 has no library that writes Parquet.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"

namespace tprof::parquet {

enum class Type : u8 { integer, real, text };  // INT64, DOUBLE, BYTE_ARRAY of UTF-8

struct ColumnType {
  std::string name;
  Type type;
  bool nullable;
};

constexpr size_t kRowsOfGroup = 1 << 17;

class Writer {
 public:
  // `facts` become the file's key-value metadata. Throws Error if the file cannot be created; an existing one is
  // replaced. A group also ends where its texts take more than some 16 MB.
  Writer(const std::string& path, const std::vector<ColumnType>& columns,
         std::vector<std::pair<std::string, std::string>> facts, size_t rows_of_group = kRowsOfGroup);
  ~Writer();

  // The next value of the present row, of the next column's type. put_null() only where the column is nullable.
  void put(i64 value);
  void put(double value);
  void put(std::string_view text);
  void put_null();
  void end_row();  // after a value for each column

  // Writes the last group and the footer. Throws Error if the file could not be written; without it no reader takes
  // the file.
  void finish();

  u64 rows() const { return rows_; }

 private:
  class Chunk;  // a column of the present group
  struct Group;

  void flush_group();
  void write(std::string_view bytes);

  const std::string path_;
  const std::vector<std::pair<std::string, std::string>> facts_;
  const size_t rows_of_group_;
  int fd_ = -1;
  u64 written_ = 0, rows_ = 0;
  size_t column_ = 0, rows_here_ = 0, text_bytes_ = 0;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Group> groups_;
};

}  // namespace tprof::parquet
