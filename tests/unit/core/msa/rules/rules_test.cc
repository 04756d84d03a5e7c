#include <gtest/gtest.h>

#include "core/api/managed_service_account.h"
#include "core/controller/controller.h"
#include "core/msa/rules/demand.h"
#include "core/msa/rules/not_ours.h"
#include "core/msa/rules/token_secret.h"
#include "core/msa/rules/token_status.h"

namespace fleetadm::msa {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

Json object_of(const Json& spec) {
  return {{"apiVersion", "authentication.open-cluster-management.io/v1beta1"},
          {"kind", "ManagedServiceAccount"},
          {"metadata", {{"name", "app"}, {"namespace", "c1"}, {"uid", "u1"}, {"creationTimestamp", "2026-03-01T10:00:00Z"}}},
          {"spec", spec}};
}

std::string refusal(const std::string& validity) {
  const auto read = validity_seconds(object_of({{"rotation", {{"validity", validity}}}}));
  return read ? "" : read.error().message;
}

TEST(AccountDemand, ReadsValiditiesThatAnApiServerTakes) {
  EXPECT_EQ(validity_seconds(object_of(Json::object())).value_or(0), 8640 * 3600) << "without one, 360 days";
  EXPECT_EQ(validity_seconds("10m", "x").value_or(0), 600);
  EXPECT_EQ(validity_seconds("876000h", "x").value_or(0), 3153600000) << "100 years";
  EXPECT_EQ(refusal("0"), "spec.rotation.validity \"0\" is too short: a token lasts at least 10m");
  EXPECT_EQ(refusal("-1h"), "spec.rotation.validity \"-1h\" is too short: a token lasts at least 10m");
  EXPECT_EQ(refusal("1m"), "spec.rotation.validity \"1m\" is too short: a token lasts at least 10m");
  EXPECT_EQ(refusal("2000000h"), "spec.rotation.validity \"2000000h\" is too long: a token lasts at most 136 years");
  EXPECT_EQ(refusal("a year"), "spec.rotation.validity \"a year\" is not a duration");
  EXPECT_EQ(refusal(""), "spec.rotation.validity \"\" is not a duration");
}

TEST(AccountDemand, KnowsNamesThatNoServiceAccountCanHave) {
  EXPECT_TRUE(check_account_name("app.v2"));
  for (const char* name : {"", "App", "a/b", "-a", "a_b"}) EXPECT_FALSE(check_account_name(name)) << name;
  EXPECT_FALSE(check_account_name(std::string(254, 'a')));
}

TEST(AccountDemand, EndsSoManySecondsAfterItsCreation) {
  EXPECT_EQ(ends_at(object_of({{"ttlSecondsAfterCreation", 1}})), parse_time("2026-03-01T10:00:01Z"));
  EXPECT_FALSE(ends_at(object_of(Json::object())));
  EXPECT_FALSE(ends_at(object_of({{"ttlSecondsAfterCreation", 0}})));
  EXPECT_FALSE(ends_at(object_of({{"ttlSecondsAfterCreation", std::numeric_limits<std::int64_t>::max()}})));
}

TEST(TokenSecret, IsAsUpstreamWritesIt) {
  const Json secret = secret_object(Json(), object_of(Json::object()), "t", "ca");
  const Json expected{{"apiVersion", "v1"},
                      {"kind", "Secret"},
                      {"type", "Opaque"},
                      {"metadata",
                       {{"name", "app"},
                        {"namespace", "c1"},
                        {"labels", {{"authentication.open-cluster-management.io/is-managed-serviceaccount", "true"}}},
                        {"ownerReferences", Json::array({{{"apiVersion", "authentication.open-cluster-management.io/v1beta1"},
                                                          {"kind", "ManagedServiceAccount"},
                                                          {"name", "app"},
                                                          {"uid", "u1"}}})}}},
                      {"data", {{"token", "dA=="}, {"ca.crt", "Y2E="}}}};
  EXPECT_EQ(secret, expected) << dump_json(secret);
  EXPECT_EQ(token_in(secret), "t");
}

TEST(TokenSecret, OfSomebodyElseIsRefused) {
  const Json object = object_of(Json::object());
  Json secret = secret_object(Json(), object, "t", "ca");
  EXPECT_TRUE(check_secret(secret, object));
  secret["metadata"]["ownerReferences"][0]["uid"] = "of an earlier object";
  EXPECT_TRUE(check_secret(secret, object));
  Json changed = secret;
  changed["metadata"].erase("labels");
  ASSERT_FALSE(check_secret(changed, object));
  EXPECT_EQ(check_secret(changed, object).error().reason, kNotOurs);
  changed = secret;
  changed["metadata"]["ownerReferences"][0]["name"] = "other";
  EXPECT_FALSE(check_secret(changed, object));
  changed = secret;
  changed["metadata"]["ownerReferences"].push_back({{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", "app"}, {"uid", "x"}});
  EXPECT_FALSE(check_secret(changed, object));
  changed = secret;
  changed["type"] = "kubernetes.io/tls";
  EXPECT_FALSE(check_secret(changed, object));
  EXPECT_FALSE(check_account({{"metadata", {{"name", "app"}, {"namespace", "n"}}}}));
  EXPECT_TRUE(check_account(account_object("n", "app")));
}

TokenClaims ten_minutes() {
  const Instant issued = *parse_time("2026-03-01T10:00:00Z");
  TokenClaims claims;
  claims.account_uid = "uid";
  claims.issued = issued;
  claims.expires = issued + minutes(10);
  return claims;
}

TEST(TokenStatus, ATokenIsReplacedAfterFourFifthsOfItsRealLifetime) {
  const TokenClaims claims = ten_minutes();
  Json object = object_of({{"rotation", {{"validity", "8640h"}}}});
  EXPECT_EQ(refresh_at(object, claims, claims.issued), claims.issued + minutes(8));
  // The cluster's clock is five minutes ahead of the agent's: what counts is when the agent got the token.
  const Instant got = claims.issued - minutes(5);
  report_token(object, claims, got, got);
  EXPECT_EQ(refresh_at(object, claims, got), got + minutes(8));
  EXPECT_EQ(refresh_at(object, claims, got - seconds(1)), claims.issued + minutes(8))
      << "a time that is still to come is not believed";
  TokenClaims other = claims;
  other.expires += minutes(1);
  EXPECT_EQ(refresh_at(object, other, got), other.issued + seconds(528)) << "the status is of another token";
}

TEST(TokenStatus, IsTheSameUntilSomethingChanges) {
  const TokenClaims claims = ten_minutes();
  Json object = object_of(Json::object());
  report_token(object, claims, claims.issued + seconds(2), claims.issued + seconds(2));
  EXPECT_EQ(str(object, {"status", "expirationTimestamp"}), "2026-03-01T10:10:00Z");
  EXPECT_EQ(object["status"]["tokenSecretRef"], (Json{{"name", "app"}, {"lastRefreshTimestamp", "2026-03-01T10:00:02Z"}}));
  EXPECT_EQ(object["status"]["conditions"].size(), 2U);
  Json again = object;
  report_token(again, claims, std::nullopt, claims.issued + minutes(3));
  EXPECT_EQ(again, object);
  TokenClaims next = claims;
  next.issued += minutes(8);
  next.expires += minutes(8);
  report_token(again, next, next.issued, next.issued);
  EXPECT_EQ(again["status"]["conditions"], object["status"]["conditions"]) << "a new token is no transition";
  EXPECT_EQ(str(again, {"status", "tokenSecretRef", "lastRefreshTimestamp"}), "2026-03-01T10:08:00Z");
}

TEST(TokenStatus, AFailureKeepsTheTokenUnlessTheSecretIsNotOurs) {
  const TokenClaims claims = ten_minutes();
  Json object = object_of(Json::object());
  report_token(object, claims, claims.issued, claims.issued);
  Json failed = object;
  report_failure(failed, "why", false, claims.issued + minutes(1));
  EXPECT_EQ(str(*controller::find_condition(failed, api::kConditionTokenReported), {"message"}), "why");
  EXPECT_TRUE(controller::condition_is(failed, api::kConditionTokenReported, "False"));
  EXPECT_EQ(str(failed, {"status", "tokenSecretRef", "name"}), "app");
  report_failure(failed, "why", true, claims.issued + minutes(1));
  EXPECT_EQ(find(failed, {"status", "tokenSecretRef"}), nullptr);
  EXPECT_EQ(find(failed, {"status", "expirationTimestamp"}), nullptr);
  report_failure(failed, std::string(40000, 'x'), true, claims.issued);
  EXPECT_EQ(str(*controller::find_condition(failed, api::kConditionTokenReported), {"message"}).size(), 32768U);
}

}  // namespace
}  // namespace fleetadm::msa
