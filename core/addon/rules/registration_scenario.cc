#include "core/addon/rules/registration_scenario.h"

#include <algorithm>
#include <array>

#include "core/addon/rules/csr_signing.h"
#include "core/addon/rules/csr_verdict.h"
#include "core/addon/rules/registration.h"
#include "core/addon/rules/scenario.h"
#include "core/addon/rules/token_infrastructure.h"
#include "core/api/certificate_request.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::addon {
namespace {

constexpr int kMostPasses = 10;

/// The objects after a pass: what a server would have.
class ScenarioState {
 public:
  explicit ScenarioState(MemoryObjects objects) : objects_(std::move(objects)) {}

  const MemoryObjects& objects() const { return objects_; }
  Json get(const GroupResource& type, const std::string& ns, const std::string& name) const {
    const ObjectPtr found = objects_.get(type, ns, name);
    return found == nullptr ? Json() : *found;
  }

  /// True where anything changed.
  bool take(const Pass& pass) {
    bool changed = false;
    for (Json object : pass.changed) {
      const GroupResource type = type_of(object);
      const ObjectPtr before = objects_.get(type, namespace_of(object), name_of(object));
      if (before != nullptr && comparable(*before) == comparable(object)) continue;
      if (type == service_accounts() && uid_of(object).empty()) object["metadata"]["uid"] = next_uid();
      objects_.put(std::move(object));
      changed = true;
    }
    for (const ObjectRef& gone : pass.deleted) changed = objects_.remove(gone.type, gone.ns, gone.name) || changed;
    return changed;
  }

 private:
  std::string next_uid() {
    const std::string number = std::to_string(++made_);
    return "00000000-0000-4000-8000-" + std::string(12 - std::min<std::size_t>(12, number.size()), '0') + number;
  }

