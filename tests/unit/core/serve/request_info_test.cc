#include "core/serve/request_info.h"

#include <gtest/gtest.h>

namespace fleetadm::serve {
namespace {

Attributes attributes_of(const std::string& method, const std::string& path, const std::string& query = {}) {
  HttpRequest http;
  http.method = method;
  http.path = path;
  http.query = query;
  return read_request(http).what;
}

std::string told(const Attributes& what) {
  return what.verb + " " + what.group + "|" + what.version + "|" + what.resource + "|" + what.subresource + "|" + what.ns + "|" +
         what.name;
}

TEST(ReadRequest, TellsResourcesApart) {
  EXPECT_EQ(told(attributes_of("GET", "/api/v1/pods")), "list |v1|pods|||");
  EXPECT_EQ(told(attributes_of("GET", "/api/v1/namespaces/n/pods/p/log")), "get |v1|pods|log|n|p");
  EXPECT_EQ(told(attributes_of("POST", "/apis/apps/v1/namespaces/n/deployments")), "create apps|v1|deployments||n|");
  EXPECT_EQ(told(attributes_of("PUT", "/api/v1/namespaces/n/finalize")), "update |v1|namespaces|finalize|n|n");
  EXPECT_EQ(told(attributes_of("GET", "/api/v1/namespaces/n")), "get |v1|namespaces||n|n");
  EXPECT_EQ(told(attributes_of("GET", "/api/v1/namespaces")), "list |v1|namespaces|||");
  EXPECT_EQ(told(attributes_of("DELETE", "/api/v1/namespaces/n/pods")), "deletecollection |v1|pods||n|");
  EXPECT_EQ(told(attributes_of("PATCH", "/apis/g.io/v1/things/a%20b")), "patch g.io|v1|things|||a b");
}

TEST(ReadRequest, TellsWatches) {
  EXPECT_EQ(attributes_of("GET", "/api/v1/pods", "watch=true").verb, "watch");
  EXPECT_EQ(attributes_of("GET", "/api/v1/pods", "watch").verb, "watch");
  EXPECT_EQ(attributes_of("GET", "/api/v1/pods", "watch=0").verb, "list");
  EXPECT_EQ(attributes_of("GET", "/api/v1/watch/pods").verb, "watch");
  EXPECT_EQ(attributes_of("GET", "/api/v1/pods", "watch=1&fieldSelector=metadata.name%3Dx").name, "x");
}

TEST(ReadRequest, TellsOtherPaths) {
  for (const char* path : {"/", "/version", "/api", "/api/v1", "/apis/apps", "/apis/apps/v1", "/openapi/v3/apis/apps/v1"}) {
    const auto what = attributes_of("GET", path);
    EXPECT_FALSE(what.resource_request) << path;
    EXPECT_EQ(what.path, path);
    EXPECT_EQ(what.verb, "get");
  }
}

TEST(Query, DecodesAndKeepsTheFirst) {
  const auto query = Query::parse("a=1+2&a=3&b=%2Fx&c&limit=5&bad=x");
  EXPECT_EQ(query.get("a"), "1 2");
  EXPECT_EQ(query.all("a").size(), 2U);
  EXPECT_EQ(query.get("b"), "/x");
  EXPECT_TRUE(query.flag("c"));
  EXPECT_FALSE(query.flag("absent"));
  EXPECT_EQ(*query.integer("limit"), 5);
  EXPECT_EQ(query.integer("bad").error().code, 400);
}

}  // namespace
}  // namespace fleetadm::serve
