"""A small recording of a real GPU, to be kept under tests/gpu/recordings, with what a trace of it must say."""
import gzip
import json

import differences
import traces
from place import needs

WINDOW = {"TPROF_SCHEDULE": "wait=2,warmup=1,active=2,repeat=1", "TPROF_PROFILE_MEMORY": "1",
          "TPROF_KEEP_RECORDING": "1"}


def facts(trace):
    """What must stay true of a recording's trace, however traces are written later."""
    return {
        "steps": trace.steps(),
        "kernels": differences.names(trace.kernels),
        "launched_by": differences.Counter((trace.operator_of(e) or {"name": ""})["name"] for e in trace.kernels),
        "bytes": {"copies": sum(traces.argument(e, "bytes") for e in trace.copies),
                  "sets": sum(traces.argument(e, "bytes") for e in trace.sets)},
        "kernel_us": round(differences.summed_us(trace.kernels), 3),
        "devices": [each["name"] for each in trace.data.get("deviceProperties", [])],
        "peak": max((traces.argument(e, "Total Allocated") for e in trace.memory()), default=0),
    }


def recording(place, section):
    needs("torch")
    result = place.must(["torch_program.py", "mlp", "--steps", 6, "--first", 3, "--end", 5], "tprof", options=WINDOW)
    kept = list(result.logdir.glob("*.tprof"))
    section.check("one recording is kept", [] if len(kept) == 1 else [str(kept)])
    trace = result.trace()
    section.check("every kernel, copy and set has its call, arrow and operator", differences.launches(trace))
    with gzip.open(place.out / "recording.tprof.gz", "wb") as packed:
        packed.write(kept[0].read_bytes())
    (place.out / "recording.json").write_text(json.dumps(facts(trace), indent=1, sort_keys=True) + "\n")
    size = (place.out / "recording.tprof.gz").stat().st_size
    section.figure("recording.tprof.gz", size / 1024, "KiB", at_most=512)
