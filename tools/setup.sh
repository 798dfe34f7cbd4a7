# shellcheck shell=bash disable=SC2034
# Sourced by tools/quickstart and tests/all: installs what is missing with apt, and builds. Never reads stdin.
# Defines: repo, build, may_use_apt, need PACKAGE..., want WHAT PACKAGE..., lacking TOOL:PACKAGE..., leave_root,
# python_with_torch, fetch_tools, debian_mirror, keep_objects, build_tprof.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${TPROF_BUILD:-$repo/build}
build_packages=(g++ meson ninja-build pkg-config zlib1g-dev libsqlite3-dev nlohmann-json3-dev libcli11-dev python3)
torch_packages=(python3-torch python3-numpy)
. "$repo/tools/progress.sh"

# Is this a Debian on which packages can be installed?
may_use_apt() {
  command -v apt-get >/dev/null && command -v dpkg-query >/dev/null && { [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null; }
}

# need PACKAGE...: makes sure that they are installed; says what to do and stops where it cannot.
need() {
  local missing=() package as_root=()
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    printf 'This machine has no apt. Install what these Debian packages hold, then build with\n' >&2
    printf '"meson setup build && ninja -C build":\n  %s\n' "$*" >&2
    exit 1
  fi
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      printf 'Not root, and no sudo. As root, run: apt-get install %s\n' "${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
    sudo true  # asks for the password, before lines about progress could hide that
  fi
  printf 'Installing %s\n' "${missing[*]}"
  # A machine that has just started often installs updates by itself: five minutes are given to it.
  as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300)
  local apt_log
  apt_log=$(mktemp)
  apt_install() { patiently "$apt_log" "${as_root[@]}" install -y --no-install-recommends "${missing[@]}"; }
  if ! apt_install; then  # lists too old, or never fetched
    patiently "$apt_log" "${as_root[@]}" update || true
    if ! apt_install; then
      tail -n 20 "$apt_log" >&2
      rm -f "$apt_log"
      printf 'apt could not install: %s\n' "${missing[*]}" >&2
      exit 1
    fi
  fi
  rm -f "$apt_log"
}

# want WHAT PACKAGE...: the same for what the build can do without; one line where they cannot be had.
want() {
  local what=$1
  shift
  (need "$@") 2>/dev/null || printf 'Without %s: apt could not install %s\n' "$what" "$*"
}

# lacking TOOL:PACKAGE...: the packages of those tools that are not on PATH. Who has one from elsewhere keeps it.
lacking() {
  local tool
  for tool in "$@"; do
    command -v "${tool%:*}" >/dev/null || printf '%s\n' "${tool#*:}"
  done
}

# leave_root COMMAND...: under sudo, goes on as the user who typed it, by running this command. What is built and profiled
# then belongs to that user, and nothing of the checkout but this runs as root. Whoever is root without sudo stays it.
leave_root() {
  local place home
  [ "$(id -u)" -eq 0 ] && [ "${SUDO_UID:-0}" -ne 0 ] || return 0
  local user=(setpriv --reuid "$SUDO_UID" --regid "${SUDO_GID:-$SUDO_UID}" --init-groups)
  for place in "$repo" "$build"; do
    while [ ! -e "$place" ]; do place=$(dirname "$place"); done
    "${user[@]}" test -w "$place" && continue
    printf '%s, who typed sudo, may not write to %s: ' "${SUDO_USER:-User $SUDO_UID}" "$place" >&2
    printf 'run this as the user whom that belongs to; to do all of it as root: env -u SUDO_UID %s\n' "$1" >&2
    exit 1
  done
  home=$(getent passwd "$SUDO_UID" | cut -d : -f 6)
  exec "${user[@]}" env HOME="${home:-/}" USER="${SUDO_USER:-}" LOGNAME="${SUDO_USER:-}" "$@"
}

# python_with_torch: the Python that the user's programs run with, as tprof doctor finds it: the first that has torch, which
# is not imported for that. Looked for from /, where no folder can be taken for a module.
python_with_torch() {
  local name path
  for name in ${VIRTUAL_ENV:+"$VIRTUAL_ENV/bin/python"} ${CONDA_PREFIX:+"$CONDA_PREFIX/bin/python"} python python3 /usr/bin/python3; do
    path=$(command -v "$name") || continue
    if (cd / && "$path" -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("torch"))') >/dev/null 2>&1; then
      printf '%s\n' "$path"
      return
    fi
  done
}

# fetch_tools: puts on PATH what pip can fetch of what the build lacks here: npm, which makes the page, and where there is no
# apt all but the compiler. Into $build/fetched, where it is found again.
fetch_tools() {
  local tools=$build/fetched tool lacking log
  PATH=$tools/bin:$PATH
  mapfile -t lacking < <(python3 "$repo/tools/packaging/fetched.py" lacking)
  may_use_apt || for tool in meson ninja; do [ -x "$tools/bin/$tool" ] || lacking+=("$tool"); done
  [ ${#lacking[@]} -gt 0 ] || return 0
  printf 'Fetching %s with pip\n' "${lacking[*]}"
  log=$(mktemp)
  if patiently "$log" python3 -m venv "$tools" && patiently "$log" "$tools/bin/pip" install "${lacking[@]}"; then
    rm -f "$log"
    return 0
  fi
  tail -n 5 "$log" >&2
  rm -f "$log"
  may_use_apt || exit 1  # apt has brought all but npm
}

# The Debian mirror that this machine itself uses: the first main archive of its own apt sources; empty if none.
debian_mirror() {
  {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
      grep -v '^#' | grep -o -E '[a-z+]+://[^] ]+/debian/?( |$)' | grep -v security | head -n 1 | tr -d ' '
  } || true
}

# keep_objects: what the tests compile is kept beside their other caches, where ccache is installed (meson uses it then).
# An object may come from another clone: its line tables name that one's folder.
keep_objects() {
  local cache=${TPROF_TEST_CACHE:-/var/cache/tprof-chroots}
  export CCACHE_BASEDIR=$repo CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime  # what a precompiled header needs
  [ -n "${CCACHE_DIR:-}" ] || ! mkdir -p "$cache/ccache" 2>/dev/null || export CCACHE_DIR=$cache/ccache
}

# build_tprof [tests [units]]: builds into $build, quietly unless it fails. The tests only where they are asked for, and
# there all parts must be built and a warning is an error: who only wants to use tprof is not kept from it by a compiler
# that warns of more.
build_tprof() {
  local log set_up=(true) tests=false options=(-Dtests=false) has=tests/golden_gpu
  log=$(mktemp)
  [ "${1:-}" != tests ] || tests=true options=(-Dtests=true -Dunit=false -Dwerror=true -Dsqlite=enabled -Dstack=enabled)
  [ "${2:-}" != units ] || options+=(-Dunit=true) has=tests/unit_tests
  if [ ! -f "$build/build.ninja" ]; then
    set_up=(meson setup "${options[@]}" "$build" "$repo")
  elif [ "$tests" = true ] && ! grep -q "^build $has:" "$build/build.ninja"; then
    set_up=(meson configure "${options[@]}" "$build")
  fi
  printf 'Building into %s\n' "$build"
  if patiently "$log" "${set_up[@]}" && patiently "$log" ninja -C "$build"; then
    rm -f "$log"
    return 0
  fi
  tail -n 60 "$log" >&2
  rm -f "$log"
  printf 'The build failed.\n' >&2
  exit 1
}
