#include "core/agent/member_args.h"

#include <charconv>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "core/api/hosted_member.h"
#include "kubeclient/base/log.h"

namespace fleetadm::agent {
namespace {

using Setter = std::function<bool(const std::string& value, AgentOptions& options)>;

bool add_pair(const std::string& value, std::map<std::string, std::string>& pairs) {
  const auto equals = value.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  pairs[value.substr(0, equals)] = value.substr(equals + 1);
  return true;
}

std::vector<std::string> words_of(const std::string& value) {
  std::vector<std::string> words;
  std::istringstream in(value);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

bool number(const std::string& value, std::int64_t& into) {
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, into);
  return error == std::errc() && stop == end && into >= 0;
}

const std::map<std::string_view, Setter>& setters() {
  static const std::map<std::string_view, Setter> kSetters = {
      {"agent-id", [](const std::string& value, AgentOptions& options) { return !(options.agent_id = value).empty(); }},
      {"cluster-labels", [](const std::string& value, AgentOptions& options) { return add_pair(value, options.cluster_labels); }},
      {"cluster-annotations",
       [](const std::string& value, AgentOptions& options) { return add_pair(value, options.cluster_annotations); }},
      {"spoke-external-server-urls",
       [](const std::string& value, AgentOptions& options) {
         options.external_server_urls = words_of(value);
         return true;
       }},
      {"client-cert-expiration-seconds",
       [](const std::string& value, AgentOptions& options) { return number(value, options.client_cert_expiration_seconds); }},
      {"hub-connection-timeout",
       [](const std::string& value, AgentOptions& options) {
         const auto timeout = parse_duration(value);
         if (timeout) options.hub_connection_timeout = *timeout;
         return timeout.has_value();
       }},
      {"addon-driver",
       [](const std::string& value, AgentOptions& options) {
         options.addon_driver = value;
         return value == "csr" || value == "token";
       }},
      {"addon-token-expiration-seconds",
       [](const std::string& value, AgentOptions& options) { return number(value, options.addon_token_expiration_seconds); }},
      {"max-custom-cluster-claims",
       [](const std::string& value, AgentOptions& options) { return number(value, options.max_custom_cluster_claims); }},
      {"report-figures",
       [](const std::string& value, AgentOptions& options) {
         options.report_figures = value == "true";
         return value == "true" || value == "false";
       }},
      {"reserved-cluster-claim-suffixes", [](const std::string& value, AgentOptions& options) {
         options.reserved_cluster_claim_suffixes = words_of(value);
         return true;
       }}};
  return kSetters;
}

}  // namespace

Status apply_member_args(std::string_view json, AgentOptions& options) {
  if (json.empty()) return {};
  const std::string key = "its key \"" + std::string(api::kHostedArgsKey) + "\"";
  const auto args = parse_json(json);
  if (!args || !args->is_array()) return fail(Category::kInvalid, key + " is no JSON list");
  for (const Json& one : *args) {
    const std::string arg = one.is_string() ? one.get<std::string>() : std::string();
    const auto equals = arg.find('=');
    const auto setter =
        arg.starts_with("--") && equals != std::string::npos ? setters().find(arg.substr(2, equals - 2)) : setters().end();
    if (setter == setters().end() || !setter->second(arg.substr(equals + 1), options))
      return fail(Category::kInvalid, key + " has \"" + log::escape_terminal(arg) + "\", which no hosted member takes");
  }
  return {};
}

}  // namespace fleetadm::agent
