#include "core/sandbox/api/api_server.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "core/sandbox/admission/policies.h"
#include "core/sandbox/api/apply.h"
#include "core/sandbox/api/bootstrap.h"
#include "core/sandbox/api/discovery.h"
#include "core/sandbox/api/metrics.h"
#include "core/sandbox/api/pod_connect.h"
#include "core/sandbox/api/pod_log.h"
#include "core/sandbox/api/write.h"
#include "core/sandbox/auth/account_secrets.h"
#include "core/sandbox/auth/authenticate.h"
#include "core/sandbox/auth/flow_schemas.h"
#include "core/sandbox/auth/impersonate.h"
#include "core/sandbox/auth/issuer.h"
#include "core/sandbox/auth/rbac.h"
#include "core/sandbox/auth/reviews.h"
#include "core/sandbox/convert/service_address.h"
#include "core/sandbox/convert/webhook.h"
#include "core/sandbox/engine/custom.h"
#include "core/sandbox/kinds/kind_rules.h"
#include "core/sandbox/quota/admission.h"
#include "core/serve/http/gzip.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {

struct ApiServer::Inner {
  explicit Inner(ApiOptions& options) : signer(options.token_key), disturb(std::move(options.disturb)) {}
  std::shared_ptr<ApiState> state = std::make_shared<ApiState>();
  TokenSigner signer;
  std::function<FaultInjection(const serve::ApiRequest&)> disturb;
  std::unique_ptr<Authenticator> authenticator;
  std::unique_ptr<Rbac> rbac;
  std::unique_ptr<FlowSchemas> flows;
  std::unique_ptr<admission::Policies> policies;
  std::mutex definitions_mutex;
  std::map<std::string, std::string> served;  // definition → what its rows were made of
  std::shared_mutex listener_mutex;
  Observer listener;
  quota::PendingWrites pending_writes;
  RequestMetrics metrics;

  void observe(const Kind& kind, const std::string& ns, const std::string& name, const Json* object) {
    pending_writes.done({ns, kind.storage, name});
    if (kind.storage == "apiextensions.k8s.io/customresourcedefinitions") {
      serve_definition(name);
    } else if (kind.group == "rbac.authorization.k8s.io") {
      rbac->changed(kind.plural, ns, name);
    } else if (kind.group == "admissionregistration.k8s.io") {
      policies->changed();
    } else if (kind.group == "flowcontrol.apiserver.k8s.io") {
      flows->changed();
    }
    {
      const std::shared_lock lock(listener_mutex);
      if (listener) listener(kind, ns, name, object);
    }
    end_account_secrets(*state->engine, kind, ns, name, object);
  }

  /// Serves what the store's definition says now. Rows stay the same objects where nothing of them changed: watches end with
  /// their row.
  void serve_definition(const std::string& name) {
    const std::lock_guard lock(definitions_mutex);
    const auto stored = state->store->get("apiextensions.k8s.io/customresourcedefinitions", "", name);
    if (!stored) {
      served.erase(name);
      state->kinds.set_custom(name, {});
      return;
    }
    const Json definition = stored->json();
    auto print = sha256_hex(dump_json(object_at(definition, {"spec"}))) + (is_deleting(definition) ? "-" : "+");
    for (const Json& condition : list_at(definition, {"status", "conditions"}))
      print += str(condition, {"type"}) + str(condition, {"status"});
    auto& known = served[name];
    if (known == print) return;
    known = std::move(print);
    state->kinds.set_custom(name, rows_of(definition, place()));
  }

  /// What conversion webhooks get to know. Whoever holds a row holds the state as well.
  convert::Place place() const {
    return {[store = state->store.get()](const std::string& ns, const std::string& name, int port) {
              return convert::service_address(*store, ns, name, port);
            },
            state->ending.get_token(), wait_outside};
  }

  AuditHook seen;
  std::shared_ptr<const ContainerTable> containers;
  std::function<void(const std::function<void()>&)> wait_outside;

