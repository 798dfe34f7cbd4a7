"""What computes in the timeline: pixels, sums, curves, hits, arrows, beside slow ways that are plainly right."""
import os
import pathlib
import subprocess
import sys

import harness
from browser import HERE

VIEWER = HERE.parent.parent / "src" / "viewer"


def test_the_parts_of_the_timeline_compute_what_they_should(tmp_path):
    packages = pathlib.Path(harness.BUILD) / "src" / "viewer"
    sys.path.insert(0, str(VIEWER))
    import build
    subprocess.run([build.esbuild(packages), str(HERE / "timeline_parts.ts"), "--bundle", "--format=esm", "--jsx=automatic",
                    "--jsx-import-source=preact", "--outfile=%s" % (tmp_path / "parts.mjs"), "--log-level=warning"],
                   check=True, env={**os.environ, "NODE_PATH": str(packages / "node_modules")})
    done = subprocess.run(["node", str(HERE / "timeline_parts.mjs"), str(tmp_path / "parts.mjs")],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0 and done.stdout == "right\n", done.stdout
