// K: custom resources in versions that a webhook converts. The webhook runs in the test's process.
#include <future>
#include <gtest/gtest.h>
#include <thread>

#include "kubeclient/base/encoding.h"
#include "tests/conformance/lab.h"
#include "tests/support/conversion_webhook.h"

namespace fleetadm::conformance {
namespace {

using Webhook = testkit::ConversionWebhook;
using Mood = Webhook::Mood;

const std::string kLinkDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A definition of its own, its webhook, and its objects.
class Links {
 public:
  explicit Links(Lab& lab, const std::function<void(Json& definition)>& change = {})
      : lab_(lab), group_(lab.ns() + ".example.com") {
    Json definition = hook_.definition(group_);
    if (change) change(definition);
    expect(lab_.post(kLinkDefinitions, definition), 201);
    EXPECT_TRUE(served());
  }
  ~Links() {
    hook_.set(Mood::kGood);  // what is left must be convertible to go
    lab_.remove(definition());
  }
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  Webhook& hook() { return hook_; }
  const std::string& group() const { return group_; }
  std::string definition() const { return kLinkDefinitions + "/links." + group_; }
  std::string at(const std::string& version, const std::string& rest = {}) const {
    return "/apis/" + group_ + "/" + version + "/namespaces/" + lab_.ns() + "/links" + rest;
  }
  Json v1(const std::string& name, const std::string& address = "h:1") const {
    return {{"apiVersion", group_ + "/v1"},
            {"kind", "Link"},
            {"metadata", {{"name", name}}},
            {"spec", {{"address", address}, {"replicas", 2}}}};
  }
  Json v2(const std::string& name, const std::string& host = "h", const std::string& port = "1") const {
    return {{"apiVersion", group_ + "/v2"},
            {"kind", "Link"},
            {"metadata", {{"name", name}}},
            {"spec", {{"host", host}, {"port", port}, {"count", 2}}}};
  }
  Json made(const Json& object) const {
    const auto version = str(object, {"apiVersion"});
    const auto answer = lab_.post(at(version.substr(version.rfind('/') + 1)), object);
    expect(answer, 201);
    return answer.json();
  }
  /// "conversion webhook for …/v1, Kind=Link"
  std::string subject(const std::string& version) const {
    return "conversion webhook for " + group_ + "/" + version + ", Kind=Link";
  }
  /// A real server serves a definition, and what changes of it, some moments later.
  bool served() const {
    return lab_.eventually([&] {
      return lab_.send({.method = "POST", .path = at("v2") + "?dryRun=All", .body = dump_json(v2("probe"))}).status == 201;
    });
  }
  std::future<std::vector<Json>> watch(const std::string& rest, int seconds) const {
    const auto path =
        rest + (rest.find('?') == std::string::npos ? "?" : "&") + "watch=1&timeoutSeconds=" + std::to_string(seconds);
    return std::async(std::launch::async, [lab = &lab_, path] { return lab->get(path).events(); });
  }

