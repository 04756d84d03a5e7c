#include "kubeclient/base/cached_object.h"

#include <gtest/gtest.h>
#include <random>

namespace fleetadm::kube {
namespace {

Json object_with(Json data) {
  return {
      {"metadata", {{"name", "a"}, {"uid", "u"}, {"resourceVersion", "7"}, {"managedFields", Json::array({{{"manager", "m"}}})}}},
      {"data", std::move(data)}};
}

Json without_managers(Json object) {
  object["metadata"].erase("managedFields");
  return object;
}

TEST(CachedObject, KeepsAllButManagedFields) {
  const Json object = object_with({{"text", "short"}});
  const CachedObject cached("a", object);
  EXPECT_EQ(cached.key(), "a");
  EXPECT_EQ(cached.uid(), "u");
  EXPECT_EQ(cached.resource_version(), "7");
  EXPECT_EQ(cached.decode(), without_managers(object));
  EXPECT_EQ(cached.bytes(), dump_json({{"metadata", Json::object()}, {"data", {{"text", "short"}}}}).size());
}

TEST(CachedObject, KeepsItsIdentityOnce) {
  const std::string uid = "3f0a4a55-4f0c-4a43-9b4e-0a1b2c3d4e5f";
  const Json object = {{"metadata",
                        {{"name", "web-7d9f8b6c5d-abcde"},
                         {"namespace", "team-one"},
                         {"uid", uid},
                         {"resourceVersion", "123456"},
                         {"labels", {{"a", "b"}}}}},
                       {"spec", {{"nodeName", "n"}}}};
  const CachedObject cached("team-one/web-7d9f8b6c5d-abcde", object);
  EXPECT_EQ(cached.key(), "team-one/web-7d9f8b6c5d-abcde");
  EXPECT_EQ(cached.uid(), uid);
  EXPECT_EQ(cached.resource_version(), "123456");
  EXPECT_EQ(cached.decode(), object);
  EXPECT_EQ(cached.bytes(), dump_json({{"metadata", {{"labels", {{"a", "b"}}}}}, {"spec", {{"nodeName", "n"}}}}).size());
}

TEST(CachedObject, DecodesToWhatItWasWhateverItsIdentityIs) {
  for (const char* text :
       {R"({})", R"({"metadata":{}})", R"({"metadata":null})", R"({"metadata":"text"})", R"({"metadata":{"name":""}})",
        R"({"metadata":{"name":"b"}})", R"({"metadata":{"name":"a"}})", R"({"metadata":{"name":"a","namespace":"b"}})",
        R"({"metadata":{"name":"b","namespace":"a"}})", R"({"metadata":{"name":"b","namespace":""}})",
        R"({"metadata":{"name":"a/b"}})", R"({"metadata":{"name":"b/c","namespace":"a"}})",
        R"({"metadata":{"name":"c","namespace":"a/b"}})", R"({"metadata":{"name":7,"namespace":{},"uid":8,"resourceVersion":9}})",
        R"({"metadata":{"uid":"","resourceVersion":""}})", R"({"metadata":{"uid":"u","resourceVersion":null}})",
        R"({"kind":"Pod","metadata":{"name":"a","uid":"u","resourceVersion":"1","namespace":null}})"}) {
    const Json object = *parse_json(text);
    for (const char* key : {"", "/", "a", "a/", "/a", "a/b", "a/b/c"})
      EXPECT_EQ(CachedObject(key, object).decode(), object) << key << " " << text;
  }
}

TEST(CachedObject, DeflatesWhatIsLong) {
  Json conditions = Json::array();
  for (int i = 0; i < 200; ++i) conditions.push_back({{"type", "Available"}, {"status", "True"}, {"observedGeneration", i}});
  const Json object = object_with(conditions);
  const CachedObject cached("a", object);
  EXPECT_EQ(cached.decode(), without_managers(object));
  EXPECT_LT(cached.bytes(), dump_json(object).size() / 4);
}

TEST(CachedObject, DeflatesObjectsOfFleetsThatAreShort) {
  const Json object = {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                       {"kind", "RoleBinding"},
                       {"metadata",
                        {{"name", "open-cluster-management:managedcluster:cluster-one:work"},
                         {"namespace", "cluster-one"},
                         {"creationTimestamp", "2027-03-04T05:06:07Z"},
                         {"resourceVersion", "123456"},
                         {"uid", "3f0a4a55-4f0c-4a43-9b4e-0a1b2c3d4e5f"},
                         {"finalizers", Json::array({"cluster.open-cluster-management.io/manifest-work-cleanup"})}}},
                       {"roleRef",
                        {{"apiGroup", "rbac.authorization.k8s.io"},
                         {"kind", "ClusterRole"},
                         {"name", "open-cluster-management:managedcluster:work"}}},
                       {"subjects", Json::array({{{"apiGroup", "rbac.authorization.k8s.io"},
                                                  {"kind", "Group"},
                                                  {"name", "system:open-cluster-management:cluster-one"}}})}};
  const CachedObject cached("a", object);
  EXPECT_EQ(cached.decode(), object);
  EXPECT_LT(cached.bytes(), dump_json(object).size() / 2);
}

TEST(CachedObject, LeavesWhatDoesNotGetShorter) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same text each time
  std::string noise;
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/!#$%&()*,-.:;<=>?@[]^_{|}~ ";
  for (int i = 0; i < 100'000; ++i) noise += kDigits[random() % kDigits.size()];
  const Json object = object_with({{"noise", noise}});
  const CachedObject cached("a", object);
  EXPECT_EQ(cached.decode(), without_managers(object));
  EXPECT_LE(cached.bytes(), dump_json(object).size());
}

}  // namespace
}  // namespace fleetadm::kube
