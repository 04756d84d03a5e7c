// get RESOURCE --clusters …: objects of the clusters' own API servers, read through the gateway.
#include "commands/framework/members.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "commands/framework/grammar.h"
#include "commands/framework/listing.h"
#include "commands/get/get.h"
#include "commands/get/member_rows.h"
#include "core/proxy/client/fan_out.h"
#include "core/proxy/client/gateway_access.h"
#include "core/proxy/client/hops.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/plural.h"
#include "kubeclient/discovery/mapper.h"
#include "kubeclient/rest/path_check.h"

namespace fleetadm::commands {
namespace {

constexpr std::string_view kMemberAccept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
constexpr const char* kMemberPage = "500";
constexpr std::size_t kMaxMemberObjects = 1'000'000;  // of one cluster
constexpr std::size_t kAskedAtOnce = 16;              // clusters that are asked which types they have

struct MemberGetOptions {
  MemberChoice members;
  std::string selector;
  bool all_namespaces = false;
  Duration cluster_timeout = kClusterTimeout;
};

/// What is to be read of each cluster.
struct MemberQuery {
  std::string word;  // of the resource
  std::vector<std::string> names;
  std::string ns;  // empty: all
  std::string selector;
  std::string field_selector;
  bool objects = false;
};

/// Reads one kind of object from every cluster. What a cluster has answered, or why it has not, stands at its place.
class MemberReader {
 public:
  MemberReader(Context& context, kube::Client gateway, std::vector<std::string> clusters, MemberQuery query, Duration deadline)
      : context_(context),
        gateway_(std::move(gateway)),
        clusters_(std::move(clusters)),
        query_(std::move(query)),
        deadline_(deadline),
        rows(clusters_.size()),
        errors(clusters_.size()) {}

