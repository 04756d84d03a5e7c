#!/usr/bin/env bash
# build.sh: build Kubernetes' own end-to-end suite (e2e.test) and the program that runs it in parallel (ginkgo) from the Go
# module beside this file, once, and print the folder they are in. A module and folder of its own, so that a change here does
# not build the servers (../build.sh) anew, and who needs only servers does not build the suite.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../support/go.sh"
built_once kube-suite "$here/go.mod" "$here/go.sum" -- e2e.test ginkgo
cd "$here"
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
stamp=k8s.io/component-base/version
ld="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} -X $stamp.gitTreeState=clean"
export CGO_ENABLED=0 GOFLAGS="-mod=readonly ${FLEETADM_GOFLAGS:-}"
echo "building ginkgo …" >&2
go build -trimpath -ldflags '-s -w' -o "$out/ginkgo.part" github.com/onsi/ginkgo/v2/ginkgo >&2
mv "$out/ginkgo.part" "$out/ginkgo"
echo "building e2e.test …" >&2
go test -c -vet=off -trimpath -ldflags "$ld" -o "$out/e2e.test.part" k8s.io/kubernetes/test/e2e >&2
mv "$out/e2e.test.part" "$out/e2e.test"
echo "$out"
