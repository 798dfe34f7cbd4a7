// The views that come with each export, from the files of views/: SQL that DuckDB and SQLite both take.
#pragma once
#include <string>
#include <vector>

namespace tprof::dataset {

struct View {
  const char* name;
  const char* sql;  // one statement: CREATE VIEW ...
};

const std::vector<View>& views();

// For DuckDB: the tables as views of the Parquet files below the present directory, then the views.
std::string duckdb_views();

}  // namespace tprof::dataset
