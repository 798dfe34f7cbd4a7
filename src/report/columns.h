// Builds a table column by column: a column's key and title, and the value that it shows of a row, are in one place.
#pragma once
#include <functional>
#include <utility>

#include "report/table.h"

namespace tprof {

template <class Row>
class Columns {
 public:
  using Get = std::function<Value(const Row&)>;
  // The column, for what few have. Valid until the next one is added.
  Column& add(const std::string& key, const std::string& title, Unit unit, int leaves, Get get) {
    gets_.push_back(std::move(get));
    return columns_.emplace_back(Column{key, title, unit, leaves});
  }
  Table table(const char* title, const std::vector<Row>& rows) const {
    Table out{title, columns_, {}, {}};
    for (const Row& row : rows) {
      out.rows.emplace_back();
      for (const Get& get : gets_) out.rows.back().push_back(get(row));
    }
    return out;
  }

 private:
  std::vector<Column> columns_;
  std::vector<Get> gets_;
};

// 0..100; not known where there is no whole.
inline Value percent_of(i64 part, i64 whole) {
  return whole > 0 ? Value(100.0 * double(part) / double(whole)) : Value();
}

}  // namespace tprof
