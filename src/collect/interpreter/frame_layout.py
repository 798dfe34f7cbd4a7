# Runs functions of many shapes, each of which checks the stack from within. It works on every Python from 3.8 on and
# leaves nothing behind. If it raises, nothing is proven. frame_layout.h says which functions it is given.
import opcode
import sys

def chain(frame):
    pairs = []
    while frame is not None:
        pairs += (frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return tuple(pairs)

def first_traceable(code):
    text, resume = code.co_code, opcode.opmap.get('RESUME')
    return next((i // 2 for i in range(0, len(text), 2) if text[i] == resume), -1)

checks = []
def check():
    checks.append(prove(chain(sys._getframe())) is not None)
    return 0

class Shapes:
    def __init__(self):
        self.made = check()
    @property
    def shape(self):
        return check()
    def __lt__(self, other):
        check()
        return False

def closes(a):
    b, c, d = a, a and check(), a
    def inner(): return (a, b, c, d,
                         check())
    return inner

def generates(x):
    y = lambda: x
    yield check()
    yield from (check() for _ in range(2))
    yield y

async def awaits():
    return check()

def fails():
    try:
        raise KeyError(check())
    except KeyError:
        return check()
    finally:
        check()

def recurses(n):
    return recurses(n - 1) if n else check()

def learn_here():
    codes = (chain, first_traceable, check, Shapes.__init__, Shapes.__lt__, closes, closes(0), generates,
             fails, recurses, Shapes.shape.fget, awaits)
    samples = []
    for f in codes:
        samples += (f.__code__, first_traceable(f.__code__))
    texts = ('_'.join(('plain', 'text')), 'caf\xe9s'[1:], 'caf\u0113s'[1:], 'caf\U0001f600s'[1:])
    sizes = sys.getsizeof(''), sys.getsizeof('\xff\xfe') - 2
    sizes = (sizes[0] - 1, sizes[1] - 1)
    return learn(chain(sys._getframe()), tuple(samples), texts, sizes, sys.abiflags)

def outer(n):
    return [outer(n - 1) for _ in (1,)][0] if n else (lambda: (None,
        learn_here())[1])()

def run():
    if outer(2) is None:
        return ''
    for _ in range(40):  # long enough for the interpreter to specialise these calls
        Shapes()
    closes(1)()
    list(generates(1))
    sorted([Shapes(), Shapes()])
    list(map(lambda _: check(), range(2)))
    Shapes().shape  # noqa: B018
    try:
        awaits().send(None)
    except StopIteration:
        pass
    fails()
    recurses(20)
    exec(compile('def f(check):\n  return (\n    check())\nf(check)', '<\u0113xec>', 'exec'), {'check': check})
    if len(checks) < 50 or not all(checks):
        return 'the layout of frames that was found does not hold for all frames of this Python'
    if watch_ends() is None:
        return 'the end of code objects cannot be seen in this Python'
    for i in range(3):
        compile(str(i), '', 'eval')
    return 'yes' if ended(3) else 'the end of code objects is not seen in this Python'

proven(run())
