# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by tests/sanitizers and tests/fuzz/run after tools/setup.sh, so that both share what they build.
# Defines: addresses, threads (directories), sanitized_build DIRECTORY TARGET...

# The first is built by clang under AddressSanitizer and UndefinedBehaviorSanitizer, and so that libFuzzer sees which
# code an input reached; the other by gcc under ThreadSanitizer, since that of clang 14 dies in writer_test without a
# report. (vptr would ask for type information, which code of the profiled program is built without.)
addresses=$build-addresses
threads=$build-threads
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

sanitized_build() {
  local dir=$1 sanitizers=thread flags='' kept=''
  ! command -v ccache >/dev/null || kept='ccache '  # meson takes it by itself only where no compiler is named
  local compiler=(CC="${kept}gcc" CXX="${kept}g++")
  shift
  if [ "$dir" = "$addresses" ]; then
    sanitizers=address,undefined flags='-fsanitize=fuzzer-no-link -fno-sanitize=vptr'
    compiler=(CC="${kept}clang" CXX="${kept}clang++" CC_LD=lld CXX_LD=lld)
  fi
  mkdir -p "$dir"
  need "${build_packages[@]}" libgtest-dev clang libclang-rt-dev lld
  keep_objects
  [ -f "$dir/build.ninja" ] ||
    env "${compiler[@]}" meson setup "$dir" "$repo" -Db_sanitize="$sanitizers" -Db_lundef=false \
      -Doptimization=1 -Dc_args="$flags" -Dcpp_args="$flags" -Dtests=true -Dviewer=off -Dstack=disabled \
      -Dfuzz="$([ "$dir" = "$addresses" ] && echo true || echo false)" \
      >"$dir/log" 2>&1 </dev/null || { tail -n 30 "$dir/log"; return 1; }
  ninja -C "$dir" "$@" >"$dir/log" 2>&1 </dev/null || { tail -n 30 "$dir/log"; return 1; }
}
