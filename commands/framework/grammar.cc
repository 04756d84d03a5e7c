#include "commands/framework/grammar.h"

#include <utility>

#include "commands/framework/files.h"

namespace fleetadm::commands {
namespace {

Flag& takes_names(Flag& flag, std::string alias, Complete complete, bool several) {
  flag.aliases = {std::move(alias)};
  flag.value_name = several ? "NAME[,NAME...]" : "NAME";
  flag.complete = complete;
  return flag;
}

}  // namespace

Flag& clusters_flag(FlagSet& flags, std::vector<std::string>* into, std::string help) {
  return takes_names(flags.comma_texts(into, "clusters", std::move(help), 'c'), "cluster", Complete::kClusters, true);
}

Flag& cluster_flag(FlagSet& flags, std::string* into, std::string help) {
  return takes_names(flags.text(into, "cluster", std::move(help), 'c'), "clusters", Complete::kClusters, false);
}

Flag& cluster_sets_flag(FlagSet& flags, std::vector<std::string>* into, std::string help) {
  return takes_names(flags.comma_texts(into, "clustersets", std::move(help)), "clusterset", Complete::kClusterSets, true);
}

Flag& cluster_set_flag(FlagSet& flags, std::string* into, std::string help) {
  return takes_names(flags.text(into, "clusterset", std::move(help)), "clustersets", Complete::kClusterSets, false);
}

Flag& filename_flag(FlagSet& flags, std::string* into, std::string help) {
  return file_flag(flags, into, "filename", std::move(help), 'f');
}

Flag& filenames_flag(FlagSet& flags, std::vector<std::string>* into, std::string help) {
  return files_flag(flags, into, "filename", std::move(help), 'f');
}

Flag& all_namespaces_flag(FlagSet& flags, bool* into, std::string help) {
  return flags.boolean(into, "all-namespaces", std::move(help), 'A');
}

Flag& timeout_flag(FlagSet& flags, Duration* into, std::string help) {
  Flag& flag = flags.duration(into, "timeout", std::move(help));
  flag.default_text = *into == kNoTimeout ? "no limit" : format_duration(*into);
  if (flag.default_text.ends_with("m0s")) flag.default_text.resize(flag.default_text.size() - 2);  // as people write it
  return flag;
}

Flag& wait_flag(FlagSet& flags, std::string* into, const std::vector<std::string>& conditions, std::string alone,
                std::string help) {
  *into = "none";
  std::vector<std::string> values = {"none"};
  values.insert(values.end(), conditions.begin(), conditions.end());
  Flag& flag = flags.choice(into, "wait", std::move(values), std::move(help));
  flag.values.insert(flag.values.end(), {"true", "false"});
  flag.arity = Arity::kOptionalValue;
  flag.no_value = alone;
  flag.default_text = "none";
  flag.set = [into, alone = std::move(alone)](std::string_view value) -> Status {
    *into = value == "true" ? alone : value == "false" ? std::string("none") : std::string(value);
    return {};
  };
  return flag;
}

Flag& wait_flag(FlagSet& flags, bool* into, std::string help) {
  Flag& flag = flags.boolean(into, "wait", std::move(help));
  flag.default_text = *into ? "true" : "false";
  flag.set = [into, set = flag.set](std::string_view value) -> Status {
    if (value != "none") return set(value);
    *into = false;
    return {};
  };
  return flag;
}

}  // namespace fleetadm::commands
