#compdef fleetadm
# zsh completion of fleetadm. Put it in a folder of $fpath as _fleetadm, or load it with: source <(fleetadm completion zsh)
_fleetadm() {
  local -a lines values
  local line value directive
  lines=("${(@f)$("${words[1]}" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  (( ${#lines} )) || return 1
  directive="${lines[-1]}"
  lines[-1]=()
  case "$directive" in
    :files) _files; return ;;
    :folders) _files -/; return ;;
  esac
  for line in "${lines[@]}"; do
    value="${line%%$'\t'*}"
    value="${value//:/\\:}"
    if [[ "$line" == *$'\t'* ]]; then
      values+=("${value}:${line#*$'\t'}")
    else
      values+=("$value")
    fi
  done
  if [[ "$directive" == ":nospace" ]]; then
    _describe 'fleetadm' values -S ''
  else
    _describe 'fleetadm' values
  fi
}
if [[ "${funcstack[1]}" == "_fleetadm" ]]; then
  _fleetadm "$@"
else
  compdef _fleetadm fleetadm
fi
