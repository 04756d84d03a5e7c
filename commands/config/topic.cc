// fleetadm-configuration(7): the file, its keys, and what takes precedence.
#include "commands/config/config.h"
#include "commands/framework/settings.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

std::string key_entries() {
  std::string out;
  for (const SettingKey& key : setting_keys()) {
    out += "* " + std::string(key.name) + ": " + std::string(key.summary);
    if (!key.values.empty()) out += " (" + joined(key.values, ", ") + ")";
    out += "; " + std::string(key.variable) + "\n";
  }
  return out + "* " + std::string(kAliasPrefix) +
         "NAME: the command that \"fleetadm NAME\" stands for, with its flags; more arguments and flags may follow";
}

}  // namespace

Topic configuration_topic() {
  Topic topic;
  topic.name = "configuration";
  topic.summary = "The configuration file and its environment variables";
  topic.synopsis =
      "$FLEETADM_CONFIG\n"
      "$XDG_CONFIG_HOME/fleetadm/config.yaml\n"
      "~/.config/fleetadm/config.yaml";
  topic.sections = {
      {"DESCRIPTION",
       "Defaults for flags that are given again and again. The first of the files above that is named is read; it is "
       "optional, and a pod needs none. Of \"hub run\" and \"agent run\" it sets no flags.\n\n"
       "For each key a flag takes precedence over its environment variable, the variable over the file, and the file over "
       "the default. \"fleetadm config view --origin\" shows where each value comes from.\n\n"
       "Unknown keys and values of the wrong type are errors that name the file and the line, so that a misspelled key is "
       "never ignored. FLEETADM_CONFIG must name a file that exists; /dev/null is an empty one."},
      {"KEYS", "Each with the environment variable that takes precedence over it.\n\n" + key_entries()},
      {"ALIASES",
       "An alias stands for a built-in command; quotes keep words with blanks together. It never replaces a "
       "built-in command: one of the same name is not used, and \"config set\" refuses it. "
       "Aliases are not expanded twice.\n\n"
       "    aliases:\n"
       "      down: get clusters -l env=prod --sort-by .metadata.name"},
      {"PAGER",
       "On a terminal, help and descriptions that are longer than the screen are shown by the command in FLEETADM_PAGER, else "
       "by that of the file, else by PAGER, else by less, with LESS=FRX unless LESS is set. --no-pager prints them directly. "
       "Output that is not for a terminal never has a pager."},
      {"CREDENTIAL PLUGINS",
       "A kubeconfig can name a program that prints credentials (users[].user.exec), which runs with the rights of whoever "
       "uses the kubeconfig. credentialPluginPolicy decides which of them may run, as in kubectl's kuberc:\n\n"
       "* AllowAll: all of them, the default\n"
       "* DenyAll: none\n"
       "* Allowlist: those of credentialPluginAllowlist; a name is looked up in PATH, a path must be the same\n\n"
       "    credentialPluginPolicy: Allowlist\n"
       "    credentialPluginAllowlist:\n"
       "    - cloud-login\n"
       "    - /usr/local/bin/other-login\n\n"
       "An empty allowlist with that policy, or an allowlist with another policy, refuses every plugin."},
      {"PROJECT FILES",
       "There is no configuration file per folder. A repository that one enters must not decide which hub is "
       "written to, and whether it asks before it does; set FLEETADM_CONFIG or FLEETADM_HUB_CONTEXT where that is "
       "wanted."}};
  return topic;
}

}  // namespace fleetadm::commands
