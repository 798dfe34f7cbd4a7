"""tprof's tables over a directory that `tprof export --to parquet` wrote, with pyarrow, by one process or by many.

    import tprof.tables
    tprof.tables.operators("tables")                                  # a pyarrow.Table

    from dask.distributed import Client
    tprof.tables.operators("tables", Client("scheduler:8786"))        # each worker reads some of the files

The workers must see the directory under the same path, and have pyarrow and this module. Columns are those of the
manual's tables.md: times in ns, sizes in bytes, null for what is not known. Rows are in no particular order.
"""
import pathlib

import pyarrow
import pyarrow.dataset

__all__ = ["aggregate", "collectives", "kernels", "operators", "overview"]

_PARTITIONS = pyarrow.dataset.partitioning(
    pyarrow.schema([("job", pyarrow.string()), ("rank", pyarrow.int64())]), flavor="hive")
_TASKS_PER_WORKER = 4  # so that none waits long for the slowest


def _grouped(table, keys, functions):
    """Sums, minima and maxima by key, under the names of their columns."""
    grouped = table.group_by(keys).aggregate(list(functions.items()))
    return grouped.select(keys + ["%s_%s" % item for item in functions.items()]).rename_columns(keys + list(functions))


def _part(files, directory, keys, functions):
    data = pyarrow.dataset.dataset(files, partitioning=_PARTITIONS, partition_base_dir=directory, format="parquet")
    return _grouped(data.to_table(columns=keys + list(functions)), keys, functions)


def aggregate(directory, table, keys, functions, client=None):
    """The rows of a table (its name: "op_agg") by the columns `keys`; functions: {column: "sum", "min" or "max"}.

    client: a dask.distributed.Client, whose workers do it; None: this process. Raises FileNotFoundError if the
    directory has no such table.
    """
    directory = str(pathlib.Path(directory, table).absolute())
    files = sorted(map(str, pathlib.Path(directory).rglob("*.parquet")))
    if not files:
        raise FileNotFoundError("%s: no Parquet files; tprof export --to parquet writes them" % directory)
    if client is None:
        return _part(files, directory, keys, functions)
    tasks = min(len(files), _TASKS_PER_WORKER * len(client.scheduler_info()["workers"]))
    futures = client.map(_part, [files[i::tasks] for i in range(tasks)], directory=directory, keys=keys,
                         functions=functions, pure=False)
    return _grouped(pyarrow.concat_tables(client.gather(futures)), keys, functions)


def _sums(*columns):
    return dict.fromkeys(columns, "sum")


def overview(directory, client=None):
    """Where the time of the steps went, by process and span: the view `overview` without its mean."""
    times = ["computation", "overlap", "communication", "other", "loader", "waiting"]
    return aggregate(directory, "step", ["job", "rank", "worker", "span"],
                     _sums("is_step", "duration_ns", *(time + "_ns" for time in times)), client)


def operators(directory, client=None):
    """Operators, labels and calls of each job: `tprof stats --by op` over all processes and spans."""
    return aggregate(directory, "op_agg", ["job", "name", "kind"],
                     _sums("calls", "host_self_ns", "host_total_ns", "device_self_ns", "device_total_ns"), client)


def kernels(directory, client=None):
    """Kernels of each job: `tprof stats --by kernel` over all processes and spans."""
    return aggregate(directory, "kernel_agg", ["job", "name"],
                     {**_sums("calls", "total_ns"), "min_ns": "min", "max_ns": "max"}, client)


def collectives(directory, client=None):
    """Collectives of each job by operation and group: the times of `tprof stats --by comm` over all spans."""
    return aggregate(directory, "collective", ["job", "name", "process_group"],
                     _sums("duration_ns", "transfer_ns"), client)
