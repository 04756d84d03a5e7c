#include "commands/placement/what_if.h"

#include <algorithm>

#include "commands/framework/selectors.h"
#include "commands/framework/suggest.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/registration/hub/cluster_defaulter.h"
#include "core/registration/hub/lease_rules.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

using placement::ObjectKind;

tl::unexpected<Error> wrong(const std::string& change, const std::string& why, const std::string& form) {
  return fail(Category::kUsage, "--what-if \"" + change + "\": " + why, "write " + form);
}

Result<Json*> cluster_named(Inputs& inputs, const std::string& change, const std::string& name) {
  if (Json* found = inputs.objects.find(ObjectKind::kCluster, "", name); found != nullptr) return found;
  return fail(Category::kNotFound, "--what-if \"" + change + "\": there is no cluster \"" + name + "\"",
              did_you_mean(name, inputs.objects.names(ObjectKind::kCluster)));
}

Json& taints_of(Json& cluster) {
  Json& taints = at_or_make(cluster, {"spec", "taints"});
  if (!taints.is_array()) taints = Json::array();
  return taints;
}

void drop_taint(Json& cluster, const std::string& key, const std::string* effect) {
  Json kept = Json::array();
  for (const Json& one : taints_of(cluster)) {
    if (str(one, {"key"}) != key || (effect != nullptr && str(one, {"effect"}) != *effect)) kept.push_back(one);
  }
  taints_of(cluster) = std::move(kept);
}

Status taint(Json& cluster, const std::string& change, const std::string& text, Instant now) {
  const std::string form = "taint=CLUSTER:KEY[=VALUE]:NoSelect|PreferNoSelect|NoSelectIfNew";
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong(change, "the effect is missing", form);
  const std::string effect = text.substr(colon + 1);
  if (effect != "NoSelect" && effect != "PreferNoSelect" && effect != "NoSelectIfNew") {
    return fail(Category::kUsage, "--what-if \"" + change + "\": \"" + effect + "\" is not a taint effect",
                taint_effect_hint(effect));
  }
  const std::size_t equal = std::min(text.find('='), colon);
  const std::string key = text.substr(0, equal);
  if (!qualified_name_problems(key).empty()) return wrong(change, "\"" + key + "\" is not a valid taint key", form);
  Json one{{"key", key}, {"effect", effect}, {"timeAdded", format_time(now)}};
  if (equal < colon) one["value"] = text.substr(equal + 1, colon - equal - 1);
  drop_taint(cluster, key, &effect);
  taints_of(cluster).push_back(std::move(one));
  return {};
}

// What is not there cannot be taken away: a slip of the pen must not look like a change without effect.
Status nothing_to_take(const Json& cluster, const std::string& change, const std::string& what, const std::string& key,
                       const std::vector<std::string>& known) {
  return fail(Category::kNotFound,
              "--what-if \"" + change + "\": cluster \"" + name_of(cluster) + "\" has no " + what + " \"" + key + "\"",
              did_you_mean(key, known));
}

Status untaint(Json& cluster, const std::string& change, const std::string& key) {
  std::vector<std::string> known;
  for (const Json& one : list_at(cluster, {"spec", "taints"})) known.push_back(str(one, {"key"}));
  if (std::find(known.begin(), known.end(), key) == known.end()) return nothing_to_take(cluster, change, "taint", key, known);
  drop_taint(cluster, key, nullptr);
  return {};
}

Status label(Json& cluster, const std::string& change, const std::string& text) {
  const std::string form = "label=CLUSTER:KEY=VALUE, or label=CLUSTER:KEY- to remove it";
  const std::size_t equal = text.find('=');
  if (equal == std::string::npos && !text.ends_with('-')) return wrong(change, "the value is missing", form);
  const std::string key = text.substr(0, equal == std::string::npos ? text.size() - 1 : equal);
  if (!qualified_name_problems(key).empty()) return wrong(change, "\"" + key + "\" is not a valid label key", form);
  Json& labels = at_or_make(cluster, {"metadata", "labels"});
  if (!labels.is_object()) labels = Json::object();
  if (equal == std::string::npos) {
    std::vector<std::string> known;
    for (const auto& [name, value] : labels.items()) known.push_back(name);
    if (labels.erase(key) == 0) return nothing_to_take(cluster, change, "label", key, known);
    return {};
  }
  const std::string value = text.substr(equal + 1);
  if (!label_value_problems(value).empty()) return wrong(change, "\"" + value + "\" is not a valid label value", form);
  labels[key] = value;
  return {};
}

Status apply_one(Context& context, const std::string& change, const std::string& default_ns, Inputs& inputs) {
  const std::string forms =
      "down=CLUSTER, up=CLUSTER, taint=CLUSTER:KEY[=VALUE]:EFFECT, untaint=CLUSTER:KEY, "
      "label=CLUSTER:KEY=VALUE, remove=CLUSTER or add=FILE";
  const std::size_t equal = change.find('=');
  if (equal == std::string::npos || equal + 1 == change.size()) return wrong(change, "not a change", forms);
  const std::string verb = change.substr(0, equal);
  const std::string rest = change.substr(equal + 1);
  if (verb == "add") return add_files(context, {rest}, default_ns, inputs);
  if (verb == "remove") {
    FLEETADM_CHECK(cluster_named(inputs, change, rest));
    inputs.objects.remove(ObjectKind::kCluster, "", rest);
    return {};
  }
  if (verb == "down" || verb == "up") {
    FLEETADM_TRY(Json * cluster, cluster_named(inputs, change, rest));
    if (verb == "down") {
      registration::hub::set_lease_stopped(*cluster, inputs.now);
    } else {
      controller::set_condition(at_or_make(*cluster, {"status", "conditions"}), api::kConditionAvailable, "True",
                                "ManagedClusterAvailable", "Managed cluster is available", inputs.now);
    }
    registration::hub::sync_taints(*cluster, inputs.now);
    return {};
  }
  if (verb != "taint" && verb != "untaint" && verb != "label")
    return fail(Category::kUsage, "--what-if \"" + change + "\": \"" + verb + "\" is not a supported change",
                did_you_mean(verb, {"down", "up", "taint", "untaint", "label", "remove", "add"}, "write " + forms));
  const std::size_t colon = rest.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == rest.size()) {
    return wrong(change, "expected CLUSTER:…", forms);
  }
  FLEETADM_TRY(Json * cluster, cluster_named(inputs, change, rest.substr(0, colon)));
  const std::string what = rest.substr(colon + 1);
  if (verb == "taint") return taint(*cluster, change, what, inputs.now);
  if (verb == "label") return label(*cluster, change, what);
  return untaint(*cluster, change, what);
}

}  // namespace

Flag& what_if_flag(FlagSet& flags, std::vector<std::string>* into) {
  Flag& flag = flags.comma_texts(into, "what-if",
                                 "Simulate a change: down=C, up=C, taint=C:KEY[=VALUE]:EFFECT, untaint=C:KEY, label=C:KEY=VALUE, "
                                 "label=C:KEY-, remove=C (C: a cluster) or add=FILE");
  flag.value_name = "CHANGE[,CHANGE...]";
  return flag;
}

Status apply_what_if(Context& context, const std::vector<std::string>& changes, const std::string& default_ns, Inputs& inputs) {
  for (const std::string& change : changes) FLEETADM_CHECK(apply_one(context, change, default_ns, inputs));
  return {};
}

}  // namespace fleetadm::commands
