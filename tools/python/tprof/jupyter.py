"""A cell of a notebook as a window of tprof, with its report below the cell.

    python3 -m tprof.jupyter install            # once: the kernel "Python 3 (tprof)", in which the notebook must run

    import torch                                # a cell
    %load_ext tprof.jupyter

    %%tprof                                     # another one: what it does is recorded and shown
    for x, y in loader:
        loss(model(x), y).backward()

The kernel is an ordinary one, started by tprof-run. What is recorded is decided by the options of its installation:

    python3 -m tprof.jupyter install --name deep -- --profile-memory --with-stack=1
"""
import argparse
import base64
import contextlib
import html
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from . import range as label
from . import start, stop

INSTALL = "%s -m tprof.jupyter install" % (os.path.basename(sys.executable) or "python3")
MOST_OF_A_CELL = "8M"  # of the report: it is kept in the notebook
TRACE = re.compile(r"(.+)\.pt\.trace\.json(\.gz)?$")


class CellError(Exception):
    """A cell cannot be profiled or shown. One line: what, and what to do."""


def program(name):
    """The path of tprof or tprof-run: the package's own, else that of PATH."""
    own = pathlib.Path(__file__).resolve().parent / "bin" / name
    found = str(own) if own.is_file() else shutil.which(name)
    if not found:
        raise CellError("there is no %s in the package tprof and none in PATH" % name)
    return found


# --- the magic

def log_directory():
    """Where this process's traces go."""
    directory = os.environ.get("TPROF_LOGDIR")
    if not directory or "libtprof" not in os.environ.get("LD_PRELOAD", ""):
        raise CellError("this kernel does not run under tprof; once: %s, then choose the kernel 'Python 3 (tprof)'" % INSTALL)
    return pathlib.Path(directory)


def traces():
    """The traces of this process."""
    return {path for path in log_directory().glob("*_%d[._]*" % os.getpid()) if TRACE.match(path.name)}


def wait_for_trace(known, seconds):
    """The trace that is not among the known ones. Another process writes it."""
    end = time.monotonic() + seconds
    while not (new := traces() - known):
        if time.monotonic() > end:
            raise CellError("no trace after %g s (--wait SECONDS); tprof report %s shows it once it is written, if the "
                            "cell did anything that is recorded" % (seconds, log_directory()))
        time.sleep(0.05)
    return max(new, key=lambda path: path.stat().st_mtime_ns)


def write_report(trace, page):
    words = [program("tprof"), "report", str(trace), "-o", str(page), "--max-size", MOST_OF_A_CELL, "--force"]
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode not in (0, 4):  # 4: something was left out, which the page says
        raise CellError(done.stderr.strip() or "%s ended with %d" % (" ".join(words), done.returncode))


def shown(page, height):
    """The report as HTML of its own: a frame without access to the notebook, in a part of the page, since IPython warns of
    HTML that is a frame and nothing else."""
    address = "data:text/html;base64," + base64.b64encode(page.read_bytes()).decode()
    return ('<div><iframe src="%s" title="%s" width="100%%" height="%d" sandbox="allow-scripts allow-downloads" '
            'style="border: 1px solid #8888"></iframe></div>' % (address, html.escape(page.name), height))


def parse(line):
    parser = argparse.ArgumentParser(prog="%%tprof", description="Profiles this cell and shows the report below it.")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write the report (default: beside the trace)")
    parser.add_argument("--height", type=int, default=600, metavar="PIXELS", help="of the report (default: %(default)s)")
    parser.add_argument("--wait", type=float, default=60, metavar="SECONDS",
                        help="for the trace to be written (default: %(default)g)")
    return parser.parse_args(shlex.split(line))


@contextlib.contextmanager
def without_tracebacks(shell):
    """The error of a cell is shown once, where it is raised again."""
    shell.showtraceback = lambda *_, **__: None
    try:
        yield
    finally:
        del shell.showtraceback


def profile(shell, line, cell):
    """Runs a cell as a window of its own."""
    from IPython.display import HTML, display
    try:
        arguments = parse(line)
    except SystemExit:  # argparse has said why
        return None
    result = None
    try:
        known = traces()
        if not start():
            raise CellError("nothing can be recorded yet: import torch in a cell before this one")
        try:
            with label("cell"), without_tracebacks(shell):
                result = shell.run_cell(cell)
        finally:
            stop()
        trace = wait_for_trace(known, arguments.wait)
        page = pathlib.Path(arguments.output or TRACE.match(str(trace)).group(1) + ".html")
        write_report(trace, page)
        print("tprof: %s\ntprof: %s" % (trace, page))
        display(HTML(shown(page, arguments.height)))
    except CellError as why:
        print("tprof: %s" % why, file=sys.stderr)
    if result is not None:
        result.raise_error()
        return result.result


def load_ipython_extension(shell):
    shell.register_magic_function(lambda line, cell: profile(shell, line, cell), "cell", "tprof")


# --- the kernel

def kernel(display_name, options):
    """What kernel.json of a kernel under tprof says."""
    return {"argv": [program("tprof-run"), "--autostart=0", "--quiet", *options, "--",
                     sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": display_name, "language": "python", "metadata": {"debugger": True}}


def install(arguments):
    from jupyter_client.kernelspec import KernelSpecManager
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        words = kernel(arguments.display_name, arguments.options)
        (pathlib.Path(directory) / "kernel.json").write_text(json.dumps(words, indent=1) + "\n")
        return KernelSpecManager().install_kernel_spec(directory, arguments.name, user=not arguments.prefix,
                                                       prefix=arguments.prefix)


def main():
    parser = argparse.ArgumentParser(prog="python3 -m tprof.jupyter", description="Jupyter kernels that run under tprof.")
    command = parser.add_subparsers(dest="command", required=True).add_parser("install", help="install such a kernel")
    command.add_argument("--name", default="tprof", help="of the kernel (default: %(default)s)")
    command.add_argument("--display-name", default="Python 3 (tprof)", metavar="NAME", help="(default: %(default)s)")
    command.add_argument("--prefix", metavar="DIR", help="below DIR/share/jupyter (default: that of the user)")
    command.add_argument("options", nargs="*", metavar="OPTION", help="of tprof-run, after a --")
    try:
        print(install(parser.parse_args()))
    except (CellError, ImportError, OSError) as why:
        sys.exit("tprof: %s" % why)


if __name__ == "__main__":
    main()
