// Random templates of add-ons: what users write reaches the renderer of the hub. And random add-ons, which the hub converts from
// one version to the other.
#include <algorithm>
#include <bit>

#include "core/addon/rules/conversion.h"
#include "core/addon/rules/render.h"
#include "core/addon/rules/render_scenario.h"
#include "core/addon/rules/substitution.h"
#include "tests/fuzz/targets.h"

namespace fleetadm::fuzz {
namespace {

using rollout::Semantics;

tl::unexpected<Error> lapse(std::string what) { return fail(Category::kInternal, "broken promise: " + std::move(what)); }

// --- a line of a scenario file: a template, a configuration and a cluster ----------------------------------------------------

Result<std::string> run_render_as(const Json& line, Semantics conduct) {
  const Result<Json> first = addon::answer_render_scenario(line, conduct);
  const Result<Json> second = addon::answer_render_scenario(line, conduct);
  if (first.has_value() != second.has_value()) return lapse("two answers, one of them an error");
  if (!first) return "error: " + shape_of(first.error().message);
  const std::string dumped = dump_json(*first);
  if (dumped != dump_json(*second)) return lapse("two answers to one case");
  if (!parse_json(dumped)) return lapse("an answer that is no JSON");
  std::string shape = shape_of(str(*first, {"error"})) + " " + shape_of(str(*first, {"registrationNamespaceError"}));
  std::size_t size = 0;
  for (const Json& manifest : list_at(*first, {"manifests"})) {
    if (str(manifest, {"kind"}).empty()) return lapse("a manifest without a kind");
    size += dump_json(manifest).size();
    const Json& pods = object_at(manifest, {"spec", "template", "spec"});
    shape += " " + shape_of(str(manifest, {"kind"})) + std::to_string(std::bit_width(list_at(pods, {"volumes"}).size()));
  }
  if (size > addon::kMaxRenderedBytes) return lapse("more manifests than there may be");
  return shape;
}

Result<std::string> run_render(std::string_view text) {
  const Result<Json> line = parse_json(text);
  if (!line) return "no JSON: " + shape_of(line.error().message);
  FLEETADM_TRY(const std::string theirs, run_render_as(*line, Semantics::kUpstream));
  FLEETADM_TRY(const std::string ours, run_render_as(*line, Semantics::kStrict));
  return theirs + " | " + ours;
}

// --- the text of a manifest with variables: the values are its first line, one after the other -------------------------------

/// Where the strings of a value are, and what else it holds.
bool same_structure(const Json& before, const Json& after) {
  if (before.is_string()) return after.is_string();
  if (before.type() != after.type()) return false;
  if (before.is_object()) return after.size() <= before.size();  // two names may become one
  if (!before.is_array()) return before == after;
  if (before.size() != after.size()) return false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!same_structure(before[i], after[i])) return false;
  }
  return true;
}

