#!/usr/bin/env bash
# build.sh: build kube-apiserver, kube-controller-manager, kubectl and etcd from the Go module beside this file, once, and print
# the folder they are in. The folder is keyed by the module's checksum, so a new pin is a new folder.
# KUBEBUILDER_ASSETS (the envtest convention) wins where it holds the programs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../support/go.sh"
programs=(kube-apiserver kube-controller-manager kubectl etcd)

if [ -n "${KUBEBUILDER_ASSETS:-}" ] && complete "$KUBEBUILDER_ASSETS" "${programs[@]}"; then
  echo "$KUBEBUILDER_ASSETS"
  exit 0
fi

built_once kube "$here/go.mod" "$here/go.sum" -- "${programs[@]}"
cd "$here"
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
stamp=k8s.io/component-base/version
ld="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} -X $stamp.gitTreeState=clean"
build() { # name package
  echo "building $1 …" >&2
  CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath -ldflags "$ld" -o "$out/$1.part" "$2" >&2
  mv "$out/$1.part" "$out/$1"
}
build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
build kubectl k8s.io/kubernetes/cmd/kubectl
echo "$out"
