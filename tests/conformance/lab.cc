#include "tests/conformance/lab.h"

#include <algorithm>
#include <curl/curl.h>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>

#include "kubeclient/base/encoding.h"

namespace fleetadm::conformance {
namespace {

struct FreeCurl {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* into) {
  static_cast<std::string*>(into)->append(data, size * count);
  return size * count;
}

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* into) {
  std::string line(data, size * count);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.pop_back();
  const auto colon = line.find(':');
  if (colon != std::string::npos) {
    auto name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    auto value = line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.erase(0, 1);
    (*static_cast<std::map<std::string, std::string>*>(into))[name] = value;
  }
  return size * count;
}

curl_blob blob(const std::string& text) { return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY}; }

}  // namespace

Json Answer::json() const {
  auto parsed = parse_json(body);
  return parsed ? std::move(*parsed) : Json();
}
std::vector<Json> Answer::events() const {
  std::vector<Json> out;
  std::istringstream in(body);
  for (std::string line; std::getline(in, line);) {
    if (auto parsed = parse_json(line)) out.push_back(std::move(*parsed));
  }
  return out;
}
std::string Answer::reason() const { return str(json(), {"reason"}); }
std::string Answer::message() const { return str(json(), {"message"}); }

void expect(const Answer& answer, int status, const std::string& reason) {
  EXPECT_EQ(answer.status, status) << answer.body.substr(0, 2000);
  if (!reason.empty()) {
    EXPECT_EQ(answer.reason(), reason) << answer.body.substr(0, 2000);
  }
}

bool has_cause(const Answer& answer, const std::string& field_or_reason) {
  const Json status = answer.json();
  for (const Json& cause : list_at(status, {"details", "causes"})) {
    if (str(cause, {"field"}) == field_or_reason || str(cause, {"reason"}) == field_or_reason) return true;
  }
  return false;
}

std::string complaint(const Answer& answer, std::string_view field) {
  const Json status = answer.json();
  for (const Json& cause : list_at(status, {"details", "causes"})) {
    if (str(cause, {"field"}) == field) return str(cause, {"message"});
  }
  return {};
}

Lab::Lab(const Server& server) : server_(server), ns_("conf-" + random_suffix(8)) {
  pki::LeafOptions leaf;
  leaf.subject = {"conformance", {"system:masters"}, {}};
  leaf.client = true;
  if (auto pair = pki::issue(server.ca(), leaf)) admin_ = std::move(*pair);
  const auto made = post("/api/v1/namespaces", {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns_}}}});
  EXPECT_EQ(made.status, 201) << made.body;
}

Lab::~Lab() { remove("/api/v1/namespaces/" + ns_); }

Answer Lab::send(const Request& request) const {
  Answer out;
  const std::unique_ptr<CURL, FreeCurl> handle(curl_easy_init());
  CURL* curl = handle.get();
  auto ca = blob(server_.ca().certificate);
  auto certificate = blob(admin_.certificate);
  auto key = blob(admin_.key);
  curl_easy_setopt(curl, CURLOPT_URL, (server_.url() + request.path).c_str());
  curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
  curl_easy_setopt(curl, CURLOPT_CAINFO, nullptr);
  curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &ca);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (request.method == "HEAD") curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  if (request.token.empty() && !request.anonymous) {
    curl_easy_setopt(curl, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(curl, CURLOPT_SSLKEY_BLOB, &key);
  }
  curl_slist* list = nullptr;
  const auto header = [&](const std::string& line) { list = curl_slist_append(list, line.c_str()); };
  header("Accept: " + (request.accept.empty() ? std::string("application/json") : request.accept));
  if (!request.token.empty()) header("Authorization: Bearer " + request.token);
  for (const auto& line : request.headers) header(line);
  if (!request.body.empty()) {
    header("Content-Type: " + request.content_type);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
  }
  const std::unique_ptr<curl_slist, FreeList> headers(list);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &out.body);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &out.headers);
  if (const auto code = curl_easy_perform(curl); code != CURLE_OK)
    ADD_FAILURE() << request.method << " " << request.path << ": " << curl_easy_strerror(code);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  out.status = static_cast<int>(status);
  return out;
}

void Lab::create_pod(const Json& pod) const {
  Answer made;
  EXPECT_TRUE(eventually([&] {
    made = post(core("pods"), pod);
    return made.status == 201;
  })) << made.body;
}

