#!/usr/bin/env bash
# build.sh: build helm from the Go module beside this file, once, and print the folder it is in, which is keyed by the module's
# checksums.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../support/go.sh"
built_once helm "$here"/go.mod "$here"/go.sum -- helm
cd "$here"
echo "building helm …" >&2
CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath -ldflags '-s -w' -o "$out/helm.part" helm.sh/helm/v3/cmd/helm >&2
mv "$out/helm.part" "$out/helm"
echo "$out"