  ApiResult<serve::HttpResponse> answer(const serve::HttpRequest& http, serve::ApiRequest& request, FaultInjection& disturbance,
                                        std::optional<FlowClass>& flow) const;
  ApiResult<serve::HttpResponse> route(serve::ApiRequest request) const;
  ApiResult<serve::HttpResponse> route_subresource(const serve::ApiRequest& request, const KindPtr& kind) const;
  ApiResult<serve::HttpResponse> bind_named_pod(serve::ApiRequest request, const KindPtr& kind) const;
  ApiResult<serve::HttpResponse> missing(const serve::ApiRequest& request) const;
  std::string deprecation_of(const serve::Attributes& what) const;
  ApiStatus check_csr_rights(const serve::ApiRequest& request) const;
  ApiStatus check_connection(const serve::ApiRequest& request, const Kind& kind) const;
};

namespace {

/// "Sun, 06 Nov 1994 08:49:37 GMT": clients compare their clock with it.
std::string http_date(Instant at) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                kDays.at(static_cast<std::size_t>(parts.tm_wday)), parts.tm_mday,
                kMonths.at(static_cast<std::size_t>(parts.tm_mon)), parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                parts.tm_sec);
  return text.data();
}

/// Of requests that do not last.
ApiStatus check_timeout(const serve::ApiRequest& request) {
  static constexpr std::array<std::string_view, 5> kLasting = {"attach", "exec", "log", "portforward", "proxy"};
  const auto& what = request.what;
  const auto text = request.query.get("timeout");
  if (text.empty() || what.verb == "watch") return {};
  if (std::find(kLasting.begin(), kLasting.end(), what.subresource) != kLasting.end()) return {};
  if (const auto limit = parse_duration(text); !limit)
    return bad_request("invalid timeout specified in the request URL - time: " + limit.error().message);
  return {};
}

