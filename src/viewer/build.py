"""Builds the page of `tprof report`, for meson.build.

  build.py fetch JSON LOCK OUT      packages that they name into node_modules beside OUT, by npm; OUT: "yes", or why not
  build.py bundle DIR HTML DEPS     TypeScript and CSS of this folder -> one HTML file
  build.py ready FROM HTML          the same of a page that was built before ("": no page)
  build.py dist HTML                the page into a source distribution; it is built for that if it is not there yet
"""
import base64
import hashlib
import html
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PREBUILT = "prebuilt.html"


def esbuild(packages):
    """Debian's or npm's own, whichever is there."""
    return shutil.which("esbuild") or str(packages / "node_modules/.bin/esbuild")


def fetch(package, lock, out):
    out, packages = pathlib.Path(out), pathlib.Path(out).parent
    for path in (package, lock):
        shutil.copy(path, packages)
    wanted, stamp = pathlib.Path(lock).read_text() + esbuild(packages), packages / "fetched.lock"
    if not stamp.exists() or stamp.read_text() != wanted:
        words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
        if shutil.which("esbuild"):
            words.append("--omit=dev")
        done = subprocess.run(words, cwd=packages, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            first = (done.stdout.strip().splitlines() or ["it does not say why"])[0]
            out.write_text(f"npm could not fetch its packages: {first}")
            return
        stamp.write_text(wanted)
    out.write_text("yes")


def licences(packages):
    names = json.loads((packages / "package.json").read_text())["dependencies"]
    texts = []
    for name in sorted(names):
        folder = packages / "node_modules" / name
        version = json.loads((folder / "package.json").read_text())["version"]
        texts.append(f"{name} {version}\n\n{(folder / 'LICENSE').read_text().strip()}\n")
    return "\n\n".join(texts)


def hash_of(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def bundle(packages, out, dependencies):
    packages, out = pathlib.Path(packages), pathlib.Path(out)
    meta, folder = packages / "meta.json", packages / "bundle"
    subprocess.run([esbuild(packages), str(HERE / "main.tsx"), "--bundle", "--minify", "--format=iife", "--target=es2020",
                    "--jsx=automatic", "--jsx-import-source=preact", "--legal-comments=none", "--charset=utf8",
                    "--log-level=warning", f"--outdir={folder}", f"--metafile={meta}"],
                   check=True, env={**os.environ, "NODE_PATH": str(packages / "node_modules")}, cwd=HERE)
    script, style = (folder / "main.js").read_text(), (folder / "main.css").read_text()
    # What would end the element, or begin a comment in it.
    for text, bad in ((script, "</script"), (script, "<!--"), (style, "</style")):
        if bad in text.lower():
            sys.exit(f"the bundle holds {bad}")
    page = (HERE / "index.html").read_text()
    for mark, text in (("@SCRIPT_HASH@", hash_of(script)), ("@STYLE_HASH@", hash_of(style)),
                       ("@LICENCES@", html.escape(licences(packages))), ("@STYLE@", style), ("@SCRIPT@", script)):
        before, after = page.split(mark)
        page = before + text + after
    out.write_text(page)
    inputs = [HERE / "index.html", *((HERE / path).resolve() for path in json.loads(meta.read_text())["inputs"])]
    escaped = " ".join(str(path).replace(" ", "\\ ") for path in inputs)
    pathlib.Path(dependencies).write_text(f"{out.name}: {escaped}\n")


def ready(page, out):
    if page:
        shutil.copyfile(page, out)
    else:
        pathlib.Path(out).write_text("")


def dist(page):
    build = os.environ["MESON_BUILD_ROOT"]
    subprocess.run([os.environ.get("NINJA", "ninja"), "-C", build, os.path.relpath(page, build)], check=True)
    if not os.path.getsize(page):
        sys.exit("a source distribution holds the page: configure with npm on PATH")
    shutil.copyfile(page, pathlib.Path(os.environ["MESON_DIST_ROOT"]) / "src/viewer" / PREBUILT)


if __name__ == "__main__":
    {"fetch": fetch, "bundle": bundle, "ready": ready, "dist": dist}[sys.argv[1]](*sys.argv[2:])
