"""Runs one operator (aten::sgn) from as many kinds of call sites as Python has, nested at random, and writes what
traceback.extract_stack() says at each to the file given: {thread id: [[[file, line, function], ...innermost first], ...]}.

    stacks.py FILE [COUNT]
"""
import asyncio
import concurrent.futures
import contextlib
import functools
import json
import random
import sys
import threading
import traceback

import torch

try:
    import greenlet
except ImportError:
    greenlet = None

seen = {}


def expect():
    # Before Python 3.12 a function of tprof's stands around a backward pass.
    frames = [f for f in traceback.extract_stack()[:-1] if f.filename != '<tprof>']
    seen.setdefault(threading.get_native_id(), []).append([[f.filename, f.lineno, f.name] for f in reversed(frames)])
    return True


def operator(x):
    return (x.sgn(), x)[1] if expect() else x  # both on one line


SITES = []


def site(function):
    SITES.append(function)
    return function


@site
def nested(then, x):
    def inner(y):
        def innermost():
            return then(y)
        return innermost()
    return inner(x)


@site
def a_lambda(then, x):
    return (lambda y: (lambda: then(y))())(x)


@site
def comprehension(then, x):
    return [then(y) for y in (x,) if [1 for _ in range(2)]][0]


@site
def dict_comprehension(then, x):
    return {
        k: then(v)
        for k, v in {1: x}.items()
    }[1]


@site
def generator_expression(then, x):
    return next(then(y) for y in (x,))


@site
def generator(then, x):
    def produce():
        yield 1
        yield then(
            x
        )

    def delegate():
        yield from produce()
    return list(delegate())[1]


@site
def thrown_into_a_generator(then, x):
    def produce():
        try:
            yield
        except KeyError:
            yield then(x)
    g = produce()
    next(g)
    return g.throw(KeyError())


@site
def sent_to_a_generator(then, x):
    def produce():
        y = yield
        yield then(y)
    g = produce()
    g.send(None)
    return g.send(x)


class Thing:
    def __init__(self, then=None, x=None):
        self.result = then and \
            then(x)
        self.then = then

    def method(self, then, x): return then(x)

    @classmethod
    def of_class(cls, then, x):
        return then(x)

    @staticmethod
    def static(then, x):

        return then(x)

    @property
    def shape(self):
        return self.then(self.x)

    def __call__(self, then, x):
        return then(x)

    def __getattr__(self, name):
        if name != 'missing':
            raise AttributeError(name)
        return self.then(self.x)

    def __lt__(self, other):
        self.result = self.then(self.x)
        return True

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.result = self.then(self.x)
        return True


@site
def methods(then, x):
    thing = Thing()
    return random.choice([thing.method, Thing.of_class, Thing.static, thing])(then, x)


@site
def constructor(then, x):
    for _ in range(3):
        result = Thing(then, x).result
    return result


@site
def attributes(then, x):
    thing = Thing()
    thing.then, thing.x = then, x
    return thing.shape if random.random() < .5 else thing.missing


@site
def called_from_c(then, x):
    a, b = Thing(), Thing()
    a.then = b.then = then
    a.x = b.x = x
    sorted([a, b])
    list(map(then, (x,)))
    functools.reduce(lambda _, y: then(y), [1, x])
    return functools.partial(then, x)()


@site
def context_manager(then, x):
    thing = Thing()
    thing.then, thing.x = then, x
    with thing as t:
        raise ValueError

    return t.result


@site
def generator_as_context_manager(then, x):
    @contextlib.contextmanager
    def around():
        then(x)
        try:
            yield
        finally:
            then(x)
    with around():
        return x


@site
def exceptions(then, x):
    try:
        try:
            raise KeyError(then(x))
        except ValueError:
            pass
        finally:
            then(x)
    except KeyError as e:
        return then(e.args[0])
    else:
        return x


@site
def loops(then, x):
    for i in range(2):
        while i:
            x = then(x)
            i -= 1
    else:
        return then(x)


@site
def many_lines(then, x):
    value = (
        1,
        then(

            x

        ),
        [
            2],
    )
    return (value
            [1]) if True \
        else \
        then(x)


@site
def one_line(then, x): y = then(x); z = then(y); return then(z)  # noqa: E702


