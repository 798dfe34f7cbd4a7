"""What files and outputs may tell to others: no secrets of command lines, and recordings to nobody but their user."""
import contextlib
import gzip
import json
import os
import stat

import pytest

from harness import finish, run, start, tprof, trace_files, wait_for
from test_stack import core_of

PLANTED = "Planted"  # is part of each secret
ARGUMENTS = ["--api-key", "Planted1", "--hub_token=Planted2", "+wandb.api_key=Planted3", "DB_PASSWORD=Planted 4",
             "postgres://me:Planted5@db/runs", "--config", '{"lr": 0.1, "secret": "Planted6"}', "hf_Planted7" + "x" * 30,
             "https://host/data?sig=Planted8&part=1", "--password", "Planted9", "--max_tokens", "512"]
SHOWN = ('--api-key *** --hub_token=*** +wandb.api_key=*** DB_PASSWORD=*** postgres://***@db/runs --config '
         '{"lr": 0.1, "secret": "***"} *** https://host/data?sig=***&part=1 --password *** --max_tokens 512')


def assert_silent(logdir, *outputs):
    """No file of a directory and no output holds a planted word."""
    files = [path for path in logdir.rglob("*") if path.is_file()]
    assert files
    for path in files:
        data = path.read_bytes()
        for text in (data, gzip.decompress(data)) if data.startswith(b"\x1f\x8b") else (data,):
            assert PLANTED.encode() not in text, path
        assert PLANTED not in path.name
    for text in outputs:
        assert PLANTED not in text


@pytest.mark.parametrize("how", ["preload", "run"])
def test_secrets_of_the_command_line_are_not_recorded(tmp_path, logdir, how):
    ran = tmp_path / "ran"
    command = "echo Planted0 {step} >>%s" % ran
    asked = {"run_options": ["--on-trace-ready", command]} if how == "run" else {"options": {"TPROF_ON_TRACE_READY": command}}
    asked.setdefault("options", {}).update(TPROF_SCHEDULE="wait=1,active=3,repeat=1", TPROF_KEEP_RECORDING="1")
    result = run(["train.py", 8, "fall", *ARGUMENTS], how, logdir=logdir, **asked)
    assert ran.read_text() == "Planted0 4\n", "the command is run as before"
    (trace,) = trace_files(logdir)
    page = logdir / "page.html"
    outputs = [result.stderr] + [done.stdout + done.stderr for done in (
        tprof("info", logdir), tprof("info", "--json", logdir), tprof("report", trace, "-o", page), tprof("overview", trace),
        tprof("advise", trace), tprof("convert", "--force", logdir))]
    assert page.exists()
    assert SHOWN in outputs[1] and "option.on_trace_ready  set" in outputs[1]
    assert "--on-trace-ready" in outputs[-1], "convert still says that there was a command"
    failed = tprof("convert", "--force", "--on-trace-ready", "exit 3 # Planted0", logdir)
    assert "tprof: on_trace_ready failed (exit status 3)\n" in failed.stderr
    assert_silent(logdir, *outputs)


def test_a_hang_tells_no_secrets(tmp_path, logdir):
    """Neither the report, nor what looks at the program while it stands still."""
    said = tmp_path / "said"
    process = start(["numbered.py", tmp_path / "progress", 0, "fall", *ARGUMENTS], "preload", logdir=logdir,
                    env={"NUMBERED_SLOW": "40 600"}, options={
                        "TPROF_MODE": "flight:16M", "TPROF_TRIGGER": "hang>1s", "TPROF_KEEP_RECORDING": "1",
                        "TPROF_ON_HANG": "echo Planted0 >>%s; exit 7" % said})
    (report,) = wait_for(lambda: [path for path in logdir.glob("*.hang*.txt") if "on_hang failed" in path.read_text()],
                         what="the command's failure in the report")
    assert said.read_text() == "Planted0\n"
    assert "tprof: on_hang failed (exit status 7)\n" in report.read_text()
    top, stack, stack_json, hang = (tprof(*words) for words in (
        ["top", "--once", "--json", logdir], ["stack", process.pid], ["stack", "--json", process.pid],
        ["hang", "--json", logdir]))
    escaped = SHOWN.replace('"', '\\"')
    assert SHOWN in report.read_text() and SHOWN in stack.stdout
    assert escaped in top.stdout and escaped in stack_json.stdout and escaped in hang.stdout
    process.kill()
    finish(process, logdir)
    assert_silent(logdir, *(done.stdout + done.stderr for done in (top, stack, stack_json, hang)))


