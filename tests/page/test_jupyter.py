"""%%tprof in a real kernel: nbclient stands for the notebook, Chromium shows what the cell has put out."""
import os
import subprocess

import pytest

import harness

pytestmark = pytest.mark.full
PYTHON = harness.REPO / "tools" / "python"
CELLS = [
    "%load_ext tprof.jupyter",
    "%%tprof\n1",
    "import torch",
    "torch.ones(3) + 1",
    "%%tprof --height 400\nfor i in range(3):\n    torch.ones(3, 3) @ torch.ones(3, 3)\nprint('out', i)",
    "torch.ones(3).cumsum(0)",
    "%%tprof -o named.html\ntorch.ones(3).exp()\nraise KeyError('mine')",
    "%%tprof --no-such\n1",
]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """(the directory of the notebook, its cells after they ran)"""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    directory = tmp_path_factory.mktemp("notebook")
    changed = pytest.MonkeyPatch()
    with changed.context() as patch:
        patch.setenv("JUPYTER_DATA_DIR", str(directory / "data"))
        patch.setenv("PYTHONPATH", str(PYTHON))
        patch.setenv("PATH", str(harness.BUILD / "tools") + os.pathsep + os.environ["PATH"])
        subprocess.run(["/usr/bin/python3", "-m", "tprof.jupyter", "install", "--", "--profile-memory"], check=True)
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
        nbclient.NotebookClient(book, kernel_name="tprof", timeout=120, startup_timeout=300, allow_errors=True,
                                resources={"metadata": {"path": str(directory)}}).execute()
    return directory, book.cells


def texts(cell, name):
    return "".join(output.get("text", "") for output in cell.outputs if output.get("name") == name)


def frame(cell):
    return next(output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {}))


def trace_of(cell):
    return next(line[len("tprof: "):] for line in texts(cell, "stdout").splitlines() if ".pt.trace.json" in line)


def test_a_cell_is_a_window_of_its_own(notebook):
    directory, cells = notebook
    first, second = (harness.Trace(directory / trace_of(cells[i])) for i in (4, 6))
    assert [e["name"] for e in first.events if e.get("cat") == "cpu_op"].count("aten::matmul") == 3
    assert not any(e["name"] in ("aten::cumsum", "aten::exp") for e in first.events)
    assert [e["name"] for e in second.events if e.get("cat") == "cpu_op"].count("aten::exp") == 1
    for trace in (first, second):
        assert sum(e["name"] == "cell" for e in trace.events) == 1
        assert any(e["name"] == "[memory]" for e in trace.events)
    assert len(list(directory.rglob("*.pt.trace.json.gz"))) == 2
    assert texts(cells[4], "stdout").startswith("out 2\n") and (directory / "named.html").stat().st_size > 1000


def test_a_cell_that_fails_is_shown_and_fails(notebook):
    _, cells = notebook
    assert "iframe" in frame(cells[6]) and any(output.output_type == "error" and output.ename == "KeyError"
                                               for output in cells[6].outputs)


def test_what_cannot_be_profiled_says_why(notebook):
    _, cells = notebook
    assert "import torch in a cell before this one" in texts(cells[1], "stderr")
    assert "unrecognized arguments: --no-such" in texts(cells[7], "stderr")


def test_another_kernel_says_how_to_get_this_one(tmp_path):
    lines = "import IPython.core.interactiveshell as shell; s = shell.InteractiveShell.instance(); " \
            "s.run_line_magic('load_ext', 'tprof.jupyter'); s.run_cell_magic('tprof', '', '1')"
    done = subprocess.run(["/usr/bin/python3", "-c", lines], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(PYTHON)})
    assert "does not run under tprof; once: python3 -m tprof.jupyter install" in done.stderr, done.stderr


def test_the_report_in_the_cell_works(notebook, chromium, tmp_path):
    _, cells = notebook
    (tmp_path / "cell.html").write_text("<!doctype html><title>cell</title>" + frame(cells[4]))
    page = chromium.open(tmp_path / "cell.html")
    frames = page.all("iframe", "[e.getAttribute('height'), e.getAttribute('sandbox').includes('same-origin')]")
    assert frames == [["400", False]]
    assert "Operators" in chromium.tell("frame_text", until="Overview")
    found = page.report()
    assert not found["errors"] and not found["console"], found
