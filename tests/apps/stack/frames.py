"""Threads that wait in frames of many shapes. Prints what each is in, as sys._current_frames() says: {thread id: [[file,
function, line], ...]}, innermost frame first, and waits for the end of its input."""
import json
import sys
import threading


class Shapes:
    def __init__(self, then):
        self.made = then()

    @property
    def shape(self):
        return wait()

    def __lt__(self, other):
        wait()
        return False


ready = threading.Semaphore(0)
done = threading.Event()


def wait():
    ready.release()
    done.wait()


def recurses(n):
    return recurses(n - 1) if n else wait()


def generates():
    yield from (wait() for _ in range(1))


def naïve_名前_𝔣():
    wait()


async def awaits():
    return wait()


def runs_coroutine():
    awaits().send(None)


WAYS = [lambda: recurses(50), lambda: Shapes(wait), lambda: Shapes(int).shape, lambda: list(generates()),
        lambda: sorted([Shapes(int), Shapes(int)]), lambda: list(map(lambda _: wait(), range(2))), naïve_名前_𝔣,
        runs_coroutine, lambda: exec(compile("def f(wait):\n  return (\n    wait())\nf(wait)", "<a string>", "exec"),
                                     {"wait": wait}), lambda: recurses(1500)]


def chain(frame):
    out = []
    while frame is not None:
        out.append([frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno])
        frame = frame.f_back
    return out


def tell():
    frames = sys._current_frames()
    stacks = {t.native_id: chain(frames[t.ident]) for t in threads}
    stacks[threading.get_native_id()] = chain(sys._getframe(1))
    print(json.dumps(stacks), flush=True)


def main():
    told = (tell(), sys.stdin.read())
    done.set()
    return told


sys.setrecursionlimit(5000)
threading.stack_size(64 << 20)
threads = [threading.Thread(target=way, daemon=True) for way in WAYS]
for thread in threads:
    thread.start()
for _ in WAYS:
    ready.acquire()
# The last frame of a waiting thread has settled once the interpreter has switched often enough.
for thread in threads:
    thread.join(0.02)
main()
