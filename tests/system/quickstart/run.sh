#!/bin/bash
# contrib/quickstart without its example: starts twice, survives bad arguments and a deep folder, and leaves nothing.
# usage: run.sh BUILD
set -euo pipefail

source_dir=$(cd "$(dirname "$0")/../../.." && pwd)
export MUSTER_BUILD=$1
root=$(mktemp -d /tmp/mq.XXXXXX)
chmod 755 "$root"
# Too deep for a socket: the quickstart must find a shorter place for those.
base=$root/$(printf 'deep%.0s' {1..20})
log=$root/log

quickstart() { "$source_dir/contrib/quickstart" "$@" --dir "$base" </dev/null >"$log" 2>&1; }
fail() {
  printf 'FAILED: %s\n' "$1"
  cat "$log"
  exit 1
}
clean_up() {
  quickstart reset || true
  rm -rf -- "$root"
}
trap clean_up EXIT

expect_refusal() { # pattern arguments…
  local pattern=$1
  shift
  if quickstart "$@"; then fail "accepted: $*"; fi
  grep -q -- "$pattern" "$log" || fail "no word about '$pattern' for: $*"
}

left_over() { # Processes that run this quickstart's own programs.
  local exe
  for exe in /proc/[0-9]*/exe; do
    case $(readlink "$exe" 2>/dev/null) in "$base"/software/*) printf '%s\n' "$exe" ;; esac
  done
}

run_as_user() {
  if [[ $(id -u) == 0 ]]; then
    setpriv --reuid muster-demo --regid muster-demo --init-groups "$@"
  else
    "$@"
  fi
}

expect_refusal 'unknown word' --frobnicate
expect_refusal 'must be fake, real or auto' start --gpus many
expect_refusal 'no quickstart' status
mkdir -p "$base"
echo mine >"$base/file"
expect_refusal 'is not a quickstart' start --gpus fake
rm -r "$base"

quickstart start --no-example --gpus fake || fail "first start"
gateway=$(sed -n 's/.*export MUSTER_GATEWAY=\([^ ]*\).*/\1/p' "$log")
[[ -S $gateway ]] || fail "no socket at '$gateway'"
quickstart status || fail "status of a running cluster"
export MUSTER_GATEWAY=$gateway
cd "$base/work"
job=$(run_as_user "$base/software/bin/gpusubmit" --parsable --nodes 2 --gpus-per-node 1 --launch tasks -- sleep 600)
deadline=$((SECONDS + 30))
until "$base/software/bin/gpuqueue" --all | grep -q running; do
  ((SECONDS < deadline)) || fail "job $job does not run"
  sleep 0.2
done
cd /

quickstart stop || fail "stop"
[[ -z $(left_over) ]] || fail "left after stop: $(left_over)"
if quickstart status; then fail "status of a stopped cluster says it runs"; fi

began=$SECONDS
quickstart start --no-example --gpus fake || fail "second start"
((SECONDS - began <= ${MUSTER_QUICKSTART_SECONDS:-10})) || fail "the second start took $((SECONDS - began)) s"
"$base/software/bin/gpuacct" --all >"$log" || fail "gpuacct"
grep -q cancelled "$log" || fail "the job that stop cancelled is not accounted"

# Daemons that died are told, and stop still ends all that is left.
kill -KILL "$(cut -d' ' -f1 "$base/pids/n1-launcher")"
if quickstart status; then fail "status does not see a dead launcher"; fi
quickstart stop || fail "stop with a dead daemon"
[[ -z $(left_over) ]] || fail "left after the second stop: $(left_over)"
quickstart reset || fail "reset"
[[ ! -e $base && ! -e ${gateway%/*} ]] || fail "reset left $base or ${gateway%/*}"
echo "quickstart: fine"
