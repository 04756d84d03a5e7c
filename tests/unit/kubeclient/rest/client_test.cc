// Client on the fake server: verbs, pages, retries, the write gate and its dry runs.
#include "kubeclient/rest/client.h"

#include <gtest/gtest.h>
#include <thread>

#include "kubeclient/transport/answer_limit.h"
#include "tests/support/fake_api.h"

namespace fleetadm::kube {
namespace {

using testkit::FakeApi;

Json config_map(std::string_view ns, std::string_view name, Json data = Json::object()) {
  return Json{
      {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", name}, {"namespace", ns}}}, {"data", std::move(data)}};
}

class ClientTest : public testing::Test {
 protected:
  std::shared_ptr<FakeApi> api = FakeApi::make();
  std::shared_ptr<WriteGate> gate = std::make_shared<WriteGate>();
  Client client = api->client(gate);
};

TEST_F(ClientTest, CreatesReadsUpdatesAndDeletes) {
  const auto created = client.create(resources::config_maps(), "a", config_map("a", "x", {{"k", "1"}}));
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_FALSE(uid_of(*created).empty());
  Json changed = *created;
  changed["data"]["k"] = "2";
  const auto updated = client.update(resources::config_maps(), changed);
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_NE(resource_version_of(*updated), resource_version_of(*created));
  const auto stale = client.update(resources::config_maps(), changed);
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().category, Category::kConflict);
  EXPECT_EQ(stale.error().reason, "Conflict");
  EXPECT_EQ(stale.error().cluster, "fake");
  ASSERT_TRUE(client.remove(resources::config_maps(), "a", "x"));
  const auto gone = client.find(resources::config_maps(), "a", "x");
  ASSERT_TRUE(gone);
  EXPECT_FALSE(gone->has_value());
  for (const auto& call : api->writes()) {
    EXPECT_EQ(call.param("fieldManager"), call.verb == "delete" ? "" : "fleetadm") << call.verb;
  }
}

TEST_F(ClientTest, AnUnknownPathIsNotAnAbsentObject) {
  Response lost;
  lost.status = 404;
  lost.body = "404 page not found\n";
  lost.headers["content-type"] = "text/plain";
  api->route("/apis/nope.example.com/v1/things/x", lost);
  const auto found = client.find({"nope.example.com", "v1", "things", "Thing", false}, "", "x");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().reason, kUnknownPath);
}

TEST_F(ClientTest, NamesThatWouldChangeThePathAreRefused) {
  for (const auto* name : {"", ".", "..", "a/b", "a%2fb"}) {
    const auto removed = client.remove(resources::config_maps(), "a", name);
    ASSERT_FALSE(removed) << name;
    EXPECT_EQ(removed.error().category, Category::kUsage);
  }
  EXPECT_FALSE(client.remove(resources::config_maps(), "", "x"));
  EXPECT_TRUE(api->calls().empty());
}

TEST_F(ClientTest, ListFollowsPagesAndRestartsOnceWhenTheyExpire) {
  for (int i = 0; i < 7; ++i) api->put(resources::config_maps(), config_map("a", "x" + std::to_string(i)));
  ListOptions options;
  options.limit = 3;
  auto all = client.list(resources::config_maps(), "a", options);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(list_at(*all, {"items"}).size(), 7U);
  EXPECT_EQ(api->count("list"), 3);
  EXPECT_EQ(str(list_at(*all, {"items"}).front(), {"kind"}), "ConfigMap");

  int lists = 0;
  api->forget_calls();
  api->on_request([&](const testkit::ApiCall& call) -> std::optional<Response> {
    if (call.verb == "list" && ++lists == 2) api->expire_history();
    return std::nullopt;
  });
  all = client.list(resources::config_maps(), "a", options);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(list_at(*all, {"items"}).size(), 7U);
  EXPECT_EQ(api->count("list"), 3);  // page, expired page, everything
}

TEST_F(ClientTest, AListThatNeverEndsIsNotFollowedForEver) {
  int pages = 0;
  std::function<std::string()> token = [] { return "same"; };
  api->on_request([&](const testkit::ApiCall& call) -> std::optional<Response> {
    if (call.verb != "list") return std::nullopt;
    ++pages;
    Response page;
    page.status = 200;
    page.body = dump_json({{"kind", "ConfigMapList"},
                           {"apiVersion", "v1"},
                           {"metadata", {{"continue", token()}}},
                           {"items", Json::array({config_map("a", "x")})}});
    return page;
  });
  const auto hurried = client.with_timeout(std::chrono::milliseconds(300));
  const auto lists = [&](const Client& of) {
    return std::vector<Error>{
        of.list(resources::config_maps(), "a").error(),
        of.list_each(resources::config_maps(), "a", {}, [](Json&&) -> Status { return {}; }).error(),
        of.list_pages(resources::config_maps(), "a", {}, [](const Json&) -> Status { return {}; }).error(),
    };
  };
  for (const auto& error : lists(client)) EXPECT_EQ(error.category, Category::kInvalid) << error.message;
  EXPECT_EQ(pages, 6);
  token = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::to_string(pages);
  };
  const auto begun = std::chrono::steady_clock::now();
  for (const auto& error : lists(hurried)) EXPECT_EQ(error.category, Category::kTimeout) << error.message;
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

TEST_F(ClientTest, APageThatIsTooLongIsAskedForInSmallerOnes) {
  /// Refuses pages of more than ten objects.
  class Narrow final : public Transport {
   public:
    explicit Narrow(std::shared_ptr<Transport> to) : to_(std::move(to)) {}
    Result<Response> call(const Request& request) override {
      for (const auto& [key, value] : request.query) {
        if (key != "limit" || std::stoi(value) <= 10) continue;
        Error error = fail(Category::kInvalid, "too long").value();
        error.reason = kAnswerTooLong;
        return fail(std::move(error));
      }
      return to_->call(request);
    }
    std::unique_ptr<StreamHandle> stream(const Request& request, std::shared_ptr<StreamSink> sink) override {
      return to_->stream(request, std::move(sink));
    }

   private:
    std::shared_ptr<Transport> to_;
  };
  for (int i = 0; i < 23; ++i) api->put(resources::config_maps(), config_map("a", "x" + std::to_string(i)));
  const Client narrow(std::make_shared<Narrow>(client.transport()), gate, "fake");
  const auto all = narrow.list(resources::config_maps(), "a");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(list_at(*all, {"items"}).size(), 23U);
}

TEST_F(ClientTest, ListEachHandsObjectsOverInOneRequestAndFollowsPagesWhereAsked) {
  for (int i = 0; i < 7; ++i) api->put(resources::config_maps(), config_map("a", "x" + std::to_string(i)));
  std::vector<std::string> names;
  const auto take = [&](const Json& object) -> Status {
    EXPECT_EQ(str(object, {"kind"}), "ConfigMap");
    names.push_back(name_of(object));
    return {};
  };
  ASSERT_TRUE(client.list_each(resources::config_maps(), "a", {}, take));
  EXPECT_EQ(names, (std::vector<std::string>{"x0", "x1", "x2", "x3", "x4", "x5", "x6"}));
  EXPECT_EQ(api->count("list"), 1);
  names.clear();
  ListOptions options;
  options.limit = 3;
  ASSERT_TRUE(client.list_each(resources::config_maps(), "a", options, take));
  EXPECT_EQ(names.size(), 7U);
  EXPECT_EQ(api->count("list"), 4);
}

TEST_F(ClientTest, ListEachEndsWithTheReceiversErrorAndRetriesOnlyWhatWasNotBegun) {
  for (int i = 0; i < 3; ++i) api->put(resources::config_maps(), config_map("a", "x" + std::to_string(i)));
  int seen = 0;
  // An error that looks like a lost connection is still the receiver's own.
  const auto stopped = client.list_each(resources::config_maps(), "a", {}, [&](const Json&) -> Status {
    ++seen;
    Error error = fail(Category::kUnavailable, "mine").value();
    error.reason = "ConnectionCut";
    return tl::unexpected(error);
  });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().message, "mine");
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(api->count("list"), 1);

