"""THE table of modes: who watches the training loop. Each mode is a process of its own, so that it is pure.

    Mode(options, watcher)

options: TPROF_* variables with the library preloaded; None: nothing is preloaded.
watcher: what worker.py itself starts, a name of rivals.py; empty: nothing.
"""
import collections

Mode = collections.namedtuple("Mode", "options watcher")


def _(schedule, shapes=0, memory=0, stack=0):
    return Mode({"TPROF_SCHEDULE": schedule, "TPROF_RECORD_SHAPES": str(shapes),
                 "TPROF_PROFILE_MEMORY": str(memory), "TPROF_WITH_STACK": str(stack)}, "")


ALWAYS = "active=1000000000"     # one window that does not end, so nothing is converted meanwhile
NEVER = "wait=1000000000,active=1"
ONCE = "active=2,repeat=1"

MODES = {
    "bare": Mode(None, ""),
    "again": Mode(None, ""),
    "count": Mode(None, "count"),
    "empty": Mode(None, "empty"),
    "empty_inputs": Mode(None, "empty_inputs"),
    "empty_backward": Mode(None, "empty_backward"),
    "plain": _(ALWAYS),
    "shapes": _(ALWAYS, shapes=1),
    "full": _(ALWAYS, shapes=1, memory=1),
    "flight": Mode({"TPROF_MODE": "flight:16M", "TPROF_RECORD_SHAPES": "0"}, ""),
    "stack": _(ALWAYS, stack=1),
    "everything": _(ALWAYS, shapes=1, memory=1, stack=1),
    "torch_plain": Mode(None, "torch_plain"),
    "torch_shapes": Mode(None, "torch_shapes"),
    "torch_full": Mode(None, "torch_full"),
    "torch_everything": Mode(None, "torch_everything"),
    "wait": _(NEVER),
    "wait_memory": _(NEVER, memory=1),
    "over": _(ONCE),
}
OPERATORS = ["bare", "empty", "empty_inputs", "plain", "shapes", "full", "torch_plain", "torch_shapes", "torch_full"]
STACKS = ["plain", "stack"]
EVERYTHING = ["bare", "everything", "torch_everything"]
FLIGHT = ["bare", "flight", "torch_plain"]
INSTRUCTIONS = ["bare", "wait", "over", "shapes"]
WAITING = ["bare", "again", "empty_backward", "wait", "wait_memory", "over"]
