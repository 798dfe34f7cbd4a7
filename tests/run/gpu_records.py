"""Reads the GPU side of a recording straight from its bytes (the format: src/record/record.h), so that what the collector
wrote is seen as it is, and not as a trace shows it."""
import collections
import pathlib
import struct

HEADER, CHUNK = 64 << 10, 512 << 10
REASONS = ("disk_full", "over_budget", "no_chunk", "reentered", "too_deep", "internal", "gpu_dropped", "gpu_late")

# kind: (name, struct behind the head, fields)
PLACE = ("device", "context", "stream", "correlation")
KINDS = {
    5: ("call", "<QQQQQiBBbBII", ("begin", "end", "address", "bytes", "stream", "result", "family", "flags", "device",
                                  "detail", "stack", "reserved")),
    6: ("api", "<QQIIiI", ("begin", "end", "tid", "correlation", "result", "cbid")),
    7: ("kernel", "<QQ4I3i3iiiIHHIIQQQ3Ii", ("begin", "end") + PLACE + ("gx", "gy", "gz", "bx", "by", "bz", "static_shared",
        "dynamic_shared", "shared_executed", "registers", "flags", "local", "graph", "graph_node", "queued", "submitted",
        "cx", "cy", "cz", "priority")),
    8: ("copy", "<QQ4IQQIIII", ("begin", "end") + PLACE + ("bytes", "graph_node", "graph", "from_device", "to_device",
                                                             "reserved")),
    9: ("set", "<QQ4IQQII", ("begin", "end") + PLACE + ("bytes", "graph_node", "graph", "value")),
    10: ("sync", "<QQ4III", ("begin", "end") + PLACE + ("event", "event_sync")),
    11: ("gpu_event", "<4IQII", PLACE + ("device_ns", "event_sync", "reserved")),
    12: ("graph", "<QQ4I", ("begin", "end") + PLACE),
    13: ("overhead", "<QQIIII", ("begin", "end", "object_kind", "object", "correlation", "reserved")),
    14: ("gpu_memory", "<QQQ4IQ", ("ns", "address", "bytes") + PLACE + ("pool",)),
    40: ("device", "<QIIIIIIIIIIIIIIIIQII64s", ("total_memory", "compute_major", "compute_minor", "multiprocessors",
        "warp_size", "max_threads_per_block", "max_threads_per_multiprocessor", "max_blocks_per_multiprocessor",
        "registers_per_block", "registers_per_multiprocessor", "shared_per_block", "shared_per_multiprocessor",
        "shared_per_block_optin", "shared_reserved_per_block", "clock_khz", "memory_clock_khz", "memory_bus_bits",
        "memory_bandwidth", "l2_bytes", "reserved", "name")),
    41: ("context", "<II", ("device", "null_stream")),
}


class Recording:
    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        assert data.startswith(b"TPROFREC")
        self.records = collections.defaultdict(list)  # by name: dicts; "id" is the head's, "window" the chunk's
        self.names, self.info, self.capabilities, self.windows = {}, {}, {}, []
        # FileHeader: ten 4-byte atomics behind base_time_ns, clock and parent; dropped[] follows, 8-byte aligned.
        self.dropped = dict(zip(REASONS, struct.unpack_from("<8Q", data, 200)))
        for at in range(HEADER, len(data) - CHUNK + 1, CHUNK):
            magic, _, stream, epoch, tid = struct.unpack_from("<5I", data, at)
            if magic == 0x4B4E4843:
                self.read_chunk(data, at, stream, epoch, tid)

    def read_chunk(self, data, chunk, stream, epoch, tid):
        at = chunk + 64
        while at + 8 <= chunk + CHUNK:
            kind, words, ident = struct.unpack_from("<HHI", data, at)
            if kind == 0:
                break
            body = data[at + 8:at + words * 8]
            if kind in KINDS:
                name, layout, fields = KINDS[kind]
                assert struct.calcsize(layout) == len(body), name
                record = dict(zip(fields, struct.unpack(layout, body)), id=ident)
                if stream == 1:
                    record["window"] = epoch // 2
                    assert (tid == 0) == (name != "call"), (name, tid)
                self.records[name].append(record)
            elif kind == 32:
                length, = struct.unpack_from("<I", body)
                self.names[ident] = body[8:8 + length].decode()
            elif kind == 36:
                state, = struct.unpack_from("<I", body)
                self.windows.append({"id": ident, "state": state})
            elif kind in (37, 38):
                first, second = body.split(b"\0")[:2]
                if kind == 37:
                    self.capabilities[first.decode()] = (ident == 1, second.decode())
                else:
                    self.info[first.decode()] = second.decode()
            at += words * 8

    def named(self, kind):
        """The records of a kind that has names, as (name, record)."""
        return [(self.names[r["id"]], r) for r in self.records[kind]]


def recording(logdir):
    path, = pathlib.Path(logdir).glob("*.tprof")
    return Recording(path)
