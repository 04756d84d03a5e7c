// D and N: discovery, health, OpenAPI, content negotiation.
#include <gtest/gtest.h>
#include <set>

#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

const char* const kAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

void d01(Lab& lab) {
  const auto answer = lab.get("/version");
  expect(answer, 200);
  for (const char* field : {"major", "minor", "gitVersion"}) EXPECT_FALSE(str(answer.json(), {field}).empty()) << field;
  const auto date = answer.headers.find("date");
  ASSERT_NE(date, answer.headers.end());
  EXPECT_TRUE(date->second.ends_with(" GMT") && date->second.size() == 29) << date->second;
  // The class that priority and fairness give the administrator.
  for (const auto& [header, plural] : {std::pair("x-kubernetes-pf-flowschema-uid", "flowschemas"),
                                       std::pair("x-kubernetes-pf-prioritylevel-uid", "prioritylevelconfigurations")}) {
    const Json exempt = lab.get(std::string("/apis/flowcontrol.apiserver.k8s.io/v1/") + plural + "/exempt").json();
    ASSERT_TRUE(answer.headers.contains(header));
    EXPECT_EQ(answer.headers.at(header), uid_of(exempt)) << header;
  }
}
void d02(Lab& lab) {
  for (const char* path : {"/readyz", "/livez", "/healthz"}) {
    const auto answer = lab.get(path);
    expect(answer, 200);
    EXPECT_EQ(answer.body, "ok");
  }
}
void d03(Lab& lab) {
  const Json answer = lab.get("/api").json();
  EXPECT_EQ(str(answer, {"kind"}), "APIVersions");
  EXPECT_EQ(string_list_at(answer, {"versions"}), std::vector<std::string>{"v1"});
}
void d04(Lab& lab) {
  const Json answer = lab.get("/apis").json();
  EXPECT_EQ(str(answer, {"kind"}), "APIGroupList");
  for (const Json& group : list_at(answer, {"groups"})) EXPECT_FALSE(str(group, {"preferredVersion", "version"}).empty());
}
void d05(Lab& lab) {
  const Json answer = lab.get("/apis/apps").json();
  EXPECT_EQ(str(answer, {"kind"}), "APIGroup");
  EXPECT_EQ(str(answer, {"name"}), "apps");
}
void d06(Lab& lab) {
  const Json answer = lab.get("/api/v1").json();
  EXPECT_EQ(str(answer, {"kind"}), "APIResourceList");
  int seen = 0;
  for (const Json& one : list_at(answer, {"resources"})) {
    if (str(one, {"name"}) == "configmaps") {
      ++seen;
      EXPECT_TRUE(flag(one, {"namespaced"}));
      EXPECT_EQ(string_list_at(one, {"shortNames"}), std::vector<std::string>{"cm"});
      EXPECT_EQ(string_list_at(one, {"verbs"}).size(), 8U);
    }
    if (str(one, {"name"}) == "namespaces/finalize") ++seen;
  }
  EXPECT_EQ(seen, 2);
}
void d07(Lab& lab) {
  const auto answer = lab.get("/apis", kAggregated);
  expect(answer, 200);
  const auto type = answer.headers.at("content-type");
  for (const char* part : {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"})
    EXPECT_NE(type.find(part), std::string::npos) << type;
  EXPECT_EQ(answer.headers.at("etag").front(), '"');
  EXPECT_NE(answer.headers.at("vary").find("Accept"), std::string::npos);
}
void d08(Lab& lab) {
  lab.need_widgets();  // nothing else changes discovery while this check runs
  const auto first = lab.get("/apis", kAggregated);
  const auto answer =
      lab.send({.path = "/apis", .accept = kAggregated, .headers = {"If-None-Match: " + first.headers.at("etag")}});
  expect(answer, 304);
  EXPECT_TRUE(answer.body.empty());
}
void d09(Lab& lab) { EXPECT_EQ(str(lab.get("/apis", "application/json").json(), {"kind"}), "APIGroupList"); }
void d10(Lab& lab) { expect(lab.get("/apis/none.example/v1"), 404); }
std::string core_document(Lab& lab) { return str(lab.get("/openapi/v3").json(), {"paths", "api/v1", "serverRelativeURL"}); }
void d11(Lab& lab) { EXPECT_NE(core_document(lab).find("?hash="), std::string::npos); }
void d12(Lab& lab) {
  const auto answer = lab.get(core_document(lab));
  expect(answer, 200);
  EXPECT_FALSE(answer.json().is_null());
  EXPECT_FALSE(answer.headers.at("etag").empty());
  EXPECT_NE(answer.headers.at("cache-control").find("immutable"), std::string::npos);
}
void d13(Lab& lab) {
  const auto answer = lab.get("/openapi/v3/api/v1?hash=x");
  expect(answer, 301);
  EXPECT_NE(answer.headers.at("location").find("?hash="), std::string::npos);
}
void d14(Lab& lab) {
  const Json document = lab.get(core_document(lab)).json();
  const Json& patch = object_at(document, {"paths", "/api/v1/namespaces/{namespace}/configmaps/{name}", "patch"});
  bool found = false;
  for (const Json& parameter : list_at(patch, {"parameters"})) found = found || str(parameter, {"name"}) == "fieldValidation";
  EXPECT_TRUE(found);
  EXPECT_TRUE(object_at(patch, {"requestBody", "content"}).contains("application/strategic-merge-patch+json"));
}

void n01(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  const auto answer = lab.get(lab.maps() + "/x", "application/yaml");
  expect(answer, 200);
  EXPECT_EQ(answer.headers.at("content-type"), "application/yaml");
  EXPECT_NE(answer.body.find("kind: ConfigMap"), std::string::npos);
}
void n02(Lab& lab) { expect(lab.get(lab.maps(), "application/xml"), 406, "NotAcceptable"); }
void n03(Lab& lab) {
  expect(lab.send({.method = "POST", .path = lab.maps(), .body = "x", .content_type = "text/plain"}), 415,
         "UnsupportedMediaType");
}
/// k8s\0 + Unknown{typeMeta{apiVersion, kind}, raw}: lengths under 128 only.
std::string field(int number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number * 8 + 2)) + static_cast<char>(bytes.size()) + bytes;
}
std::string envelope(const std::string& api_version, const std::string& kind, const std::string& raw) {
  return std::string("k8s\0", 4) + field(1, field(1, api_version) + field(2, kind)) + field(2, raw);
}
const char* const kProtobuf = "application/vnd.kubernetes.protobuf";
const char* const kProtobufOrJson = "application/json;q=0.9";
void n04(Lab& lab) {
  const auto name = lab.ns() + "-p";
  const auto answer = lab.send({.method = "POST",
                                .path = "/api/v1/namespaces",
                                .body = envelope("v1", "Namespace", field(1, field(1, name))),
                                .content_type = kProtobuf,
                                .accept = kProtobufOrJson});
  expect(answer, 201);
  EXPECT_EQ(str(answer.json(), {"metadata", "name"}), name);
  lab.remove("/api/v1/namespaces/" + name);
}
void n05(Lab& lab) {
  const auto attributes = field(2, "get") + field(5, "pods");
  const auto answer =
      lab.send({.method = "POST",
                .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                .body = envelope("authorization.k8s.io/v1", "SelfSubjectAccessReview", field(2, field(1, attributes))),
                .content_type = kProtobuf,
                .accept = kProtobufOrJson});
  expect(answer, 201);
  EXPECT_TRUE(flag(answer.json(), {"status", "allowed"}));
}
std::vector<std::string> columns_of(const Json& table) {
  std::vector<std::string> out;
  for (const Json& column : list_at(table, {"columnDefinitions"})) {
    if (num(column, {"priority"}) == 0) out.push_back(str(column, {"name"}));
  }
  return out;
}
void n06(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  const Json table = lab.get(lab.maps(), kTable).json();
  EXPECT_EQ(str(table, {"kind"}), "Table");
  EXPECT_EQ(columns_of(table), (std::vector<std::string>{"Name", "Data", "Age"}));
  for (const Json& row : list_at(table, {"rows"})) EXPECT_EQ(str(row, {"object", "kind"}), "PartialObjectMetadata");
}
void n07(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  EXPECT_EQ(list_at(lab.get(lab.maps() + "/x", kTable).json(), {"rows"}).size(), 1U);
}
void n08(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  const Json none = lab.get(lab.maps() + "/x?includeObject=None", kTable).json();
  ASSERT_EQ(list_at(none, {"rows"}).size(), 1U);
  EXPECT_TRUE(object_at(list_at(none, {"rows"})[0], {"object"}).empty());  // null on the wire
  const Json whole = lab.get(lab.maps() + "/x?includeObject=Object", kTable).json();
  ASSERT_EQ(list_at(whole, {"rows"}).size(), 1U);
  EXPECT_EQ(str(list_at(whole, {"rows"})[0], {"object", "data", "a"}), "1");
}
void n09(Lab& lab) {
  lab.post(lab.maps(), lab.config_map("x"));
  const Json list = lab.get(lab.maps(), "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").json();
  EXPECT_EQ(str(list, {"kind"}), "PartialObjectMetadataList");
  ASSERT_FALSE(list_at(list, {"items"}).empty());
  EXPECT_EQ(find(list_at(list, {"items"})[0], {"data"}), nullptr);
}
void n10(Lab& lab) {
  const auto text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: from-yaml\ndata:\n  a: b\n";
  expect(lab.send({.method = "POST", .path = lab.maps(), .body = text, .content_type = "application/yaml"}), 201);
}

