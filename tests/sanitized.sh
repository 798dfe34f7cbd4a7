# shellcheck shell=bash
# Sourced by tests/fuzz/run after tools/setup.sh.
# Defines: addresses, threads (directories), sanitized_build DIRECTORY TARGET...

# Built by clang: in the first under AddressSanitizer and UndefinedBehaviorSanitizer, and so that libFuzzer sees which
# code an input reached; in the other under ThreadSanitizer. (vptr would ask for type information, which code of the
# profiled program is built without.)
addresses=$build-addresses
threads=$build-threads
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

sanitized_build() {
  local dir=$1 sanitizers=thread flags=
  shift
  [ "$dir" = "$threads" ] || sanitizers=address,undefined flags='-fsanitize=fuzzer-no-link -fno-sanitize=vptr'
  mkdir -p "$dir"
  need "${build_packages[@]}" libgtest-dev clang lld
  [ -f "$dir/build.ninja" ] ||
    CC=clang CXX=clang++ CC_LD=lld CXX_LD=lld meson setup "$dir" "$repo" -Db_sanitize="$sanitizers" -Db_lundef=false \
      -Doptimization=1 -Dc_args="$flags" -Dcpp_args="$flags" -Dtests=true -Dfuzz=true -Dviewer=off -Dstack=disabled \
      >"$dir/log" 2>&1 </dev/null || { tail -n 30 "$dir/log"; return 1; }
  ninja -C "$dir" "$@" >"$dir/log" 2>&1 </dev/null || { tail -n 30 "$dir/log"; return 1; }
}
