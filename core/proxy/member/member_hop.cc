#include "core/proxy/member/member_hop.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/proxy/hop/headers.h"
#include "core/proxy/rules/caller.h"
#include "core/proxy/rules/percent.h"
#include "kubeclient/base/ascii.h"

namespace fleetadm::proxy {
namespace {

/// Spaces around a header's value are not part of it: " system:masters" would arrive as another name than was checked.
bool is_kept_by_headers(std::string_view text) { return trimmed(text) == text && is_plain_text(text); }

bool is_kept_by_headers(const Caller& caller) {
  const auto kept = [](const std::string& text) { return is_kept_by_headers(text); };
  return kept(caller.name) && kept(caller.uid) && std::ranges::all_of(caller.groups, kept) &&
         std::ranges::all_of(caller.extra,
                             [&](const auto& entry) { return !entry.first.empty() && std::ranges::all_of(entry.second, kept); });
}

void add_impersonation(const Caller& caller, serve::Headers& headers) {
  headers.emplace_back("impersonate-user", caller.name);
  if (!caller.uid.empty()) headers.emplace_back("impersonate-uid", caller.uid);
  for (const auto& group : caller.groups) headers.emplace_back("impersonate-group", group);
  for (const auto& [key, values] : caller.extra) {
    const std::string name = "impersonate-extra-" + percent_encoded(key);
    for (const auto& value : values) headers.emplace_back(name, value);
  }
}

bool impersonates(const serve::HttpRequest& request) { return request.header("authorization").empty(); }

}  // namespace

Result<serve::HttpRequest> acting_request(serve::HttpRequest request) {
  FLEETADM_TRY(const Actor actor, read_actor(request.headers));
  const bool upgrades = is_upgrade(request.headers);
  std::string protocol(upgrades ? request.header("upgrade") : std::string_view());
  drop_hop_headers(request.headers);
  drop_identity_headers(request.headers);
  if (upgrades) {
    request.headers.emplace_back("connection", "Upgrade");
    request.headers.emplace_back("upgrade", std::move(protocol));
  }
  if (const auto* member = std::get_if<MemberToken>(&actor)) {
    request.headers.emplace_back("authorization", "Bearer " + member->token);
    return request;
  }
  const auto& caller = std::get<Caller>(actor);
  if (!is_kept_by_headers(caller)) {
    return fail({.code = 403,
                 .category = Category::kAuth,
                 .message = "a name of the caller begins or ends with a space, and cannot be used at this cluster",
                 .reason = "Forbidden"});
  }
  add_impersonation(caller, request.headers);
  return request;
}

void MemberHop::send(serve::HttpRequest request, Done done) {
  auto acting = acting_request(std::move(request));
  if (!acting) return done(fail(std::move(acting).error()));
  const bool impersonated = impersonates(*acting);
  api_server_->send(
      std::move(*acting), [impersonated, whose = whose_, done = std::move(done)](Result<serve::HttpResponse> answer) {
        if (!answer) return done(std::move(answer));
        if (impersonated && answer->status == 401) {
          return done(fail({.code = 502,
                            .category = Category::kAuth,
                            .message = "the API server of the cluster refuses the credential of " + std::string(whose),
                            .reason = "BadGateway"}));
        }
        drop_answer_headers(answer->headers);
        done(std::move(answer));
      });
}

}  // namespace fleetadm::proxy
