#!/usr/bin/env bash
# build.sh: build the reference evaluator from the Go module beside this file, once, and print the folder it is in, which is keyed
# by the module's checksums and sources.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../support/go.sh"
built_once cel "$here"/go.mod "$here"/go.sum "$here"/*.go -- oracle
cd "$here"
echo "building the reference evaluator …" >&2
CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath -ldflags '-s -w' -o "$out/oracle.part" . >&2
mv "$out/oracle.part" "$out/oracle"
echo "$out"
