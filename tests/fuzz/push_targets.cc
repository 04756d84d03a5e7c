// Random addresses and pods of push members, and random answers of what may be a hub to who registers with a bootstrap token.
#include <algorithm>
#include <bit>
#include <charconv>
#include <memory>

#include "core/registration/agent/figures.h"
#include "core/registration/agent/topology.h"
#include "core/registration/join/cluster_info.h"
#include "core/registration/join/member_endpoint.h"
#include "kubeclient/base/ip_address.h"
#include "tests/fuzz/targets.h"
#include "tests/support/node_sums.h"

namespace fleetadm::fuzz {
namespace {

constexpr std::string_view kToken = "abcdef.0123456789abcdef";

tl::unexpected<Error> contradicted(std::string what) { return fail(Category::kInternal, "broken promise: " + std::move(what)); }

std::string bits_of(std::size_t count) { return std::to_string(std::bit_width(count)); }

// --- where a hub is told to dial ---------------------------------------------------------------------------------------------

Result<std::string> run_endpoint(std::string_view text) {
  const auto endpoint = join::parse_member_endpoint(text);
  if (!endpoint) {
    if (endpoint.error().message.find_first_of("\n\r\x1b") != std::string::npos)
      return contradicted("a message that moves the cursor");
    const std::size_t why = endpoint.error().message.rfind("\" ");
    return "error: " + endpoint.error().message.substr(why == std::string::npos ? 0 : why + 2);
  }
  const std::string url = endpoint->url();
  for (const char c : url) {
    if (c <= 0x20 || c >= 0x7f || c == '?' || c == '#') return contradicted("an address with a character that is none of it");
  }
  // In a path it is a character as others.
  if (url.substr(0, url.size() - endpoint->path.size()).find('@') != url.npos) return contradicted("an address with a user");
  const auto again = join::parse_member_endpoint(url);
  if (!again || again->url() != url || again->loopback != endpoint->loopback)
    return contradicted("an address that is another the second time");
  int port = 0;
  const auto [end, error] = std::from_chars(endpoint->port.data(), endpoint->port.data() + endpoint->port.size(), port);
  if (error != std::errc() || *end != '\0' || port < 1 || port > 65535) return contradicted("a port that is none");
  if (!endpoint->path.empty() && (!endpoint->path.starts_with('/') || endpoint->path.ends_with('/')))
    return contradicted("a path that is not in its shortest form");
  if (join::is_loopback_address(endpoint->host) && !endpoint->loopback)
    return contradicted("a loopback address that is not said to be one");
  const auto address = IpAddress::parse(endpoint->host);
  return std::string(!address      ? "name"
                     : address->v6 ? "v6"
                                   : "v4") +
         (endpoint->loopback ? " loopback" : "") + (endpoint->port == "443" ? "" : " port") + " path " +
         bits_of(endpoint->path.size()) + " dots " +
         bits_of(static_cast<std::size_t>(std::count(endpoint->host.begin(), endpoint->host.end(), '.')));
}

// --- the pods of a member: a list of them; they come, each becomes the next, and all go ----------------------------------------

std::string shape_of_amounts(const registration::agent::Quantities& amounts) {
  std::string shape = bits_of(amounts.size());
  for (const auto& [name, amount] : amounts) {
    if (name == "cpu" || name == "memory") shape += name.front() + bits_of(amount.to_string().size());
    if (amount.compare(Quantity()) < 0) shape += '-';
  }
  return shape;
}

bool same(const registration::agent::Quantities& a, const registration::agent::Quantities& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.compare(other.second) == 0;
  });
}

