# The Python side of the bootstrap, run once in a private namespace (bootstrap.cpp). Runs on every Python from 3.8 on and
# must never raise. Names that are not defined here are the C functions of bootstrap.cpp and watch.cpp. It has four
# parts: find the moment at which torch is completely imported, watch the few functions that show steps, record calls if
# that is wanted, and follow the phase.
import sys

# Calls then(torch) at the end of its import, which has begun, before another thread can import it, too. Python clears
# the mark of a module's spec when the module is there, or when its import has failed.
def when_torch_is_complete(then):
    def guarded(torch):
        try:
            then(torch)
        except Exception as e:
            note('bootstrap', repr(e))
    torch = sys.modules['torch']
    spec = getattr(torch, '__spec__', None)
    if not getattr(spec, '_initializing', False):
        return guarded(torch)
    plain = type(spec)
    class Spec(plain):
        @property
        def _initializing(self):
            return vars(self)['_initializing']
        @_initializing.setter
        def _initializing(self, value):
            try:
                if not value:
                    self.__class__ = plain
                    if sys.modules.get('torch') is torch:
                        guarded(torch)
            finally:
                vars(self)['_initializing'] = value
    spec.__class__ = Spec

def facts(torch):
    import platform
    yield 'torch', str(torch.__version__)
    yield 'python', platform.python_version() + ' ' + platform.python_implementation()
    import os
    for key in ('LOCAL_WORLD_SIZE', 'GROUP_RANK', 'MASTER_ADDR', 'MASTER_PORT', 'TORCHELASTIC_RUN_ID',
                'TORCHELASTIC_RESTART_COUNT'):
        if os.environ.get(key):
            yield 'env.' + key, os.environ[key]

# The watched functions, as (kind, owner, name). Only their calls distinguish a batch from an exhausted loader, an
# update from one that a gradient scaler skipped, and one forward pass from the next. They also show backward passes
# cheaply.
def watched(torch):
    from torch.utils.data.dataloader import DataLoader, _BaseDataLoaderIter
    yield 'module', torch.nn.Module, '__call__'
    yield 'backward', torch.autograd, 'backward'
    yield 'grad', torch.autograd, 'grad'
    yield 'loader', DataLoader, '__iter__'
    yield 'batch', _BaseDataLoaderIter, '__next__'
    from torch.utils.data._utils import worker
    yield 'worker', worker, '_worker_loop'
    yield 'zero_grad', torch.nn.Module, 'zero_grad'
    # update() calls it, also that of scalers that replace update(), such as FSDP's.
    checks = '_check_scale_growth_tracker'
    for path in ('torch.amp.grad_scaler', 'torch.cuda.amp.grad_scaler'):
        scaler = getattr(sys.modules.get(path), 'GradScaler', None)
        if scaler is not None and checks in vars(scaler):
            yield 'scaler', scaler, checks
            break
    graph = getattr(torch.cuda, 'CUDAGraph', None)
    for kind, name in (('graph', 'replay'), ('capture', 'capture_begin'), ('captured', 'capture_end'),
                       ('captured', 'capture_end_pre')):  # that one alone where a capture fails to begin, since 2.14
        if name in vars(graph or object):
            yield kind, graph, name

# Whether the loop of a DataLoader's worker takes its arguments in the order that loader.cpp knows.
def worker_arguments(loop):
    names = getattr(getattr(loop, '__code__', None), 'co_varnames', ())
    return (names[2:5] + names[6:9:2] + names[10:12] ==
            ('index_queue', 'data_queue', 'done_event', 'collate_fn', 'base_seed', 'worker_id', 'num_workers'))

# Before 3.12, functions that Python code calls cannot be hooked: backward passes, scalers, zero_grad, replays and
# captures of CUDA graphs are wrapped.
def watch(torch):
    every = sys.version_info >= (3, 12)
    free_threaded = 't' in getattr(sys, 'abiflags', '')
    lost = []
    for kind, owner, name in watched(torch):
        if kind == 'worker':
            loop = vars(owner).get(name)
            if free_threaded:
                capability('loader_workers', 'this Python is free-threaded')
            elif worker_arguments(loop) and watch_function(kind, loop, facts):
                capability('loader_workers', '')
            else:
                capability('loader_workers', 'torch calls its workers in another way than is known')
        elif every or kind in ('module', 'loader', 'batch'):
            if not watch_function(kind, vars(owner).get(name), facts):
                lost.append(name)
        elif kind == 'scaler':
            wrap_after(owner, name, scaler_updated)
        elif kind == 'graph':
            wrap_around(owner, name, graph_begins, graph_replayed)
        elif kind == 'capture':
            wrap_after(owner, name, capture_begins)
        elif kind == 'captured':
            wrap_around(owner, name, lambda: None, capture_ends)
        elif kind == 'zero_grad':
            wrap_around(owner, name, gradients_cleared, lambda: None)
        elif kind == 'backward':  # grad is left alone: torch.compile knows it by identity
            wrap_around(owner, name, backward_begins, backward_ends)
    watch_begin(torch.optim.Optimizer, sys.modules, getattr(sys.modules.get('torch._guards'), '_TLS', None))
    return 'steps are found without calls of ' + ', '.join(lost) if lost else ''

