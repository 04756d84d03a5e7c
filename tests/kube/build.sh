#!/usr/bin/env bash
# build.sh: build etcd and the programs of Kubernetes from the Go module beside this file, once, and print the folder they are
# in. The folder is keyed by the module's checksum, so a new pin is a new folder.
# KUBEBUILDER_ASSETS (the envtest convention) wins where it holds the servers; the suite on real nodes needs the other programs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../support/go.sh"
servers=(kube-apiserver kube-controller-manager kubectl etcd)
node=(kube-scheduler kubelet)

if [ -n "${KUBEBUILDER_ASSETS:-}" ] && complete "$KUBEBUILDER_ASSETS" "${servers[@]}"; then
  echo "$KUBEBUILDER_ASSETS"
  exit 0
fi

built_once kube "$here/go.mod" "$here/go.sum" -- "${servers[@]}" "${node[@]}"
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
for name in kube-apiserver kube-controller-manager kubectl "${node[@]}"; do build "$name" "k8s.io/kubernetes/cmd/$name"; done
echo "$out"
