#!/bin/bash
# A private PostgreSQL server for tests: initdb in a directory, a Unix socket in it, no TCP.
#
#   postgres.sh start DIR    makes DIR if needed and starts; prints the conninfo of the superuser on the last line
#   postgres.sh stop DIR [fast|immediate]   ends it; immediate is as good as a crash
#   postgres.sh remove DIR   ends it and removes DIR
#
# As root the server runs as the system user postgres. Peer authentication only: the map lets the user who started it,
# and root, be any database role.
set -euo pipefail

fail() { echo "postgres.sh: $*" >&2; exit 1; }
verb=${1:-}; dir=${2:-}
[[ -n $verb && -n $dir ]] || fail "usage: postgres.sh start|stop|remove DIR"

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1) || true
[[ -n $bin ]] || bin=$(dirname "$(command -v postgres || true)")
[[ -x $bin/initdb ]] || fail "no PostgreSQL server found; install the package postgresql"

as_owner() {
  if [[ $(id -u) == 0 ]]; then
    (cd / && exec setpriv --reuid postgres --regid postgres --init-groups "$@")
  else
    "$@"
  fi
}

start() {
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd)
  local socket=$dir/s
  [[ $(printf '%s/.s.PGSQL.5432' "$socket" | wc -c) -le 107 ]] || fail "$socket is too long for a socket"
  if [[ ! -f $dir/data/PG_VERSION ]]; then
    mkdir -p "$dir/data" "$socket"
    chmod 755 "$dir" "$socket"
    if [[ $(id -u) == 0 ]]; then chown postgres: "$dir/data" "$socket"; fi
    as_owner "$bin/initdb" --pgdata "$dir/data" --username postgres --auth peer --encoding UTF8 --locale C \
      --no-sync >"$dir/initdb.log" 2>&1 || fail "initdb failed: $(tail -n 3 "$dir/initdb.log")"
    echo "local all all peer map=test" | as_owner tee "$dir/data/pg_hba.conf" >/dev/null
    local who role
    # Any of these system users may be any role: one line a role, as version 15 has no wildcard for the role.
    for who in $(printf '%s\n' root postgres "$(id -un)" | sort -u); do
      for role in postgres muster_test_feed muster_test_reports muster_test_owner; do
        echo "test $who $role"
      done
    done >"$dir/ident.tmp"
    as_owner tee "$dir/data/pg_ident.conf" <"$dir/ident.tmp" >/dev/null
    rm "$dir/ident.tmp"
  fi
  as_owner "$bin/pg_ctl" start --pgdata "$dir/data" --wait --timeout 60 --silent --log "$dir/data/server.log" \
    --options "-c listen_addresses='' -c unix_socket_directories='$socket' -c fsync=${MUSTER_TEST_FSYNC:-off} -c max_connections=50" \
    >/dev/null || fail "no start: $(tail -n 5 "$dir/data/server.log")"
  echo "host=$socket user=postgres dbname=postgres"
}

stop() {
  [[ -f $dir/data/postmaster.pid ]] || return 0
  as_owner "$bin/pg_ctl" stop --pgdata "$(cd "$dir" && pwd)/data" --mode "${1:-fast}" --wait --timeout 60 --silent
}

case $verb in
  start) start ;;
  stop) stop "${3:-fast}" ;;
  remove) stop immediate; rm -rf -- "$dir" ;;
  *) fail "unknown verb $verb" ;;
esac
