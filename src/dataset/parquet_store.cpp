#include <string.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "dataset/store.h"
#include "dataset/unfinished.h"
#include "dataset/views.h"

namespace tprof::dataset {
namespace {

namespace fs = std::filesystem;

constexpr char kNoRank[] = "__HIVE_DEFAULT_PARTITION__";

// As engines take them apart: what has a meaning in paths, patterns or URLs as %XX.
std::string path_part(const std::string& value) {
  std::string out;
  for (unsigned char c : value) {
    bool plain = c >= 0x80 || isalnum(c) || strchr("-_.", c);
    char escaped[4];
    snprintf(escaped, sizeof escaped, "%%%02X", c);
    out += plain ? std::string(1, char(c)) : escaped;
  }
  return out;
}

class ParquetSink : public RowSink {
 public:
  ParquetSink(const std::string& path, Table table, const Origin& origin)
      : writer_(path, columns_of(table), facts_of(table)), origin_(origin) {}

  void begin_row() override {
    writer_.put(origin_.worker);
    writer_.put(origin_.span);
  }
  void put(integer value) override { writer_.put(value); }
  void put(real value) override { writer_.put(value); }
  void put(text value) override { writer_.put(value); }
  void put_null() override { writer_.put_null(); }
  void end_row() override { writer_.end_row(); }
  void finish() override { writer_.finish(); }

 private:
  static std::vector<parquet::ColumnType> columns_of(Table table) {
    std::vector<parquet::ColumnType> out;
    for (size_t i = kPartitions; i < origin_columns().size(); i++) out.push_back(type_of(origin_columns()[i]));
    for (const ColumnInfo& column : tables()[size_t(table)].columns) out.push_back(type_of(column));
    return out;
  }
  static parquet::ColumnType type_of(const ColumnInfo& column) { return {column.name, column.type, column.nullable}; }
  static std::vector<std::pair<std::string, std::string>> facts_of(Table table) {
    return {{"tprof.schema", std::to_string(kSchema)}, {"tprof.table", tables()[size_t(table)].name}};
  }

  parquet::Writer writer_;
  const Origin origin_;
};

class ParquetStore : public Store {
 public:
  explicit ParquetStore(const std::string& out) : directory_(out) { make(directory_.path()); }

  void finish() override {
    std::ofstream file(fs::path(directory_.path()) / "views.sql");
    file << duckdb_views();
    file.close();
    if (!file) throw Error(Fault::partial, directory_.path() + "/views.sql: cannot be written");
    directory_.finish();
  }

 protected:
  std::unique_ptr<RowSink> sink(Table table, const Origin& origin) override {
    std::string rank = origin.rank ? std::to_string(*origin.rank) : kNoRank;
    fs::path place = fs::path(directory_.path()) / tables()[size_t(table)].name / ("job=" + path_part(origin.job)) /
                     ("rank=" + rank);
    make(place);
    std::string file = "part-" + std::to_string(origin.number) + ".parquet";
    return std::make_unique<ParquetSink>((place / file).string(), table, origin);
  }

 private:
  static void make(const fs::path& directory) {
    std::error_code why;
    fs::create_directories(directory, why);
    if (why) throw Error(Fault::partial, directory.string() + ": cannot be made: " + why.message());
  }

  Unfinished directory_;
};

}  // namespace

std::unique_ptr<Store> parquet_store(const std::string& out) { return std::make_unique<ParquetStore>(out); }

}  // namespace tprof::dataset
