# bash completion of fleetadm. Load it with: source <(fleetadm completion bash)
_fleetadm() {
  local word current="" program="${COMP_WORDS[0]}" joined=0
  local -a args=() lines=()
  COMPREPLY=()
  # bash cuts words at = and :, the program wants them whole.
  local i
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    if [[ ${#args[@]} -gt 0 && ( $joined -eq 1 || $word == "=" || $word == ":" ) ]]; then
      args[${#args[@]}-1]+="$word"
    else
      args+=("$word")
    fi
    joined=0
    [[ $word == "=" || $word == ":" ]] && joined=1
  done
  [[ ${#args[@]} -gt 0 ]] && current="${args[${#args[@]}-1]}"
  mapfile -t lines < <("$program" __complete "${args[@]}" 2>/dev/null)
  [[ ${#lines[@]} -eq 0 ]] && return
  local directive="${lines[${#lines[@]}-1]}"
  unset "lines[${#lines[@]}-1]"
  # What bash already holds before its own last word is not to be inserted again.
  local cut=""
  case "$current" in
    *[=:]*) cut="${current%"${current##*[=:]}"}" ;;
  esac
  case "$directive" in
    :files) mapfile -t COMPREPLY < <(compgen -f -- "${current#"$cut"}"); compopt -o filenames 2>/dev/null; return ;;
    :folders) mapfile -t COMPREPLY < <(compgen -d -- "${current#"$cut"}"); compopt -o filenames 2>/dev/null; return ;;
    :nospace) compopt -o nospace 2>/dev/null ;;
  esac
  local -a values=() notes=()
  local width=0
  for word in "${lines[@]}"; do
    values+=("${word%%$'\t'*}")
    notes+=("${word:${#values[-1]}+1}")
    values[-1]="${values[-1]#"$cut"}"
    (( ${#values[-1]} > width )) && width=${#values[-1]}
  done
  COMPREPLY=("${values[@]}")
  # Descriptions are shown where there is a choice; what menu-complete and insert-completions (37, 42) take is inserted.
  [[ ${#values[@]} -lt 2 || ${COMP_TYPE:-} == 37 || ${COMP_TYPE:-} == 42 ]] && return
  local room=$(( ${COLUMNS:-80} - width - 4 ))
  (( room < 8 )) && return
  for i in "${!values[@]}"; do
    [[ -z ${notes[i]} ]] && continue
    (( ${#notes[i]} > room )) && notes[i]="${notes[i]:0:room-3}..."
    printf -v "COMPREPLY[i]" '%-*s  (%s)' "$width" "${values[i]}" "${notes[i]}"
  done
}
complete -F _fleetadm fleetadm
