#include "core/serve/request_info.h"

#include <gtest/gtest.h>

#include "core/serve/request_path.h"

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

struct RequestCase {
  const char* method;
  const char* path;
  const char* query;
  const char* told;
};

// "verb group|version|resource|subresource|namespace|name", as API servers decide it.
TEST(ReadRequest, ReadsTheTable) {
  const RequestCase cases[] = {
      {"HEAD", "/api/v1/pods", "", "list |v1|pods|||"},
      {"HEAD", "/api/v1/namespaces/n/pods/p", "", "get |v1|pods||n|p"},
      {"POST", "/api/v1/namespaces/n/pods/p/exec", "command=id", "create |v1|pods|exec|n|p"},
      {"GET", "/api/v1/namespaces/n/pods/p/exec", "command=id", "get |v1|pods|exec|n|p"},
      {"GET", "/api/v1/namespaces/n/services/s/proxy/a/b", "", "get |v1|services|proxy/a/b|n|s"},
      {"PUT", "/api/v1/namespaces/n/status", "", "update |v1|namespaces|status|n|n"},
      {"DELETE", "/api/v1/namespaces/n", "", "delete |v1|namespaces||n|n"},
      {"DELETE", "/apis/g.io/v1/things", "", "deletecollection g.io|v1|things|||"},
      {"PATCH", "/apis/apps/v1/namespaces/n/deployments/d/scale", "", "patch apps|v1|deployments|scale|n|d"},
      {"GET", "/api/v1/watch/namespaces/n/pods", "", "watch |v1|pods||n|"},
      {"GET", "/api/v1/namespaces/n/pods/p", "watch=true", "get |v1|pods||n|p"},
      {"OPTIONS", "/api/v1/pods", "", "options |v1|pods|||"},
      {"GET", "/api/v1/pods/", "", "list |v1|pods|||"},
      // What is escaped is what it stands for: nothing hides a subresource or a namespace.
      {"GET", "/api/v1/namespaces/n/pods/p%2Fexec", "", "get |v1|pods|exec|n|p"},
      {"GET", "/api/v1/namespaces%2Fn%2Fsecrets", "", "list |v1|secrets||n|"},
      {"GET", "/%61pi/v1/%70ods", "", "list |v1|pods|||"},
      {"GET", "/api/v1/namespaces/n/pods/p%252Fexec", "", "get |v1|pods||n|p%2Fexec"},
      {"GET", "/api/v1/namespaces/n/pods/p%", "", "get |v1|pods||n|p%"},
      {"GET", "/api/v1/namespaces/n/../secrets", "", "get |v1|..||n|secrets"},
      {"GET", "//api//v1///pods", "", "list |v1|pods|||"},
      {"GET", "/api/v1/namespaces/", "", "list |v1|namespaces|||"},
      {"GET", "/api/v1/watch", "", "watch |v1||||"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(told(attributes_of(one.method, one.path, one.query)), one.told) << one.method << " " << one.path;
  }
}

TEST(RequestPath, TellsWhatServersCouldReadDifferently) {
  for (const char* path :
       {"/", "/version", "/api/v1/pods", "/api/v1/pods/", "/apis/g.io/v1/things/a%20b", "/api/v1/nodes/a:b",
        "/api/v1/namespaces/n/services/https:s:443/proxy/x.css", "/api/v1/configmaps/..data", "/apis/a.b/v1/%C3%A4"})
    EXPECT_FALSE(ambiguous_path(path)) << path;
  for (const char* path : {"",
                           "api/v1/pods",
                           "//api/v1/pods",
                           "/api//v1/pods",
                           "/api/v1/pods//",
                           "/api/v1/./pods",
                           "/api/v1/n/../pods",
                           "/api/v1/%2e%2E/pods",
                           "/api/v1/.%2e/pods",
                           "/api/v1/pods/p%2Fexec",
                           "/api/v1/pods/p%2fexec",
                           "/api/v1/pods/p%252Fexec",
                           "/api/v1/pods/p%",
                           "/api/v1/pods/p%2",
                           "/api/v1/pods/p%zz",
                           "/api/v1/pods\\p",
                           "/api/v1/pods%5Cp",
                           "/api/v1/pods/p%00",
                           "/api/v1/pods/p%0d%0aX:y",
                           "/api/v1/pods/p\t",
                           "/api/v1/pods/%7f"})
    EXPECT_TRUE(ambiguous_path(path)) << path;
  EXPECT_TRUE(ambiguous_path(std::string_view("/a\0b", 4)));
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
