#!/usr/bin/env bash
# runtime.sh: fetch Debian's containerd, runc and CNI plugins once, and print the folder that they are in (the plugins in cni/).
# They are unpacked into the cache and not installed: the packages would start a service, and take the place of another containerd.
set -euo pipefail
out=${XDG_CACHE_HOME:-$HOME/.cache}/fleetadm/container-runtime
complete() { [ -x "$out/containerd" ] && [ -x "$out/runc" ] && [ -x "$out/cni/bridge" ]; }
if ! complete; then
  command -v apt-get >/dev/null || { echo "no apt-get to fetch containerd, runc and containernetworking-plugins with" >&2; exit 1; }
  mkdir -p "$out"
  exec 9>"$out/.lock"
  flock 9
fi
if ! complete; then
  scratch=$(mktemp -d "$out/unpack.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  cd "$scratch"
  packages=(containerd runc containernetworking-plugins)
  apt-get -qq download "${packages[@]}" >&2 || { apt-get -qq update >&2 && apt-get -qq download "${packages[@]}" >&2; }
  for package in ./*.deb; do dpkg -x "$package" .; done
  rm -rf "$out/cni"
  mv usr/lib/cni "$out/cni"
  mv usr/sbin/runc "$out/runc"
  mv usr/bin/ctr usr/bin/containerd-shim-runc-v2 "$out/"
  mv usr/bin/containerd "$out/containerd"
fi
echo "$out"
