"""THE table of figures: what the benchmark reports, and the limits that --check holds it to.

    Figure(name, unit, direction, limit, what)

direction "<=" or ">=" belongs to the limit; a figure without a limit is reported only.
"""
import collections

Figure = collections.namedtuple("Figure", "name unit direction limit what")


def _(name, unit, what, direction="", limit=None):
    return Figure(name, unit, direction, limit, what)


GROUPS = {
    "operators": ("Cost per operator, over the bare program", [
        _("step_us", "us", "the bare training step"),
        _("step_ops", "", "operators (RecordFunction events) in a step"),
        _("empty_ns", "ns", "a callback that does nothing"),
        _("empty_inputs_ns", "ns", "... and asks for inputs"),
        _("plain_ns", "ns", "tprof, plain"),
        _("shapes_ns", "ns", "tprof with shapes"),
        _("full_ns", "ns", "tprof with shapes and memory"),
        _("torch_plain_ns", "ns", "torch.profiler, plain"),
        _("torch_shapes_ns", "ns", "torch.profiler with shapes"),
        _("torch_full_ns", "ns", "torch.profiler with shapes and memory"),
        _("plain_ratio", "x", "plain, tprof / torch.profiler", "<=", 0.55),
        _("shapes_ratio", "x", "with shapes, tprof / torch.profiler"),
        _("full_ratio", "x", "with shapes and memory, tprof / torch.profiler", "<=", 0.5),
        _("plain_over_empty_ns", "ns", "plain tprof over the empty callback", "<=", 50),
        _("helper_ns", "ns", "CPU of tprof's helper thread per operator, plain"),
    ]),
    "stacks": ("The Python call stack of an operator", [
        _("stack_depth", "", "frames of a stack, on average"),
        _("stack_ns", "ns", "taking and recording it, per operator", "<=", 60),
    ]),
    "everything": ("Operators with shapes, memory and call stacks, over the bare program", [
        _("everything_ns", "ns", "tprof"),
        _("torch_everything_ns", "ns", "torch.profiler"),
        _("everything_ratio", "x", "tprof / torch.profiler", "<=", 0.4),
    ]),
    "flight": ("Flight mode with a full ring, which always drops its oldest part, per operator over the bare program", [
        _("flight_ns", "ns", "tprof, plain, in flight mode"),
        _("flight_helper_ns", "ns", "... CPU of its helper thread, which drops and prepares chunks"),
        _("flight_torch_ns", "ns", "torch.profiler while it records"),
        _("flight_ratio", "x", "flight mode / torch.profiler", "<=", 0.5),
    ]),
    "waiting": ("Step with a DataLoader while nothing is recorded, against bare", [
        _("loader_step_us", "us", "the bare training step"),
        _("again_percent", "%", "a second bare process: the noise of this table"),
        _("empty_backward_percent", "%", "a callback that does nothing, on backward nodes and labels"),
        _("wait_percent", "%", "waiting for a window", "<=", 0.5),
        _("wait_memory_percent", "%", "waiting for a window, with memory", "<=", 4),
        _("over_percent", "%", "after the last window", "<=", 0.5),
    ]),
    "edges": ("Longest step at a window's edges, less the median step around it", [
        _("edge_events", "", "events in the window"),
        _("edge_bare_ms", "ms", "the bare program at the same steps: the noise of this table"),
        _("edge_warmup_ms", "ms", "tprof, begin of warm-up"),
        _("edge_active_ms", "ms", "tprof, begin of the active part"),
        _("edge_end_ms", "ms", "tprof, end of the window"),
        _("edge_ms", "ms", "tprof, the longest of the three", "<=", 2),
        _("torch_edge_events", "", "events in torch.profiler's window"),
        _("torch_stop_ms", "ms", "torch.profiler, stop"),
        _("torch_json_ms", "ms", "torch.profiler, export to .json"),
        _("torch_gz_ms", "ms", "torch.profiler, export to .json.gz"),
        _("edge_ratio", "x", "per event, tprof's edge / torch.profiler's stop and export to .json.gz"),
    ]),
    "conversion": ("Writing the trace", [
        _("during_percent", "%", "step while a window is converted, against waiting steps", "<=", 5),
        _("during_cpu_percent", "%", "... of this, in CPU time of the training thread"),
        _("spin_percent", "%", "... beside a process that only spins: the machine's own share"),
        _("during_slices", "", "slices measured while it was converted"),
        _("convert_us", "us", "CPU per event, tprof convert (.json.gz)"),
        _("torch_export_us", "us", "CPU per event, torch.profiler's stop and export to .json.gz"),
        _("convert_speedup", "x", "torch.profiler's / tprof's", ">=", 4),
        _("event_bytes", "B", "recording on disk per event, plain", "<=", 40),
        _("trace_bytes", "B", "trace (.json.gz) per event, plain"),
        _("torch_trace_bytes", "B", "torch.profiler's .json.gz per event, plain"),
    ]),
    "memory": ("Resident memory of the program", [
        _("rss_events", "", "events recorded, with shapes"),
        _("rss_mib", "MiB", "growth of VmRSS, at its highest", "<=", 64),
        _("rss_anon_mib", "MiB", "... of this, private memory (RssAnon)"),
        _("torch_rss_bytes", "B", "torch.profiler's growth per event, plain, after stop"),
    ]),
    "calls": ("An interposed CUDA call, over the same call bare", [
        _("idle_copy_ns", "ns", "cudaMemcpyAsync while nothing is recorded", "<=", 2),
        _("idle_launch_ns", "ns", "cudaLaunchKernel while nothing is recorded", "<=", 2),
        _("recorded_copy_ns", "ns", "cudaMemcpyAsync, recorded", "<=", 30),
        _("recorded_launch_ns", "ns", "cudaLaunchKernel, recorded", "<=", 30),
    ]),
    "nvtx": ("An NVTX push and pop together", [
        _("nvtx_bare_ns", "ns", "NVTX alone, nothing preloaded"),
        _("nvtx_idle_ns", "ns", "nothing is recorded", "<=", 10),
        _("nvtx_pair_ns", "ns", "recorded", "<=", 35),
        _("nvtx_attributes_ns", "ns", "recorded, with attributes"),
        _("nvtx_registered_ns", "ns", "recorded, a registered string in a domain of its own"),
        _("nvtx_stamp_ns", "ns", "of a recorded pair, its two readings of the clock (rdtsc)"),
    ]),
    "python": ("Python calls, over the same bare; the best of many slices", [
        _("python_call_ns", "ns", "a call of a Python function, recorded (two events, and one of the call site)", "<=", 60),
        _("python_event_ns", "ns", "... per event"),
        _("python_nothing_ns", "ns", "... of the call, what the same events cost with callbacks that do nothing"),
        _("python_builtin_ns", "ns", "a call of a function written in C, recorded"),
        _("python_module_ns", "ns", "an nn.Module's call, modules recorded", "<=", 400),
        _("python_module_calls_ns", "ns", "... all calls recorded"),
    ]),
    "sampling": ("Sampling of stacks (--sample), beside the program", [
        _("sampled_threads", "", "threads of the program"),
        _("sampler_percent", "%", "processor time of the sampler, of a core", "<=", 3),
        _("sampled_step_percent", "%", "a step with samples of Python, over one that is recorded without"),
        _("sampled_again_percent", "%", "a second run without: the noise of this figure"),
        _("native_step_percent", "%", "a step with samples of native frames too, over one that is recorded without"),
        _("native_stop_us", "us", "a stop of a thread for its native frames"),
    ]),
    "instructions": ("Instructions of a step with a DataLoader, against bare (callgrind)", [
        _("step_instructions", "", "the bare training step"),
        _("wait_instructions", "%", "waiting for a window", "<=", 0.5),
        _("over_instructions", "%", "after the last window", "<=", 0.5),
        _("shapes_instructions", "%", "recorded with shapes"),
    ]),
    "reader": ("Reading traces", [
        _("reader_events", "", "events in the trace"),
        _("reader_mb", "MB", "size of the trace (.json)"),
        _("reader_s", "s", "tprof overview, .json"),
        _("reader_gz_s", "s", "tprof overview, .json.gz"),
        _("reader_compat_s", "s", "tprof overview --plugin-compat"),
        _("check_s", "s", "tprof check"),
        _("tables_s", "s", "read once, to overview, advice and all tables", "<=", 2),
        _("tables_rss_mib", "MiB", "... its peak memory", "<=", 600),
        _("report_s", "s", "tprof report, the page", "<=", 3),
        _("report_rss_mib", "MiB", "... its peak memory", "<=", 600),
        _("files", "", "such traces (.json.gz) in one directory"),
        _("file_s", "s", "tprof overview of all of them, per trace (64 in 90 s)", "<=", 1.4),
        _("files_rss_mib", "MiB", "... its peak memory", "<=", 2000),
        _("python_json_s", "s", "json.load of the file in Python: less than any reader written in it takes"),
        _("python_json_mib", "MiB", "... its peak memory"),
    ]),
    "ranks": ("Many ranks", [
        _("ranks", "", "ranks of a made job, of 100 steps each, with facts beside their traces"),
        _("ranks_s", "s", "tprof overview --all-ranks of them (1024)", "<=", 5),
        _("ranks_rss_mib", "MiB", "... its peak memory", "<=", 1024),
        _("merged_events", "", "events of each of 8 ranks"),
        _("merge_s", "s", "tprof merge of them (a million each)", "<=", 30),
        _("merge_rss_mib", "MiB", "... its peak memory", "<=", 2000),
    ]),
    "plugin": ("Reading a trace as torch_tb_profiler does", [
        _("plugin_s", "s", "the plugin, until it could show its views"),
        _("plugin_rss_mib", "MiB", "... its peak memory"),
        _("plugin_ratio", "x", "the plugin / all tables of tprof", ">=", 50),
        _("plugin_rss_ratio", "x", "... in peak memory", ">=", 10),
    ]),
    "native": ("The native stack of a CUDA call, its frames known", [
        _("native_frames", "", "frames of the stack"),
        _("native_stack_ns", "ns", "walked and recorded, over the call without it", "<=", 1000),
        _("backtrace_ns", "ns", "glibc's backtrace() of the same stack, recording nothing"),
    ]),
    "exec": ("A process that uses no torch", [
        _("exec_ms", "ms", "what preloading adds to an exec", "<=", 0.2),
    ]),
}

# Groups that want a program which setup does not install, or sources that a $VARIABLE tells: left out where it is not.
WANTS = {"instructions": "valgrind", "plugin": "$TBCHECK"}
# Groups that some torches cannot run, and why.
CANNOT = {"everything": {"host": "this torch is built without Kineto",
                         "trixie": "torch.profiler with stacks crashes at the first nn.Module on Python 3.13"}}


def missed(figure, value):
    """Whether this value breaks the figure's limit."""
    if figure.limit is None:
        return False
    return not (value <= figure.limit if figure.direction == "<=" else value >= figure.limit)
