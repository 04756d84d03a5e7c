// Reading and writing custom resources in versions that a webhook converts.
#include "kubeclient/base/encoding.h"
#include "tests/unit/core/sandbox/convert/conversion_lab.h"

namespace fleetadm::sandbox {
namespace {

using namespace std::chrono_literals;

TEST_F(ConversionLab, ReadsInEveryVersion) {
  made(link_v1("a", "one:80"));
  made(link_v1("b", "two:81"));
  EXPECT_TRUE(webhook_->reviews().empty()) << "the storage version needs no webhook";
  const Json one = expect(get(links("v2", "/a")), 200);
  EXPECT_EQ(str(one, {"apiVersion"}), "x.example.com/v2");
  EXPECT_EQ(object_at(one, {"spec"}), (Json{{"host", "one"}, {"port", "80"}, {"count", 2}}));
  ASSERT_EQ(webhook_->reviews().size(), 1U);
  const Json review = webhook_->reviews().front();
  EXPECT_EQ(str(review, {"apiVersion"}), "apiextensions.k8s.io/v1");
  EXPECT_EQ(str(review, {"request", "desiredAPIVersion"}), "x.example.com/v2");
  EXPECT_EQ(str(list_at(review, {"request", "objects"}).at(0), {"apiVersion"}), "x.example.com/v1");

  const Json list = expect(get(links("v2")), 200);
  ASSERT_EQ(list_at(list, {"items"}).size(), 2U);
  EXPECT_EQ(str(list_at(list, {"items"}).at(1), {"spec", "host"}), "two");
  EXPECT_EQ(str(list, {"apiVersion"}), "x.example.com/v2");
  EXPECT_EQ(webhook_->reviews().size(), 2U) << "a list is one review";

  const Json table = expect(send("GET", links("v2") + "?includeObject=None", nullptr, "application/json"),
                            200);  // Accept is */*: the list itself
  EXPECT_EQ(str(table, {"kind"}), "LinkList");
}

TEST_F(ConversionLab, StoresOneVersionWhateverIsWritten) {
  const Json reply = made(link_v2("a", "one", "80"));
  EXPECT_EQ(str(reply, {"apiVersion"}), "x.example.com/v2");
  EXPECT_EQ(str(reply, {"spec", "host"}), "one");
  ASSERT_TRUE(stored("a"));
  EXPECT_EQ(stored("a")->version, "v1");
  EXPECT_EQ(str(stored("a")->json(), {"spec", "address"}), "one:80");
  EXPECT_EQ(str(expect(get(links("v1", "/a")), 200), {"spec", "address"}), "one:80");

  Json next = reply;
  next["spec"]["port"] = "81";
  const Json put = expect(send("PUT", links("v2", "/a"), next), 200);
  EXPECT_EQ(str(put, {"spec", "port"}), "81");
  EXPECT_EQ(num(put, {"metadata", "generation"}), 2);
  expect(merge(links("v2", "/a"), {{"spec", {{"host", "two"}}}}), 200);
  EXPECT_EQ(str(stored("a")->json(), {"spec", "address"}), "two:81");
  const Json status = expect(merge(links("v2", "/a/status"), {{"status", {{"phase", "Up"}, {"replicas", 1}}}}), 200);
  EXPECT_EQ(str(status, {"spec", "host"}), "two");
  EXPECT_EQ(str(expect(get(links("v1", "/a")), 200), {"status", "phase"}), "Up");

  Json scale = expect(get(links("v2", "/a/scale")), 200);
  EXPECT_EQ(num(scale, {"spec", "replicas"}), 2);
  scale["spec"]["replicas"] = 5;
  expect(send("PUT", links("v2", "/a/scale"), scale), 200);
  EXPECT_EQ(num(stored("a")->json(), {"spec", "replicas"}), 5);
}

TEST_F(ConversionLab, ChecksWhatIsWrittenInItsOwnVersion) {
  const auto refused = send("POST", links("v2"), link_v2("a", "one", "http"));
  EXPECT_EQ(refused.status, 422) << dump_json(refused.body);
  EXPECT_NE(refused.message().find("spec.port"), std::string::npos);
  EXPECT_TRUE(webhook_->reviews().empty());
  // Unknown fields of a version are dropped before it is converted.
  Json odd = link_v2("a");
  odd["spec"]["address"] = "other:9";
  EXPECT_EQ(str(made(odd), {"spec", "host"}), "h");
  EXPECT_EQ(str(stored("a")->json(), {"spec", "address"}), "h:1");
}

TEST_F(ConversionLab, WritesNothingWhereNothingChanges) {
  const Json before = made(link_v2("a"));
  const Json after = expect(send("PUT", links("v2", "/a"), before), 200);
  EXPECT_EQ(resource_version_of(before), resource_version_of(after));
  const Json dry = expect(
      send("PATCH", links("v2", "/a") + "?dryRun=All", {{"spec", {{"host", "dry"}}}}, "application/merge-patch+json"), 200);
  EXPECT_EQ(str(dry, {"spec", "host"}), "dry");
  EXPECT_EQ(str(stored("a")->json(), {"spec", "address"}), "h:1");
}

TEST_F(ConversionLab, DeletesInEveryVersion) {
  made(link_v1("a"));
  Json held = link_v2("b");
  held["metadata"]["finalizers"] = {"example.com/hold"};
  made(held);
  expect(send("DELETE", links("v2", "/a")), 200);
  EXPECT_FALSE(stored("a"));
  const Json deleting = expect(send("DELETE", links("v2", "/b")), 200);
  EXPECT_EQ(str(deleting, {"spec", "host"}), "h");
  EXPECT_TRUE(is_deleting(deleting));
  EXPECT_EQ(stored("b")->version, "v1");
  expect(merge(links("v2", "/b"), {{"metadata", {{"finalizers", nullptr}}}}), 200);
  EXPECT_FALSE(stored("b"));
  made(link_v1("c", "one:1"));
  made(link_v1("d", "two:1"));
  const Json gone = expect(send("DELETE", links("v2")), 200);
  EXPECT_EQ(str(list_at(gone, {"items"}).at(1), {"spec", "host"}), "two");
  EXPECT_FALSE(stored("c"));
}

TEST_F(ConversionLab, PagesThroughConvertedLists) {
  for (const char* name : {"a", "b", "c"}) made(link_v1(name));
  const Json first = expect(get(links("v2") + "?limit=2"), 200);
  ASSERT_EQ(list_at(first, {"items"}).size(), 2U);
  EXPECT_EQ(list_at(webhook_->reviews().back(), {"request", "objects"}).size(), 2U) << "no more than the page";
  const Json rest = expect(get(links("v2") + "?limit=2&continue=" + str(first, {"metadata", "continue"})), 200);
  ASSERT_EQ(list_at(rest, {"items"}).size(), 1U);
  EXPECT_EQ(name_of(list_at(rest, {"items"}).at(0)), "c");
}

TEST_F(ConversionLab, TakesLabelsAndNothingElseOfMetadata) {
  const Json before = made(link_v1("a"));
  webhook_->set(Mood::kRelabels);
  const Json seen = expect(get(links("v2", "/a")), 200);
  EXPECT_EQ(label_of(seen, "via"), "webhook");
  EXPECT_EQ(resource_version_of(seen), resource_version_of(before));
  EXPECT_EQ(str(seen, {"metadata", "creationTimestamp"}), str(before, {"metadata", "creationTimestamp"}));
  EXPECT_TRUE(list_at(seen, {"metadata", "finalizers"}).empty());
  // Selections are of what is shown.
  EXPECT_EQ(list_at(expect(get(links("v2") + "?labelSelector=via%3Dwebhook"), 200), {"items"}).size(), 1U);
  EXPECT_EQ(list_at(expect(get(links("v1") + "?labelSelector=via%3Dwebhook"), 200), {"items"}).size(), 0U);
}

TEST_F(ConversionLab, SaysWhyItCannotConvert) {
  made(link_v1("a"));
  const struct {
    Mood mood;
    const char* words;
  } cases[] = {
      {Mood::kRefuses, " failed: not today"},
      {Mood::kBroken, " failed: an error on the server (\"it broke\") has prevented the request from succeeding"},
      {Mood::kNoJson, " failed: couldn't get version/kind; json parse error: "},
      {Mood::kTooFew, " returned 0 objects, expected 1"},
      {Mood::kOtherVersion,
       " returned invalid object at index 0: invalid groupVersion (expected x.example.com/v2, received x.example.com/v1)"},
      {Mood::kOtherName, " returned invalid object: must have the same name: a != other"},
      {Mood::kOtherUid, " failed: expected response.uid="},
      {Mood::kHuge, " failed: the response is longer than 3145728 bytes"},
      {Mood::kOddLabels, " returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"},
  };
  for (const auto& one : cases) {
    webhook_->set(one.mood);
    for (const auto& path : {links("v2", "/a"), links("v2")}) {
      const auto answer = get(path);
      EXPECT_EQ(answer.status, 500) << one.words;
      EXPECT_EQ(str(answer.body, {"reason"}), "");
      EXPECT_TRUE(answer.message().starts_with("conversion webhook for x.example.com/v1, Kind=Link" + std::string(one.words)))
          << answer.message();
    }
    EXPECT_EQ(get(links("v1", "/a")).status, 200);
  }
  webhook_->set(Mood::kRefuses);
  const auto refused = send("POST", links("v2"), link_v2("b"));
  EXPECT_EQ(refused.status, 500);
  EXPECT_EQ(refused.message(), "conversion webhook for x.example.com/v2, Kind=Link failed: not today");
  EXPECT_FALSE(stored("b"));
  EXPECT_EQ(send("DELETE", links("v2", "/a")).status, 500);
  EXPECT_TRUE(stored("a"));
  webhook_->set(Mood::kGood);
  EXPECT_EQ(get(links("v2", "/a")).status, 200);
}

TEST_F(ConversionLab, TrustsOnlyItsCa) {
  made(link_v1("a"));
  const auto call_with = [&](const Json& client) {
    expect(merge(kDefinitions + std::string("/links.x.example.com"),
                 {{"spec", {{"conversion", {{"webhook", {{"clientConfig", client}}}}}}}}),
           200);
    return get(links("v2", "/a"));
  };
  const auto other = pki::make_ca("other", 1h);
  ASSERT_TRUE(other);
  const auto stranger = call_with({{"caBundle", base64_encode(other->certificate)}});
  EXPECT_EQ(stranger.status, 500);
  EXPECT_NE(stranger.message().find("/convert?timeout=30s\": tls: failed to verify certificate: x509: certificate signed by "
                                    "unknown authority"),
            std::string::npos)
      << stranger.message();
  EXPECT_TRUE(webhook_->reviews().empty());
  const auto system = call_with({{"caBundle", nullptr}});
  EXPECT_EQ(system.status, 500) << "the system's roots did not sign it";
  // The certificate is for 127.0.0.1 and localhost, not for 127.0.0.2.
  const auto misnamed = call_with(
      {{"caBundle", webhook_->ca_bundle()}, {"url", "https://127.0.0.2:" + std::to_string(webhook_->port()) + "/convert"}});
  EXPECT_EQ(misnamed.status, 500);
  EXPECT_TRUE(webhook_->reviews().empty());
  const auto good = call_with({{"url", webhook_->url()}});
  EXPECT_EQ(good.status, 200) << good.message();
  const auto port = webhook_->port();
  webhook_.reset();
  const auto gone = get(links("v2", "/a"));
  EXPECT_EQ(gone.status, 500);
  EXPECT_NE(gone.message().find("dial tcp 127.0.0.1:" + std::to_string(port) + ": connect: connection refused"),
            std::string::npos)
      << gone.message();
}

TEST_F(ConversionLab, FindsTheBackendOfAService) {
  webhook_ = std::make_unique<testkit::ConversionWebhook>("hook.default.svc");
  expect(merge(kDefinitions + std::string("/links.x.example.com"),
               {{"spec",
                 {{"conversion",
                   {{"webhook",
                     {{"clientConfig",
                       {{"url", nullptr},
                        {"service", {{"name", "hook"}, {"namespace", "default"}, {"path", "/convert"}}},
                        {"caBundle", webhook_->ca_bundle()}}}}}}}}}}),
         200);
  EXPECT_EQ(num(get(kDefinitions + std::string("/links.x.example.com")).body,
                {"spec", "conversion", "webhook", "clientConfig", "service", "port"}),
            443);
  made(link_v1("a"));
  EXPECT_NE(get(links("v2", "/a")).message().find("service \"hook\" not found"), std::string::npos);
  const Json ports = Json::array({{{"name", "https"}, {"port", 443}}});
  expect(send("POST", "/api/v1/namespaces/default/services",
              {{"apiVersion", "v1"}, {"kind", "Service"}, {"metadata", {{"name", "hook"}}}, {"spec", {{"ports", ports}}}}),
         201);
  EXPECT_NE(get(links("v2", "/a")).message().find("no endpoints available for service \"hook\""), std::string::npos);
  expect(send("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
              {{"apiVersion", "discovery.k8s.io/v1"},
               {"kind", "EndpointSlice"},
               {"metadata", {{"name", "hook-1"}, {"labels", {{"kubernetes.io/service-name", "hook"}}}}},
               {"addressType", "IPv4"},
               {"ports", Json::array({{{"name", "https"}, {"port", webhook_->port()}}})},
               {"endpoints", Json::array({{{"addresses", {"127.0.0.1"}}}})}}),
         201);
  const auto found = get(links("v2", "/a"));
  EXPECT_EQ(found.status, 200) << found.message();
}

TEST_F(ConversionLab, FollowsTheStorageVersion) {
  made(link_v1("old"));
  const auto versions = [&](const char* storage) { return webhook_->definition("x.example.com", storage)["spec"]["versions"]; };
  expect(merge(kDefinitions + std::string("/links.x.example.com"), {{"spec", {{"versions", versions("v2")}}}}), 200);
  made(link_v1("new"));
  EXPECT_EQ(stored("old")->version, "v1");
  EXPECT_EQ(stored("new")->version, "v2");
  EXPECT_EQ(str(stored("new")->json(), {"spec", "host"}), "h");
  start();  // both are known again
  EXPECT_EQ(stored("old")->version, "v1");
  EXPECT_EQ(stored("new")->version, "v2");
  for (const char* version : {"v1", "v2"}) {
    const Json list = expect(get(links(version)), 200);
    ASSERT_EQ(list_at(list, {"items"}).size(), 2U);
    for (const Json& item : list_at(list, {"items"})) {
      EXPECT_EQ(str(item, {"apiVersion"}), std::string("x.example.com/") + version);
      EXPECT_EQ(str(item, {"spec", version == std::string("v1") ? "address" : "host"}),
                version == std::string("v1") ? "h:1" : "h");
    }
  }
  // A write that changes nothing moves the object to the new version.
  const Json before = expect(get(links("v2", "/old")), 200);
  const Json after = expect(send("PUT", links("v2", "/old"), before), 200);
  EXPECT_NE(resource_version_of(before), resource_version_of(after));
  EXPECT_EQ(stored("old")->version, "v2");
}

TEST_F(ConversionLab, ControllersNeedNoWebhook) {
  expect(send("POST", "/api/v1/namespaces", {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "n"}}}}), 201);
  Json inside = link_v1("a");
  const std::string path = "/apis/x.example.com/v1/namespaces/n/links";
  expect(send("POST", path, inside), 201);
  webhook_->set(Mood::kRefuses);
  expect(send("DELETE", "/api/v1/namespaces/n"), 200);
  for (int i = 0; i < 100 && get("/api/v1/namespaces/n").status != 404; ++i) std::this_thread::sleep_for(50ms);
  EXPECT_EQ(get("/api/v1/namespaces/n").status, 404);
}

