# Sourced by tests/sanitizers and tests/fuzz/run: a build by clang under AddressSanitizer and
# UndefinedBehaviorSanitizer, with what libFuzzer needs to see which code an input reaches.
. "$(dirname "${BASH_SOURCE[0]}")/../tools/setup.sh"
sanitized=$build-asan
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

# build_sanitized TARGET...
build_sanitized() {
  [ -f "$sanitized/build.ninja" ] ||
    CC=clang CXX=clang++ meson setup "$sanitized" "$repo" -Db_sanitize=address,undefined -Db_lundef=false \
      -Doptimization=1 -Dcpp_args=-fsanitize=fuzzer-no-link -Dc_args=-fsanitize=fuzzer-no-link \
      -Dfuzz=true -Dviewer=off -Dstack=disabled >/dev/null </dev/null
  ninja -C "$sanitized" "$@" >"$sanitized/log" 2>&1 </dev/null || { tail -n 30 "$sanitized/log"; return 1; }
}