 private:
  Lab& lab_;
  std::string group_;
  Webhook hook_;
};

void k01(Lab& lab) {
  Links links(lab);
  const Json made = links.made(links.v1("a", "one:80"));
  const auto answer = lab.get(links.at("v2", "/a"));
  expect(answer, 200);
  const Json seen = answer.json();
  EXPECT_EQ(str(seen, {"apiVersion"}), links.group() + "/v2");
  EXPECT_EQ(object_at(seen, {"spec"}), (Json{{"host", "one"}, {"port", "80"}, {"count", 2}}));
  EXPECT_EQ(resource_version_of(seen), resource_version_of(made));
  EXPECT_EQ(object_at(seen, {"metadata"}), object_at(made, {"metadata"}));
}
void k02(Lab& lab) {
  Links links(lab);
  links.made(links.v1("a", "one:80"));
  links.made(links.v2("b", "two", "81"));
  const Json list = lab.get(links.at("v2")).json();
  EXPECT_EQ(str(list, {"apiVersion"}), links.group() + "/v2");
  ASSERT_EQ(list_at(list, {"items"}).size(), 2U) << dump_json(list);
  EXPECT_EQ(str(list_at(list, {"items"})[0], {"spec", "host"}), "one");
  EXPECT_EQ(str(list_at(list, {"items"})[1], {"spec", "host"}), "two");
  const Json table = lab.get(links.at("v2"), kTable).json();
  ASSERT_EQ(list_at(table, {"rows"}).size(), 2U) << dump_json(table);
  EXPECT_EQ(list_at(list_at(table, {"rows"})[0], {"cells"}), (Json{"a", "one"}));
  const Json page = lab.get(links.at("v2") + "?limit=1").json();
  ASSERT_EQ(list_at(page, {"items"}).size(), 1U);
  EXPECT_EQ(str(list_at(page, {"items"})[0], {"spec", "host"}), "one");
  EXPECT_FALSE(str(page, {"metadata", "continue"}).empty());
}
void k03(Lab& lab) {
  Links links(lab);
  Json object = links.made(links.v2("a", "one", "80"));
  EXPECT_EQ(str(object, {"spec", "host"}), "one");
  EXPECT_EQ(str(lab.get(links.at("v1", "/a")).json(), {"spec", "address"}), "one:80");
  object["spec"]["port"] = "81";
  auto answer = lab.put(links.at("v2", "/a"), object);
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"spec", "port"}), "81");
  EXPECT_EQ(num(answer.json(), {"metadata", "generation"}), 2);
  EXPECT_EQ(str(lab.get(links.at("v1", "/a")).json(), {"spec", "address"}), "one:81");
  answer = lab.merge(links.at("v2", "/a"), {{"spec", {{"host", "two"}}}});
  expect(answer, 200);
  EXPECT_EQ(str(lab.get(links.at("v1", "/a")).json(), {"spec", "address"}), "two:81");
  answer = lab.patch(links.at("v2", "/a"), "application/json-patch+json", R"([{"op":"replace","path":"/spec/count","value":3}])");
  expect(answer, 200);
  EXPECT_EQ(num(lab.get(links.at("v1", "/a")).json(), {"spec", "replicas"}), 3);
  answer = lab.apply(links.at("v2", "/b"), links.v2("b", "three", "82"), "me");
  expect(answer, 201);
  EXPECT_EQ(str(answer.json(), {"spec", "host"}), "three");
  EXPECT_EQ(str(lab.get(links.at("v1", "/b")).json(), {"spec", "address"}), "three:82");
}
void k04(Lab& lab) {
  Links links(lab);
  links.made(links.v1("a", "one:1"));
  auto answer = lab.merge(links.at("v2", "/a/status"), {{"status", {{"phase", "Up"}, {"replicas", 1}}}});
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"spec", "host"}), "one");
  EXPECT_EQ(str(lab.get(links.at("v1", "/a")).json(), {"status", "phase"}), "Up");
  answer = lab.get(links.at("v2", "/a/scale"));
  expect(answer, 200);
  Json scale = answer.json();
  EXPECT_EQ(num(scale, {"spec", "replicas"}), 2);
  EXPECT_EQ(num(scale, {"status", "replicas"}), 1);
  scale["spec"]["replicas"] = 5;
  expect(lab.put(links.at("v2", "/a/scale"), scale), 200);
  EXPECT_EQ(num(lab.get(links.at("v1", "/a")).json(), {"spec", "replicas"}), 5);
  EXPECT_EQ(num(lab.get(links.at("v2", "/a")).json(), {"spec", "count"}), 5);
}
void k05(Lab& lab) {
  Links links(lab);
  const auto answer = lab.post(links.at("v2"), links.v2("a", "one", "http"));
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(has_cause(answer, "spec.port"));
  // What the version does not know is gone before it is converted.
  Json odd = links.v2("a");
  odd["spec"]["address"] = "other:9";
  links.made(odd);
  EXPECT_EQ(str(lab.get(links.at("v1", "/a")).json(), {"spec", "address"}), "h:1");
}
void k06(Lab& lab) {
  Links links(lab);
  const Json before = links.made(links.v2("a"));
  auto answer = lab.put(links.at("v2", "/a"), before);
  expect(answer, 200);
  EXPECT_EQ(resource_version_of(answer.json()), resource_version_of(before));
  answer = lab.send({.method = "PATCH",
                     .path = links.at("v2", "/a") + "?dryRun=All",
                     .body = R"({"spec":{"host":"dry"}})",
                     .content_type = "application/merge-patch+json"});
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"spec", "host"}), "dry");
  EXPECT_EQ(str(lab.get(links.at("v1", "/a")).json(), {"spec", "address"}), "h:1");
}
void k07(Lab& lab) {
  Links links(lab);
  links.made(links.v1("a", "one:1"));
  auto events = links.watch(links.at("v2"), 5);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  links.made(links.v2("b", "two"));
  expect(lab.merge(links.at("v1", "/a"), {{"spec", {{"address", "three:1"}}}}), 200);
  expect(lab.remove(links.at("v1", "/b")), 200);
  std::vector<std::string> seen;
  for (const Json& event : events.get()) {
    const Json& object = object_at(event, {"object"});
    EXPECT_EQ(str(object, {"apiVersion"}), links.group() + "/v2");
    seen.push_back(str(event, {"type"}) + " " + name_of(object) + " " + str(object, {"spec", "host"}));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"ADDED a one", "ADDED b two", "MODIFIED a three", "DELETED b two"}));
}
void k08(Lab& lab) {
  Links links(lab);
  links.made(links.v1("a"));
  const struct {
    Mood mood;
    std::string words;
  } cases[] = {
      {Mood::kRefuses, " failed: not today"},
      {Mood::kBroken, " failed: an error on the server (\"it broke\") has prevented the request from succeeding"},
      {Mood::kNoJson, " failed: "},
      {Mood::kTooFew, " returned 0 objects, expected 1"},
      {Mood::kOtherVersion, " returned invalid object at index 0: invalid groupVersion (expected " + links.group() +
                                "/v2, received " + links.group() + "/v1)"},
      {Mood::kOtherName, " returned invalid object: must have the same name: a != other"},
      {Mood::kOtherUid, " failed: expected response.uid="},
      {Mood::kOddLabels, " returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"},
  };
  for (const auto& one : cases) {
    links.hook().set(one.mood);
    const auto answer = lab.get(links.at("v2", "/a"));
    expect(answer, 500);
    EXPECT_EQ(answer.reason(), "");
    EXPECT_TRUE(answer.message().starts_with(links.subject("v1") + one.words)) << answer.message();
    expect(lab.get(links.at("v1", "/a")), 200);
  }
}
void k09(Lab& lab) {
  Links links(lab);
  links.made(links.v1("a"));
  links.hook().set(Mood::kRefuses);
  const auto created = lab.post(links.at("v2"), links.v2("b"));
  expect(created, 500);
  EXPECT_EQ(created.message(), links.subject("v2") + " failed: not today");
  const auto patched = lab.merge(links.at("v2", "/a"), {{"spec", {{"host", "x"}}}});
  expect(patched, 500);
  // Which of the two conversions fails first depends on what a real server has in its cache.
  EXPECT_TRUE(patched.message().starts_with("conversion webhook for " + links.group()) &&
              patched.message().ends_with(", Kind=Link failed: not today"))
      << patched.message();
  expect(lab.remove(links.at("v2", "/a")), 500);
  expect(lab.get(links.at("v1", "/a")), 200);
  expect(lab.get(links.at("v1", "/b")), 404);
  expect(lab.remove(links.at("v1", "/a")), 200);
}
void k10(Lab& lab) {
  Links links(lab);
  auto events = links.watch(links.at("v2"), 10);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  links.made(links.v1("a", "one:1"));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  links.hook().set(Mood::kRefuses);
  links.made(links.v1("b", "two:1"));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  links.hook().set(Mood::kGood);
  links.made(links.v1("c", "three:1"));
  // What could not be converted at first is late, and not lost.
  std::vector<std::string> seen;
  for (const Json& event : events.get()) seen.push_back(str(event, {"type"}) + " " + str(event, {"object", "spec", "host"}));
  EXPECT_EQ(seen, (std::vector<std::string>{"ADDED one", "ADDED two", "ADDED three"}));
}
void k11(Lab& lab) {
  Links links(lab);
  const Json before = links.made(links.v1("a"));
  links.hook().set(Mood::kRelabels);
  const Json seen = lab.get(links.at("v2", "/a")).json();
  EXPECT_EQ(label_of(seen, "via"), "webhook");
  EXPECT_EQ(resource_version_of(seen), resource_version_of(before));
  EXPECT_EQ(str(seen, {"metadata", "creationTimestamp"}), str(before, {"metadata", "creationTimestamp"}));
  EXPECT_TRUE(list_at(seen, {"metadata", "finalizers"}).empty());
}
void k12(Lab& lab) {
  Links links(lab);
  links.made(links.v1("old"));
  const Json other = links.hook().definition(links.group(), "v2");
  expect(lab.merge(links.definition(), {{"spec", {{"versions", list_at(other, {"spec", "versions"})}}}}), 200);
  EXPECT_EQ(string_list_at(lab.get(links.definition()).json(), {"status", "storedVersions"}),
            (std::vector<std::string>{"v1", "v2"}));
  std::this_thread::sleep_for(std::chrono::seconds(2));  // until the former handlers are gone
  EXPECT_TRUE(links.served());
  links.made(links.v1("new", "two:2"));
  for (const auto* version : {"v1", "v2"}) {
    const bool first = version == std::string("v1");
    const Json old_one = lab.get(links.at(version, "/old")).json();
    EXPECT_EQ(str(old_one, {"apiVersion"}), links.group() + "/" + version);
    EXPECT_EQ(str(old_one, {"spec", first ? "address" : "host"}), first ? "h:1" : "h") << dump_json(old_one);
    const Json new_one = lab.get(links.at(version, "/new")).json();
    EXPECT_EQ(str(new_one, {"spec", first ? "address" : "host"}), first ? "two:2" : "two") << dump_json(new_one);
  }
  // A write that changes nothing is one all the same: it moves the object to the new version. The second is none.
  const Json before = lab.get(links.at("v1", "/old")).json();
  const auto moved = lab.put(links.at("v1", "/old"), before);
  expect(moved, 200);
  EXPECT_NE(resource_version_of(moved.json()), resource_version_of(before));
  const auto again = lab.put(links.at("v1", "/old"), moved.json());
  expect(again, 200);
  EXPECT_EQ(resource_version_of(again.json()), resource_version_of(moved.json()));
  // Where it is stored in now, no webhook is needed.
  links.hook().set(Mood::kRefuses);
  expect(lab.get(links.at("v2", "/old")), 200);
  expect(lab.get(links.at("v1", "/old")), 500);
}
void k13(Lab& lab) {
  Links links(lab);
  Json held = links.v2("a");
  held["metadata"]["finalizers"] = {"example.com/hold"};
  links.made(held);
  auto answer = lab.remove(links.at("v2", "/a"));
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"spec", "host"}), "h");
  EXPECT_TRUE(is_deleting(answer.json()));
  expect(lab.merge(links.at("v2", "/a"), {{"metadata", {{"finalizers", nullptr}}}}), 200);
  expect(lab.get(links.at("v1", "/a")), 404);
  links.made(links.v1("b", "one:1"));
  links.made(links.v1("c", "two:1"));
  expect(lab.remove(links.at("v2")), 200);
  EXPECT_TRUE(list_at(lab.get(links.at("v1")).json(), {"items"}).empty());
}
void k14(Lab& lab) {
  Links links(lab, [](Json& definition) { definition["spec"]["conversion"] = {{"strategy", "None"}}; });
  Json object = links.v1("a");
  object["spec"]["note"] = "kept";
  links.made(object);
  EXPECT_EQ(object_at(lab.get(links.at("v2", "/a")).json(), {"spec"}), (Json{{"note", "kept"}}));
  EXPECT_TRUE(links.hook().reviews().empty());
}
void k15(Lab& lab) {
  const auto other = pki::make_ca("somebody else", std::chrono::hours(1));
  ASSERT_TRUE(other);
  Webhook hook;
  Json definition = hook.definition(lab.ns() + ".example.com");
  const auto path = kLinkDefinitions + "/" + name_of(definition);
  const auto objects = "/apis/" + lab.ns() + ".example.com/v1/namespaces/" + lab.ns() + "/links";
  definition["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = base64_encode(other->certificate);
  expect(lab.post(kLinkDefinitions, definition), 201);
  const Json object = {{"apiVersion", lab.ns() + ".example.com/v1"}, {"kind", "Link"}, {"metadata", {{"name", "a"}}}};
  EXPECT_TRUE(lab.eventually([&] { return lab.post(objects, object).status == 201; }));
  const auto in_v2 = "/apis/" + lab.ns() + ".example.com/v2/namespaces/" + lab.ns() + "/links/a";
  const auto untrusted = lab.get(in_v2);
  expect(untrusted, 500);
  EXPECT_EQ(untrusted.message().find("conversion webhook for " + lab.ns() + ".example.com/v1, Kind=Link failed: Post \"" +
                                     hook.url() + "?timeout=30s\": tls: failed to verify certificate: x509: "),
            0U)
      << untrusted.message();
  EXPECT_TRUE(hook.reviews().empty());
  // A service that is not there.
  expect(
      lab.merge(path,
                {{"spec",
                  {{"conversion",
                    {{"webhook",
                      {{"clientConfig", {{"url", nullptr}, {"service", {{"namespace", lab.ns()}, {"name", "nobody"}}}}}}}}}}}}),
      200);
  EXPECT_TRUE(lab.eventually([&] {
    const auto answer = lab.get(in_v2);
    return answer.status == 500 &&
           answer.message().find("Post \"https://nobody." + lab.ns() + ".svc:443/?timeout=30s\"") != std::string::npos;
  }));
  EXPECT_NE(lab.get(in_v2).message().find("service \"nobody\" not found"), std::string::npos) << lab.get(in_v2).message();
  lab.remove(objects + "/a");
  lab.remove(path);
}
void k16(Lab& lab) {
  Webhook hook;
  const Json good = hook.conversion();
  const auto refused = [&](const Json& conversion, const std::string& field) {
    Json definition = hook.definition(lab.ns() + ".example.com");
    definition["spec"]["conversion"] = conversion;
    const auto answer = lab.post(kLinkDefinitions, definition);
    expect(answer, 422, "Invalid");
    EXPECT_TRUE(has_cause(answer, field)) << field << " " << answer.body;
  };
  const auto client = [&](const Json& config) {
    Json out = good;
    out["webhook"]["clientConfig"] = config;
    return out;
  };
  const std::string at = "spec.conversion.webhookClientConfig";
  refused({{"strategy", "Magic"}}, "spec.conversion.strategy");
  refused({{"strategy", "Webhook"}, {"webhook", {{"conversionReviewVersions", {"v1"}}}}}, at);
  refused(client(Json::object()), at);
  refused(client({{"url", "http://127.0.0.1/convert"}}), at + ".url");
  refused(client({{"url", "https://me@127.0.0.1/convert"}}), at + ".url");
  refused(client({{"url", "https://127.0.0.1/convert?a=b"}}), at + ".url");
  refused(client({{"service", {{"name", "x"}, {"namespace", ""}}}}), at + ".service.name");  // sic
  refused(client({{"service", {{"name", "x"}, {"namespace", "y"}, {"path", "no"}}}}), at + ".service.path");
  refused(client({{"service", {{"name", "x"}, {"namespace", "y"}, {"port", 70000}}}}), at + ".service.port");
  Json reviews = good;
  reviews["webhook"]["conversionReviewVersions"] = {"v7"};
  refused(reviews, "spec.conversion.conversionReviewVersions");
  Json unused = good;
  unused["strategy"] = "None";
  refused(unused, at);
}

void k19(Lab& lab) {
  Webhook hook;
  Json definition = hook.definition(lab.ns() + ".example.com");
  const auto path = kLinkDefinitions + "/" + name_of(definition);
  definition["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = base64_encode("no certificate");
  expect(lab.post(kLinkDefinitions, definition), 201);
  const auto established = [&] {
    for (const Json& one : list_at(lab.get(path).json(), {"status", "conditions"})) {
      if (str(one, {"type"}) == "Established") return str(one, {"status"}) + " " + str(one, {"reason"});
    }
    return std::string();
  };
  const auto patch = [&](const std::string& text) {
    return lab.merge(path, {{"spec", {{"conversion", {{"webhook", {{"clientConfig", {{"caBundle", text}}}}}}}}}});
  };
  EXPECT_TRUE(lab.eventually([&] { return established() == "False InvalidCABundle"; })) << established();
  expect(patch(hook.ca_bundle()), 200);
  EXPECT_TRUE(lab.eventually([&] { return established() == "True InitialNamesAccepted"; })) << established();
  const auto refused = patch(base64_encode("no certificate"));
  expect(refused, 422, "Invalid");
  EXPECT_TRUE(has_cause(refused, "spec.conversion.webhookClientConfig.caBundle")) << refused.body;
  lab.remove(path);
}

/// The paths that a manager's entry of managedFields has in an apiVersion; null where there is none.
Json owned(const Json& object, const std::string& manager, const std::string& version) {
  for (const Json& entry : list_at(object, {"metadata", "managedFields"})) {
    if (str(entry, {"manager"}) == manager && str(entry, {"apiVersion"}).ends_with("/" + version))
      return object_at(entry, {"fieldsV1", "f:spec"});
  }
  return nullptr;
}
void k17(Lab& lab) {
  Links links(lab);
  expect(lab.apply(links.at("v1", "/a"), links.v1("a", "one:1"), "first"), 201);
  // Another manager wants other values of the same fields, which have other names in its version.
  const auto taken = lab.apply(links.at("v2", "/a"), links.v2("a", "two", "1"), "second");
  expect(taken, 409, "Conflict");
  EXPECT_TRUE(has_cause(taken, ".spec.address")) << taken.body;
  const auto forced = lab.apply(links.at("v2", "/a"), links.v2("a", "two", "1"), "second", true);
  expect(forced, 200);
  EXPECT_EQ(owned(forced.json(), "first", "v1"), (Json{{"f:replicas", Json::object()}})) << forced.body;
  EXPECT_EQ(owned(forced.json(), "second", "v2"),
            (Json{{"f:count", Json::object()}, {"f:host", Json::object()}, {"f:port", Json::object()}}))
      << forced.body;
  // An update through the other version takes its fields in theirs.
  const auto updated = lab.send({.method = "PATCH",
                                 .path = links.at("v1", "/a") + "?fieldManager=third",
                                 .body = R"({"spec":{"address":"three:1"}})",
                                 .content_type = "application/merge-patch+json"});
  expect(updated, 200);
  EXPECT_EQ(owned(updated.json(), "third", "v1"), (Json{{"f:address", Json::object()}})) << updated.body;
  EXPECT_EQ(owned(updated.json(), "second", "v2"), (Json{{"f:count", Json::object()}, {"f:port", Json::object()}}))
      << updated.body;
}
void k18(Lab& lab) {
  Links links(lab);
  // A manager that goes on in the other version owns the same, and what it leaves out there goes.
  Json first = links.v1("a", "one:1");
  first["spec"]["note"] = "mine";
  expect(lab.apply(links.at("v1", "/a"), first, "me"), 201);
  const auto moved = lab.apply(links.at("v2", "/a"), links.v2("a", "one", "1"), "me");
  expect(moved, 200);
  EXPECT_EQ(object_at(moved.json(), {"spec"}), (Json{{"host", "one"}, {"port", "1"}, {"count", 2}})) << moved.body;
  EXPECT_TRUE(owned(moved.json(), "me", "v1").is_null()) << moved.body;
  EXPECT_EQ(owned(moved.json(), "me", "v2"),
            (Json{{"f:count", Json::object()}, {"f:host", Json::object()}, {"f:port", Json::object()}}))
      << moved.body;
}

}  // namespace

std::vector<Check> conversion_checks() {
  return {{"K01", "get in another version", k01},
          {"K02", "list, table and page in another version", k02},
          {"K03", "writes in another version", k03},
          {"K04", "subresources in another version", k04},
          {"K05", "an object is checked in its own version", k05},
          {"K06", "no write where nothing changes", k06},
          {"K07", "watch in another version", k07},
          {"K08", "answers that are not believed", k08},
          {"K09", "writes with a webhook that fails", k09},
          {"K10", "a watch with a webhook that fails", k10},
          {"K11", "metadata that a webhook changes", k11},
          {"K12", "another storage version", k12},
          {"K13", "deletion in another version", k13},
          {"K14", "no webhook, other fields", k14},
          {"K15", "webhooks that are not reached", k15},
          {"K16", "definitions that are refused", k16},
          {"K17", "managers in two versions", k17},
          {"K18", "a manager that changes its version", k18},
          {"K19", "a CA that is none", k19}};
}

}  // namespace fleetadm::conformance