@site
def decorated(then, x):
    def decorator(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            return f(*args,
                     **kwargs)
        return wrapper

    @decorator
    @decorator
    def plain(y=x):
        return then(y)
    return plain()


@site
def recursion(then, x, depth=12):
    if depth:
        return recursion(then, x, depth - 1)
    return then(x)


@site
def mutual_recursion(then, x):
    def even(n):
        return odd(n - 1) if n else then(x)

    def odd(n):
        return even(n - 1)
    return even(8)


@site
def executed(then, x):
    blank = '\n' * random.randrange(300)
    scope = {'then': then, 'x': x}
    exec(compile(blank + 'def f():\n  def g():\n    return then(x)\n  return g()\nresult = f()',
                 '<ipython-input-%d-\u00e9\u4e16>' % random.randrange(20), 'exec'), scope)
    return scope['result']


@site
def evaluated(then, x):
    return eval('[then(y) for y in (x,)][0]', {'then': then, 'x': x})


@site
def class_body(then, x):
    class Body:
        result = then(x)
    return Body.result


@site
def many_names(then, x):
    über = then

    def 世界(y): return über(y)
    return 世界(x)


def long_function():
    """A function of 600 lines, which no line table encodes like a short one."""
    lines = ['def far_down(then, x):']
    lines += ['    y%d = %d' % (i, i) for i in range(300)]
    lines += ['    if x is None:'] + ['        y%d = y%d + 1' % (i, i) for i in range(300)]
    lines += ['    return then(x)']
    scope = {}
    exec(compile('\n'.join(lines), 'far_down.py', 'exec'), scope)
    return scope['far_down']


SITES.append(long_function())


def call(function, seen=True):
    return (function(), seen and expect())[0]  # both on one line


if hasattr(torch, 'autograd'):  # on other Pythons something else stands for torch
    from torch.utils._python_dispatch import TorchDispatchMode

    @site
    def inside_a_backward_pass(then, x):
        def hook(_):
            then(x)
            then(x)
        leaf = torch.ones(4, requires_grad=True)
        leaf.register_hook(hook)
        with torch.enable_grad():
            loss = leaf.cos().sum()
        if loss.requires_grad:  # not below TorchDispatchMode
            loss.backward()
        return x

    class Runs(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, then):
            return then(x).neg()

        @staticmethod
        def backward(ctx, gradient):
            return gradient, None

    @site
    def inside_an_operator(then, x):
        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                then(x)
                return function(*args, **(kwargs or {}))
        with Mode():
            x.neg()
        Runs.apply(x, then)
        return x

    @site
    def under_a_range_that_python_holds(then, x):
        """Each time a range or an operator begins, `call` stands at the same place and its caller elsewhere."""
        held = call(functools.partial(torch.autograd._record_function_with_args_enter, 'held'), False)
        call(x.sgn)
        call(x.sgn)
        torch.autograd._record_function_with_args_exit(held)
        return then(x)


async def coroutine(then, x):
    async def inner():
        await asyncio.sleep(0)
        return then(x)

    async def produce():
        yield await inner()

    async for y in produce():
        then(y)
    return [await t for t in [asyncio.ensure_future(inner()) for _ in range(2)]][0]


def in_tasks(then, x):
    async def all_of_them():
        return await asyncio.gather(*(coroutine(then, x) for _ in range(3)))
    asyncio.run(all_of_them())


def in_greenlets(then, x):
    def switches(y):
        then(y)
        greenlet.getcurrent().parent.switch(y)
        then(y)
    lets = [greenlet.greenlet(switches) for _ in range(3)]
    for let in lets + lets:
        let.switch(x)


def chain(rng):
    """A random nest of sites with the operator at its bottom."""
    then = operator
    for _ in range(rng.randrange(1, 6)):
        then = functools.partial(rng.choice(SITES), then)
    return then


def main(path, count):
    x = torch.ones(4)

    def work(seed, count):
        random.seed(seed)
        rng = random.Random(seed)
        done = seen.setdefault(threading.get_native_id(), [])
        until = len(done) + count
        for one in SITES:  # each at least once
            one(operator, x)
        while len(done) < until:
            choice = rng.random()
            if choice < .03:
                in_tasks(chain(rng), x)
            elif choice < .06 and greenlet:
                in_greenlets(chain(rng), x)
            else:
                chain(rng)(x)

    work(1, count // 2)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, seed, count // 8) for seed in range(2, 6)]:
            done.result()
    assert sum(map(len, seen.values())) >= count
    with open(path, 'w') as out:
        json.dump(seen, out)


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10000)
