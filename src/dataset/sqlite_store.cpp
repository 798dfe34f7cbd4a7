#include <sqlite3.h>

#include <array>

#include "base/error.h"
#include "dataset/store.h"
#include "dataset/unfinished.h"
#include "dataset/views.h"

namespace tprof::dataset {
namespace {

const char* type_text(parquet::Type type) {
  return type == parquet::Type::integer ? "INTEGER" : type == parquet::Type::real ? "REAL" : "TEXT";
}

std::string column_text(const ColumnInfo& column) {
  return std::string(column.name) + " " + type_text(column.type) + (column.nullable ? "" : " NOT NULL");
}

class Database {
 public:
  explicit Database(const std::string& path) : path_(path) {
    check(sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr));
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;

  void check(int result) const {
    if (result == SQLITE_OK || result == SQLITE_DONE) return;
    throw Error(Fault::partial, path_ + ": cannot be written: " + sqlite3_errmsg(handle_));
  }
  void run(const std::string& sql) const { check(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr)); }
  sqlite3_stmt* prepare(const std::string& sql) const {
    sqlite3_stmt* out = nullptr;
    check(sqlite3_prepare_v2(handle_, sql.c_str(), int(sql.size()), &out, nullptr));
    return out;
  }

 private:
  const std::string path_;
  sqlite3* handle_ = nullptr;
};

// The prepared INSERT of a table.
class Insert {
 public:
  Insert(const Database& database, const TableInfo& table) : database_(database) {
    std::string sql = std::string("INSERT INTO ") + table.name + " VALUES (?";
    for (size_t i = 1; i < origin_columns().size() + table.columns.size(); i++) sql += ", ?";
    statement_ = database.prepare(sql + ")");
  }
  ~Insert() { sqlite3_finalize(statement_); }
  Insert(const Insert&) = delete;

  void put(integer value) { database_.check(sqlite3_bind_int64(statement_, ++column_, value)); }
  void put(real value) { database_.check(sqlite3_bind_double(statement_, ++column_, value)); }
  // The text must live until the row ends.
  void put(text value) {
    database_.check(sqlite3_bind_text64(statement_, ++column_, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8));
  }
  void put_null() { database_.check(sqlite3_bind_null(statement_, ++column_)); }
  void end_row() {
    database_.check(sqlite3_step(statement_));
    sqlite3_reset(statement_);
    column_ = 0;
  }

 private:
  const Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  int column_ = 0;
};

class SqliteSink : public RowSink {
 public:
  SqliteSink(Insert& insert, const Origin& origin) : insert_(insert), origin_(origin) {}
  void begin_row() override {
    insert_.put(text(origin_.job));
    origin_.rank ? insert_.put(integer(*origin_.rank)) : insert_.put_null();
    insert_.put(text(origin_.worker));
    insert_.put(text(origin_.span));
  }
  void put(integer value) override { insert_.put(value); }
  void put(real value) override { insert_.put(value); }
  void put(text value) override { insert_.put(value); }
  void put_null() override { insert_.put_null(); }
  void end_row() override { insert_.end_row(); }
  void finish() override {}

 private:
  Insert& insert_;
  const Origin origin_;
};

class SqliteStore : public Store {
 public:
  explicit SqliteStore(const std::string& out) : file_(out), database_(std::make_unique<Database>(file_.path())) {
    // Until finish() nobody reads the file, and if writing it fails it is removed: it needs no journal.
    database_->run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA user_version = " +
                   std::to_string(kSchema) + "; BEGIN");
    for (size_t i = 0; i < kTables; i++) {
      std::string columns;
      for (const auto* list : {&origin_columns(), &tables()[i].columns})
        for (const ColumnInfo& column : *list) columns += (columns.empty() ? "" : ", ") + column_text(column);
      database_->run(std::string("CREATE TABLE ") + tables()[i].name + " (" + columns + ")");
      inserts_[i] = std::make_unique<Insert>(*database_, tables()[i]);
    }
  }

  void finish() override {
    for (auto& insert : inserts_) insert.reset();
    for (const View& view : views()) database_->run(view.sql);
    database_->run("COMMIT");
    database_.reset();
    file_.finish();
  }

 protected:
  std::unique_ptr<RowSink> sink(Table table, const Origin& origin) override {
    return std::make_unique<SqliteSink>(*inserts_[size_t(table)], origin);
  }

 private:
  Unfinished file_;
  std::unique_ptr<Database> database_;
  std::array<std::unique_ptr<Insert>, kTables> inserts_;
};

}  // namespace

bool has_sqlite() { return true; }

std::unique_ptr<Store> sqlite_store(const std::string& out) { return std::make_unique<SqliteStore>(out); }

}  // namespace tprof::dataset