Result<std::string> run_substitution(std::string_view text) {
  const std::size_t end = text.find('\n');
  const std::string first_line(text.substr(0, end));
  const std::string_view manifest = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  const addon::Variables variables{{"A", first_line}, {"B", first_line + first_line}, {"", "empty"}};
  const auto theirs = addon::substitute(manifest, variables, 10'000, Semantics::kUpstream);
  const auto ours = addon::substitute(manifest, variables, 10'000, Semantics::kStrict);
  if (theirs && theirs->size() > 10'000) return lapse("a text beyond its limit");
  if (ours && (!theirs || *ours != *theirs)) return lapse("a stricter rule that answers differently");
  if (!ours) return shape_of(ours.error().message) + (theirs ? " | ok" : " | error");
  const Result<Json> before = parse_json(manifest);
  if (!before) return std::string("ok, no JSON");
  const Result<Json> after = parse_json(*ours);
  if (!after) return lapse("a value that broke the JSON: " + after.error().message);
  if (!same_structure(*before, *after)) return lapse("a value that left its string");
  return "ok " + std::string(before->type_name()) + std::to_string(std::bit_width(before->size())) + " " +
         std::to_string(std::bit_width(ours->size()));
}

// --- an object of one version of its kind: there and back it is the same ------------------------------------------------------

/// A member that is null counts as absent, and so does the obsolete one that is empty; what is kept of the other version is none
/// of the object's own.
Json comparable(const Json& value, bool top = true) {
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& item : value) list.push_back(comparable(item, false));
    return list;
  }
  if (!value.is_object()) return value;
  Json object = Json::object();
  for (const auto& [name, member] : value.items()) {
    if (!member.is_null()) object[name] = comparable(member, false);
  }
  if (!top) return object;
  for (const std::string_view kept : {addon::kKeptOfV1alpha1Annotation, addon::kKeptOfV1beta1Annotation})
    erase_at(object, {"metadata", "annotations", kept});
  if (object_at(object, {"metadata", "annotations"}).empty()) erase_at(object, {"metadata", "annotations"});
  for (const char* section : {"spec", "status"}) {
    const Json* obsolete = find(object, {section, "addOnConfiguration"});
    if (obsolete != nullptr && obsolete->is_object() && obsolete->empty()) erase_at(object, {section, "addOnConfiguration"});
  }
  return object;
}

/// As every API server hands it over: metadata and spec, which is required, are objects, and annotations are texts.
bool is_served(const Json& object) {
  const Json* spec = find(object, {"spec"});
  if (spec == nullptr || !spec->is_object()) return false;
  const Json* metadata = find(object, {"metadata"});
  if (metadata == nullptr || !metadata->is_object()) return false;
  const Json* annotations = find(*metadata, {"annotations"});
  if (annotations == nullptr) return true;
  if (!annotations->is_object()) return false;
  return std::all_of(annotations->begin(), annotations->end(), [](const Json& one) { return one.is_string(); });
}

/// What an API server drops of an object of this version: members that only the other one has.
void prune(Json& object) {
  const bool beta = str(object, {"apiVersion"}).ends_with("v1beta1");
  for (const char* member : {"installNamespace", "addOnConfiguration", "supportedConfigs"}) {
    if (beta) erase_at(object, {"spec", member});
  }
  for (const char* member : {"kubeClientDriver", "addOnConfiguration", "defaultconfigReferences"}) {
    if (beta) erase_at(object, {"status", member});
  }
  if (beta) return;
  erase_at(object, {"spec", "defaultConfigs"});
  erase_at(object, {"status", "defaultConfigReferences"});
}

Result<std::string> run_conversion(std::string_view text) {
  const Result<Json> read = parse_json(text);
  if (!read) return "no JSON: " + shape_of(read.error().message);
  Json object = comparable(*read, false);
  prune(object);
  const std::string from = str(object, {"apiVersion"});
  const std::string group = "addon.open-cluster-management.io/";
  const std::string to = group + (from.ends_with("v1alpha1") ? "v1beta1" : "v1alpha1");
  const Result<Json> there = addon::convert_addon(object, to);
  if (!there) return "error: " + shape_of(there.error().message);
  if (str(*there, {"apiVersion"}) != to) return lapse("an object of another version");
  std::string shape = str(object, {"kind"}) + " " + from.substr(group.size());
  for (const std::string_view kept : {addon::kKeptOfV1alpha1Annotation, addon::kKeptOfV1beta1Annotation}) {
    const Json parts = parse_json(annotation_of(*there, kept)).value_or(Json::object());
    for (const auto& [name, part] : parts.items()) shape += " " + name;
  }
  for (const char* section : {"spec", "status"}) {
    for (const auto& [name, member] : object_at(*there, {section}).items())
      shape += " " + shape_of(name) + std::to_string(std::bit_width(member.size()));
  }
  if (!is_served(object)) return shape + " unserved";
  const Result<Json> back = addon::convert_addon(*there, from);
  if (!back) return lapse("no way back: " + back.error().message);
  if (comparable(*back) != comparable(object)) return lapse("it came back as " + dump_json(*back));
  const Result<Json> again = addon::convert_addon(*back, to);
  if (!again || *again != *there) return lapse("another object the second time");
  return shape;
}

const std::vector<std::string_view> kRenderWords = {"{{CLUSTER_NAME}}",
                                                    "{{INSTALL_NAMESPACE}}",
                                                    "{{HUB_KUBECONFIG}}",
                                                    "{{",
                                                    "}}",
                                                    "__NODE_PLACEMENT",
                                                    "__REGISTRIES",
                                                    "__INSTALL_NAMESPACE",
                                                    "__PROXY",
                                                    "customizedVariables",
                                                    "agentInstallNamespace",
                                                    "nodePlacement",
                                                    "nodeSelector",
                                                    "tolerations",
                                                    "registries",
                                                    "proxyConfig",
                                                    "caBundle",
                                                    "resourceRequirements",
                                                    "containerID",
                                                    "*:*:*",
                                                    "deployments:.*:(a|b",
                                                    "registration",
                                                    "KubeClient",
                                                    "CustomSigner",
                                                    "customSigner",
                                                    "signerName",
                                                    "kubernetes.io/kube-apiserver-client",
                                                    "\"Deployment\"",
                                                    "\"DaemonSet\"",
                                                    "\"Namespace\"",
                                                    "\"RoleBinding\"",
                                                    "\"apps/v1\"",
                                                    "subjects",
                                                    "containers",
                                                    "resources",
                                                    "1.5Gi",
                                                    "9223372036854775808",
                                                    "2.5",
                                                    "null",
                                                    "[]",
                                                    "{}",
                                                    "\"\"",
                                                    "../.."};
const std::vector<std::string_view> kSubstitutionWords = {"{{A}}", "{{B}}", "{{}}", "{{ A }}", "{{",  "}}",  "{{{",
                                                          "\"",    "\\",    "\\\"", "\\u0041", "\\n", "\n",  "{\"a\":\"",
                                                          "\":\"", "\"}",   "[\"",  "\"]",     ",",   "null"};
const std::vector<std::string_view> kConversionWords = {"\"addon.open-cluster-management.io/v1alpha1\"",
                                                        "\"addon.open-cluster-management.io/v1beta1\"",
                                                        "\"ClusterManagementAddOn\"",
                                                        "\"ManagedClusterAddOn\"",
                                                        "supportedConfigs",
                                                        "defaultConfigs",
                                                        "defaultConfig",
                                                        "addOnConfiguration",
                                                        "defaultconfigReferences",
                                                        "defaultConfigReferences",
                                                        "installNamespace",
                                                        "kubeClientDriver",
                                                        "registrations",
                                                        "configReferences",
                                                        "desiredConfig",
                                                        "kubeClient",
                                                        "customSigner",
                                                        "signerName",
                                                        "subject",
                                                        "organizationUnit",
                                                        "organizationUnits",
                                                        "driver",
                                                        "type",
                                                        "name",
                                                        "namespace",
                                                        "__reserved_no_default__",
                                                        "kubernetes.io/kube-apiserver-client",
                                                        "addon.open-cluster-management.io/v1alpha1-install-namespace",
                                                        "fleetadm.io/v1alpha1-fields",
                                                        "fleetadm.io/v1beta1-fields",
                                                        "null",
                                                        "[]",
                                                        "{}",
                                                        "\"\""};

}  // namespace

std::vector<Target> addon_targets() {
  return {{"render", 16'000, true, kRenderWords, run_render},
          {"substitution", 1'000, false, kSubstitutionWords, run_substitution},
          {"conversion", 8'000, true, kConversionWords, run_conversion}};
}

}  // namespace fleetadm::fuzz