  api->fail_next("list", "", 429, "TooManyRequests", 1, {{"retry-after", "1"}});
  seen = 0;
  ASSERT_TRUE(client.list_each(resources::config_maps(), "a", {}, [&](const Json&) -> Status {
    ++seen;
    return {};
  }));
  EXPECT_EQ(seen, 3);

  api->fail_next("list", "", 403, "Forbidden");
  const auto refused = client.list_each(resources::config_maps(), "a", {}, [](const Json&) -> Status { return {}; });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().category, Category::kAuth);
  EXPECT_EQ(refused.error().cluster, "fake");
}

TEST_F(ClientTest, ARetryAfterIsWaitedForAndCutReadsAreSentAgainButWritesAreNot) {
  api->put(resources::config_maps(), config_map("a", "x"));
  api->fail_next("get", "", 429, "TooManyRequests", 1, {{"retry-after", "1"}});
  EXPECT_TRUE(client.get(resources::config_maps(), "a", "x"));
  EXPECT_EQ(api->count("get"), 2);

  api->lose_answer_of_next("get", "", 2);
  EXPECT_TRUE(client.get(resources::config_maps(), "a", "x"));

  api->lose_answer_of_next("create", "");
  const auto created = client.create(resources::config_maps(), "a", config_map("a", "y"));
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().category, Category::kUnavailable);
  EXPECT_EQ(api->count("create"), 1);

  api->fail_next("get", "", 503, "ServiceUnavailable", 1, {{"retry-after", "60"}});
  const auto late = client.with_timeout(std::chrono::milliseconds(200)).get(resources::config_maps(), "a", "x");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().retry_after_seconds, 60);
}

