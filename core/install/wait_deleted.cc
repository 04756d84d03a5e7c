#include "core/install/wait_deleted.h"

#include <algorithm>

#include "kubeclient/watch/informer.h"

namespace fleetadm::install {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kTypePatience = std::chrono::seconds(2);
constexpr std::string_view kAskedAgain = "fleetadm.io/removal-asked-again";

/// What the server says of an object that is being deleted: the conditions of a namespace or a type that are bad news.
std::string told(const Json& object) {
  std::string text;
  for (const Json& condition : list_at(object, {"status", "conditions"})) {
    const std::string type = str(condition, {"type"});
    const bool about_the_end = type == "Terminating" || type.starts_with("NamespaceDeletion") ||
                               type == "NamespaceContentRemaining" || type == "NamespaceFinalizersRemaining";
    if (about_the_end && str(condition, {"status"}) == "True") text += (text.empty() ? "" : "; ") + str(condition, {"message"});
  }
  return text;
}

std::string what_keeps(const Json& object) {
  if (std::string text = told(object); !text.empty()) return text;
  std::string names;
  for (const std::string& finalizer : string_list_at(object, {"metadata", "finalizers"}))
    names += (names.empty() ? "" : ", ") + finalizer;
  return names.empty() ? "" : "finalizers are left: " + names;
}

/// kube-apiserver empties a type before it lets it go. Where that failed ("storage is (re)initializing": nobody had read the type
/// since the server started) and the second try came upon its own write (409), it does not try again before it looks at all types
/// anew, after 5 minutes; a change of anything but the Terminating condition makes it try at once
/// (apiextensions-apiserver, pkg/controller/finalizer). A failure to ask is no failure to wait.
void ask_again(const kube::Client& client, const kube::Resource& resource, const Json& type) {
  const Json& conditions = list_at(type, {"status", "conditions"});
  const bool failed = std::any_of(conditions.begin(), conditions.end(), [](const Json& one) {
    const std::string reason = str(one, {"reason"});
    return str(one, {"type"}) == "Terminating" && str(one, {"status"}) == "True" &&
           (reason == "InstanceDeletionFailed" || reason == "InstanceDeletionCheck");
  });
  if (!failed) return;
  const std::string now = format_micro_time(Clock::system()->now());
  const Json change = {{"metadata", {{"uid", uid_of(type)}, {"annotations", {{std::string(kAskedAgain), now}}}}}};
  static_cast<void>(client.patch(resource, "", name_of(type), kube::PatchType::kMerge, change));
}

}  // namespace

Status wait_deleted(const kube::Client& client, const kube::Resource& resource, const Json& object, Duration timeout,
                    const std::stop_token& stop) {
  const auto deadline = Steady::now() + timeout;
  const std::string uid = uid_of(object);
  const bool is_type = resource.kind == "CustomResourceDefinition";
  std::optional<Json> last;  // as read in the present stretch of the wait
  const auto gone = [&](const std::optional<Json>& current) -> Result<bool> {
    last = current;
    return !current || uid_of(*current) != uid;
  };
  while (true) {
    const Duration left = std::max<Duration>(deadline - Steady::now(), Duration::zero());
    const Duration patience = is_type ? std::min<Duration>(left, kTypePatience) : left;
    last.reset();
    const auto waited = kube::wait_for(client, resource, namespace_of(object), name_of(object), gone, patience, stop);
    if (waited) return {};
    if (waited.error().category != Category::kTimeout) return fail(waited.error());
    if (patience < left) {
      if (last) ask_again(client, resource, *last);
      continue;
    }
    Error error = waited.error();
    if (!last) return fail(std::move(error));  // the server could not be asked: the error says why
    if (is_type) {                             // it was waited for in stretches, and the error knows of the last one only
      using Tenths = std::chrono::duration<std::int64_t, std::deci>;
      error.message = "timed out after " + format_duration(std::chrono::round<Tenths>(timeout));
    }
    if (const std::string why = what_keeps(*last); !why.empty()) error.message += ": " + why;
    return fail(std::move(error));
  }
}

}  // namespace fleetadm::install
