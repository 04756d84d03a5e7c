#include "core/addon/rules/conversion.h"

#include <span>
#include <string>

#include "core/addon/rules/names.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::addon {
namespace {

constexpr std::string_view kAlpha = "addon.open-cluster-management.io/v1alpha1";
constexpr std::string_view kBeta = "addon.open-cluster-management.io/v1beta1";
constexpr std::string_view kApiClientSigner = "kubernetes.io/kube-apiserver-client";

/// Calls `change` for each object of the list, where it is one.
template <class Change>
void for_each_entry(Json* list, Change change) {
  if (list == nullptr || !list->is_array()) return;
  for (Json& entry : *list) {
    if (entry.is_object()) change(entry);
  }
}

/// nullptr where it is not there.
Json* member(Json& object, std::string_view section, std::string_view name) {
  const auto outer = object.find(section);
  if (outer == object.end() || !outer->is_object()) return nullptr;
  const auto inner = outer->find(name);
  return inner == outer->end() ? nullptr : &*inner;
}

/// Nothing where there is no such member.
void rename_member(Json& object, std::string_view from, std::string_view to) {
  const auto found = object.find(from);
  if (found == object.end()) return;
  Json value = std::move(*found);
  object.erase(found);
  object[to] = std::move(value);
}

void rename_in(Json& object, std::string_view section, std::string_view from, std::string_view to) {
  if (const auto found = object.find(section); found != object.end() && found->is_object()) rename_member(*found, from, to);
}

/// Takes a member out; null where it is not there.
Json take_member(Json& object, std::string_view name) {
  const auto found = object.find(name);
  if (found == object.end()) return nullptr;
  Json value = std::move(*found);
  object.erase(found);
  return value;
}

void set_annotation(Json& object, std::string_view key, std::string value) {
  at_or_make(object, {"metadata", "annotations", key}) = std::move(value);
}

/// Its text, empty where there is none.
std::string take_annotation(Json& object, std::string_view key) {
  std::string value = annotation_of(object, key);
  erase_at(object, {"metadata", "annotations", key});
  const Json* left = find(object, {"metadata", "annotations"});
  if (left != nullptr && left->is_object() && left->empty()) erase_at(object, {"metadata", "annotations"});
  return value;
}

constexpr std::string_view kObsolete = "addOnConfiguration";

// --- ClusterManagementAddOn ---

void declaration_to_beta(Json& object) {
  erase_at(object, {"spec", kObsolete});
  rename_in(object, "spec", "supportedConfigs", "defaultConfigs");
  for_each_entry(member(object, "spec", "defaultConfigs"), [](Json& entry) {
    const Json config = take_member(entry, "defaultConfig");
    const std::string name = str(config, {"name"});
    entry["name"] = name.empty() ? std::string(kNoDefaultConfig) : name;
    if (const Json* ns = find(config, {"namespace"})) entry["namespace"] = *ns;
  });
  rename_in(object, "status", "defaultconfigReferences", "defaultConfigReferences");
}

void declaration_to_alpha(Json& object) {
  rename_in(object, "spec", "defaultConfigs", "supportedConfigs");
  for_each_entry(member(object, "spec", "supportedConfigs"), [](Json& entry) {
    const Json name = take_member(entry, "name");
    const Json ns = take_member(entry, "namespace");
    if (name.is_null() || name == kNoDefaultConfig || name == "") return;
    entry["defaultConfig"] = {{"name", name}};
    if (!ns.is_null()) entry["defaultConfig"]["namespace"] = ns;
  });
  rename_in(object, "status", "defaultConfigReferences", "defaultconfigReferences");
}

// --- ManagedClusterAddOn ---

void registration_to_beta(Json& entry, const Json& driver) {
  const Json signer = take_member(entry, "signerName");
  Json subject = take_member(entry, "subject");
  Json block = Json::object();
  const bool api_client = signer == kApiClientSigner;
  if (api_client) {
    if (!driver.is_null()) block["driver"] = driver;
    if (subject.is_object()) subject.erase("organizationUnit");
  } else {
    if (!signer.is_null()) block["signerName"] = signer;
    if (subject.is_object()) rename_member(subject, "organizationUnit", "organizationUnits");
  }
  if (!subject.is_null()) block["subject"] = std::move(subject);
  entry["type"] = api_client ? "kubeClient" : "customSigner";
  entry[api_client ? "kubeClient" : "customSigner"] = std::move(block);
}

void registration_to_alpha(Json& entry) {
  const bool api_client = take_member(entry, "type") == "kubeClient";
  Json client = take_member(entry, "kubeClient");
  Json signer = take_member(entry, "customSigner");
  Json subject = take_member(api_client ? client : signer, "subject");
  if (api_client) {
    entry["signerName"] = kApiClientSigner;
  } else if (Json name = take_member(signer, "signerName"); !name.is_null()) {
    entry["signerName"] = std::move(name);
  }
  if (subject.is_object() && !api_client) rename_member(subject, "organizationUnits", "organizationUnit");
  if (!subject.is_null()) entry["subject"] = std::move(subject);
}

void addon_to_beta(Json& object) {
  const std::string ns = str(object, {"spec", "installNamespace"});
  erase_at(object, {"spec", "installNamespace"});
  take_annotation(object, kInstallNamespaceAnnotation);
  if (!ns.empty()) set_annotation(object, kInstallNamespaceAnnotation, ns);
  erase_at(object, {"status", kObsolete});
  const Json* known = find(object, {"status", "kubeClientDriver"});
  const Json driver = known == nullptr ? Json() : *known;
  erase_at(object, {"status", "kubeClientDriver"});
  for_each_entry(member(object, "status", "registrations"), [&](Json& entry) { registration_to_beta(entry, driver); });
  for_each_entry(member(object, "status", "configReferences"), [](Json& entry) {
    entry.erase("name");
    entry.erase("namespace");
  });
}

void addon_to_alpha(Json& object) {
  if (std::string ns = take_annotation(object, kInstallNamespaceAnnotation); !ns.empty())
    at_or_make(object, {"spec", "installNamespace"}) = std::move(ns);
  Json driver;
  for (const Json& entry : list_at(object, {"status", "registrations"})) {
    const Json* one = find(entry, {"kubeClient", "driver"});
    if (str(entry, {"type"}) != "kubeClient" || one == nullptr) continue;
    driver = *one;
    break;
  }
  if (!driver.is_null()) at_or_make(object, {"status", "kubeClientDriver"}) = driver;
  for_each_entry(member(object, "status", "registrations"), registration_to_alpha);
  for_each_entry(member(object, "status", "configReferences"), [](Json& entry) {
    // Required in v1alpha1.
    entry["name"] = str(entry, {"desiredConfig", "name"});
    if (const Json* ns = find(entry, {"desiredConfig", "namespace"})) entry["namespace"] = *ns;
  });
}

// --- What the other version cannot say ---

struct Part {
  std::string_view section;  // "spec", "status"; "metadata": an annotation
  std::string_view name;

