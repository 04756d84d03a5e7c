#include "commands/topics/reference.h"

#include "commands/framework/reasons.h"
#include "commands/framework/settings.h"

namespace fleetadm::commands {

const std::vector<ExitCodeText>& exit_code_texts() {
  static const std::vector<ExitCodeText> texts{
      {0, "success, including nothing to do: the object already exists with the same content, or is already deleted"},
      {1, "failure, including all targets failed for different reasons"},
      {2, "cancelled by a signal or an answer"},
      {3, "some targets failed, others succeeded"},
      {4, "not authenticated or not authorized"},
      {5, "a named object was not found"},
      {6, "timed out"},
      {7, "rollout status: the rollout is paused"},
      {8, "rollout status: the rollout is in progress"},
      {64, "wrong flags, arguments, input files or configuration (a missing kubeconfig or context)"},
      {141, "the reader of the output closed it"}};
  return texts;
}

std::vector<VariableText> variable_texts() {
  std::vector<VariableText> texts{
      {"KUBECONFIG", "Kubeconfig files to read, separated by colons."},
      {"HTTPS_PROXY, NO_PROXY",
       "Proxy for connections to API servers, and the hosts that are reached without it. Loopback addresses never use a proxy."},
      {"NO_COLOR", "Disables color if set to a non-empty value."},
      {"CLICOLOR_FORCE", "Colors output also away from a terminal if set to anything but 0."},
      {"TERM", "If it is dumb, neither color nor cursor movement is used."},
      {"LC_ALL, LC_CTYPE, LANG", "The first that is set decides whether signs beyond ASCII are printed (UTF-8) or not."},
      {"PATH", "Where plugins are found: programs named fleetadm-NAME."},
      {"FLEETADM_CONFIG, XDG_CONFIG_HOME", "Where the configuration file is; see \"fleetadm help configuration\"."},
      {"FLEETADM_CREDENTIAL_PLUGIN_POLICY, FLEETADM_CREDENTIAL_PLUGIN_ALLOWLIST",
       "Which credential plugins that a kubeconfig names may run: AllowAll, DenyAll, or Allowlist and their names or paths."},
      {"FLEETADM_PAGER, PAGER, LESS", "What shows help and descriptions that are longer than the screen; cat: nothing."},
      {"FLEETADM_HUB_TOKEN", "The bootstrap token of \"join\", if no flag names one."},
      {"FLEETADM_KUBECTL", "The program that \"proxy kubectl\" runs instead of kubectl on PATH."},
      {"FLEETADM_SANDBOX_DIR, XDG_STATE_HOME", "Folder in which sandboxes keep their state."}};
  for (const SettingKey& key : setting_keys()) {
    std::string meaning = "Precedes " + std::string(key.name) + " of the configuration file";
    if (!key.flag.empty()) meaning += "; --" + std::string(key.flag) + " precedes it";
    texts.push_back({std::string(key.variable), meaning + "."});
  }
  return texts;
}

Topic exit_codes_topic() {
  Topic topic;
  topic.name = "exit-codes";
  topic.summary = "What each exit code means";
  topic.synopsis = "fleetadm COMMAND; echo $?";
  std::string entries;
  for (const auto& [code, meaning] : exit_code_texts())
    entries += (entries.empty() ? "* " : "\n* ") + std::to_string(code) + ": " + std::string(meaning);
  topic.sections = {{"DESCRIPTION", entries},
                    {"SEVERAL TARGETS",
                     "If all targets failed for the same reason, the code is that of the reason. A plugin's own exit code is "
                     "passed through. \"work diff\" ends with 1 if there are differences."},
                    {"RERUNS",
                     "A command that is run again with the same input ends with 0: what exists already with the same content "
                     "is left as it is, and what is gone already needs no deletion."}};
  return topic;
}

Topic errors_topic() {
  Topic topic;
  topic.name = "errors";
  topic.summary = "What each reason of an error means, and what to do";
  topic.synopsis = "fleetadm COMMAND -o json 2>errors.json";
  const auto sentence = [](std::string_view text) {
    std::string out(text);
    if (!out.empty() && out.front() >= 'a' && out.front() <= 'z') out.front() = static_cast<char>(out.front() - 'a' + 'A');
    return out + ".";
  };
  std::string entries;
  for (const Reason& reason : error_reasons()) {
    entries += (entries.empty() ? "* " : "\n* ") + std::string(reason.word) + ": " + sentence(reason.cause) + " " +
               sentence(reason.remedy);
  }
  topic.sections = {
      {"DESCRIPTION",
       "With -o json and -o yaml an error is a JSON document on standard error. Its reason is one of the words below; they are "
       "stable, so scripts can compare them. Its code is the exit code that the error alone would have, its message and hint "
       "are for people. A reason of the API server that is none of these words is the document's serverReason, beside the "
       "closest word."},
      {"REASONS", entries}};
  return topic;
}

Topic environment_topic() {
  Topic topic;
  topic.name = "environment";
  topic.summary = "Environment variables";
  topic.synopsis = "VARIABLE=value fleetadm COMMAND";
  std::string entries;
  for (const VariableText& variable : variable_texts())
    entries += (entries.empty() ? "* " : "\n* ") + variable.names + ": " + variable.meaning;
  topic.sections = {{"DESCRIPTION", entries}};
  return topic;
}

Topic formatting_topic() {
  Topic topic;
  topic.name = "formatting";
  topic.summary = "Output formats and what scripts can rely on";
  topic.synopsis = "fleetadm COMMAND -o FORMAT";
  topic.sections = {
      {"DESCRIPTION",
       "* table: the default: aligned columns for people; wording and widths may change\n"
       "* wide: the same with more columns\n"
       "* json: one document; a watch (-w) prints one event per line\n"
       "* yaml: the same as YAML\n"
       "* name: TYPE/NAME, one line per object\n"
       "* csv: the table with all of its columns as comma-separated values (RFC 4180, lines end in LF)\n"
       "* tree: cluster sets with their clusters (get clusters), clusters with their works and manifests (get works, work "
       "status), placements with their groups and clusters (rollout status)\n"
       "* jsonpath=TEMPLATE: what the template yields for the JSON document, as with kubectl\n"
       "* custom-columns=NAME:PATH,…: a table of these columns"},
      {"STREAMS",
       "Data goes to standard output. Progress, notes, warnings and errors go to standard error; --quiet leaves results, "
       "warnings and errors. With -o json and -o yaml errors are JSON documents, one per line."},
      {"DOCUMENTS",
       "Kubernetes objects are printed as the API server has them. Reports of fleetadm itself have an apiVersion and a kind; "
       "within a version fields are only added. Times are RFC 3339; tables show ages (5m, 3d) instead."},
      {"TABLES",
       "--no-headers omits the column names. --columns NAME,AGE chooses columns and their order; names are compared without "
       "case, and '-' stands for a space. --sort-by sorts by a column's name or by a JSONPath. Lists of API objects also take "
       "--show-labels, -L KEY,… (a label as a column), -l and --field-selector, which the server evaluates: metadata.name and "
       "metadata.namespace, and what the definition of the type allows.\n\n"
       "On a terminal a table is cut to its width, or to COLUMNS: long names in the middle, long sentences at the end. "
       "-o wide, -o csv, and what goes into a pipe or a file are never cut. Control characters and line breaks in text from a "
       "server are shown as escapes such as \\x1b. Color never carries a meaning alone; --color=never and NO_COLOR switch it "
       "off.\n\n"
       "In csv cells are data and none is changed: one may begin with =, +, - or @. Import such a file as text where a "
       "spreadsheet would take them for formulas."}};
  return topic;
}

}  // namespace fleetadm::commands