  /// The hub has the built-in types, too, in all likelihood in the same version: a cluster is only asked which types it has where
  /// the hub does not know the word, or the cluster does not serve what the hub means by it.
  Status read(const kube::Client& hub) {
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

 private:
  kube::Request request_for(const std::string& name, const std::string& token) const {
    kube::Request request;
    request.path = resource_.path(query_.ns, name);
    request.accept = kMemberAccept;
    request.query.emplace_back("includeObject", query_.objects ? "Object" : "Metadata");
    if (!name.empty()) return request;
    request.query.emplace_back("limit", kMemberPage);
    if (!query_.selector.empty()) request.query.emplace_back("labelSelector", query_.selector);
    if (!query_.field_selector.empty()) request.query.emplace_back("fieldSelector", query_.field_selector);
    if (!token.empty()) request.query.emplace_back("continue", token);
    return request;
  }

  std::string name_at(std::size_t which) const { return query_.names.empty() ? std::string() : query_.names[which]; }

  /// Reads from `which` of the clusters; the answer is those that do not know the type.
  std::vector<std::size_t> read_as(const kube::Resource& resource, const std::vector<std::size_t>& which) {
    resource_ = resource;
    std::vector<std::size_t> unknown;
    std::vector<Progressed> progress(which.size());
    std::vector<std::string> names;
    for (const std::size_t one : which) {
      names.push_back(clusters_[one]);
      rows[one].clear();
      errors[one].reset();
    }
    const proxy::FanOut plan{*gateway_.transport(), names, deadline_, kAtOnce, context_.stop()};
    proxy::fan_out(plan, request_for(name_at(0), ""), [&](proxy::FanOutAnswer answer) -> std::optional<kube::Request> {
      const std::size_t cluster = which[answer.which];
      if (is_unknown_type(answer.response)) {
        unknown.push_back(cluster);
        errors[cluster] = fail(Category::kNotFound, "the cluster does not have a resource type \"" + query_.word + "\"").value();
        return std::nullopt;
      }
      return take(cluster, progress[answer.which], std::move(answer.response));
    });
    return unknown;
  }

  struct Progressed {
    std::size_t name = 0;
    std::string token;
    bool restarted = false;
  };

  static bool is_unknown_type(const Result<kube::Response>& answer) {
    return answer && answer->status == 404 && proxy::is_of_member(*answer) &&
           kube::error_of(*answer, {}).reason == kube::kUnknownPath;
  }

  std::optional<kube::Request> take(std::size_t cluster, Progressed& progress, Result<kube::Response> answer) {
    if (!answer) {
      errors[cluster] = answer.error();
      return std::nullopt;
    }
    if (answer->status == 410 && !progress.token.empty() && !progress.restarted) {
      rows[cluster].clear();
      progress.token.clear();
      progress.restarted = true;
      return request_for("", "");
    }
    if (answer->status < 200 || answer->status > 299) {
      const Error error = kube::error_of(*answer, request_for(name_at(progress.name), ""));
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
    return request_for("", token);
  }

  std::optional<kube::Request> next_name(Progressed& progress) const {
    if (++progress.name >= query_.names.size()) return std::nullopt;
    return request_for(query_.names[progress.name], "");
  }

  /// What the word means on the first cluster of `among` that knows it; nothing where none does.
  std::optional<std::pair<std::size_t, kube::Resource>> resource_of_any(const std::vector<std::size_t>& among) {
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

  Result<kube::Resource> resource_at(std::size_t which, std::stop_token stop) const {
    FLEETADM_TRY(const std::string prefix, proxy::member_prefix(clusters_[which]));
    const kube::Client client(proxy::member_transport(gateway_.transport(), prefix), std::make_shared<kube::WriteGate>(),
                              clusters_[which]);
    FLEETADM_TRY(const auto known, kube::Mapper(client.with_timeout(deadline_).with_stop(std::move(stop))).by_name(query_.word));
    return known.resource;
  }

  static constexpr std::size_t kAtOnce = 256;

  Context& context_;
  const kube::Client gateway_;
  const std::vector<std::string> clusters_;
  const MemberQuery query_;
  const Duration deadline_;
  kube::Resource resource_;

 public:
  std::vector<MemberRows> rows;
  std::vector<std::optional<Error>> errors;
};

/// "pods web", "pods/web", "pods/web pods/api" as kubectl takes them.
Result<MemberQuery> query_of(const std::vector<std::string>& args) {
  MemberQuery query;
  const std::size_t slash = args.front().find('/');
  query.word = args.front().substr(0, slash);
  if (slash != std::string::npos) {
    for (const std::string& arg : args) {
      if (!arg.starts_with(query.word + "/"))
        return fail(Category::kUsage, "\"" + arg + "\" is not of the form " + query.word + "/NAME",
                    "objects of one type can be read at a time");
      query.names.push_back(arg.substr(query.word.size() + 1));
    }
  } else {
    query.names.assign(args.begin() + 1, args.end());
  }
  if (query.word.empty() || query.word.find(',') != std::string::npos)
    return fail(Category::kUsage, "\"" + args.front() + "\" does not name a resource type",
                "objects of one type can be read at a time");
  for (const std::string& name : query.names)
    if (!kube::is_path_name(name)) return fail(Category::kUsage, "\"" + name + "\" is not a valid object name");
  return query;
}

Status validate_member_get(const MemberGetOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(validate_members(options.members, "--cluster-selector", false));
  FLEETADM_CHECK(validate_cluster_timeout(options.cluster_timeout));
  FLEETADM_TRY(const MemberQuery query, query_of(args));
  if (query.names.empty()) return {};
  if (!options.selector.empty()) return fail(Category::kUsage, "--selector cannot be combined with names");
  if (options.all_namespaces) return fail(Category::kUsage, "--all-namespaces cannot be combined with a name");
  return {};
}

/// "no answer from 2 of 40 clusters: c3, c9", where the errors, which name five clusters at most, do not say so.
void note_silent(const std::vector<std::string>& silent, std::size_t all, Report& report) {
  if (silent.size() < 2) return;
  report.notes.push_back("No answer from " + std::to_string(silent.size()) + " of " + pluralize(all, "cluster") + ": " +
                         joined(silent, ", "));
}

Result<Report> run_member_get(Context& context, const MemberGetOptions& options, const std::vector<std::string>& args) {
  const GlobalOptions& global = context.global();
  FLEETADM_TRY(MemberQuery query, query_of(args));
  if (!query.names.empty() && !global.list.field_selector.empty())
    return fail(Category::kUsage, "--field-selector cannot be combined with names");
  query.ns = options.all_namespaces ? "" : member_namespace(global);
  query.selector = options.selector;
  query.field_selector = global.list.field_selector;
  query.objects = wants_objects(global);
  const bool single = query.names.size() == 1 && options.members.clusters.size() == 1;
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const kube::Client gateway, gateway_client(context));
  FLEETADM_TRY(const ClusterTargets targets, chosen_members(hub, options.members));
  const std::vector<std::string>& clusters = targets.clusters;
  MemberReader reader(context, gateway, clusters, query, options.cluster_timeout);
  FLEETADM_CHECK(reader.read(hub));
  if (context.stop().stop_requested()) return fail(Category::kCancelled, "cancelled");

  Report report = member_report(clusters, reader.rows, global.list, options.all_namespaces, query.objects);
  report.failures = targets.missing;
  std::vector<std::string> silent;
  std::size_t answered = 0;
  for (std::size_t which = 0; which < clusters.size(); ++which) {
    if (!reader.errors[which]) {
      ++answered;
      continue;
    }
    report.failures.push_back(reader.errors[which]->with_cluster(clusters[which]));
    if (report.failures.back().category != Category::kNotFound) silent.push_back(clusters[which]);
  }
  note_silent(silent, clusters.size(), report);
  // A cluster without objects has answered, too.
  if (!report.failures.empty() && answered > 0) report.exit_code = kPartialExitCode;
  if (!report.failures.empty() && report.table->rows.empty()) report.table->empty_text.clear();
  if (query.objects && single && list_at(report.data, {"items"}).size() == 1) {
    Json object = std::move(report.data["items"].front());
    report.data = std::move(object);
  }
  return report;
}

}  // namespace

void register_get_members(Registry& registry) {
  Command command;
  command.path = "get";
  command.group = "Clusters";
  command.summary = "List objects of many clusters";
  command.chosen_by = {"--clusters", "--cluster", "-c", "--cluster-selector", "--all-clusters"};
  command.description =
      "With --clusters, --cluster-selector or --all-clusters, \"get\" reads objects of any type from the API servers of managed "
      "clusters, all at once and through the hub's gateway, with your own identity: each cluster's RBAC decides what you see. "
      "Rows are as the cluster's server prints them, with the cluster in front. Documents (-o json) are lists of the objects; the "
      "annotation open-cluster-management.io/cluster-name of each tells its cluster.\n\n"
      "A cluster that has not answered within --cluster-timeout is left out and named on stderr, and the exit code is 3. The "
      "namespace is the one of -n, or \"default\". Types are named as in kubectl: deploy, deployments, deployments.apps. The "
      "fleet's own types are those of the hub, for example \"get clusters\".";
  command.args = {"RESOURCE [NAME...]", 1, -1};
  command.examples = {
      {"Pods of two clusters", "fleetadm get pods --clusters c1,c2 -n kube-system"},
      {"Deployments of the clusters of a region", "fleetadm get deploy -A --cluster-selector region=eu"},
      {"The images that run anywhere", "fleetadm get pods -A --all-clusters -o jsonpath='{.items[*].spec.containers[*].image}'"},
      {"One object of one cluster", "fleetadm get deploy web --cluster c1 -n apps -o yaml"}};
  command.make = invocation<MemberGetOptions>(
      [](FlagSet& flags, MemberGetOptions& options) {
        clusters_flag(flags, &options.members.clusters, "read from these clusters");
        Flag& which =
            flags.text(&options.members.selector, "cluster-selector", "read from the clusters that match this label selector");
        which.value_name = "SELECTOR";
        flags.boolean(&options.members.all, "all-clusters", "read from all clusters");
        object_flags(flags, options.selector);
        all_namespaces_flag(flags, &options.all_namespaces, "list across all namespaces");
        cluster_timeout_flag(flags, &options.cluster_timeout);
      },
      validate_member_get, run_member_get);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