# Calls first() when the program's first process group is ready, then() when another one is. new_group calls
# _new_group_with_tag, which callers that imported new_group before reach as well.
def when_groups_begin(torch, first, then):
    made = sys.modules.get('torch.distributed.distributed_c10d')
    more = '_new_group_with_tag' if hasattr(made, '_new_group_with_tag') else 'new_group'
    for name, follow in ('init_process_group', first), (more, then):
        original = getattr(made, name, None)
        if original is None:
            continue
        wrapped = followed(original, follow)
        for module in (made, torch.distributed):
            if getattr(module, name, None) is original:
                setattr(module, name, wrapped)

def followed(original, then):
    import functools
    @functools.wraps(original)
    def call(*args, **kwargs):
        result = original(*args, **kwargs)
        try:
            then()
        except Exception as e:
            note('groups', repr(e))
        return result
    return call

def wrap_after(owner, name, then):
    import functools
    original = vars(owner)[name]
    @functools.wraps(original)
    def call(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        then(*args)
        return result
    setattr(owner, name, call)

def wrap_around(owner, name, begins, ends):
    import functools
    original = vars(owner)[name]
    @functools.wraps(original)
    def call(*args, **kwargs):
        begins()
        try:
            return original(*args, **kwargs)
        finally:
            ends()
    setattr(owner, name, call)
    known_to_torchscript(original, call)

# TorchScript knows some functions by identity.
def known_to_torchscript(original, wrapped):
    known = sys.modules.get('torch.jit._builtins')
    functions = getattr(known, '_builtin_ops', None)
    table = getattr(known, '_builtin_table', None)  # made of them, when it is needed first
    for function, operator in list(functions or ()):
        if function is original:
            functions.append((wrapped, operator))
            if table is not None:
                table[id(wrapped)] = operator

# Functions that switch what reports calls of functions on and off, if it is wanted.
recorders = []

# Sets up --with-modules and --with-stack=calls: notes the capabilities and adds a recorder. Calls of modules need none.
def record_calls(torch):
    wanted = calls_wanted()
    if not wanted:
        return
    why = calls_prepare(calls_prepare, torch.nn.Parameter)
    for shape, dtype, size in ((3, 5), torch.float64, 8), ((7, 1, 2, 1, 1, 3), torch.float16, 2):
        p = torch.nn.Parameter(torch.empty(shape, dtype=dtype, device='cpu'), requires_grad=False)
        learn_parameter(p, p._cdata, p.numel(), p.numel() * size)
    capability('with_modules', why or ('' if module_hooked() else 'calls of nn.Module cannot be hooked'))
    if why:
        if wanted == 'calls':
            capability('python_calls', why)
        return
    if wanted == 'calls':
        why = calls_by_monitoring() if hasattr(sys, 'monitoring') else calls_by_profile()
        capability('python_calls', why)
        if not why:
            functions_ready()

def calls_by_monitoring():
    m, e = sys.monitoring, sys.monitoring.events
    for tool in (4, 3, 5, 1, 0, 2):
        if m.get_tool(tool) is None:
            break
    else:
        return 'all sys.monitoring tool ids are taken by others'
    m.use_tool_id(tool, 'tprof')
    callbacks = {e.PY_START: call_starts, e.PY_RESUME: call_starts, e.PY_THROW: call_starts, e.PY_RETURN: call_ends,
                 e.PY_YIELD: call_ends, e.PY_UNWIND: call_ends, e.CALL: builtin_starts}
    every = sum(callbacks)
    callbacks.update({e.C_RETURN: builtin_ends, e.C_RAISE: builtin_ends})  # these come with CALL
    for event, callback in callbacks.items():
        m.register_callback(tool, event, callback)
    recorders.append(lambda on: m.set_events(tool, on * every))
    return ''

# Before 3.12. If the program has a profile function of its own, that one stays.
def calls_by_profile():
    import threading
    mark = profile_here  # a program that sets again what sys.getprofile() gave it gets ours, or nothing once it is off
    recorded = [False]
    def switch(on):
        others = sys.getprofile() is not mark if recorded[0] else sys.getprofile() not in (None, mark)
        if others and (on or recorded[0]):
            capability('python_calls', 'the program has a profile function of its own')
        on = recorded[0] = on and not others
        profile_all(on)
        hook = getattr(threading, '_profile_hook', None)
        if hook is (None if on else profile_here):
            threading.setprofile(profile_here if on else None)
    why = profile_begin(mark)
    if not why:
        recorders.append(switch)
    return why

def follow(torch):
    import json
    ours = []
    noted = []
    def distributed():
        d = getattr(torch, 'distributed', None)
        if d is None or not d.is_available() or not d.is_initialized():
            return
        info = {'backend': d.get_backend(), 'rank': d.get_rank(), 'world_size': d.get_world_size()}
        try:
            from torch.distributed.distributed_c10d import _get_all_pg_configs
            config = _get_all_pg_configs()
            info['pg_count'] = len(config)
            info['pg_config'] = config
        except Exception:
            pass
        if info not in noted:
            del noted[:]
            noted.append(info)
            note('distributed', json.dumps(info, default=str))
    def groups():
        made = sys.modules.get('torch.distributed.distributed_c10d')
        world = getattr(made, '_world', made)
        names = getattr(world, 'pg_names', None) or getattr(world, '_pg_names', {})
        members = getattr(world, 'pg_group_ranks', None) or getattr(world, '_pg_group_ranks', {})
        for group, name in list(names.items()):
            ranks = sorted(members.get(group, ()))
            try:
                sequence = int(group._get_sequence_number_for_group())
            except Exception:
                sequence = -1
            learn_group(group, object.__basicsize__, str(name), str(getattr(group, 'group_desc', '') or ''),
                        str(ranks), len(ranks), sequence)
    def joined():
        distributed()
        if torch.distributed.get_world_size() > 1:
            joins_job(torch.distributed.get_rank())
        groups()
    def grown():
        distributed()
        groups()
    when_groups_begin(torch, joined, grown)
    watching, recording = [0], [False]
    def on_phase(phase):
        on = phase in (1, 2)  # warming up, active
        if recording[0] and not on:
            recording[0] = False
            for record in recorders:
                record(False)
        watched = phase if phase in (3, 4) else 0  # ended, or resting until a training follows
        if watching[0] != watched:
            watching[0] = watched
            watch_switch(watched)
        if on and not recording[0]:
            recording[0] = True
            for record in recorders:
                record(True)
        p = torch.autograd.profiler
        if hasattr(p, '_set_is_profiler_enabled') and hasattr(p, '_is_profiler_enabled'):
            # Inductor and others leave out their ranges unless this is set. A profiler of the script's own sets
            # and clears it too: ours again at the next step, and never cleared while that one runs.
            if on and not p._is_profiler_enabled:
                p._set_is_profiler_enabled(True)
                ours.append(1)
            elif not on and ours and not torch._C._autograd._profiler_enabled():
                p._set_is_profiler_enabled(False)
                del ours[:]
        if on:
            distributed()
            groups()
    def guarded(phase):
        try:
            on_phase(phase)
        except Exception as e:
            if from_handler(e.__traceback__):
                raise
    return guarded

# Python may run the program's signal handlers in here, too. What they raise belongs to the program.
def from_handler(trace):
    import signal
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = [getattr(getattr(handler, '__func__', handler), '__code__', 0) for handler in handlers]
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False

def learn_stacks():
    script = stack_calibration()
    try:
        if script:
            exec(script, {'learn': learn_frames, 'prove': prove_frames, 'watch_ends': watch_ends, 'ended': have_ended,
                          'proven': frames_proven})
    except Exception as e:
        frames_proven(repr(e))
    stacks_start()

def complete(torch):
    import os
    launches = is_launcher()
    pairs = [text for pair in facts(torch) for text in pair]
    for line in attach(*pairs).splitlines():
        key, _, value = line.partition('=')
        if launches and key == 'TPROF_PARENT':  # what it starts are programs, not helpers of it
            value = value.rpartition(';')[0] + ';launcher'
        os.environ[key] = value
    if launches:
        return
    import atexit
    atexit.register(python_ends)
    learn_stacks()
    if not attached():
        return
    script = calibration()
    if script:
        try:
            exec(script, {'torch': torch})
        except Exception:
            pass
        finally:
            calibrated()
    try:
        torch.empty(1)  # an allocation, which shows whether this torch's memory reports reach us
    except Exception:
        pass
    try:
        why = watch(torch)
        record_calls(torch)
    except Exception as e:
        why = 'steps are found without nn.Module, DataLoader and GradScaler calls: %r' % (e,)
    if hasattr(os, 'register_at_fork'):
        os.register_at_fork(after_in_child=child_ready)
    start(follow(torch), why)

# Launchers and their agents import torch, but train nothing: they do not even get a recording.
def is_launcher():
    import os
    argv = list(getattr(sys, 'orig_argv', None) or [])
    modules = ('torch.distributed.run', 'torch.distributed.launch', 'torch.distributed.elastic.multiprocessing',
               'accelerate.commands.launch', 'deepspeed.launcher.launch', 'deepspeed.launcher.runner')
    if '-m' in argv[:-1] and argv[argv.index('-m') + 1] in modules:
        return True
    return bool(sys.argv) and os.path.basename(str(sys.argv[0])) in ('torchrun', 'accelerate', 'deepspeed')

when_torch_is_complete(complete)
