#!/bin/sh
# Runs a command with a server beside it, which clients find by TENON_REMOTE: with_server.sh SERVER PLUGIN COMMAND...
set -eu
server=$1 plugin=$2
shift 2
folder=$(mktemp -d)
pid=
trap 'test -z "$pid" || kill "$pid" 2>/dev/null || true; rm -rf "$folder"' EXIT
(umask 077 && head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$folder/token")
# Commands may leave sessions without a word, which then wait for them for a while.
"$server" --listen 127.0.0.1:0 --plugin "$plugin" --token-file "$folder/token" --max-sessions 256 >"$folder/port" 2>"$folder/log" &
pid=$!
for _ in $(seq 100); do
  grep -q 'listening at port' "$folder/port" && break
  kill -0 "$pid" 2>/dev/null || { cat "$folder/log" >&2; exit 1; }
  sleep 0.1
done
TENON_REMOTE=127.0.0.1:$(sed -n 's/listening at port //p' "$folder/port")
TENON_REMOTE_TOKEN_FILE=$folder/token
export TENON_REMOTE TENON_REMOTE_TOKEN_FILE
status=0
"$@" || status=$?
# What the server said of it, for whoever looks why it failed.
[ "$status" = 0 ] || cat "$folder/log" >&2
exit "$status"
