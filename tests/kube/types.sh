#!/usr/bin/env bash
# types.sh [--check]: writes templates/sandbox/types.facts for the version of Kubernetes that go.mod beside this file pins. To move to
# the next version, change go.mod, run it, and read the difference. --check writes nothing and fails where the file is another;
# without Go it ends with 77, as a test that is skipped.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../support/go.sh"
facts=$(cd "$here/../../templates/sandbox" && pwd)/types.facts

if ! need_go "${XDG_CACHE_HOME:-$HOME/.cache}/fleetadm"; then
  echo "skipped: no Go 1.25 or newer"
  exit 77
fi
made=$(mktemp)
trap 'rm -f "$made"' EXIT
cd "$here"
GOFLAGS=-mod=readonly go run ./types >"$made"
if [ "${1:-}" = --check ]; then
  diff -u "$facts" "$made"
else
  cp "$made" "$facts"
fi
