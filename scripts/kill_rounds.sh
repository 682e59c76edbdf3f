#!/bin/sh
# Ends device processes, servers and hosts at random moments, a thousand times each unless told otherwise (hosts a tenth of that), while
# threads compile, upload, execute and download.
# usage: scripts/kill_rounds.sh BUILD_FOLDER [ROUNDS]
set -eu
build=${1:?usage: scripts/kill_rounds.sh BUILD_FOLDER [ROUNDS]}
ulimit -c 0
# Above the rounds' length: a round takes some 50 ms, of a server 150 ms, of a host 2 s.
TENON_KILL_ROUNDS=${2:-1000} GTEST_FILTER='*KilledAtRandom' exec ctest --test-dir "$build" -R '^(proxy_test|remote_test)$' --timeout 7200 --verbose