Result<std::string> run_pods(std::string_view text) {
  const auto list = parse_json(text);
  if (!list || !list->is_array()) return "no list";
  std::vector<kube::CachedPtr> pods;
  std::vector<Json> objects;  // read as nodes
  std::size_t requests = 0;
  for (const Json& pod : *list) {
    if (!pod.is_object()) continue;
    requests += registration::agent::requests_of(pod).size();
    Json kept = pod;
    registration::agent::project_pod(kept);
    objects.push_back(pod);
    registration::agent::project_placed_node(objects.back());
    pods.push_back(std::make_shared<kube::CachedObject>("default/p", kept));
  }
  registration::agent::PodSums sums;
  for (const auto& pod : pods) sums.take(nullptr, pod);
  const auto full = sums.sums();
  Json status = Json::object();
  registration::agent::write_figures(testkit::sum_of<registration::agent::NodeCount>(objects), full, status);
  for (const auto& [name, value] : object_at(status, {"capacity"}).items()) {
    if (!value.is_string() || !Quantity::parse(value.get<std::string>())) return contradicted(name + " that is no quantity");
  }
  Json again = status;
  registration::agent::write_figures(testkit::sum_of<registration::agent::NodeCount>(objects), full, again);
  if (again != status) return contradicted("other figures the second time");
  for (std::size_t i = 0; i + 1 < pods.size(); ++i) sums.take(pods[i], pods[i + 1]);
  if (!pods.empty()) sums.take(pods.back(), pods.front());
  const auto turned = sums.sums();
  if (!same(turned.allocated, full.allocated) || !same(turned.allocating, full.allocating))
    return contradicted("a sum that depends on the order");
  for (const auto& pod : pods) sums.take(pod, nullptr);
  const auto none = sums.sums();
  if (!none.allocated.empty() || !none.allocating.empty()) return contradicted("figures without pods");
  return bits_of(pods.size()) + " asks " + bits_of(requests) + " holds " + shape_of_amounts(full.allocated) + " waits for " +
         shape_of_amounts(full.allocating) + " nodes " +
         bits_of(static_cast<std::size_t>(testkit::sum_of<registration::agent::NodeCount>(objects).ready));
}

// --- kube-public/cluster-info --------------------------------------------------------------------------------------------------

Result<std::string> run_cluster_info(std::string_view text) {
  const auto accepted = join::signed_kubeconfig(text, kToken);
  const auto object = parse_json(text);
  if (!accepted) {
    if (accepted.error().message.find(kToken.substr(7)) != std::string::npos)
      return contradicted("a message with the token's secret");
    if (!object || !object->is_object() || str(*object, {"kind"}) != "ConfigMap")
      return "error: " + shape_of(accepted.error().message);
  }
  // Signed by who has the token it is accepted, unless it is altered afterwards.
  const std::string kubeconfig = str(*object, {"data", "kubeconfig"});
  if (kubeconfig.empty()) return accepted ? contradicted("nothing was signed") : Result<std::string>("empty");
  Json ours = *object;
  ours["data"]["jws-kubeconfig-abcdef"] = join::detached_signature(kubeconfig, kToken.substr(0, 6), kToken.substr(7));
  if (join::signed_kubeconfig(dump_json(ours), kToken).value_or("") != kubeconfig)
    return contradicted("a right signature was refused");
  ours["data"]["kubeconfig"] = kubeconfig + " ";
  if (join::signed_kubeconfig(dump_json(ours), kToken)) return contradicted("what was altered was accepted");
  const auto authorities = join::authorities_of(kubeconfig);
  return (accepted ? std::string("signed ") : shape_of(accepted.error().message) + " ") +
         (authorities ? "CAs " + bits_of(authorities->size()) : shape_of(authorities.error().message)) + " of " +
         bits_of(kubeconfig.size());
}

}  // namespace

std::vector<Target> push_targets() {
  return {{"member_endpoint",
           300,
           false,
           {"https://", "http://", "localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "%25",
            ":6443", "/..", "/", "@", "?", "#", ".", "169.254.169.254", "xn--", "_"},
           run_endpoint},
          {"member_pods",
           4000,
           true,
           {"\"containers\"", "\"initContainers\"", "\"restartPolicy\": \"Always\"", "\"overhead\"", "\"resources\"",
            "\"requests\"", "\"cpu\": \"100m\"", "\"memory\": \"1Gi\"", "\"nvidia.com/gpu\": 1", "\"nodeName\": \"n\"",
            "\"phase\": \"Succeeded\"", "\"-1\"", "\"1e3\"", "\"9223372036854775807\""},
           run_pods},
          {"cluster_info",
           4000,
           true,
           {"\"kind\": \"ConfigMap\"", "\"kubeconfig\"", "\"jws-kubeconfig-abcdef\"", "clusters:", "certificate-authority-data",
            "server", "..", "eyJ"},
           run_cluster_info}};
}

}  // namespace fleetadm::fuzz