void d15(Lab& lab) {
  expect(lab.get(lab.maps()), 200);
  const auto answer = lab.get("/metrics");
  expect(answer, 200);
  EXPECT_TRUE(answer.headers.contains("content-type") &&
              answer.headers.at("content-type").starts_with("text/plain; version=0.0.4"));
  for (const char* text :
       {"\napiserver_request_total{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"configmaps\","
        "scope=\"namespace\",subresource=\"\",verb=\"LIST\",version=\"v1\"} ",
        "\napiserver_current_inflight_requests{request_kind=\"mutating\"} ",
        "\napiserver_resource_objects{group=\"\",resource=\"configmaps\"} ", "\nprocess_resident_memory_bytes ",
        "\nprocess_cpu_seconds_total ", "\nprocess_open_fds "}) {
    EXPECT_NE(answer.body.find(text), std::string::npos) << text;
  }
  expect(lab.send({.path = "/metrics", .token = lab.account_token("nobody")}), 403, "Forbidden");
  std::set<std::string> urls;
  const Json role = lab.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/system:monitoring").json();
  for (const Json& rule : list_at(role, {"rules"})) {
    for (const auto& url : string_list_at(rule, {"nonResourceURLs"})) urls.insert(url);
  }
  for (const char* url : {"/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/metrics/slis", "/readyz", "/readyz/*"})
    EXPECT_TRUE(urls.contains(url)) << url;
}

