#!/bin/sh
# Installs fleetadm on Linux: the binary, its man pages and its completions. The download is checked against the release's
# checksums before anything is installed.
#
#   sh install.sh [--prefix FOLDER] [--from URL|FOLDER] [--kubectl]
#
# --prefix   where to: FOLDER/bin, FOLDER/share (default /usr/local as root, else ~/.local)
# --from     where the release is: a URL or a folder (default: where it was published)
# --kubectl  also as the plugin `kubectl fleetadm`, with its completion
set -eu
version=@VERSION@
from=@URL@
if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
plugin=
fail() { echo "install.sh: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
  case $1 in
    --prefix | --from) [ $# -gt 1 ] || fail "$1 needs a value" ;;
  esac
  case $1 in
    --prefix) prefix=$2; shift ;;
    --from) from=$2; shift ;;
    --kubectl) plugin=1 ;;
    -h | --help) sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p; }' "$0"; exit ;;
    *) fail "unknown option $1" ;;
  esac
  shift
done

[ "$(uname -s)" = Linux ] || fail "there are binaries for Linux only, this is $(uname -s)"
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "there is no binary for $(uname -m)" ;;
esac
[ -n "$from" ] || fail "name the release: --from URL|FOLDER"
name=fleetadm_${version}_linux_$arch
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

fetch() { # file
  case $from in
    https://*)
      if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --proto '=https' --proto-redir '=https' --retry 3 -o "$scratch/$1" "$from/$1"
      else
        wget --quiet --https-only -O "$scratch/$1" "$from/$1"
      fi ;;
    *://*) fail "releases are fetched by https only: $from" ;;
    *) cp "$from/$1" "$scratch/$1" ;;
  esac || fail "cannot fetch $1 from $from"
}

fetch SHA256SUMS
fetch "$name.tar.gz"
# Exactly one line, of exactly this file.
sum=$(awk -v file="$name.tar.gz" '$2 == file {print $1}' "$scratch/SHA256SUMS")
[ ${#sum} = 64 ] && printf '%s' "$sum" | grep -Eqx '[0-9a-f]{64}' || fail "SHA256SUMS does not name $name.tar.gz once"
echo "$sum  $scratch/$name.tar.gz" | sha256sum -c - >/dev/null 2>&1 || fail "$name.tar.gz is not what SHA256SUMS says; nothing was installed"
tar -xzf "$scratch/$name.tar.gz" -C "$scratch"
made=$scratch/$name
"$made/fleetadm" --version >/dev/null || fail "the binary does not run here; nothing was installed"

place() { # file target mode
  mkdir -p "$(dirname "$2")"
  cp "$1" "$2.new"
  chmod "$3" "$2.new"
  mv -f "$2.new" "$2" # a running one is not disturbed
}
place "$made/fleetadm" "$prefix/bin/fleetadm" 755
for page in "$made"/man/man*/*; do
  section=$(basename "$(dirname "$page")")
  place "$page" "$prefix/share/man/$section/$(basename "$page")" 644
done
place "$made/completions/fleetadm.bash" "$prefix/share/bash-completion/completions/fleetadm" 644
place "$made/completions/fleetadm.zsh" "$prefix/share/zsh/site-functions/_fleetadm" 644
place "$made/completions/fleetadm.fish" "$prefix/share/fish/vendor_completions.d/fleetadm.fish" 644
if [ -n "$plugin" ]; then
  ln -sf fleetadm "$prefix/bin/kubectl-fleetadm"
  ln -sf fleetadm "$prefix/bin/kubectl_complete-fleetadm"
fi
echo "$("$prefix/bin/fleetadm" --version) installed in $prefix"
case :$PATH: in
  *:"$prefix/bin":*) ;;
  *) echo "$prefix/bin is not on your PATH" ;;
esac
