// One API server in memory whose clock is moved by hand; the controllers are called by hand, too.
#pragma once

#include <gtest/gtest.h>
#include <optional>

#include "core/sandbox/api/api_server.h"
#include "core/sandbox/controllers/pods.h"

namespace fleetadm::sandbox {

class ControllerLab : public ::testing::Test {
 protected:
  void SetUp() override {
    ApiOptions options;
    options.ca_pem = "ca";
    options.clock = clock_;
    options.token_key = pki::generate_key().value();
    auto opened = ApiServer::open(std::move(options));
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
  }
  Engine& engine() { return server_->engine(); }
  ControllerContext context() {
    return {engine(), ca_, "ca",
            [this](Duration after) {
              const auto at = clock_->now() + after;
              if (!asked_ || at < *asked_) asked_ = at;
            },
            &server_->pending_writes()};
  }
  KindPtr kind(std::string_view group, std::string_view plural) { return engine().kinds().find_plural(group, plural); }
  void set_time(const char* text) { clock_->set(parse_time(text).value()); }
  void pass(Duration time) { clock_->advance(time); }
  /// When the controllers asked to be called again since the last question.
  std::string asked() {
    const auto out = asked_ ? format_time(*asked_) : std::string("never");
    asked_.reset();
    return out;
  }

  ApiResult<Written> try_make(std::string_view group, std::string_view plural, Json object) {
    const auto row = kind(group, plural);
    object["apiVersion"] = row->api_version();
    object["kind"] = row->kind;
    return engine().create(*row, row->namespaced ? "default" : "", std::move(object), as_controller("test"));
  }
  Json make(std::string_view group, std::string_view plural, Json object) {
    const auto made = try_make(group, plural, std::move(object));
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->object : Json();
  }
  std::vector<Json> all(std::string_view group, std::string_view plural) {
    return engine().list(*kind(group, plural), "default");
  }
  Json get(std::string_view group, std::string_view plural, const std::string& name) {
    const auto object = engine().get(*kind(group, plural), "default", name);
    EXPECT_TRUE(object) << object.error().message;
    return object ? *object : Json();
  }
  void edit(std::string_view group, std::string_view plural, const std::string& name, const std::function<void(Json&)>& change_it,
            const std::string& subresource = {}) {
    EXPECT_TRUE(change(context(), *kind(group, plural), get(group, plural, name), as_controller("test", subresource), change_it));
  }
  /// The message of a refused update; empty where it is taken.
  std::string refusal(std::string_view group, std::string_view plural, const std::string& name,
                      const std::function<void(Json&)>& change_it) {
    const auto done = engine().modify(*kind(group, plural), kind(group, plural)->namespaced ? "default" : "", name,
                                      as_controller("test"), false, [&](const Json* old) -> ApiResult<Json> {
                                        Json next = *old;
                                        change_it(next);
                                        return next;
                                      });
    return done ? std::string() : done.error().message;
  }
  /// The pod as a node would tell of it, since now.
  void set_pod(const std::string& name, const char* phase, const std::string& ip = {}) {
    edit(
        "", "pods", name,
        [&](Json& next) {
          Json& status = at_or_make(next, {"status"});
          const auto now = format_time(clock_->now());
          status["phase"] = phase;
          if (!ip.empty()) status["podIP"] = ip;
          const bool runs = std::string_view(phase) == "Running";
          status["conditions"] =
              Json::array({{{"type", "Ready"}, {"status", runs ? "True" : "False"}, {"lastTransitionTime", now}}});
          if (!runs)
            status["containerStatuses"] =
                Json::array({{{"name", "c"}, {"state", {{"terminated", {{"finishedAt", now}, {"exitCode", 1}}}}}}});
        },
        "status");
  }
  std::string condition(const Json& object, std::string_view type) {
    for (const Json& one : list_at(object, {"status", "conditions"})) {
      if (str(one, {"type"}) == type) return str(one, {"status"}) + " " + str(one, {"reason"});
    }
    return "none";
  }
  static Json pod_spec(const char* policy = "Always") {
    return {{"restartPolicy", policy}, {"containers", Json::array({{{"name", "c"}, {"image", "x:1"}}})}};
  }
  static Json workload(const std::string& name, const Json& more = Json::object()) {
    const Json labels = {{"app", name}};
    Json spec = {{"selector", {{"matchLabels", labels}}},
                 {"template", {{"metadata", {{"labels", labels}}}, {"spec", pod_spec()}}}};
    spec.update(more);
    return {{"metadata", {{"name", name}, {"labels", labels}}}, {"spec", std::move(spec)}};
  }
  static Json job(const std::string& name, const Json& more = Json::object()) {
    Json spec = {{"template", {{"spec", pod_spec("Never")}}}};
    spec.update(more);
    return {{"metadata", {{"name", name}}}, {"spec", std::move(spec)}};
  }
  static Json cron_job(const std::string& name, const std::string& schedule, const Json& more = Json::object()) {
    Json spec = {{"schedule", schedule}, {"jobTemplate", {{"spec", {{"template", {{"spec", pod_spec("Never")}}}}}}}};
    spec.update(more);
    return {{"metadata", {{"name", name}}}, {"spec", std::move(spec)}};
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(parse_time("2026-01-01T00:00:30Z").value());
  std::optional<Instant> asked_;
  pki::KeyPair ca_;
  std::unique_ptr<ApiServer> server_;
};

}  // namespace fleetadm::sandbox
