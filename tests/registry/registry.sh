#!/usr/bin/env bash
# registry.sh: fetch Debian's docker-registry once and print the folder that it is in. It is unpacked into the cache and not
# installed: the package would start a service on all addresses of the machine.
set -euo pipefail
out=${XDG_CACHE_HOME:-$HOME/.cache}/fleetadm/docker-registry
if command -v docker-registry >/dev/null; then
  dirname "$(command -v docker-registry)"
  exit 0
fi
if [ ! -x "$out/docker-registry" ]; then
  command -v apt-get >/dev/null || { echo "no docker-registry on PATH, and no apt-get to fetch it with" >&2; exit 1; }
  mkdir -p "$out"
  exec 9>"$out/.lock"
  flock 9
fi
if [ ! -x "$out/docker-registry" ]; then
  scratch=$(mktemp -d "$out/unpack.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  cd "$scratch"
  apt-get -qq download docker-registry >&2 || { apt-get -qq update >&2 && apt-get -qq download docker-registry >&2; }
  dpkg -x ./docker-registry_*.deb .
  mv usr/bin/docker-registry "$out/docker-registry"
fi
echo "$out"