tl::unexpected<ApiError> method_not_allowed() {
  return api_fail(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

}  // namespace

/// What no row serves: a Status inside built-in groups, plain text elsewhere.
ApiResult<serve::HttpResponse> ApiServer::Inner::missing(const serve::ApiRequest& request) const {
  const auto& what = request.what;
  if (state->kinds.is_custom_group(what.group)) return serve::answer_text(404, "404 page not found\n");
  return api_fail(404, "NotFound", "the server could not find the requested resource");
}

/// What clients of a kind or version are warned of; empty where it has a future.
std::string ApiServer::Inner::deprecation_of(const serve::Attributes& what) const {
  if (what.group.empty() && what.resource == "endpoints")
    return "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
  if (what.group.empty() && what.resource == "componentstatuses") return "v1 ComponentStatus is deprecated in v1.19+";
  const auto kind = state->kinds.find(what.group, what.version, what.resource);
  return kind && kind->custom != nullptr ? kind->custom->deprecation : std::string();
}

/// Approving and signing need a right on the signer, too.
ApiStatus ApiServer::Inner::check_csr_rights(const serve::ApiRequest& request) const {
  const auto& what = request.what;
  if (what.group != "certificates.k8s.io" || (what.subresource != "approval" && what.subresource != "status")) return {};
  if (what.verb != "update" && what.verb != "patch") return {};
  const auto stored = state->store->get("certificates.k8s.io/certificatesigningrequests", "", what.name);
  if (!stored) return {};
  const auto signer_name = str(stored->json(), {"spec", "signerName"});
  serve::Attributes right;
  right.resource_request = true;
  right.verb = what.subresource == "approval" ? "approve" : "sign";
  right.group = "certificates.k8s.io";
  right.version = "v1";
  right.resource = "signers";
  for (const auto& name : {signer_name, signer_name.substr(0, signer_name.find('/')) + "/*"}) {
    right.name = name;
    if (rbac->authorize(request.user, right).allowed) return {};
  }
  const auto kind = state->kinds.find("certificates.k8s.io", "v1", "certificatesigningrequests");
  return forbidden(*kind, what.name, "user not permitted to " + right.verb + " requests with signerName \"" + signer_name + "\"");
}

/// Admission first. A WebSocket is asked for with GET, yet what it does to a pod is no reading: the right to create is needed,
/// too.
ApiStatus ApiServer::Inner::check_connection(const serve::ApiRequest& request, const Kind& kind) const {
  const auto& what = request.what;
  const Json asked = connection_options(request);
  WriteOptions options;
  options.user = request.user;
  options.subresource = what.subresource;
  std::vector<std::string> warnings;
  FLEETADM_CHECK(policies->admit({kind, "CONNECT", what.ns, what.name, false, &asked, nullptr, options}, warnings));
  serve::Attributes right = what;
  right.verb = "create";
  const auto decision = rbac->authorize(request.user, right);
  if (decision.allowed) return {};
  return forbidden(kind, right.name, denial(request.user, right, decision.reason));
}

ApiResult<serve::HttpResponse> ApiServer::Inner::route_subresource(const serve::ApiRequest& request, const KindPtr& kind) const {
  const auto& what = request.what;
  const auto* sub = kind->subresource(what.subresource);
  if (sub == nullptr) {
    if (kind->custom != nullptr) return serve::answer_text(404, "404 page not found\n");
    return api_fail(404, "NotFound", "the server could not find the requested resource");
  }
  if (std::find(sub->verbs.begin(), sub->verbs.end(), what.verb) == sub->verbs.end()) return method_not_allowed();
  if (sub->name == "scale") return answer_scale(state, request, kind);
  if (sub->name == "token") {
    FLEETADM_TRY(Json body, read_body(*request.http, *kind, "token"));
    FLEETADM_TRY(const Json token,
                 answer_token_request({*state->engine, *authenticator, *rbac, signer}, *kind, request, std::move(body)));
    return answer_preferred(*request.http, 201, token);
  }
  if (sub->name == "log") return answer_pod_log(state, containers, request, kind);
  if (is_pod_connection(sub->name)) {
    FLEETADM_CHECK(check_connection(request, *kind));
    return answer_pod_connection(state, containers, request, kind);
  }
  if (sub->name == "binding" || sub->name == "eviction") return answer_pod_action(state, request, kind);
  FLEETADM_CHECK(check_csr_rights(request));
  if (what.verb == "get") return answer_get(state, request, kind);
  if (what.verb == "update") return answer_update(state, request, kind);
  return answer_patch(state, request, kind);
}

/// The old form of pods/binding, which names the pod in its body.
ApiResult<serve::HttpResponse> ApiServer::Inner::bind_named_pod(serve::ApiRequest request, const KindPtr& kind) const {
  FLEETADM_TRY(const Json body, read_body(*request.http, *kind, ""));
  request.what.resource = "pods";
  request.what.subresource = "binding";
  request.what.name = name_of(body);
  return answer_pod_action(state, request, state->kinds.find("", "v1", "pods"));
}

ApiResult<serve::HttpResponse> ApiServer::Inner::route(serve::ApiRequest request) const {
  auto& what = request.what;
  const auto kind = state->kinds.find(what.group, what.version, what.resource);
  if (!kind) return missing(request);
  if (kind->namespaced && what.ns.empty() && what.verb != "list" && what.verb != "watch") {
    if (what.verb == "create" && is_review(*kind)) return bad_request("no namespace on request");
    return method_not_allowed();
  }
  if (!kind->namespaced && !what.ns.empty() && what.resource != "namespaces") return missing(request);
  if (!kind->namespaced) what.ns.clear();  // requests on a namespace are authorized in it, and it lives in none
  if (!what.subresource.empty()) return route_subresource(request, kind);
  if (request.http->method == "HEAD") return method_not_allowed();
  if (what.verb == "create") {
    const auto in_url = request.path.ends_with("/" + what.resource) || request.path.ends_with("/" + what.resource + "/");
    if (!in_url && kind->custom == nullptr) return method_not_allowed();
    if (kind->kind == "Binding" && kind->group.empty()) return bind_named_pod(std::move(request), kind);
    if (!is_review(*kind)) return answer_create(state, request, kind);
    FLEETADM_CHECK(negotiate(*request.http, {}, true));  // nothing is kept of it that could be shown in another form
    FLEETADM_TRY(Json body, read_body(*request.http, *kind, ""));
    FLEETADM_TRY(const Json review,
                 answer_review({*state->engine, *authenticator, *rbac, signer}, *kind, request, std::move(body)));
    return answer_preferred(*request.http, 201, review);
  }
  if (!kind->has_verb(what.verb)) return method_not_allowed();
  const bool by_name = what.verb == "get" || what.verb == "update" || what.verb == "patch" || what.verb == "delete";
  if (by_name && what.name.empty()) return method_not_allowed();
  if (what.verb == "get") return answer_get(state, request, kind);
  if (what.verb == "list") return answer_list(state, request, kind);
  if (what.verb == "watch") return answer_watch(state, request, kind);
  if (what.verb == "update") return answer_update(state, request, kind);
  if (what.verb == "patch") return answer_patch(state, request, kind);
  if (what.verb == "delete") return answer_delete(state, request, kind);
  return answer_delete_collection(state, request, kind);
}

ApiResult<serve::HttpResponse> ApiServer::Inner::answer(const serve::HttpRequest& http, serve::ApiRequest& request,
                                                        FaultInjection& disturbance, std::optional<FlowClass>& flow) const {
  request = serve::read_request(http);
  FLEETADM_CHECK(check_timeout(request));
  FLEETADM_TRY(const serve::User caller, authenticator->authenticate(http));
  FLEETADM_TRY(request.user, impersonate(*rbac, caller, http));
  flow = flows->classify(request.user, request.what);
  if (disturb) disturbance = disturb(request);
  if (disturbance.refusal) return tl::unexpected(*disturbance.refusal);
  const auto decision = rbac->authorize(request.user, request.what);
  if (!decision.allowed) {
    if (!request.what.resource_request)
      return api_fail(403, "Forbidden", "forbidden: " + denial(request.user, request.what, decision.reason));
    Kind named;
    named.group = request.what.group;
    named.plural = request.what.resource;
    return forbidden(named, request.what.name, denial(request.user, request.what, decision.reason));
  }
  if (!request.what.resource_request) {
    if (request.path == "/metrics" && http.method == "GET")
      return serve::answer_text(200, metrics.text(*state), "text/plain; version=0.0.4; charset=utf-8");
    if (auto document = answer_issuer(signer, http, request.path)) return std::move(*document);
    return answer_path(state, request);
  }
  auto answered = route(request);
  if (const auto warning = deprecation_of(request.what); !warning.empty()) {
    if (answered) {
      add_warnings(*answered, {warning});
    } else {
      answered.error().warnings.push_back(warning);
    }
  }
  return answered;
}

ApiServer::ApiServer(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}
ApiServer::~ApiServer() { end_calls(); }
void ApiServer::end_calls() { inner_->state->ending.request_stop(); }

Result<std::unique_ptr<ApiServer>> ApiServer::open(ApiOptions options) {
  auto inner = std::make_unique<Inner>(options);
  FLEETADM_TRY(inner->state->store, Store::open(std::move(options.journal), options.store));
  inner->seen = std::move(options.seen);
  inner->containers = std::move(options.containers);
  inner->wait_outside = std::move(options.wait_outside);
  auto& state = *inner->state;
  state.engine = std::make_unique<Engine>(*state.store, state.kinds, options.clock ? options.clock : Clock::system());
  state.openapi = std::make_shared<OpenApiDocuments>();
  auto& engine = *state.engine;
  inner->rbac = std::make_unique<Rbac>(engine);
  inner->flows = std::make_unique<FlowSchemas>(engine);
  inner->policies = std::make_unique<admission::Policies>(engine, *inner->rbac);
  inner->authenticator = std::make_unique<Authenticator>(engine, inner->signer);
  engine.set_observer([raw = inner.get()](const Kind& kind, const std::string& ns, const std::string& name, const Json* object) {
    raw->observe(kind, ns, name, object);
  });
  engine.set_tracker(field_tracker());
  engine.set_admission([raw = inner.get()](const Admission& write, std::vector<std::string>& warnings) -> ApiStatus {
    FLEETADM_CHECK(raw->policies->admit(write, warnings));
    return quota::admit(*raw->state->engine, raw->pending_writes, write);
  });
  set_kind_strategies(engine);
  engine.set_strategy("/secrets", with_account_tokens(secret_strategy(), inner->signer, options.ca_pem));
  engine.set_strategy("certificates.k8s.io/certificatesigningrequests", csr_strategy());
  engine.set_strategy("apiextensions.k8s.io/customresourcedefinitions", definition_strategy());
  for (const char* plural : {"roles", "clusterroles"})
    engine.set_strategy(std::string("rbac.authorization.k8s.io/") + plural, role_strategy(*inner->rbac));
  for (const char* plural : {"rolebindings", "clusterrolebindings"})
    engine.set_strategy(std::string("rbac.authorization.k8s.io/") + plural, binding_strategy(*inner->rbac));
  engine.set_strategy("admissionregistration.k8s.io/validatingadmissionpolicies", admission::policy_strategy(*inner->rbac));
  engine.set_strategy("admissionregistration.k8s.io/validatingadmissionpolicybindings",
                      admission::policy_binding_strategy(*inner->rbac));
  const auto definitions = state.kinds.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  for (const Json& definition : engine.list(*definitions)) inner->serve_definition(name_of(definition));
  ApiStatus ready;
  FLEETADM_CHECK(state.store->write_together([&] { ready = bootstrap_cluster(engine, options.ca_pem); }));
  if (!ready) return fail(Category::kInternal, "preparing the cluster: " + ready.error().message);
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(inner)));
}

