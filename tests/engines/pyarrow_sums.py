"""What pyarrow finds in an export of Parquet files, as read.mjs prints it: pyarrow_sums.py DIRECTORY"""
import json
import pathlib
import sys

import pyarrow as pa
import pyarrow.dataset as ds

PARTITIONS = ds.partitioning(pa.schema([("job", pa.string()), ("rank", pa.int64())]), flavor="hive")


def sum_of(column):
    """[values that are not null, their sum], by Python's integers: Arrow's overflow."""
    values = [len(value.encode()) if isinstance(value, str) else value for value in column.to_pylist() if value is not None]
    total = sum(values) if values else None
    return [len(values), str(total) if isinstance(total, int) else total]


def sums(table):
    return {"rows": table.num_rows, "columns": {name: sum_of(table[name]) for name in table.column_names}}


directory = pathlib.Path(sys.argv[1])
print(json.dumps({path.name: sums(ds.dataset(path, partitioning=PARTITIONS).to_table())
                  for path in directory.iterdir() if path.is_dir()}))