void n11(Lab& lab) {
  const auto ask = [&](const std::string& path, const std::string& encoding) {
    const auto answer = lab.send({.path = path, .headers = {"accept-encoding: " + encoding}});
    expect(answer, 200);
    return answer.headers.contains("content-encoding") ? answer.headers.at("content-encoding") : std::string("none");
  };
  const Json large = {{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"metadata", {{"name", "large"}}},
                      {"data", {{"text", std::string(200'000, 'x')}}}};
  expect(lab.post(lab.maps(), large), 201);
  for (const auto& path : {lab.maps() + "/large", lab.maps()}) {
    EXPECT_EQ(ask(path, "gzip"), "gzip") << path;
    EXPECT_EQ(ask(path, "deflate, gzip"), "gzip") << path;
    EXPECT_EQ(ask(path, "gzip;q=1"), "none") << path;
    EXPECT_EQ(ask(path, "identity"), "none") << path;
  }
  EXPECT_EQ(ask(lab.maps() + "/kube-root-ca.crt", "gzip"), "none");
}

}  // namespace

std::vector<Check> discovery_checks() {
  return {{"D01", "version", d01},
          {"D02", "health", d02},
          {"D03", "legacy core", d03},
          {"D04", "legacy groups", d04},
          {"D05", "legacy group", d05},
          {"D06", "legacy resources", d06},
          {"D07", "aggregated", d07},
          {"D08", "aggregated, not modified", d08},
          {"D09", "fallback", d09},
          {"D10", "unknown group version", d10},
          {"D11", "OpenAPI index", d11},
          {"D12", "OpenAPI document", d12},
          {"D13", "OpenAPI stale hash", d13},
          {"D14", "OpenAPI patch parameters", d14},
          {"D15", "metrics", d15},
          {"N01", "YAML out", n01},
          {"N02", "not acceptable", n02},
          {"N03", "bad body type", n03},
          {"N04", "protobuf in", n04},
          {"N05", "protobuf review", n05},
          {"N06", "table of a list", n06},
          {"N07", "table of one object", n07},
          {"N08", "includeObject", n08},
          {"N09", "metadata list", n09},
          {"N10", "YAML in", n10},
          {"N11", "gzip out", n11}};
}

}  // namespace fleetadm::conformance