serve::HttpResponse ApiServer::handle(const serve::HttpRequest& request) const {
  const auto running = inner_->metrics.begin(request);
  serve::ApiRequest asked;
  FaultInjection disturbance;
  std::optional<FlowClass> flow;
  auto answer = [&]() -> serve::HttpResponse {
    try {
      auto done = inner_->answer(request, asked, disturbance, flow);
      return done ? std::move(*done) : answer_error(request, done.error());
    } catch (const std::exception& error) {
      ApiError failure;
      failure.reason = "InternalError";
      failure.message = std::string("Internal error occurred: ") + error.what();
      return answer_error(request, failure);
    }
  }();
  answer.headers.emplace_back("audit-id", random_uuid());
  if (flow) {
    answer.headers.emplace_back("x-kubernetes-pf-flowschema-uid", flow->schema_uid);
    answer.headers.emplace_back("x-kubernetes-pf-prioritylevel-uid", flow->level_uid);
  }
  answer.headers.emplace_back("date", http_date(inner_->state->engine->clock().now()));
  if (inner_->seen) inner_->seen(asked, answer);
  const auto& what = asked.what;
  const auto kind = what.resource_request ? inner_->state->kinds.find(what.group, what.version, what.resource) : KindPtr();
  inner_->metrics.count(asked, kind.get(), answer.status);
  if (what.resource_request || asked.path.starts_with("/api")) serve::compress_answer(request, answer);
  answer.delay = disturbance.delay;
  if (answer.stream && disturbance.stream) answer.stream = disturbance.stream(std::move(answer.stream));
  return answer;
}

Engine& ApiServer::engine() { return *inner_->state->engine; }
quota::PendingWrites& ApiServer::pending_writes() { return inner_->pending_writes; }

void ApiServer::on_write(Observer listener) {
  const std::unique_lock lock(inner_->listener_mutex);
  inner_->listener = std::move(listener);
}

}  // namespace fleetadm::sandbox
