#include "dataset/views.h"

#include "dataset/schema.h"

namespace tprof::dataset {

const std::vector<View>& views() {
  static const std::vector<View> kViews = {
      {
          "idle",
#include "idle.sql.inc"
      },
      {
          "operators",
#include "operators.sql.inc"
      },
      {
          "overview",
#include "overview.sql.inc"
      },
      {
          "stragglers",
#include "stragglers.sql.inc"
      },
  };
  return kViews;
}

std::string duckdb_views() {
  std::string out =
      "-- The tables and views of this directory, for DuckDB: run \"duckdb -init views.sql\" here, or elsewhere first\n"
      "-- SET file_search_path = 'this directory';\n";
  for (const TableInfo& table : tables()) {
    std::string name = table.name;
    out += "CREATE VIEW " + name + " AS SELECT job, rank, * EXCLUDE (job, rank) FROM read_parquet('" + name +
           "/*/*/*.parquet', hive_partitioning = true, hive_types = {'job': VARCHAR, 'rank': BIGINT});\n";
  }
  for (const View& view : views()) out += std::string("\n") + view.sql;
  return out;
}

}  // namespace tprof::dataset
