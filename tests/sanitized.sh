# shellcheck shell=bash
# Sourced by tests/fuzz/run after tools/setup.sh. Defines: addresses (a directory), sanitized_build TARGET...

# Built by clang under AddressSanitizer and UndefinedBehaviorSanitizer, and so that libFuzzer sees which code an input
# reached. (vptr would ask for type information, which code of the profiled program is built without.)
addresses=$build-addresses
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

sanitized_build() {
  local flags='-fsanitize=fuzzer-no-link -fno-sanitize=vptr'
  mkdir -p "$addresses"
  need "${build_packages[@]}" libgtest-dev clang lld
  [ -f "$addresses/build.ninja" ] ||
    CC=clang CXX=clang++ CC_LD=lld CXX_LD=lld meson setup "$addresses" "$repo" -Db_sanitize=address,undefined \
      -Db_lundef=false -Doptimization=1 -Dc_args="$flags" -Dcpp_args="$flags" -Dtests=true -Dfuzz=true -Dviewer=off \
      -Dstack=disabled >"$addresses/log" 2>&1 </dev/null || { tail -n 30 "$addresses/log"; return 1; }
  ninja -C "$addresses" "$@" >"$addresses/log" 2>&1 </dev/null || { tail -n 30 "$addresses/log"; return 1; }
}