  std::string label() const { return std::string(section) + "." + std::string(name); }
  /// null where it is not there.
  Json of(const Json& object) const {
    const Json* found = section == "metadata" ? find(object, {section, "annotations", name}) : find(object, {section, name});
    return found == nullptr ? Json() : *found;
  }
  void put(Json& object, const Json& value) const {
    if (section == "metadata") {
      take_annotation(object, name);
      if (value.is_string()) set_annotation(object, name, value.get<std::string>());
    } else if (value.is_null()) {
      erase_at(object, {section, name});
    } else {
      at_or_make(object, {section, name}) = value;
    }
  }
};

/// One version of one kind: how an object gets there, and which parts of it may not survive the way to the other version.
struct Form {
  std::string_view kind;
  std::string_view api_version;
  void (*make)(Json& object);
  std::string_view kept_annotation;  // on objects of the other version
  std::span<const Part> parts;
};

constexpr Part kDeclarationAlphaParts[] = {
    {"spec", kObsolete}, {"spec", "supportedConfigs"}, {"status", "defaultconfigReferences"}};
constexpr Part kDeclarationBetaParts[] = {{"spec", "defaultConfigs"}};
constexpr Part kAddonAlphaParts[] = {{"metadata", kInstallNamespaceAnnotation},
                                     {"spec", "installNamespace"},
                                     {"status", kObsolete},
                                     {"status", "kubeClientDriver"},
                                     {"status", "registrations"},
                                     {"status", "configReferences"}};
constexpr Part kAddonBetaParts[] = {
    {"metadata", kInstallNamespaceAnnotation}, {"status", "registrations"}, {"status", "configReferences"}};

constexpr Form kForms[] = {
    {"ClusterManagementAddOn", kAlpha, declaration_to_alpha, kKeptOfV1alpha1Annotation, kDeclarationAlphaParts},
    {"ClusterManagementAddOn", kBeta, declaration_to_beta, kKeptOfV1beta1Annotation, kDeclarationBetaParts},
    {"ManagedClusterAddOn", kAlpha, addon_to_alpha, kKeptOfV1alpha1Annotation, kAddonAlphaParts},
    {"ManagedClusterAddOn", kBeta, addon_to_beta, kKeptOfV1beta1Annotation, kAddonBetaParts}};

Result<const Form*> form_of(const std::string& kind, std::string_view api_version) {
  for (const Form& form : kForms) {
    if (form.kind == kind && form.api_version == api_version) return &form;
  }
  return fail(Category::kUnsupported, "there is no conversion of " + (kind.empty() ? "an object without a kind" : kind) +
                                          " of version \"" + std::string(api_version) + "\"");
}

Json made(const Form& form, Json object) {
  form.make(object);
  object["apiVersion"] = form.api_version;
  return object;
}

std::string print_of(const Json& value) { return sha256_hex(dump_json(value)).substr(0, 16); }

/// `object` with what an earlier conversion took away, where it still says what became of it then.
Json with_kept(const Form& form, const std::string& text, Json object) {
  const auto kept = parse_json(text);
  if (!kept || !kept->is_object()) return object;  // somebody else's text
  for (const Part& part : form.parts) {
    const Json* entry = find(*kept, {part.label()});
    if (entry == nullptr || str(*entry, {"for"}) != print_of(part.of(object))) continue;
    const Json* value = find(*entry, {"value"});
    part.put(object, value == nullptr ? Json() : *value);
  }
  return object;
}

/// `restored` says of `source` only what source's version cannot say: whoever may write annotations, and not the status, changes
/// nothing else by them. `plain` is the conversion of `source` without what was kept.
bool says_the_same(const Form& from, const Json& source, const Json& plain, const Json& restored) {
  Json back = made(from, restored);
  const Json plain_back = made(from, plain);
  for (const Part& part : from.parts) {
    if (part.of(back) == part.of(plain_back)) part.put(back, part.of(source));
  }
  return back == source;
}

/// What is lost on the way from `object` to `other`, as the annotation's text; empty where nothing is.
std::string lost_parts(const Form& form, const Json& object, const Json& other) {
  const Json back = made(form, other);
  Json lost = Json::object();
  for (const Part& part : form.parts) {
    const Json before = part.of(object);
    const Json after = part.of(back);
    // Go programs write this member as an empty object where it is absent.
    const bool nothing = part.name == kObsolete && before.is_object() && before.empty();
    if (before != after && !nothing) lost[part.label()] = {{"value", before}, {"for", print_of(after)}};
  }
  return lost.empty() ? std::string() : dump_json(lost);
}

}  // namespace

Result<Json> convert_addon(const Json& object, std::string_view api_version) {
  const std::string kind = str(object, {"kind"});
  FLEETADM_TRY(const Form* from, form_of(kind, str(object, {"apiVersion"})));
  FLEETADM_TRY(const Form* to, form_of(kind, api_version));
  if (from == to) return object;
  Json source = object;
  take_annotation(source, from->kept_annotation);  // stands on the other version's objects alone
  const std::string kept = take_annotation(source, to->kept_annotation);
  Json converted = made(*to, source);
  if (!kept.empty()) {
    if (Json restored = with_kept(*to, kept, converted); says_the_same(*from, source, converted, restored))
      converted = std::move(restored);
  }
  if (std::string lost = lost_parts(*from, source, converted); !lost.empty())
    set_annotation(converted, from->kept_annotation, std::move(lost));
  return converted;
}

}  // namespace fleetadm::addon
