#include "core/proxy/gateway/authorizer.h"

#include <algorithm>
#include <utility>

#include "core/proxy/hop/headers.h"
#include "core/serve/request_info.h"
#include "kubeclient/base/ascii.h"

namespace fleetadm::proxy {
namespace {

constexpr Duration kKeptGrant = std::chrono::seconds(10);
constexpr Duration kKeptDenial = std::chrono::seconds(3);
constexpr std::size_t kMostVerdicts = 16 * 1024;

/// Sizes before values: no two questions have the same key.
void append(std::string& key, std::string_view value) { key.append(std::to_string(value.size())).append(":").append(value); }

std::string key_of(const Caller& caller, const serve::Attributes& what) {
  std::string key;
  for (const std::string* part : {&what.verb, &what.group, &what.resource, &what.subresource, &what.ns, &what.name})
    append(key, *part);
  append(key, caller.name);
  append(key, caller.uid);
  key += std::to_string(caller.groups.size());
  for (const std::string& group : caller.groups) append(key, group);
  for (const auto& [name, values] : caller.extra) {
    append(key, name);
    key += std::to_string(values.size());
    for (const std::string& value : values) append(key, value);
  }
  return key;
}

Error denial(const Caller& caller, const serve::Attributes& what) {
  std::string message = "user \"" + caller.name + "\" may not " + what.verb + " " + what.resource;
  if (!what.subresource.empty()) message += "/" + what.subresource;
  if (!what.group.empty()) message += " of group " + what.group;
  message += " \"" + what.name + "\"";
  if (!what.ns.empty()) message += " in namespace \"" + what.ns + "\"";
  return {.code = 403, .category = Category::kAuth, .message = message + " on the hub", .reason = "Forbidden"};
}

}  // namespace

std::string verb_at_member(const serve::HttpRequest& head, std::string_view path) {
  serve::HttpRequest at_member;
  at_member.method = head.method;
  at_member.path = path;
  at_member.query = head.query;
  const auto what = serve::read_request(at_member).what;
  if (is_upgrade(head.headers) && what.verb != "watch") return "create";
  if (what.resource_request && what.verb != "options") return what.verb;
  // Of paths that are no resource's the verb is the method.
  if (head.method == "POST") return "create";
  if (head.method == "PUT") return "update";
  if (head.method == "PATCH" || head.method == "DELETE") return lower_case(head.method);
  return "get";
}

Authorizer::Authorizer(serve::HttpRuntime& runtime, kube::Client hub, std::shared_ptr<Clock> clock)
    : hub_(std::move(hub)), verdicts_(std::make_shared<AnswerCache<bool>>(runtime, std::move(clock), kMostVerdicts)) {}

serve::Attributes use_of_cluster(std::string_view cluster, std::string_view verb) {
  serve::Attributes out;
  out.resource_request = true;
  out.verb = verb;
  out.group = "proxy.open-cluster-management.io";
  out.version = "v1alpha1";
  out.resource = "clusters";
  out.subresource = "proxy";
  out.name = cluster;
  return out;
}

void Authorizer::authorize(const std::shared_ptr<const Caller>& caller, const serve::Attributes& what, Done done) {
  auto question = [hub = hub_, caller, what]() -> Result<AnswerCache<bool>::Answer> {
    FLEETADM_TRY(const bool allowed, review_access(hub, *caller, what));
    return AnswerCache<bool>::Answer{std::make_shared<const bool>(allowed), allowed ? kKeptGrant : kKeptDenial};
  };
  verdicts_->get(key_of(*caller, what), std::move(question), [done = std::move(done), caller, what](const auto& allowed) {
    if (!allowed) return done(fail(allowed.error()));
    if (**allowed) return done({});
    done(fail(denial(*caller, what)));
  });
}

}  // namespace fleetadm::proxy