bool Lab::eventually(const std::function<bool()>& done, int seconds) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

Json Lab::config_map(const std::string& name, const Json& data) const {
  return {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}, {"namespace", ns_}}}, {"data", data}};
}

Json Lab::deployment(const std::string& name) const {
  const Json labels = {{"app", name}};
  const Json containers =
      Json::array({{{"name", "one"}, {"image", "example.com/one:1"}}, {{"name", "two"}, {"image", "example.com/two:1"}}});
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", {{"name", name}, {"namespace", ns_}}},
          {"spec",
           {{"replicas", 0},
            {"selector", {{"matchLabels", labels}}},
            {"template", {{"metadata", {{"labels", labels}}}, {"spec", {{"containers", containers}}}}}}}};
}

Json Lab::widget(const std::string& name, const Json& spec) const {
  return {{"apiVersion", "conf.example.com/v1"},
          {"kind", "Widget"},
          {"metadata", {{"name", name}, {"namespace", ns_}}},
          {"spec", spec}};
}

std::string Lab::account_token(const std::string& name) const {
  post(core("serviceaccounts"), {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", name}}}});
  const auto answer =
      post(core("serviceaccounts/") + name + "/token",
           {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", {{"expirationSeconds", 600}}}});
  EXPECT_EQ(answer.status, 201) << answer.body;
  return str(answer.json(), {"status", "token"});
}

Json widget_definition() {
  const Json items = {{"type", "array"},
                      {"x-kubernetes-list-type", "map"},
                      {"x-kubernetes-list-map-keys", {"name"}},
                      {"items",
                       {{"type", "object"},
                        {"required", {"name"}},
                        {"properties", {{"name", {{"type", "string"}}}, {"value", {{"type", "string"}}}}}}}};
  const Json spec = {
      {"type", "object"},
      {"properties",
       {{"size", {{"type", "integer"}, {"minimum", 1}, {"default", 1}}}, {"items", items}, {"replicas", {{"type", "integer"}}}}},
      {"x-kubernetes-validations", Json::array({{{"rule", "self.size <= 10"}, {"message", "size is at most 10"}}})}};
  const Json status = {{"type", "object"},
                       {"properties", {{"phase", {{"type", "string"}}}, {"replicas", {{"type", "integer"}}}}}};
  const Json schema = {{"openAPIV3Schema", {{"type", "object"}, {"properties", {{"spec", spec}, {"status", status}}}}}};
  const Json subresources = {{"status", Json::object()},
                             {"scale", {{"specReplicasPath", ".spec.replicas"}, {"statusReplicasPath", ".status.replicas"}}}};
  const Json columns = Json::array({{{"name", "Size"}, {"type", "integer"}, {"jsonPath", ".spec.size"}}});
  const auto version = [&](const char* name, bool storage) {
    return Json{{"name", name},
                {"served", true},
                {"storage", storage},
                {"schema", schema},
                {"subresources", subresources},
                {"additionalPrinterColumns", columns}};
  };
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "widgets.conf.example.com"}}},
          {"spec",
           {{"group", "conf.example.com"},
            {"scope", "Namespaced"},
            {"names", {{"plural", "widgets"}, {"kind", "Widget"}, {"shortNames", {"wd"}}}},
            {"versions", Json::array({version("v1", true), version("v2", false)})}}}};
}

void Lab::need_widgets() const {
  const std::string path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  if (get(path + "/widgets.conf.example.com").status == 404) expect(post(path, widget_definition()), 201);
  // The real server serves it some moments after it is established.
  EXPECT_TRUE(eventually([&] {
    return get(widgets()).status == 200 &&
           send({.method = "POST", .path = widgets() + "?dryRun=All", .body = dump_json(widget("probe", {{"size", 2}}))})
                   .status == 201;
  }));
}

std::vector<Check> all_checks() {
  std::vector<Check> out;
  for (const auto& group : {discovery_checks(), object_checks(), patch_checks(), deletion_checks(), list_checks(),
                            custom_checks(), conversion_checks(), access_checks(), admission_checks(), connect_checks(),
                            protobuf_checks(), immutable_checks(), edge_checks(), write_checks(), kind_checks()}) {
    out.insert(out.end(), group.begin(), group.end());
  }
  return out;
}

}  // namespace fleetadm::conformance
