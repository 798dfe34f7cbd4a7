"""A directory of the facts of many ranks, as the finishers of a large job leave them: many_ranks.py DIR RANKS STEPS
[SLOW=0.2]. Rank 7 is slower by SLOW of a step in the DataLoader. The traces are empty: what is measured is that a look at
all ranks reads none."""
import gzip
import json
import pathlib
import random
import sys

MS = 1_000_000
CALLS = 2  # in a step


def rank(number, world, steps, slow):
    chance = random.Random(number)
    own = [[chance.randrange(18 * MS, 20 * MS) for _ in range(steps)] for _ in range(2)]
    rows, calls, at = [], [], 0
    for step in range(steps):
        load = 4 * MS + chance.randrange(MS // 2) + (int(slow * 50 * MS) if number == 7 else 0)
        work = own[0][step]
        begin, end = at + load + work, (step + 1) * 60 * MS - 2 * MS
        calls.append([0, 1, 2, 2 * step, 4 << 20, world, -1, 0, begin, end - begin, begin, end - begin, -1,
                      False])
        calls.append([0, 1, 2, 2 * step + 1, 4, world, -1, 0, end, MS + chance.randrange(MS // 10), end, MS, -1,
                      False])
        length = 60 * MS
        rest = length - load - work - (end - begin) - MS
        rows.append([str(step), at, length, [load, work // 2, work - work // 2, 0, 0, rest, end - begin + MS],
                     [work, 0, end - begin + MS, length - work - (end - begin) - MS]])
        at += length
    return {"schema": 2, "version": "bench", "worker": "node%d_%d" % (number // 8, 1000 + number), "number": number,
            "world_size": world, "host": "node%d" % (number // 8), "boot": "boot%d" % (number // 8), "pid": 1000 + number,
            "on_gpu": False, "has_steps": True, "span_ns": steps * 60 * MS, "base_ns": 1_700_000_000 * 1000 * MS,
            "overlap": [sum(row[4][i] for row in rows) for i in range(4)], "operators": 1000, "elements": -1, "gpus": [],
            "steps": rows, "calls": calls, "texts": ["c10d::allreduce_", "0", ""]}


def write(directory, ranks, steps, slow=0.2):
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for number in range(ranks):
        facts = rank(number, ranks, steps, slow)
        name = directory / ("%s.%d" % (facts["worker"], 17))
        trace = gzip.compress(b'{"traceEvents": []}', 1)
        name.with_name(name.name + ".pt.trace.json.gz").write_bytes(trace)
        facts["trace_bytes"] = len(trace)
        name.with_name(name.name + ".rank_facts").write_bytes(gzip.compress(json.dumps(facts).encode(), 1))


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *map(float, sys.argv[4:]))
