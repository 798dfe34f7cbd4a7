#include "dataset/schema.h"

namespace tprof::dataset {
namespace {

template <class T>
struct TypeOf;
template <class T>
struct TypeOf<std::optional<T>> : TypeOf<T> {
  static constexpr bool kNullable = true;
};
template <>
struct TypeOf<text> {
  static constexpr parquet::Type kType = parquet::Type::text;
  static constexpr bool kNullable = false;
};
template <>
struct TypeOf<integer> {
  static constexpr parquet::Type kType = parquet::Type::integer;
  static constexpr bool kNullable = false;
};
template <>
struct TypeOf<real> {
  static constexpr parquet::Type kType = parquet::Type::real;
  static constexpr bool kNullable = false;
};

template <class T>
ColumnInfo info_of(const char* name, const char* unit, const char* what) {
  return {name, TypeOf<T>::kType, TypeOf<T>::kNullable, unit, what};
}

}  // namespace

const std::vector<TableInfo>& tables() {
  static const std::vector<TableInfo> kTables = {
#define TABLE(name, what) {#name, what, {
#define COLUMN(name, type, unit, what) info_of<type>(#name, unit, what),
#define END_TABLE \
  }               \
  }               \
  ,
#include "dataset/schema.def"
  };
  return kTables;
}

const std::vector<ColumnInfo>& origin_columns() {
  static const std::vector<ColumnInfo> kColumns = {
#define ORIGIN_COLUMN(name, type, unit, what) info_of<type>(#name, unit, what),
#include "dataset/schema.def"
  };
  return kColumns;
}

}  // namespace tprof::dataset
