#include "commands/get/member_reader.h"

#include <algorithm>
#include <mutex>
#include <stop_token>
#include <thread>

#include "core/proxy/client/gateway_access.h"
#include "core/proxy/client/hops.h"
#include "kubeclient/discovery/mapper.h"

namespace fleetadm::commands {
namespace {

constexpr std::string_view kMemberAccept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
constexpr const char* kMemberPage = "500";
constexpr std::size_t kMaxMemberObjects = 1'000'000;  // of one cluster
constexpr std::size_t kAskedAtOnce = 16;              // clusters that are asked which types they have

bool is_unknown_type(const Result<kube::Response>& answer) {
  return answer && answer->status == 404 && proxy::is_of_member(*answer) &&
         kube::error_of(*answer, {}).reason == kube::kUnknownPath;
}

}  // namespace

kube::Request member_request(const MemberQuery& query, const kube::Resource& resource, const std::string& name,
                             const std::string& token, bool page) {
  kube::Request request;
  request.path = resource.path(query.ns, name);
  request.accept = kMemberAccept;
  request.query.emplace_back("includeObject", query.objects ? "Object" : "Metadata");
  if (!name.empty()) return request;
  if (page) request.query.emplace_back("limit", kMemberPage);
  if (!query.selector.empty()) request.query.emplace_back("labelSelector", query.selector);
  if (!query.field_selector.empty()) request.query.emplace_back("fieldSelector", query.field_selector);
  if (!token.empty()) request.query.emplace_back("continue", token);
  return request;
}

MemberReader::MemberReader(Context& context, kube::Client gateway, std::vector<std::string> clusters, MemberQuery query,
                           Duration deadline)
    : rows(clusters.size()),
      errors(clusters.size()),
      context_(context),
      gateway_(std::move(gateway)),
      clusters_(std::move(clusters)),
      query_(std::move(query)),
      deadline_(deadline) {}

Status MemberReader::read(const kube::Client& hub) {
  std::vector<std::size_t> left(clusters_.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  auto known = kube::Mapper(hub).by_name(query_.word);
  if (!known && known.error().reason != "NoSuchType") return fail(known.error());
  if (known) left = read_as(known->resource, left);
  while (!left.empty() && !context_.stop().stop_requested()) {
    const auto found = resource_of_any(left);
    if (!found) break;
    std::vector<std::size_t> still = read_as(found->second, left);
    // Who knew the type does not serve it: it would be asked for ever.
    std::erase(still, found->first);
    left = std::move(still);
  }
  return {};
}

std::vector<std::size_t> MemberReader::read_as(const kube::Resource& resource, const std::vector<std::size_t>& which) {
  resource_ = resource;
  std::vector<std::size_t> unknown;
  std::vector<Progressed> progress(which.size());
  std::vector<std::string> names;
  for (const std::size_t one : which) {
    names.push_back(clusters_[one]);
    rows[one].clear();
    errors[one].reset();
  }
  const proxy::FanOut plan{.gateway = *gateway_.transport(), .clusters = names, .deadline = deadline_, .stop = context_.stop()};
  proxy::fan_out(plan, member_request(query_, resource_, name_at(0), ""),
                 [&](proxy::FanOutAnswer answer) -> std::optional<kube::Request> {
                   const std::size_t cluster = which[answer.which];
                   if (is_unknown_type(answer.response)) {
                     unknown.push_back(cluster);
                     errors[cluster] =
                         fail(Category::kNotFound, "the cluster does not have a resource type \"" + query_.word + "\"").value();
                     return std::nullopt;
                   }
                   return take(cluster, progress[answer.which], std::move(answer.response));
                 });
  return unknown;
}

std::optional<kube::Request> MemberReader::take(std::size_t cluster, Progressed& progress, Result<kube::Response> answer) {
  if (!answer) {
    errors[cluster] = answer.error();
    return std::nullopt;
  }
  if (answer->status == 410 && !progress.token.empty() && !progress.restarted) {
    rows[cluster].clear();
    progress.token.clear();
    progress.restarted = true;
    return member_request(query_, resource_, "", "");
  }
  if (answer->status < 200 || answer->status > 299) {
    const Error error = kube::error_of(*answer, member_request(query_, resource_, name_at(progress.name), ""));
    if (!errors[cluster]) errors[cluster] = error;
    // A name that is missing does not mean that the next one is.
    return answer->status == 404 && !query_.names.empty() ? next_name(progress) : std::nullopt;
  }
  const auto body = parse_json(answer->body);
  Status added = body ? rows[cluster].add(*body, resource_, context_.clock().now())
                      : fail(body.error().wrap("the cluster's answer cannot be read"));
  if (added && rows[cluster].rows().size() > kMaxMemberObjects)
    added = fail(Category::kInvalid, "the cluster's list does not end");
  if (!added) {
    errors[cluster] = added.error();
    return std::nullopt;
  }
  if (!query_.names.empty()) return next_name(progress);
  const std::string token = str(*body, {"metadata", "continue"});
  if (token.empty()) return std::nullopt;
  if (token == progress.token) {
    errors[cluster] = fail(Category::kInvalid, "the cluster's list does not end").value();
    return std::nullopt;
  }
  progress.token = token;
  return member_request(query_, resource_, "", token);
}

std::optional<kube::Request> MemberReader::next_name(Progressed& progress) const {
  if (++progress.name >= query_.names.size()) return std::nullopt;
  return member_request(query_, resource_, query_.names[progress.name], "");
}

std::optional<std::pair<std::size_t, kube::Resource>> MemberReader::resource_of_any(const std::vector<std::size_t>& among) {
  for (std::size_t from = 0; from < among.size() && !context_.stop().stop_requested(); from += kAskedAtOnce) {
    const std::size_t to = std::min(from + kAskedAtOnce, among.size());
    std::mutex mutex;
    std::optional<std::pair<std::size_t, kube::Resource>> found;
    std::stop_source enough;
    const std::stop_callback told(context_.stop(), [&] { enough.request_stop(); });
    {
      std::vector<std::jthread> asking;
      for (std::size_t i = from; i < to; ++i) {
        asking.emplace_back([&, which = among[i]] {
          auto known = resource_at(which, enough.get_token());
          const std::scoped_lock lock(mutex);
          if (known && !found) {
            found.emplace(which, std::move(*known));
            enough.request_stop();
          }
          if (!known && !found && known.error().category != Category::kNotFound) errors[which] = known.error();
        });
      }
    }
    if (found) return found;
  }
  return std::nullopt;
}

Result<kube::Resource> MemberReader::resource_at(std::size_t which, std::stop_token stop) const {
  FLEETADM_TRY(const std::string prefix, proxy::member_prefix(clusters_[which]));
  const kube::Client client(proxy::member_transport(gateway_.transport(), prefix), std::make_shared<kube::WriteGate>(),
                            clusters_[which]);
  FLEETADM_TRY(const auto known, kube::Mapper(client.with_timeout(deadline_).with_stop(std::move(stop))).by_name(query_.word));
  return known.resource;
}

}  // namespace fleetadm::commands
