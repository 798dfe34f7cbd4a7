"""tprof.tables by a scheduler of Dask distributed and four worker processes, and by this process: dask_tables.py DIRECTORY

Prints {"workers": processes that took part, TABLE: [by Dask, by this process]}, each a list of rows in order.
"""
import json
import os
import sys

import pyarrow
from dask.distributed import Client, LocalCluster

import tprof.tables

WORKERS = 4


def rows(table):
    assert isinstance(table, pyarrow.Table)
    return sorted(([row[name] for name in table.column_names] for row in table.to_pylist()), key=str)


def main():
    with LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(WORKERS)
            out = {"workers": len(set(client.run(os.getpid).values()) - {os.getpid()})}
            for name in ("overview", "operators", "kernels", "collectives"):
                function = getattr(tprof.tables, name)
                out[name] = [rows(function(sys.argv[1], client)), rows(function(sys.argv[1]))]
    print(json.dumps(out))


if __name__ == "__main__":
    main()
