#!/bin/sh
# Ends device processes at random moments, a thousand times unless told otherwise, while threads compile, upload, execute and download.
# usage: scripts/kill_rounds.sh BUILD_FOLDER [ROUNDS]
set -eu
build=${1:?usage: scripts/kill_rounds.sh BUILD_FOLDER [ROUNDS]}
ulimit -c 0
TENON_KILL_ROUNDS=${2:-1000} exec "$build/tenon/proxy/proxy_test" --gtest_filter='*KilledAtRandom'