TEST_F(ClientTest, AClientDryRunSendsNoWriteAtAll) {
  gate->dry_run = DryRun::kClient;
  api->put(resources::config_maps(), config_map("a", "x", {{"k", "1"}}));
  const auto created = client.create(resources::config_maps(), "a", config_map("", "y"));
  ASSERT_TRUE(created);
  EXPECT_EQ(namespace_of(*created), "a");
  const auto patched = client.patch(resources::config_maps(), "a", "x", PatchType::kMerge, Json{{"data", {{"k", "2"}}}});
  ASSERT_TRUE(patched);
  EXPECT_EQ(str(*patched, {"data", "k"}), "2");
  const auto applied = client.apply(resources::config_maps(), config_map("a", "new", {{"k", "3"}}));
  ASSERT_TRUE(applied);
  EXPECT_EQ(str(*applied, {"data", "k"}), "3");
  EXPECT_TRUE(client.remove(resources::config_maps(), "a", "x"));
  EXPECT_EQ(client.remove(resources::config_maps(), "a", "z").error().category, Category::kNotFound);
  EXPECT_TRUE(client.remove_collection(resources::config_maps(), "a", {}));
  EXPECT_TRUE(client.update(resources::config_maps(), config_map("a", "x")));
  EXPECT_TRUE(client.post("/apis/x/v1/things", Json::object(), false));
  EXPECT_TRUE(client.modify(resources::config_maps(), "a", "x", [](Json& object) -> Status {
    at_or_make(object, {"data", "k"}) = "9";
    return {};
  }));
  EXPECT_EQ(api->write_count(), 0);
  EXPECT_TRUE(client.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", Json::object(), true));
  EXPECT_EQ(api->write_count(), 1);
}

TEST_F(ClientTest, AServerDryRunIsMarkedOnEveryWrite) {
  gate->dry_run = DryRun::kServer;
  api->put(resources::config_maps(), config_map("a", "x"));
  EXPECT_TRUE(client.create(resources::config_maps(), "a", config_map("a", "y")));
  EXPECT_TRUE(client.apply(resources::config_maps(), config_map("a", "x", {{"k", "3"}})));
  EXPECT_TRUE(client.remove(resources::config_maps(), "a", "x"));
  EXPECT_FALSE(api->get(resources::config_maps(), "a", "y"));
  EXPECT_TRUE(object_at(*api->get(resources::config_maps(), "a", "x"), {"data"}).empty());
  for (const auto& call : api->writes()) {
    if (call.verb == "delete") {
      EXPECT_EQ(dump_json(list_at(call.body, {"dryRun"})), "[\"All\"]");
    } else {
      EXPECT_EQ(call.param("dryRun"), "All");
    }
  }
}

TEST_F(ClientTest, TheGateIsAskedBeforeAndToldAfter) {
  std::vector<std::string> told;
  gate->before = [&](Method method, std::string_view path) -> Status {
    told.push_back("before " + std::string(to_string(method)) + " " + std::string(path));
    if (path.ends_with("/forbidden")) return fail(Category::kCancelled, "not this one");
    return {};
  };
  gate->after = [&](Method, std::string_view, int status) { told.push_back("after " + std::to_string(status)); };
  api->put(resources::config_maps(), config_map("a", "x"));
  EXPECT_TRUE(client.get(resources::config_maps(), "a", "x"));
  EXPECT_TRUE(client.remove(resources::config_maps(), "a", "x"));
  EXPECT_FALSE(client.remove(resources::config_maps(), "a", "x"));
  EXPECT_FALSE(client.remove(resources::config_maps(), "a", "forbidden"));
  const std::vector<std::string> expected{
      "before DELETE /api/v1/namespaces/a/configmaps/x",         "after 200",
      "before DELETE /api/v1/namespaces/a/configmaps/x",         "after 404",
      "before DELETE /api/v1/namespaces/a/configmaps/forbidden",
  };
  EXPECT_EQ(told, expected);
}

TEST_F(ClientTest, ModifySendsTheDifferenceAndReadsAgainOnConflict) {
  api->put(resources::config_maps(), config_map("a", "x", {{"k", "1"}}));
  int rounds = 0;
  const auto change = [&](Json& object) -> Status {
    if (++rounds == 1) {
      api->put(resources::config_maps(), config_map("a", "x", {{"k", "1"}, {"other", "1"}}));
    }
    at_or_make(object, {"data", "k"}) = "2";
    return {};
  };
  const auto changed = client.modify(resources::config_maps(), "a", "x", change);
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(rounds, 2);
  EXPECT_EQ(str(*changed, {"data", "other"}), "1");
  EXPECT_EQ(str(*changed, {"data", "k"}), "2");

  api->forget_calls();
  ASSERT_TRUE(client.modify(resources::config_maps(), "a", "x", change));
  EXPECT_EQ(api->write_count(), 0);
}

TEST_F(ClientTest, ModifyOfStatusSendsNothingElse) {
  const Resource widgets{"example.com", "v1", "widgets", "Widget", false};
  api->put(widgets, Json{{"metadata", {{"name", "w"}}}, {"spec", {{"a", 1}}}});
  const auto changed = client.modify(
      widgets, "", "w",
      [](Json& object) -> Status {
        at_or_make(object, {"spec", "a"}) = 2;
        at_or_make(object, {"status", "ready"}) = true;
        return {};
      },
      "status");
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(num(*changed, {"spec", "a"}), 1);
  EXPECT_TRUE(flag(*changed, {"status", "ready"}));
  EXPECT_EQ(api->writes().front().subresource, "status");
}

TEST_F(ClientTest, CreateOrGetAnswersTheExistingObject) {
  api->put(resources::config_maps(), config_map("a", "x", {{"k", "old"}}));
  const auto got = client.create_or_get(resources::config_maps(), "a", config_map("a", "x", {{"k", "new"}}));
  ASSERT_TRUE(got);
  EXPECT_EQ(str(*got, {"data", "k"}), "old");
}

TEST(StatusErrorTest, ReadsTheStatusAndKeepsForeignTextHarmless) {
  Request request;
  request.path = "/api/v1/pods";
  Response response;
  response.status = 403;
  response.body =
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"pods is forbidden","code":403})";
  auto error = error_of(response, request);
  EXPECT_EQ(error.category, Category::kAuth);
  EXPECT_EQ(error.message, "pods is forbidden");
  EXPECT_FALSE(error.hint.empty());

  response.status = 502;
  response.body = "<html>\x1b[31mbad gateway";
  error = error_of(response, request);
  EXPECT_EQ(error.category, Category::kUnavailable);
  EXPECT_EQ(error.message.find('\x1b'), std::string::npos);

  response.status = 409;
  response.body.clear();
  request.method = Method::kPost;
  EXPECT_EQ(error_of(response, request).reason, "AlreadyExists");
  request.method = Method::kPut;
  EXPECT_EQ(error_of(response, request).reason, "Conflict");
  response.status = 500;
  response.body = R"({"kind":"Status","apiVersion":"v1","reason":"ServerTimeout","details":{"retryAfterSeconds":7},"code":500})";
  error = error_of(response, request);
  EXPECT_EQ(error.category, Category::kUnavailable);
  EXPECT_EQ(error.retry_after_seconds, 7);
}