def test_a_long_command_line_is_not_cut_inside_a_secret(logdir):
    """What is cut off there lacks the end by which it would be known."""
    url = "postgres://me:%s@db/runs" % ("Planted" * 700)
    run(["train.py", 4, "fall", "--lr", "1", url], "preload", logdir=logdir, options={"TPROF_KEEP_RECORDING": "1"})
    assert "train.py 4 fall --lr 1\n" in tprof("info", *logdir.glob("*.tprof")).stdout
    assert_silent(logdir)


def test_the_command_line_of_a_core_file_is_shown_without_secrets(tmp_path):
    """The kernel cuts it to 80 characters, with what follows a secret as well."""
    crash = ["/usr/bin/python3", "-c", "import ctypes; ctypes.string_at(0)"]
    for number, (more, shown) in enumerate(((["--token=Planted1"], " --token=***"), (["s3://me:Planted2Planted2@x"], ""))):
        cwd = tmp_path / str(number)
        cwd.mkdir()
        _, core = core_of(crash + more, cwd)
        (found,) = json.loads(tprof("stack", "--core", core, "--json").stdout)["processes"]
        assert found["command"] == " ".join(crash) + shown


STANDS_STILL = """
import time, torch
from torch.utils.data import DataLoader
net = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for i, batch in enumerate(DataLoader([torch.randn(8) for _ in range(24)], batch_size=4, num_workers=1)):
    optimizer.zero_grad()
    net(batch).sum().backward()
    optimizer.step()
    if i == 3:
        time.sleep(600)
"""


@pytest.mark.parametrize("umask", [0o022, 0])
@pytest.mark.parametrize("kind", ["own", "shared"])
def test_recordings_are_private_and_traces_follow_the_umask(tmp_path, logdir, umask, kind):
    if kind == "shared":
        logdir.mkdir(exist_ok=True)
        logdir.chmod(0o1777)
    script = tmp_path / "stands_still.py"
    script.write_text(STANDS_STILL)
    modes = {}

    def look():
        for path in logdir.rglob("*"):
            with contextlib.suppress(FileNotFoundError):  # a temporary file
                modes[path] = stat.S_IMODE(path.stat().st_mode)
    process = start([script], "preload", logdir=logdir, umask=umask, env={"RANK": "0", "WORLD_SIZE": "1"}, options={
        "TPROF_SCHEDULE": "wait=1,active=2,repeat=1", "TPROF_KEEP_RECORDING": "1", "TPROF_SAMPLE": "python",
        "TPROF_TRIGGER": "hang>1s"})
    wait_for(lambda: trace_files(logdir) and [path for path in logdir.glob("*.hang*.txt")
                                              if path.read_text().endswith("==== End of the report\n")], what="the report")
    look()
    process.kill()
    finish(process, logdir)
    trace, *_ = trace_files(logdir)  # on a busy machine the way to the first step is a hang, too, and brings a window
    for words in (["report", trace, "-o", logdir / "page.html"], ["export", trace, "--to", "parquet", "-o", logdir / "tables"],
                  ["export", trace, "--to", "speedscope", "-o", logdir / "trace.speedscope.json"]):
        done = tprof(*words, umask=umask)
        assert done.returncode == 0, done.stderr
    look()
    files = {path: mode for path, mode in modes.items() if path.suffix and not path.is_dir()}
    private = {path for path in files if path.suffix in (".tprof", ".samples", ".verdict")}
    assert {path.suffix for path in files} >= {".tprof", ".samples", ".gz", ".rank_facts", ".txt", ".html", ".parquet", ".json"}
    assert any(".worker0." in path.name for path in private), "that of the loader's worker"
    wrong = {path.name: oct(mode) for path, mode in files.items() if mode != (0o600 if path in private else 0o666 & ~umask)}
    assert not wrong


def test_another_user_is_told_that_a_recording_is_not_his(public_dir):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    logdir = public_dir / "private-recording"
    run(["train.py", 4], "preload", logdir=logdir, options={"TPROF_KEEP_RECORDING": "1"})
    (recording,), (trace,) = logdir.glob("*.tprof"), trace_files(logdir)
    try:
        readable = tprof("info", trace, user=65534, group=65534, extra_groups=[])
    except PermissionError:
        pytest.skip("another user may not enter the build directory")
    assert readable.returncode == 0, readable.stderr
    done = tprof("info", recording, user=65534, group=65534, extra_groups=[])
    assert done.returncode == 3 and done.stderr == "tprof: %s: cannot be opened: Permission denied\n" % recording
