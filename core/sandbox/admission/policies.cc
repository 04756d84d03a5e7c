#include "core/sandbox/admission/policies.h"

#include <algorithm>
#include <map>

#include "core/sandbox/admission/authorizer.h"
#include "core/sandbox/convert/converter.h"
#include "core/sandbox/engine/custom.h"

namespace fleetadm::sandbox::admission {
namespace {

const char* const kPolicyStorage = "admissionregistration.k8s.io/validatingadmissionpolicies";
const char* const kBindingStorage = "admissionregistration.k8s.io/validatingadmissionpolicybindings";

struct Denial {
  std::string policy;
  std::string binding;  // empty: of the policy as a whole
  Verdict verdict;
};

int code_of(const std::string& reason) {
  if (reason == "Forbidden") return 403;
  if (reason == "Unauthorized") return 401;
  if (reason == "RequestEntityTooLarge") return 413;
  return 422;
}

Json kind_json(const Kind& kind, const std::string& subresource) {
  const auto* sub = subresource.empty() ? nullptr : kind.subresource(subresource);
  if (sub != nullptr && !sub->kind.empty()) {
    const bool own = sub->version.empty();  // a kind of the resource's own group
    return {{"group", own ? kind.group : sub->group}, {"version", own ? kind.version : sub->version}, {"kind", sub->kind}};
  }
  return {{"group", kind.group}, {"version", kind.version}, {"kind", kind.kind}};
}

Json resource_json(const Kind& kind) { return {{"group", kind.group}, {"version", kind.version}, {"resource", kind.plural}}; }

Json options_json(const Admission& write) {
  if (write.operation == "CONNECT") return nullptr;
  const std::string kind = write.operation == "CREATE"   ? "CreateOptions"
                           : write.operation == "UPDATE" ? "UpdateOptions"
                                                         : "DeleteOptions";
  Json out = {{"apiVersion", "meta.k8s.io/v1"}, {"kind", kind}};
  if (write.options.dry_run) out["dryRun"] = {"All"};
  if (!write.options.manager.empty() && kind != "DeleteOptions") out["fieldManager"] = write.options.manager;
  return out;
}

Json request_json(const Asked& asked, const Kind& as) {
  const Admission& write = asked.write;
  const serve::User& user = write.options.user;
  Json who = {{"groups", user.groups}};
  if (!user.name.empty()) who["username"] = user.name;
  if (!user.uid.empty()) who["uid"] = user.uid;
  if (!user.extra.empty()) who["extra"] = user.extra;
  Json out = {{"uid", ""},
              {"kind", kind_json(as, asked.subresource)},
              {"resource", resource_json(as)},
              {"requestKind", kind_json(write.kind, asked.subresource)},
              {"requestResource", resource_json(write.kind)},
              {"operation", write.operation},
              {"userInfo", std::move(who)},
              {"dryRun", write.options.dry_run},
              {"options", options_json(write)}};
  if (!asked.subresource.empty()) out["subResource"] = out["requestSubResource"] = asked.subresource;
  if (!asked.name.empty()) out["name"] = asked.name;
  if (!asked.ns.empty()) out["namespace"] = asked.ns;
  return out;
}

/// The object in another version of its kind.
ApiResult<Json> in_version(const Json* object, const Kind& from, const KindPtr& to) {
  if (object == nullptr) return nullptr;
  if (!to) return *object;
  if (const auto* converter = converter_of(*to)) return converter->convert(*object, to->version);
  Json out = from.on_write ? from.on_write(*object) : *object;
  if (to->on_read) out = to->on_read(std::move(out));
  out["apiVersion"] = to->api_version();
  out["kind"] = to->kind;
  return out;
}

/// What policies are told of a namespace.
Json namespace_json(const Engine& engine, const Asked& asked) {
  if (asked.write.kind.storage == "/namespaces" || asked.ns.empty()) return nullptr;
  const auto stored = engine.store().get("/namespaces", "", asked.ns);
  if (!stored) return nullptr;
  const Json full = stored->json();
  Json out = {{"metadata", Json::object()}, {"spec", object_at(full, {"spec"})}, {"status", object_at(full, {"status"})}};
  for (const char* field : {"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
                            "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "finalizers"}) {
    if (const Json* value = find(full, {"metadata", field})) out["metadata"][field] = *value;
  }
  return out;
}

KindPtr param_row(const Engine& engine, const Json& param_kind) {
  const auto version = str(param_kind, {"apiVersion"});
  for (const auto& row : engine.kinds().all()) {
    if (row->api_version() == version && row->kind == str(param_kind, {"kind"})) return row;
  }
  return nullptr;
}

std::string no_such_kind(const Json& param_kind) {
  const auto version = str(param_kind, {"apiVersion"});
  return std::string("failed to find resource referenced by paramKind: '") + (version.find('/') == std::string::npos ? "/" : "") +
         version + ", Kind=" + str(param_kind, {"kind"}) + "'";
}

/// The parameter objects of a binding: one null where it takes none. Failure: why the binding cannot be used.
Result<std::vector<Json>> params_of(const Engine& engine, const Json* param_kind, const Json& ref, const std::string& ns) {
  if (param_kind == nullptr || ref.is_null()) return std::vector<Json>{nullptr};
  const auto row = param_row(engine, *param_kind);
  if (!row) return fail(Category::kInvalid, no_such_kind(*param_kind));
  auto where = str(ref, {"namespace"});
  if (!row->namespaced && !where.empty())
    return fail(Category::kInvalid, "paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  if (row->namespaced && where.empty()) where = ns;
  if (row->namespaced && where.empty())
    return fail(Category::kInvalid, "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources");
  std::vector<Json> out;
  if (const auto name = str(ref, {"name"}); !name.empty()) {
    auto found = engine.read(*row, where, name);
    if (!found && found.error().code != 404) return fail(Category::kInvalid, found.error().message);
    if (found) out.push_back(std::move(*found));
  } else {
    const auto selector = LabelSelector::from_object(find(ref, {"selector"}));
    if (!selector) return fail(Category::kInvalid, selector.error().message);
    for (Json& one : engine.list(*row, where)) {
      Labels labels;
      for (auto& [key, value] : strings_at(one, {"metadata", "labels"})) labels.emplace_back(key, value);
      if (!selector->matches(labels)) continue;
      if (const auto* converter = converter_of(*row)) {
        auto converted = converter->convert(std::move(one), row->version);
        if (!converted) return fail(Category::kInvalid, converted.error().message);
        one = std::move(*converted);
      }
      out.push_back(std::move(one));
    }
  }
  if (out.empty() && str(ref, {"parameterNotFoundAction"}) == "Deny")
    return fail(Category::kInvalid, "no params found for policy binding with `Deny` parameterNotFoundAction");
  return out;
}

ApiError denied(const Asked& asked, const Denial& denial) {
  const auto message = "ValidatingAdmissionPolicy '" + denial.policy + "'" +
                       (denial.binding.empty() ? "" : " with binding '" + denial.binding + "'") +
                       " denied request: " + denial.verdict.message;
  const Admission& write = asked.write;
  auto name = asked.name;
  if (name.empty() && write.object != nullptr) name = name_of(*write.object);
  if (name.empty()) name = "Unknown";
  auto error = forbidden(write.kind, name, message).value();
  error.reason = denial.verdict.reason.empty() ? "Invalid" : denial.verdict.reason;
  error.code = code_of(error.reason);
  error.details["causes"] = Json::array({{{"message", message}}});
  return error;
}

bool is_exempt(const Kind& kind) { return kind.group == "admissionregistration.k8s.io"; }

}  // namespace

struct Policies::Bound {
  struct Binding {
    std::string name;
    Matcher matcher;
    Json param_ref;  // null where there is none
    std::vector<std::string> actions;
  };
  std::shared_ptr<const CompiledPolicy> policy;
  std::vector<Binding> bindings;
};

Policies::Policies(const Engine& engine, const Rbac& rbac)
    : engine_(engine), ask_(std::make_shared<const Ask>([&rbac](const serve::User& user, const serve::Attributes& what) {
        return rbac.authorize(user, what);
      })) {}

std::shared_ptr<const Policies::Snapshot> Policies::snapshot() const {
  const std::lock_guard lock(mutex_);
  const auto wanted = wanted_.load();
  if (snapshot_ && built_ == wanted) return snapshot_;
  std::map<std::string, std::shared_ptr<const CompiledPolicy>> before;
  if (snapshot_) {
    for (const auto& one : *snapshot_) before[one.policy->name] = one.policy;
  }
  std::map<std::string, std::vector<Bound::Binding>> bindings;
  if (const auto list = engine_.store().list(kBindingStorage, "")) {
    for (const auto& item : list->items) {
      const Json object = item.object->json();
      const Json* ref = find(object, {"spec", "paramRef"});
      bindings[str(object, {"spec", "policyName"})].push_back({item.name, Matcher::of(find(object, {"spec", "matchResources"})),
                                                               ref == nullptr ? Json() : *ref,
                                                               string_list_at(object, {"spec", "validationActions"})});
    }
  }
  auto next = std::make_shared<Snapshot>();
  if (const auto list = engine_.store().list(kPolicyStorage, "")) {
    for (const auto& item : list->items) {
      const auto bound = bindings.find(item.name);
      if (bound == bindings.end()) continue;
      const Json object = item.object->json();
      const Json& spec = object_at(object, {"spec"});
      auto& known = before[item.name];
      if (!known || known->spec != spec) known = std::make_shared<const CompiledPolicy>(CompiledPolicy::of(item.name, spec));
      next->push_back(Bound{known, std::move(bound->second)});
    }
  }
  built_ = wanted;
  snapshot_ = std::move(next);
  return snapshot_;
}

/// One write before the policies that are bound.
class Policies::Review {
 public:
  Review(const Policies& policies, const Asked& asked, std::vector<std::string>& warnings)
      : engine_(policies.engine_), ask_(policies.ask_), asked_(asked), warnings_(warnings) {}

  ApiStatus judge_by(const Bound& bound) {
    const CompiledPolicy& policy = *bound.policy;
    const auto matched = policy.matcher.match(engine_, asked_);
    if (!matched) {
      fail_policy(policy, "", matched.error().message);
      return {};
    }
    if (!*matched) return {};
    const Json* param_kind = find(policy.spec, {"paramKind"});
    if (param_kind != nullptr && !param_row(engine_, *param_kind)) {
      fail_policy(policy, "", no_such_kind(*param_kind));
      return {};
    }
    std::optional<Facts> facts;
    for (const auto& binding : bound.bindings) {
      const auto concerned = binding.matcher.match(engine_, asked_);
      if (!concerned) fail_policy(policy, binding.name, concerned.error().message);
      if (!concerned || !*concerned) continue;
      auto params = params_of(engine_, param_kind, binding.param_ref, asked_.ns);
      if (!params) {
        fail_policy(policy, binding.name, params.error().message);
        continue;
      }
      if (!facts) {
        FLEETADM_TRY(facts, facts_for((*matched)->other));
      }
      for (Json& one : *params) {
        facts->params = std::move(one);
        for (auto& verdict : judge(policy, *facts)) act(policy, binding, std::move(verdict));
      }
    }
    return {};
  }

  ApiStatus answer() {
    if (denials_.empty()) return {};
    auto error = denied(asked_, denials_.front());
    error.warnings = std::move(warnings_);
    return tl::unexpected(std::move(error));
  }

 private:
  void fail_policy(const CompiledPolicy& policy, const std::string& binding, const std::string& why) {
    if (policy.ignores_failures) return;
    denials_.push_back({policy.name,
                        binding,
                        {(binding.empty() ? "failed to configure policy: " : "failed to configure binding: ") + why, "", false}});
  }

  /// `other`: the row in whose version the policy sees the object; null: that of the request.
  ApiResult<Facts> facts_for(const KindPtr& other) const {
    const Admission& write = asked_.write;
    serve::Attributes what;
    what.group = write.kind.group;
    what.resource = write.kind.plural;
    what.subresource = asked_.subresource;
    what.ns = asked_.ns;
    what.name = asked_.name;
    const auto seen = [&, &view = write.options.admitted_view](const Json* object) -> ApiResult<Json> {
      if (view && object != nullptr) return view(*object);
      return in_version(object, write.kind, other);
    };
    FLEETADM_TRY(Json object, seen(write.object));
    FLEETADM_TRY(Json old, seen(write.old));
    return Facts{std::move(object),
                 std::move(old),
                 request_json(asked_, other ? *other : write.kind),
                 namespace_json(engine_, asked_),
                 nullptr,
                 authorizer_value(write.options.user, ask_),
                 resource_check_value(write.options.user, ask_, what)};
  }

  void act(const CompiledPolicy& policy, const Bound::Binding& binding, Verdict verdict) {
    const auto has = [&](const char* action) {
      return std::find(binding.actions.begin(), binding.actions.end(), action) != binding.actions.end();
    };
    if (has("Warn") && !verdict.by_audit) {
      warnings_.push_back("Validation failed for ValidatingAdmissionPolicy '" + policy.name + "' with binding '" + binding.name +
                          "': " + verdict.message);
    }
    if (has("Deny") || verdict.by_audit) denials_.push_back({policy.name, binding.name, std::move(verdict)});
  }

  const Engine& engine_;
  const std::shared_ptr<const Ask>& ask_;
  const Asked& asked_;
  std::vector<std::string>& warnings_;
  std::vector<Denial> denials_;
};

ApiStatus Policies::admit(const Admission& write, std::vector<std::string>& warnings) const {
  if (is_exempt(write.kind)) return {};
  const auto policies = snapshot();
  if (policies->empty()) return {};
  Asked asked{write, write.ns, write.generated_name ? std::string() : write.name, write.options.subresource};
  if (!write.options.admitted_as.empty()) asked.subresource = write.options.admitted_as;
  if (write.kind.storage == "/namespaces") asked.ns = write.name;
  Review review(*this, asked, warnings);
  for (const auto& bound : *policies) FLEETADM_CHECK(review.judge_by(bound));
  return review.answer();
}

}  // namespace fleetadm::sandbox::admission
