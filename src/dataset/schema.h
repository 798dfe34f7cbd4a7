// What schema.def lists: as types whose fields are the columns of a row, and as a table for writers and the manual.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "parquet/writer.h"

namespace tprof::dataset {

constexpr int kSchema = 1;  // the version, in each Parquet file as "tprof.schema", in SQLite as user_version

// The types of columns. A text need live only until its row is added.
using text = std::string_view;
using integer = i64;
using real = double;
using may_be_text = std::optional<text>;
using may_be_integer = std::optional<integer>;
using may_be_real = std::optional<real>;

enum class Table : u8 {
#define TABLE(name, what) name,
#include "dataset/schema.def"
};

constexpr size_t kTables = 0
#define TABLE(name, what) +1
#include "dataset/schema.def"
    ;

// row::slice is a row of the table slice.
namespace row {
#define TABLE(name, what) \
  struct name {           \
    static constexpr Table kTable = Table::name;
#define COLUMN(name, type, unit, what) type name{};
#define END_TABLE \
  }               \
  ;
#include "dataset/schema.def"
}  // namespace row

// Hands the values of a row to `to` in the order of columns.
#define TABLE(name, what) \
  template <class To>     \
  void each_value(const row::name& row, To to) {
#define COLUMN(name, type, unit, what) to(row.name);
#define END_TABLE }
#include "dataset/schema.def"

struct ColumnInfo {
  const char* name;
  parquet::Type type;
  bool nullable;
  const char *unit, *what;
};

struct TableInfo {
  const char *name, *what;
  std::vector<ColumnInfo> columns;  // without those of the origin
};

const std::vector<TableInfo>& tables();           // by Table
const std::vector<ColumnInfo>& origin_columns();  // job, rank, worker, span
constexpr size_t kPartitions = 2;                 // job and rank, which in Parquet are parts of the path

}  // namespace tprof::dataset