TEST_F(ConversionLab, EndsWhileAWebhookHangs) {
  made(link_v1("a"));
  webhook_->set(Mood::kNever);
  auto waiting = std::async(std::launch::async, [this] { return get(links("v2", "/a")).status; });
  while (webhook_->reviews().empty()) std::this_thread::sleep_for(10ms);
  const auto began = std::chrono::steady_clock::now();
  cluster_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
  waiting.wait();
}

TEST_F(ConversionLab, OthersAreServedWhileAWebhookHangs) {
  made(link_v1("a"));
  EXPECT_EQ(get(links("v2", "/a")).status, 200);
  webhook_->set(Mood::kNever);
  std::vector<std::future<int>> waiting;  // more than there are workers
  for (int i = 0; i < 8; ++i) waiting.push_back(std::async(std::launch::async, [this] { return get(links("v2", "/a")).status; }));
  for (int i = 0; i < 300 && webhook_->reviews().size() < 9; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(webhook_->reviews().size(), 9U);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(get(links("v1", "/a")).status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);
  webhook_->set(Mood::kGood);
  for (auto& one : waiting) EXPECT_EQ(one.get(), 200);
}

TEST_F(ConversionLab, RefusesDefinitionsThatNameNoWebhook) {
  const auto cause = [&](const Json& conversion) {
    Json definition = webhook_->definition("y.example.com");
    definition["spec"]["conversion"] = conversion;
    const auto answer = send("POST", kDefinitions, definition);
    EXPECT_EQ(answer.status, 422) << dump_json(answer.body);
    const Json& causes = list_at(answer.body, {"details", "causes"});
    return causes.empty() ? std::string() : str(causes.at(0), {"field"});
  };
  const Json good = webhook_->conversion();
  const auto with_client = [&](const Json& client) {
    Json out = good;
    out["webhook"]["clientConfig"] = client;
    return out;
  };
  EXPECT_EQ(cause({{"strategy", "Magic"}}), "spec.conversion.strategy");
  EXPECT_EQ(cause({{"strategy", "Webhook"}}), "spec.conversion.webhookClientConfig");
  EXPECT_EQ(cause(with_client(Json::object())), "spec.conversion.webhookClientConfig");
  EXPECT_EQ(cause(with_client({{"url", "http://127.0.0.1/convert"}})), "spec.conversion.webhookClientConfig.url");
  EXPECT_EQ(cause(with_client({{"url", "https://me@127.0.0.1/convert"}})), "spec.conversion.webhookClientConfig.url");
  EXPECT_EQ(cause(with_client({{"url", "https://127.0.0.1/convert?a=b"}})), "spec.conversion.webhookClientConfig.url");
  EXPECT_EQ(cause(with_client({{"service", {{"name", "x"}}}})), "spec.conversion.webhookClientConfig.service.name");
  EXPECT_EQ(cause(with_client({{"service", {{"name", "x"}, {"namespace", "y"}, {"path", "no"}}}})),
            "spec.conversion.webhookClientConfig.service.path");
  Json reviews = good;
  reviews["webhook"]["conversionReviewVersions"] = {"v7"};
  EXPECT_EQ(cause(reviews), "spec.conversion.conversionReviewVersions");
  Json unused = good;
  unused["strategy"] = "None";
  EXPECT_EQ(cause(unused), "spec.conversion.webhookClientConfig");
}

TEST_F(ConversionLab, WaitsForACaBeforeItIsServed) {
  Json definition = webhook_->definition("y.example.com");
  Json& bundle = definition["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"];
  bundle = base64_encode("no certificate");
  const auto established = [](const Json& object) {
    for (const Json& one : list_at(object, {"status", "conditions"})) {
      if (str(one, {"type"}) == "Established") return str(one, {"status"}) + " " + str(one, {"reason"});
    }
    return std::string();
  };
  EXPECT_EQ(established(expect(send("POST", kDefinitions, definition), 201)), "False InvalidCABundle");
  const std::string objects = "/apis/y.example.com/v1/namespaces/default/links";
  EXPECT_EQ(get(objects).status, 404);
  const auto patch = [&](const std::string& text) {
    return merge(kDefinitions + std::string("/links.y.example.com"),
                 {{"spec", {{"conversion", {{"webhook", {{"clientConfig", {{"caBundle", text}}}}}}}}}});
  };
  EXPECT_EQ(established(expect(patch(webhook_->ca_bundle()), 200)), "True InitialNamesAccepted");
  EXPECT_EQ(get(objects).status, 200);
  const auto refused = patch(base64_encode("no certificate"));
  EXPECT_EQ(refused.status, 422);
  EXPECT_NE(refused.message().find("spec.conversion.webhookClientConfig.caBundle: Invalid value"), std::string::npos);
}

TEST_F(ConversionLab, OtherSchemaWithoutAWebhookDropsFields) {
  expect(merge(kDefinitions + std::string("/links.x.example.com"),
               {{"spec", {{"conversion", {{"strategy", "None"}, {"webhook", nullptr}}}}}}),
         200);
  Json object = link_v1("a");
  object["spec"]["note"] = "kept";
  made(object);
  const Json seen = expect(get(links("v2", "/a")), 200);
  EXPECT_EQ(object_at(seen, {"spec"}), (Json{{"note", "kept"}}));
  EXPECT_TRUE(webhook_->reviews().empty());
}

/// The fields below spec that a manager owns in a version; null where it has no entry there.
Json owned(const Json& object, const std::string& manager, const std::string& version) {
  for (const Json& entry : list_at(object, {"metadata", "managedFields"})) {
    if (str(entry, {"manager"}) == manager && str(entry, {"apiVersion"}).ends_with("/" + version))
      return object_at(entry, {"fieldsV1", "f:spec"});
  }
  return nullptr;
}

TEST_F(ConversionLab, ManagersOwnFieldsInTheirOwnVersion) {
  const auto apply = [&](const Json& object, const std::string& manager, bool force = false) {
    const auto version = str(object, {"apiVersion"});
    return send("PATCH",
                links(version.substr(version.rfind('/') + 1), "/a?fieldManager=" + manager + (force ? "&force=true" : "")),
                object, "application/apply-patch+yaml");
  };
  const Json none = Json::object();
  Json first = link_v1("a", "one:1");
  first["spec"]["note"] = "mine";
  expect(apply(first, "first"), 201);
  const auto taken = apply(link_v2("a", "two"), "second");
  EXPECT_EQ(taken.status, 409);
  EXPECT_NE(dump_json(taken.body).find("\".spec.address\""), std::string::npos) << dump_json(taken.body);
  const Json forced = expect(apply(link_v2("a", "two"), "second", true), 200);
  EXPECT_EQ(owned(forced, "first", "v1"), (Json{{"f:note", none}, {"f:replicas", none}}));
  EXPECT_EQ(owned(forced, "second", "v2"), (Json{{"f:count", none}, {"f:host", none}, {"f:port", none}}));
  // Who goes on in the other version owns the same there, and what is left out goes.
  const Json moved = expect(apply(link_v2("a", "two"), "first"), 200);
  EXPECT_EQ(object_at(moved, {"spec"}), (Json{{"host", "two"}, {"port", "1"}, {"count", 2}}));
  EXPECT_TRUE(owned(moved, "first", "v1").is_null());
  EXPECT_EQ(owned(moved, "first", "v2"), (Json{{"f:count", none}, {"f:host", none}, {"f:port", none}}));
  // What "first" no longer wants stays where "second" does.
  Json less = link_v1("a", "two:1");
  less["spec"].erase("replicas");
  const Json left = expect(apply(less, "first"), 200);
  EXPECT_EQ(str(left, {"spec", "address"}), "two:1");
  EXPECT_EQ(num(left, {"spec", "replicas"}), 2);
}

TEST_F(ConversionLab, OldReviewsToo) {
  expect(merge(kDefinitions + std::string("/links.x.example.com"),
               {{"spec", {{"conversion", {{"webhook", {{"conversionReviewVersions", {"v9", "v1beta1"}}}}}}}}}),
         200);
  made(link_v1("a"));
  webhook_->set(Mood::kOtherUid);  // which that version never asked about
  EXPECT_EQ(str(expect(get(links("v2", "/a")), 200), {"spec", "host"}), "h");
  EXPECT_EQ(str(webhook_->reviews().front(), {"apiVersion"}), "apiextensions.k8s.io/v1beta1");
}

}  // namespace
}  // namespace fleetadm::sandbox
