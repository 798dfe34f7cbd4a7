// Where the rows of tables go: a directory of Parquet files or an SQLite database.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "dataset/schema.h"

namespace tprof::dataset {

// Where rows come from: a trace of a process.
struct Origin {
  std::string job;
  std::optional<i64> rank;
  std::string worker, span;
  size_t number = 0;  // of the trace, unique in the export
};

// Takes the rows of one table and origin, value by value in the order of columns.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void begin_row() = 0;
  virtual void put(integer value) = 0;
  virtual void put(real value) = 0;
  virtual void put(text value) = 0;
  virtual void put_null() = 0;
  virtual void end_row() = 0;
  virtual void finish() = 0;  // throws Error if the rows could not be written
};

template <class Row>
class Rows {
 public:
  explicit Rows(std::unique_ptr<RowSink> sink) : sink_(std::move(sink)) {}
  void add(const Row& row) {
    sink_->begin_row();
    each_value(row, [this](const auto& value) { put(value); });
    sink_->end_row();
    count_++;
  }
  // To be called after the last row, even if there is none. Returns how many there were.
  u64 finish() {
    sink_->finish();
    return count_;
  }

 private:
  template <class Value>
  void put(const Value& value) {
    sink_->put(value);
  }
  template <class Value>
  void put(const std::optional<Value>& value) {
    value ? sink_->put(*value) : sink_->put_null();
  }

  std::unique_ptr<RowSink> sink_;
  u64 count_ = 0;
};

// All that was written appears under its name by finish(), or not at all.
class Store {
 public:
  virtual ~Store() = default;
  // Each table is written once for each origin, one after the other; without rows, too.
  template <class Row>
  Rows<Row> rows(const Origin& origin) {
    return Rows<Row>(sink(Row::kTable, origin));
  }
  virtual void finish() = 0;

 protected:
  virtual std::unique_ptr<RowSink> sink(Table table, const Origin& origin) = 0;
};

// OUT/TABLE/job=JOB/rank=RANK/part-N.parquet, where N is the number of the trace in the export, and OUT/views.sql for
// DuckDB. Rows of processes that state no rank lie in rank=__HIVE_DEFAULT_PARTITION__, which engines read as null. Each
// partition has a file of each table, be it without rows, so that a pattern of names always finds some.
std::unique_ptr<Store> parquet_store(const std::string& out);

// A database with the same tables and the views. Throws, too, where tprof was built without SQLite.
bool has_sqlite();
std::unique_ptr<Store> sqlite_store(const std::string& out);

// Both throw Error if `out` exists already, or cannot be written.

}  // namespace tprof::dataset