  MemoryObjects objects_;
  int made_ = 0;
};

/// What differs of the add-on, as `changed` has it.
Json changed_addon(const ScenarioInput& input, const ScenarioState& state) {
  Pass difference;
  if (const Json addon = state.get(managed_cluster_addons(), input.cluster, input.addon); !addon.is_null()) {
    difference.changed.push_back(addon);
  }
  return pass_answer(input.objects, difference)["changed"];
}

Json answer_setup(const ScenarioInput& input, rollout::Semantics conduct) {
  ScenarioState state(input.objects);
  Json reasons = Json::array();
  std::optional<Error> error;
  for (int round = 0; round < kMostPasses; ++round) {
    const Pass pass = registration_pass(state.objects(), input.cluster, input.addon, input.now, conduct);
    const bool changed = state.take(pass);
    error = pass.errors.empty() ? std::nullopt : std::optional<Error>(pass.errors.front());
    const Json addon = state.get(managed_cluster_addons(), input.cluster, input.addon);
    const Json* condition = controller::find_condition(addon, "RegistrationApplied");
    const std::string reason = condition == nullptr ? std::string() : str(*condition, {"reason"});
    if (!reason.empty() && (reasons.empty() || reasons.back() != reason)) reasons.push_back(reason);
    if (!changed) break;
  }
  Json answer{{"changed", changed_addon(input, state)}};
  Json bindings = Json::array();
  for (const ObjectPtr& binding : state.objects().list(role_bindings())) bindings.push_back(comparable(*binding));
  if (!bindings.empty()) answer["roleBindings"] = std::move(bindings);
  if (!reasons.empty()) answer["reasons"] = std::move(reasons);
  if (error) answer["error"] = error->message;
  return answer;
}

Json answer_token(const ScenarioInput& input, rollout::Semantics conduct) {
  ScenarioState state(input.objects);
  std::vector<std::string> deleted;
  for (int round = 0; round < kMostPasses; ++round) {
    const Pass pass = token_pass(state.objects(), input.cluster, input.addon, input.now, conduct);
    for (const ObjectRef& gone : pass.deleted) deleted.push_back(gone.type.resource + "/" + gone.ns + "/" + gone.name);
    if (!state.take(pass)) break;
  }
  std::sort(deleted.begin(), deleted.end());
  deleted.erase(std::unique(deleted.begin(), deleted.end()), deleted.end());
  Json hub = Json::array();
  for (const GroupResource* type : {&service_accounts(), &roles(), &role_bindings()}) {
    for (const ObjectPtr& object : state.objects().list(*type)) {
      Json shown = comparable(*object);
      if (!uid_of(*object).empty()) shown["metadata"]["uid"] = uid_of(*object);
      hub.push_back(std::move(shown));
    }
  }
  Json answer{{"changed", changed_addon(input, state)}, {"hub", std::move(hub)}};
  if (!deleted.empty()) answer["deleted"] = std::move(deleted);
  return answer;
}

Json certificate_facts(const std::string& pem, Instant now) {
  const auto chain = pki::parse_certificates(pem);
  if (!chain) return {{"error", chain.error().message}};
  const pki::CertInfo& leaf = chain->front();
  int key_usage = 0;  // bits as RFC 5280 numbers them
  Json extended = Json::array();
  constexpr std::array<std::pair<std::string_view, int>, 3> kBits{
      {{"digital signature", 1}, {"key encipherment", 4}, {"cert sign", 32}}};
  for (const std::string& usage : leaf.usages) {
    for (const auto& [name, bit] : kBits) {
      if (usage == name) key_usage |= bit;
    }
    if (usage == "server auth") extended.push_back("serverAuth");
    if (usage == "client auth") extended.push_back("clientAuth");
  }
  Json facts{{"commonName", leaf.subject.common_name},
             {"organization", leaf.subject.organizations},
             {"issuer", leaf.issuer.common_name},
             {"isCA", leaf.is_ca},
             {"keyUsage", key_usage},
             {"extKeyUsage", std::move(extended)},
             {"pemType", "CERTIFICATE"},
             {"serialBits", "at most 128"},
             {"validity", format_duration(leaf.not_after - now)}};
  if (!leaf.subject.organizational_units.empty()) facts["organizationalUnit"] = leaf.subject.organizational_units;
  if (!leaf.dns_names.empty()) facts["dnsNames"] = leaf.dns_names;
  return facts;
}

Json refusal(const CsrVerdict& verdict) {
  return {{"refusedBy", verdict.rule.empty() ? "signer" : verdict.rule}, {"why", verdict.why}};
}

Json answer_csr(const ScenarioInput& input, const std::string& name, rollout::Semantics conduct) {
  const ObjectPtr found = input.objects.get(certificate_requests(), {}, name);
  if (found == nullptr) return Json::object();
  Json csr = *found;
  const bool strict = conduct == rollout::Semantics::kStrict;
  const CsrVerdict verdict = judge_addon_request(input.objects, csr);
  const bool approved = verdict.answer == CsrVerdict::Answer::kApproved;
  Json answer = Json::object();
  if (strict ? !api::csr_decided(csr) : upstream_approves(input.objects, csr)) {
    if (verdict.answer == CsrVerdict::Answer::kOthers) return answer;
    if (!approved) return refusal(verdict);
    api::add_approval(csr, kAddonApproval, input.now);
    answer["approved"] = csr["status"]["conditions"].back();
    answer["approved"].erase("lastUpdateTime");
  }
  if (!(strict ? api::awaits_certificate(csr) : upstream_signs(input.objects, csr))) return answer;
  if (!approved) return strict && verdict.answer == CsrVerdict::Answer::kOthers ? answer : refusal(verdict);
  if (verdict.signer.is_null()) return answer;  // Kubernetes signs it
  const SigningCa ca = signing_ca(verdict.signer, api::kHubNamespace);
  const ObjectPtr secret = input.objects.get(secrets(), ca.ns, ca.name);
  if (secret == nullptr) {
    answer["signError"] = "secret " + ca.ns + "/" + ca.name + " not found";
    return answer;
  }
  const auto certificate = sign_addon_request(csr, *secret, input.now);
  if (certificate) {
    answer["signed"] = certificate_facts(*certificate, input.now);
  } else {
    answer["signError"] = certificate.error().message;
  }
  return answer;
}

}  // namespace

Result<Json> answer_registration_scenario(const Json& scenario, rollout::Semantics conduct) {
  FLEETADM_TRY(const ScenarioInput input, read_scenario(scenario));
  const std::string part = str(scenario, {"part"});
  if (part == "setup") return answer_setup(input, conduct);
  if (part == "token") return answer_token(input, conduct);
  if (part == "csr") return answer_csr(input, str(scenario, {"csr"}), conduct);
  return fail(Category::kInvalid, "part is setup, csr or token");
}

}  // namespace fleetadm::addon
