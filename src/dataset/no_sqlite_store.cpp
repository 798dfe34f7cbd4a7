// In place of sqlite_store.cpp, where tprof is built without SQLite.
#include "base/error.h"
#include "dataset/store.h"

namespace tprof::dataset {

bool has_sqlite() { return false; }

std::unique_ptr<Store> sqlite_store(const std::string&) {
  throw Error(Fault::usage, "this tprof was built without SQLite; --to parquet writes the same tables");
}

}  // namespace tprof::dataset
