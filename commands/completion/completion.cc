#include "commands/completion/completion.h"

#include "commands/framework/suggest.h"

namespace fleetadm::commands {
namespace {

// All three speak with `fleetadm __complete WORD...`: one candidate a line ("value<tab>description"), then one line that says
// what else the shell shall offer (":files", ":folders", ":none") or that no space follows (":nospace").

constexpr std::string_view kBash = R"script(# bash completion of fleetadm. Load it with: source <(fleetadm completion bash)
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
)script";

constexpr std::string_view kZsh = R"script(#compdef fleetadm
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
)script";

constexpr std::string_view kFish = R"script(# fish completion of fleetadm. Load it with: fleetadm completion fish | source
function __fleetadm_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    test (count $lines) -gt 0; or return
    set -l directive $lines[-1]
    set -e lines[-1]
    switch $directive
        case :files
            __fish_complete_path "$current"
        case :folders
            __fish_complete_directories "$current"
        case '*'
            printf '%s\n' $lines
    end
end
complete -c fleetadm -f -a '(__fleetadm_complete)'
)script";

struct CompletionOptions {};

}  // namespace

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  return {};
}

void register_completion(Registry& registry) {
  Command command;
  command.path = "completion";
  command.group = "Other";
  command.summary = "Print the completion script of a shell";
  command.description =
      "Prints the script that makes a shell complete fleetadm's commands and flags, and live names "
      "(clusters, cluster sets, placements, works, rollouts, namespaces) from the hub of the selected context, contexts and "
      "sandboxes. Names come with their state and age. A hub that does not answer within 300 ms has none.";
  command.args = {"bash|zsh|fish", 1, 1};
  command.args.complete = Complete::kValues;
  command.args.values = {"bash", "zsh", "fish"};
  command.examples = {{"For this bash session", "source <(fleetadm completion bash)"},
                      {"For every fish session", "fleetadm completion fish > ~/.config/fish/completions/fleetadm.fish"}};
  command.make = invocation<CompletionOptions>(
      [](FlagSet&, CompletionOptions&) {},
      [](const CompletionOptions&, const std::vector<std::string>& args) -> Status {
        if (!completion_script(args.front()).empty()) return {};
        return fail(Category::kUsage, "no completion for the shell \"" + args.front() + "\": must be bash, zsh or fish",
                    did_you_mean(args.front(), {"bash", "zsh", "fish"}));
      },
      [](Context& context, const CompletionOptions&, const std::vector<std::string>& args) -> Result<Report> {
        context.terminal().write_stdout(completion_script(args.front()));
        return Report{};
      });
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