TEST(StatusErrorTest, AFieldOfAWrongTypeIsNoFailureOfTheServer) {
  Response response;
  response.status = 500;
  response.body =
      R"({"kind":"Status","apiVersion":"v1","code":500,)"
      R"("message":"failed to create typed patch object (apps/web; Placement): .spec.numberOfClusters: expected numeric"})";
  EXPECT_EQ(error_of(response, Request{}).category, Category::kInvalid);
  response.body = R"({"kind":"Status","apiVersion":"v1","code":500,"message":"etcdserver: request timed out"})";
  EXPECT_EQ(error_of(response, Request{}).category, Category::kUnavailable);
}

TEST(MergeDiffTest, TurnsOneIntoTheOther) {
  const Json before = *parse_json(R"({"a":1,"b":{"c":1,"d":[1,2]},"gone":true,"same":{"x":1}})");
  const Json after = *parse_json(R"({"a":2,"b":{"c":1,"d":[2]},"same":{"x":1},"new":"n"})");
  const Json diff = merge_diff(before, after);
  EXPECT_EQ(dump_json(diff), R"({"a":2,"b":{"d":[2]},"gone":null,"new":"n"})");
  Json patched = before;
  patched.merge_patch(diff);
  EXPECT_EQ(patched, after);
  EXPECT_TRUE(merge_diff(after, after).empty());
}

}  // namespace
}  // namespace fleetadm::kube
