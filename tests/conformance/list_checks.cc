// L and W: lists and watches.
#include <gtest/gtest.h>
#include <thread>

#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

std::vector<std::string> names_of(const Json& list) {
  std::vector<std::string> out;
  for (const Json& item : list_at(list, {"items"})) out.push_back(name_of(item));
  return out;
}

/// Secrets, of which a namespace holds none on its own.
std::string secrets(Lab& lab) { return lab.core("secrets"); }
void make(Lab& lab, const std::string& name, const Json& labels = Json::object()) {
  expect(lab.post(secrets(lab), {{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", name}, {"labels", labels}}}}),
         201);
}
std::string version_of_list(Lab& lab) { return resource_version_of(lab.get(secrets(lab)).json()); }

void l01(Lab& lab) {
  for (const char* name : {"a", "b", "c", "d", "e"}) make(lab, name);
  Json page = lab.get(secrets(lab) + "?limit=2").json();
  EXPECT_EQ(num(page, {"metadata", "remainingItemCount"}), 3);
  const auto version = resource_version_of(page);
  auto names = names_of(page);
  int pages = 1;
  while (!str(page, {"metadata", "continue"}).empty() && pages < 10) {
    page = lab.get(secrets(lab) + "?limit=2&continue=" + str(page, {"metadata", "continue"})).json();
    EXPECT_EQ(resource_version_of(page), version);
    for (const auto& name : names_of(page)) names.push_back(name);
    ++pages;
  }
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
}
void l02(Lab& lab) { expect(lab.get(secrets(lab) + "?limit=2&continue=abc"), 400, "BadRequest"); }
void l03(Lab& lab) {
  for (const char* name : {"a", "b", "c"}) make(lab, name);
  const auto token = str(lab.get(secrets(lab) + "?limit=2").json(), {"metadata", "continue"});
  expect(lab.get(secrets(lab) + "?limit=2&resourceVersion=5&continue=" + token), 400, "BadRequest");
}
void l04(Lab& lab) { expect(lab.get(secrets(lab) + "?resourceVersionMatch=Exact"), 422, "Invalid"); }
void l05(Lab& lab) { expect(lab.get(secrets(lab) + "?resourceVersion=0"), 200); }
void l06(Lab& lab) {
  const auto future = std::stoll(version_of_list(lab)) + 1000000;
  const auto answer = lab.get(secrets(lab) + "?resourceVersion=" + std::to_string(future));
  expect(answer, 504, "Timeout");
  EXPECT_TRUE(has_cause(answer, "ResourceVersionTooLarge"));
}
void l07(Lab& lab) { EXPECT_NE(lab.get(secrets(lab)).body.find("\"items\":[]"), std::string::npos); }
void l08(Lab& lab) {
  make(lab, "x", {{"a", "1"}});
  make(lab, "y", {{"a", "2"}, {"b", "1"}});
  make(lab, "z", {{"c", "1"}});
  EXPECT_EQ(names_of(lab.get(secrets(lab) + "?labelSelector=a%20in%20(1,2),!b").json()), std::vector<std::string>{"x"});
  EXPECT_EQ(names_of(lab.get(secrets(lab) + "?labelSelector=c!%3D1").json()), (std::vector<std::string>{"x", "y"}));
}
void l09(Lab& lab) { expect(lab.get(secrets(lab) + "?fieldSelector=foo%3Dbar"), 400, "BadRequest"); }
void l10(Lab& lab) {
  make(lab, "x");
  make(lab, "y");
  EXPECT_EQ(names_of(lab.get(secrets(lab) + "?fieldSelector=metadata.name%3Dx").json()), std::vector<std::string>{"x"});
}

std::vector<std::string> types_of(const std::vector<Json>& events) {
  std::vector<std::string> out;
  for (const Json& event : events) out.push_back(str(event, {"type"}) + " " + str(event, {"object", "metadata", "name"}));
  return out;
}
void w01(Lab& lab) {
  const auto from = version_of_list(lab);
  make(lab, "x");
  lab.merge(secrets(lab) + "/x", {{"data", {{"k", "dg=="}}}});
  lab.remove(secrets(lab) + "/x");
  const auto events = lab.get(secrets(lab) + "?watch=true&timeoutSeconds=1&resourceVersion=" + from).events();
  EXPECT_EQ(types_of(events), (std::vector<std::string>{"ADDED x", "MODIFIED x", "DELETED x"}));
  std::int64_t last = std::stoll(from);
  for (const Json& event : events) {
    const auto version = std::stoll(str(event, {"object", "metadata", "resourceVersion"}));
    EXPECT_GT(version, last);
    last = version;
  }
}
void w02(Lab& lab) {
  make(lab, "x");
  EXPECT_EQ(types_of(lab.get(secrets(lab) + "?watch=true&timeoutSeconds=1").events()), std::vector<std::string>{"ADDED x"});
}
void w03(Lab& lab) {
  const auto begun = std::chrono::steady_clock::now();
  expect(lab.get(secrets(lab) + "?watch=true&timeoutSeconds=2"), 200);
  const auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_GT(took, std::chrono::milliseconds(1500));
  EXPECT_LT(took, std::chrono::seconds(8));
}
void w04(Lab& lab) {
  const auto from = version_of_list(lab);
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    // Of the same resource, elsewhere: only the bookmark can tell of it.
    Json other = {{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", lab.ns()}}}};
    lab.post("/api/v1/namespaces/default/secrets", other);
    lab.remove("/api/v1/namespaces/default/secrets/" + lab.ns());
  });
  const auto events =
      lab.get(secrets(lab) + "?watch=true&timeoutSeconds=5&allowWatchBookmarks=true&resourceVersion=" + from).events();
  writer.join();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(str(events.back(), {"type"}), "BOOKMARK");
  EXPECT_GT(std::stoll(str(events.back(), {"object", "metadata", "resourceVersion"})), std::stoll(from));
}
void w05(Lab& lab) {
  const auto from = version_of_list(lab);
  make(lab, "x");
  lab.merge(secrets(lab) + "/x", {{"metadata", {{"labels", {{"in", "yes"}}}}}});
  lab.merge(secrets(lab) + "/x", {{"metadata", {{"labels", {{"in", nullptr}}}}}});
  const auto events =
      lab.get(secrets(lab) + "?watch=true&timeoutSeconds=1&labelSelector=in%3Dyes&resourceVersion=" + from).events();
  EXPECT_EQ(types_of(events), (std::vector<std::string>{"ADDED x", "DELETED x"}));
}
void w07(Lab& lab) {
  make(lab, "b");
  make(lab, "a");
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    make(lab, "c");
  });
  const auto events =
      lab.get(secrets(lab) +
              "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=2")
          .events();
  writer.join();
  ASSERT_GE(events.size(), 4U);
  EXPECT_EQ(types_of({events[0], events[1]}), (std::vector<std::string>{"ADDED a", "ADDED b"}));
  EXPECT_EQ(str(events[2], {"type"}), "BOOKMARK");
  EXPECT_EQ(str(events[2], {"object", "metadata", "annotations", "k8s.io/initial-events-end"}), "true");
  EXPECT_EQ(types_of({events[3]}), std::vector<std::string>{"ADDED c"});
}
void w08(Lab& lab) {
  expect(lab.get(secrets(lab) + "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true"), 422, "Invalid");
}
void w09(Lab& lab) {
  make(lab, "x");
  make(lab, "y");
  EXPECT_EQ(types_of(lab.get(secrets(lab) + "?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dy").events()),
            std::vector<std::string>{"ADDED y"});
}
void w10(Lab& lab) {
  const auto from = version_of_list(lab);
  make(lab, "a");
  const auto first = lab.get(secrets(lab) + "?watch=true&timeoutSeconds=1&resourceVersion=" + from).events();
  ASSERT_EQ(types_of(first), std::vector<std::string>{"ADDED a"});
  make(lab, "b");
  const auto place = str(first.back(), {"object", "metadata", "resourceVersion"});
  EXPECT_EQ(types_of(lab.get(secrets(lab) + "?watch=true&timeoutSeconds=1&resourceVersion=" + place).events()),
            std::vector<std::string>{"ADDED b"});
}

}  // namespace

std::vector<Check> list_checks() {
  return {{"L01", "paging", l01},
          {"L02", "bad continue", l02},
          {"L03", "continue with resourceVersion", l03},
          {"L04", "match without version", l04},
          {"L05", "version 0", l05},
          {"L06", "future version", l06},
          {"L07", "empty list", l07},
          {"L08", "label selectors", l08},
          {"L09", "bad field selector", l09},
          {"L10", "field selector", l10},
          {"W01", "from a list's version", w01},
          {"W02", "initial events", w02},
          {"W03", "timeout", w03},
          {"W04", "bookmark", w04},
          {"W05", "selector transition", w05},
          {"W07", "streaming list", w07},
          {"W08", "missing match", w08},
          {"W09", "single object", w09},
          {"W10", "resume", w10}};
}

}  // namespace fleetadm::conformance
