#!/bin/sh
# run_external.sh SUITE VARIABLE PROFILE: runs the suite on the plugin whose path the environment variable holds.
plugin=$(printenv "$2")
if [ -z "$plugin" ]; then
  echo "SKIPPED: $2 does not name a plugin"
  exit 77
fi
exec "$1" --profile "$3" "$plugin"
