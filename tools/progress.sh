# shellcheck shell=bash
# Sourced by tools/setup.sh. Defines: patiently.

# how_far LOG SECONDS: the files that ninja has built, and once these are a tenth, for how long it will go on at that rate; of
# others the last line.
how_far() {
  local counts line
  counts=$(grep -a -o '^\[[0-9]*/[0-9]*\]' "$1" | tail -n 1 | tr -d '[]')
  if [ "${counts%/*}" -gt 0 ] 2>/dev/null; then
    local done=${counts%/*} all=${counts#*/}
    printf '%s of %s files' "$done" "$all"
    [ $((10 * done)) -lt "$all" ] || printf ', about %s s left' $(($2 * (all - done) / done))
  else
    line=$(tail -n 1 "$1" | tr -c '[:print:]' ' ')
    printf '%.60s' "${line:-at work}"
  fi
}

# patiently LOG COMMAND...: runs it with all that it prints in LOG, and shows how far it is: on a terminal in one line that
# changes, elsewhere by a line every five seconds, so that never ten pass without one where another command follows.
patiently() {
  local log=$1 every=5 before='' after='\n' status=0 watcher begun=$SECONDS
  shift
  [ ! -t 1 ] || every=1 before='\r\033[K' after=''
  : >"$log"
  # An interrupt does not reach what runs in the background, and sleep may outlive the loop for a moment: it must not hold
  # the output of this script open.
  while sleep "$every" >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    printf '%b  %s s: %s%b' "$before" $((SECONDS - begun)) "$(how_far "$log" $((SECONDS - begun)))" "$after"
  done &
  watcher=$!
  "$@" </dev/null >"$log" 2>&1 || status=$?
  kill "$watcher"
  wait "$watcher" 2>/dev/null || true
  printf '%b' "$before"
  return "$status"
}
