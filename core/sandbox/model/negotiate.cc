#include "core/sandbox/model/negotiate.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/apimachinery/protobuf_encode.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::sandbox {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (true) {
    const auto end = text.find(at);
    out.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

struct Clause {
  std::string type;
  std::map<std::string, std::string> parameters;
  double quality = 1;
};

std::vector<Clause> clauses_of(std::string_view accept) {
  std::vector<Clause> out;
  for (const auto one : split(accept, ',')) {
    if (one.empty()) continue;
    const auto parts = split(one, ';');
    Clause clause;
    clause.type = lower_case(parts.front());
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const auto equal = parts[i].find('=');
      if (equal == std::string_view::npos) continue;
      clause.parameters[lower_case(trimmed(parts[i].substr(0, equal)))] = std::string(trimmed(parts[i].substr(equal + 1)));
    }
    if (const auto q = clause.parameters.find("q"); q != clause.parameters.end())
      clause.quality = std::strtod(q->second.c_str(), nullptr);
    out.push_back(std::move(clause));
  }
  std::stable_sort(out.begin(), out.end(), [](const Clause& a, const Clause& b) { return a.quality > b.quality; });
  return out;
}

const char* const kProtobuf = "application/vnd.kubernetes.protobuf";

/// Of the conversions only metadata have a protobuf form: tables have none.
bool parameter_is_partial(const Clause& clause) {
  const auto as = clause.parameters.find("as");
  return as != clause.parameters.end() && as->second.starts_with("PartialObjectMetadata");
}

}  // namespace

std::string media_type(std::string_view header) { return lower_case(trimmed(header.substr(0, header.find(';')))); }

ApiResult<Wanted> negotiate(const serve::HttpRequest& request, const std::vector<std::string>& allowed, bool protobuf) {
  std::string accept;
  for (const auto& value : request.all("accept")) accept += (accept.empty() ? "" : ",") + value;
  const auto agent = request.header("user-agent");
  Wanted wanted;
  wanted.pretty = agent.starts_with("curl") || agent.starts_with("Wget") || agent.starts_with("Mozilla/5.0");
  if (trimmed(accept).empty()) return wanted;
  bool type_matched = false;
  for (const auto& clause : clauses_of(accept)) {
    const bool json = clause.type == "application/json" || clause.type == "*/*";
    const bool yaml = clause.type == "application/yaml";
    const bool binary = clause.type == kProtobuf;
    if (!json && !yaml && !binary) continue;
    const bool has_form = clause.parameters.contains("as") ? parameter_is_partial(clause) : protobuf;
    if (binary && !has_form) continue;
    type_matched = true;
    const auto parameter = [&](const char* name) {
      const auto at = clause.parameters.find(name);
      return at == clause.parameters.end() ? std::string() : at->second;
    };
    if (const auto as = parameter("as"); !as.empty()) {
      const auto word = as + ";" + parameter("g") + ";" + parameter("v");
      if (std::find(allowed.begin(), allowed.end(), word) == allowed.end()) continue;
      wanted.as = as;
      wanted.version = parameter("v");
    }
    wanted.yaml = yaml;
    wanted.protobuf = binary;
    if (parameter("pretty") == "1") wanted.pretty = true;
    return wanted;
  }
  if (type_matched) {
    return api_fail(406, "NotAcceptable", "only the following media types are accepted: application/json, application/yaml");
  }
  return api_fail(406, "NotAcceptable", "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml");
}

serve::HttpResponse answer_json(int status, const Json& value) {
  serve::HttpResponse out;
  out.status = status;
  out.headers = {{"content-type", "application/json"}, {"cache-control", "no-cache, private"}};
  out.body = dump_json(value) + "\n";
  return out;
}

serve::HttpResponse answer_body(int status, std::string json, const Wanted& wanted) {
  if (wanted.protobuf) {
    const auto parsed = parse_json(json);
    if (auto encoded = parsed ? apimachinery::encode_protobuf(*parsed) : Result<std::string>(tl::unexpected(parsed.error()))) {
      serve::HttpResponse out;
      out.status = status;
      out.headers = {{"content-type", kProtobuf}, {"cache-control", "no-cache, private"}};
      out.body = std::move(*encoded);
      return out;
    }
  }
  serve::HttpResponse out;
  out.status = status;
  out.headers = {{"content-type", wanted.yaml ? "application/yaml" : "application/json"}, {"cache-control", "no-cache, private"}};
  if (wanted.yaml || wanted.pretty) {
    if (const auto parsed = parse_json(json)) json = wanted.yaml ? dump_yaml(*parsed) : dump_json_pretty(*parsed);
  }
  out.body = std::move(json);
  if (!wanted.yaml) out.body += "\n";
  return out;
}

serve::HttpResponse answer_preferred(const serve::HttpRequest& request, int status, const Json& value) {
  const auto wanted = negotiate(request, {}, true);
  if (!wanted || !wanted->protobuf) return answer_json(status, value);
  return answer_body(status, dump_json(value), *wanted);
}

serve::HttpResponse answer_error(const serve::HttpRequest& request, const ApiError& error) {
  auto out = answer_preferred(request, error.code, status_of(error));
  if (error.retry_after > 0) out.headers.emplace_back("retry-after", std::to_string(error.retry_after));
  if (error.code == 403) out.headers.emplace_back("x-content-type-options", "nosniff");
  add_warnings(out, error.warnings);
  return out;
}

void add_warnings(serve::HttpResponse& response, const std::vector<std::string>& warnings) {
  for (const auto& text : warnings) response.headers.emplace_back("warning", "299 - " + dump_json(Json(text)));
}

}  // namespace fleetadm::sandbox
