"""Reads what tests want to know of a recording (*.tprof) itself: see src/record/record.h, which is the format."""
import dataclasses
import pathlib
import struct

HEADER, CHUNK, CHUNK_HEAD = 64 << 10, 512 << 10, 64
CALL, HEIR, NAME = 5, 17, 32
FAMILIES = "launch copy set alloc free stream event sync graph nccl other comm".split()
DRIVER, ASYNC, HOST, MANAGED, VIRTUAL, ON_COMM = 1, 2, 4, 8, 16, 32


@dataclasses.dataclass
class Call:
    """A CallRecord."""
    name: str
    tid: int
    begin: int
    end: int  # 0: unfinished
    address: int
    bytes: int
    stream: int
    result: int
    family: str
    flags: int
    device: int
    detail: int


def records(path):
    """(kind, id, tid, body) of every record; the body lies behind the head."""
    data = pathlib.Path(path).read_bytes()
    for start in range(HEADER, len(data) - CHUNK_HEAD, CHUNK):
        magic, _, _, _, tid = struct.unpack_from("<4s4I", data, start)
        if magic != b"CHNK":
            continue
        at = start + CHUNK_HEAD
        while at + 8 <= start + CHUNK:
            kind, words, number = struct.unpack_from("<HHI", data, at)
            if kind == 0:
                break
            if kind == HEIR:
                tid = number
            yield kind, number, tid, data[at + 8:at + 8 * words]
            at += 8 * words


def calls(logdir):
    """Every call in the recordings below a directory, by time."""
    found = []
    for path in sorted(pathlib.Path(logdir).glob("*.tprof")):
        everything = list(records(path))
        names = {number: body[8:8 + struct.unpack_from("<I", body)[0]].decode()
                 for kind, number, _, body in everything if kind == NAME}
        for kind, number, tid, body in everything:
            if kind == CALL:
                begin, end, address, size, stream, result, family, flags, device, detail = \
                    struct.unpack_from("<5QiBBbB", body)
                found.append(Call(names[number], tid, begin, end, address, size, stream, result, FAMILIES[family], flags,
                                  device, detail))
    return sorted(found, key=lambda call: call.begin)
