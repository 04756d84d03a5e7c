#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/work/rules/condition_rules.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/ignore_fields.h"
#include "core/work/rules/manifest.h"
#include "core/work/rules/merge.h"
#include "core/work/rules/names.h"
#include "core/work/rules/ownership.h"

namespace fleetadm::work {
namespace {

Json parsed(const char* text) {
  Result<Json> value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << (value ? "" : value.error().message);
  return value ? *value : Json();
}

Result<kube::Resource> resolve(const std::string& api_version, const std::string& kind) {
  const kube::GroupVersion gv = kube::parse_api_version(api_version);
  if (kind == "Nope") return fail(Category::kNotFound, "the server doesn't have a resource type \"Nope\"");
  std::string plural = kind == "NetworkPolicy" ? "networkpolicies" : kind + "s";
  for (char& c : plural) c = static_cast<char>(std::tolower(c));
  return kube::Resource{gv.group, gv.version, plural, kind, kind != "Namespace" && kind != "ClusterRole"};
}

const Owner kOwner{"hash-w1", "owner-uid"};
const Instant kRulesNow = *parse_time("2026-11-21T12:00:00Z");

TEST(Manifests, AreAppliedByRankAndReportedByOrdinal) {
  const Json work = parsed(R"({"spec": {"workload": {"manifests": [
    {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}},
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "n"}},
    "not an object",
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "n"}},
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "n"}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "namespace": "ignored", "uid": "u"}}]}}})");
  const std::vector<Manifest> manifests = decode_manifests(work, resolve);
  ASSERT_EQ(manifests.size(), 6U);
  EXPECT_EQ(apply_order(manifests), (std::vector<std::size_t>{5, 3, 4, 1, 0, 2}));
  EXPECT_EQ(manifests[1].meta(), parsed(R"({"ordinal": 1, "group": "apps", "version": "v1", "kind": "Deployment",
      "resource": "deployments", "namespace": "n", "name": "web"})"));
  EXPECT_TRUE(manifests[2].error.has_value());
  EXPECT_EQ(manifests[5].ns, "");
  EXPECT_EQ(manifests[5].object, parsed(R"({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})"));
}

TEST(Manifests, UnknownKindKeepsItsMetaWithoutResource) {
  const Json work = parsed(R"({"spec": {"workload": {"manifests": [
    {"apiVersion": "nope.example.com/v1", "kind": "Nope", "metadata": {"name": "x", "namespace": "default"}}]}}})");
  const Manifest manifest = decode_manifests(work, resolve)[0];
  ASSERT_TRUE(manifest.error.has_value());
  EXPECT_EQ(manifest.error->message, "the server doesn't have a resource type \"Nope\"");
  EXPECT_EQ(manifest.meta(), parsed(R"({"ordinal": 0, "group": "nope.example.com", "version": "v1", "kind": "Nope",
      "resource": "", "namespace": "default", "name": "x"})"));
}

TEST(Manifests, FirstConfigThatSaysSomethingWins) {
  const Json work = parsed(R"({"spec": {"workload": {"manifests": [
      {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "prod-eu"}}]},
    "manifestConfigs": [
      {"resourceIdentifier": {"group": "", "resource": "deployments", "name": "*", "namespace": "*"}, "updateStrategy": {"type": "ReadOnly"}},
      {"resourceIdentifier": {"group": "apps", "resource": "deployments", "name": "*", "namespace": "prod-*"},
       "feedbackRules": [{"type": "WellKnownStatus"}]},
      {"resourceIdentifier": {"group": "apps", "resource": "deployments", "name": "w*b", "namespace": "*"},
       "updateStrategy": {"type": "ServerSideApply", "serverSideApply": {"fieldManager": "work-agent-x", "force": true}},
       "feedbackRules": [{"type": "JSONPaths"}]}]}})");
  const ManifestOptions options = options_for(work, decode_manifests(work, resolve)[0]);
  EXPECT_EQ(options.strategy.type, StrategyType::kServerSideApply);
  EXPECT_EQ(options.strategy.field_manager, "work-agent-x");
  EXPECT_TRUE(options.strategy.force);
  EXPECT_EQ(options.feedback_rules, parsed(R"([{"type": "WellKnownStatus"}])"));
}

TEST(Manifests, WildcardsMatchAnyText) {
  struct Case {
    const char* pattern;
    const char* text;
    bool matches;
  };
  for (const Case& c : {Case{"*", "", true}, Case{"*", "x", true}, Case{"a*", "abc", true}, Case{"*c", "abc", true},
                        Case{"a*c", "abc", true}, Case{"a*c", "abd", false}, Case{"", "", true}, Case{"", "a", false},
                        Case{"a*b*c", "axxbyyc", true}, Case{"abc", "abc", true}, Case{"abc", "abcd", false}}) {
    EXPECT_EQ(wildcard_match(c.pattern, c.text), c.matches) << c.pattern << " " << c.text;
  }
}

TEST(Ownership, FollowsTheDeleteOption) {
  const char* manifests =
      R"("workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}}]})";
  const auto owned = [&](const std::string& option) {
    const Json work = parsed(("{\"spec\": {" + std::string(manifests) + option + "}}").c_str());
    return is_owned(work, decode_manifests(work, resolve)[0]);
  };
  EXPECT_TRUE(owned(""));
  EXPECT_TRUE(owned(R"(, "deleteOption": {"propagationPolicy": "Foreground"})"));
  EXPECT_FALSE(owned(R"(, "deleteOption": {"propagationPolicy": "Orphan"})"));
  const std::string selective =
      R"(, "deleteOption": {"propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {"orphaningRules": [)";
  EXPECT_FALSE(owned(selective + R"({"group": "", "resource": "configmaps", "namespace": "n", "name": "a"}]}})"));
  EXPECT_TRUE(owned(selective + R"({"group": "", "resource": "configmaps", "namespace": "n", "name": "*"}]}})"));
}

TEST(Ownership, RemovalTouchesOnlyWhatIsOurs) {
  const Json reference = kOwner.reference();
  const Json other =
      parsed(R"({"apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork", "name": "o", "uid": "o"})");
  const Json foreign = parsed(R"({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r"})");
  const auto live = [](const Json& references, bool deleting = false) {
    Json object = Json::object({{"metadata", {{"uid", "u1"}, {"ownerReferences", references}}}});
    if (deleting) object["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z";
    return std::optional<Json>(object);
  };
  EXPECT_EQ(removal_of(std::nullopt, "u1", kOwner), Removal::kGone);
  EXPECT_EQ(removal_of(live(Json::array({reference})), "u2", kOwner), Removal::kGone);
  EXPECT_EQ(removal_of(live(Json::array({reference})), "u1", kOwner), Removal::kDelete);
  EXPECT_EQ(removal_of(live(Json::array({reference, foreign})), "u1", kOwner), Removal::kDelete);
  EXPECT_EQ(removal_of(live(Json::array({reference}), true), "u1", kOwner), Removal::kWaiting);
  EXPECT_EQ(removal_of(live(Json::array({reference, other})), "u1", kOwner), Removal::kDropOwner);
  EXPECT_EQ(removal_of(live(Json::array({other})), "u1", kOwner), Removal::kKeep);
  EXPECT_EQ(removal_of(live(Json::array()), "u1", kOwner), Removal::kKeep);
}

TEST(Merge, LabelsMergeAndATrailingDashRemoves) {
  const Json desired = parsed(R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n",
      "labels": {"keep": "new", "gone-": ""}, "annotations": {"x": "1"}}, "data": {"a": "1"}})");
  const Json live = parsed(R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n", "uid": "u",
      "resourceVersion": "7", "finalizers": ["f"], "labels": {"keep": "old", "gone": "1", "theirs": "1"}}, "data": {"a": "0", "b": "2"}})");
  const Json updated = object_to_update(desired, live, MergeMode::kReplace, kOwner, true);
  EXPECT_EQ(object_at(updated, {"metadata", "labels"}), parsed(R"({"keep": "new", "theirs": "1"})"));
  EXPECT_EQ(object_at(updated, {"data"}), parsed(R"({"a": "1"})"));
  EXPECT_EQ(resource_version_of(updated), "7");
  EXPECT_EQ(list_at(updated, {"metadata", "finalizers"}).size(), 1U);
  EXPECT_TRUE(has_owner(updated, kOwner));
  EXPECT_TRUE(same_object(object_to_update(desired, updated, MergeMode::kReplace, kOwner, true), updated));
  EXPECT_FALSE(has_owner(object_to_update(desired, updated, MergeMode::kReplace, kOwner, false), kOwner));
  const Json created = object_to_create(desired, kOwner, true);
  EXPECT_EQ(object_at(created, {"metadata", "labels"}), parsed(R"({"keep": "new"})"));
}

TEST(Merge, RepairLeavesAloneWhatTheManifestDoesNotName) {
  const Json desired = parsed(R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "n"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {"containers": [
      {"name": "c", "image": "nginx", "resources": {"limits": {"cpu": "1000m"}}}]}}}})");
  const Json live =
      parsed(R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "n", "uid": "u",
      "ownerReferences": [{"apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork", "name": "hash-w1", "uid": "owner-uid"}]},
    "spec": {"replicas": 5, "selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {"containers": [
      {"name": "c", "image": "nginx", "imagePullPolicy": "Always", "resources": {"limits": {"cpu": "1"}}}]}}},
    "status": {"replicas": 5}})");
  EXPECT_TRUE(same_object(object_to_repair(desired, live, kOwner, true), live))
      << "defaults, quantities and replicas are no drift";
  Json changed = live;
  changed["spec"]["template"]["spec"]["containers"][0]["image"] = "evil";
  const Json repaired = object_to_repair(desired, changed, kOwner, true);
  EXPECT_TRUE(same_object(repaired, live));
  Json more = live;
  more["spec"]["template"]["spec"]["containers"].push_back(parsed(R"({"name": "sidecar", "image": "x"})"));
  EXPECT_TRUE(same_object(object_to_repair(desired, more, kOwner, true), live));
}

TEST(Merge, RepairTakesForeignKeysOutOfConfigMapsAndSecrets) {
  const Json desired =
      parsed(R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": "Opaque", "stringData": {"a": "hi"}})");
  const Json live = parsed(
      R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": "Opaque", "data": {"a": "aGk=", "b": "eA=="}})");
  EXPECT_EQ(object_at(object_to_repair(desired, live, kOwner, true), {"data"}), parsed(R"({"a": "aGk="})"));
}

TEST(Merge, ModesFollowTheKind) {
  EXPECT_EQ(merge_mode_of("", "Namespace"), MergeMode::kMetadata);
  EXPECT_EQ(merge_mode_of("", "Pod"), MergeMode::kMetadata);
  EXPECT_EQ(merge_mode_of("example.com", "Pod"), MergeMode::kReplace);
  EXPECT_EQ(merge_mode_of("batch", "Job"), MergeMode::kReplace);
  EXPECT_EQ(merge_mode_of("", "PersistentVolumeClaim"), MergeMode::kOverlay);
  EXPECT_EQ(merge_mode_of("", "Service"), MergeMode::kReplace) << "the server keeps the addresses and node ports it gave";
  EXPECT_EQ(merge_mode_of("apps", "Deployment"), MergeMode::kReplace);
}

TEST(Merge, FingerprintIgnoresStatusAndServerMetadata) {
  Json live = parsed(R"({"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"x": 1}, "status": {"y": 1}})");
  const std::uint64_t before = fingerprint(live);
  live["status"]["y"] = 2;
  live["metadata"]["resourceVersion"] = "2";
  EXPECT_EQ(fingerprint(live), before);
  live["metadata"]["labels"]["a"] = "b";
  EXPECT_NE(fingerprint(live), before);
}

TEST(IgnoreFields, DropPlainPaths) {
  const Json object =
      parsed(R"({"metadata": {"annotations": {"a/b": "1", "c": "2"}}, "spec": {"replicas": 1, "list": [{"x": 1, "y": 2}]}})");
  const Json fields = parsed(R"([{"condition": "OnSpokePresent", "jsonPointers": ["/metadata/annotations/a~1b", "/not/there"],
      "jsonPaths": [".spec.list[0].x"], "jqPathExpressions": [".spec.replicas"]}])");
  Json intent = object;
  ASSERT_TRUE(settle_ignored_fields(fields, Json::object(), "work-agent", false, intent));
  EXPECT_EQ(intent, parsed(R"({"metadata": {"annotations": {"c": "2"}}, "spec": {"list": [{"y": 2}]}})"));
  intent = object;
  ASSERT_TRUE(settle_ignored_fields(fields, std::nullopt, "work-agent", false, intent));
  EXPECT_EQ(intent, object);
  const Json unknown = parsed(R"j([{"jqPathExpressions": [".a | select(.b)"]}])j");
  const Status refused = settle_ignored_fields(unknown, Json::object(), "work-agent", false, intent);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(".a | select(.b)"), std::string::npos);
}

TEST(IgnoreFields, SelectElementsOfLists) {
  const Json object =
      parsed(R"({"spec": {"containers": [{"name": "web", "image": "w:1", "tty": true}, {"name": "log", "image": "l:1"}]}})");
  struct Case {
    const char* fields;
    const char* left;
  };
  const Case cases[] = {
      {R"j([{"condition": "OnSpokePresent", "jsonPaths": ["{.spec.containers[*].image}"]}])j",
       R"({"spec": {"containers": [{"name": "web", "tty": true}, {"name": "log"}]}})"},
      {R"j([{"condition": "OnSpokePresent", "jsonPaths": [".spec.containers[?(@.name==\"web\")].image"]}])j",
       R"({"spec": {"containers": [{"name": "web", "tty": true}, {"name": "log", "image": "l:1"}]}})"},
      {R"j([{"condition": "OnSpokePresent", "jqPathExpressions": [".spec.containers[] | select(.name == \"log\") | .image"]}])j",
       R"({"spec": {"containers": [{"name": "web", "image": "w:1", "tty": true}, {"name": "log"}]}})"},
      {R"j([{"condition": "OnSpokePresent", "jqPathExpressions": [".spec.containers[] | select(.name == \"log\")"]}])j",
       R"({"spec": {"containers": [{"name": "web", "image": "w:1", "tty": true}]}})"}};
  for (const Case& one : cases) {
    Json intent = object;
    const Status settled = settle_ignored_fields(parsed(one.fields), Json::object(), "work-agent", false, intent);
    ASSERT_TRUE(settled) << one.fields << settled.error().message;
    EXPECT_EQ(intent, parsed(one.left)) << one.fields;
  }
}

TEST(IgnoreFields, AChangeOnTheSpokeStaysUntilTheManifestChanges) {
  const Json fields = parsed(R"([{"condition": "OnSpokeChange", "jsonPaths": [".spec.replicas", ".spec.list[*].x"]}])");
  const Json object = parsed(R"({"spec": {"replicas": 1, "list": [{"name": "a", "x": 1}]}})");
  const Json live = parsed(R"({"spec": {"replicas": 5, "list": [{"name": "b", "x": 9}, {"name": "a", "x": 7}]}})");
  Json intent = object;
  ASSERT_TRUE(settle_ignored_fields(fields, live, "work-agent", false, intent));
  EXPECT_EQ(intent, parsed(R"({"spec": {"replicas": 5, "list": [{"name": "a", "x": 7}]}})"));
  intent = object;
  ASSERT_TRUE(settle_ignored_fields(fields, live, "work-agent", true, intent));
  EXPECT_EQ(intent, object) << "a new manifest counts";
}

ManifestResult result_of(int ordinal, Availability availability, bool applied = true) {
  ManifestResult result;
  result.meta = Json::object({{"ordinal", ordinal},
                              {"group", ""},
                              {"version", "v1"},
                              {"kind", "ConfigMap"},
                              {"resource", "configmaps"},
                              {"namespace", "n"},
                              {"name", "m" + std::to_string(ordinal)}});
  result.applied_now = true;
  if (!applied) result.applied = fail(Category::kNotFound, "namespaces \"n\" not found").value();
  result.availability = availability;
  result.unknown_reason = "FetchingResourceFailed";
  result.unknown_message = "why";
  result.was_read = availability == Availability::kAvailable;
  return result;
}

struct Summary {
  std::string applied, available, message;
};

Summary summary_of(const std::vector<ManifestResult>& results) {
  Json status = Json::object();
  at_or_make(status, {"resourceStatus", "manifests"}) = manifest_statuses(Json::array(), results, 3, kRulesNow);
  aggregate_conditions(status, 3, true, kRulesNow);
  const Json* applied = condition_in(list_at(status, {"conditions"}), "Applied");
  const Json* available = condition_in(list_at(status, {"conditions"}), "Available");
  EXPECT_EQ(num(*applied, {"observedGeneration"}), 3);
  EXPECT_EQ(num(*available, {"observedGeneration"}), 3);
  return {str(*applied, {"status"}) + "/" + str(*applied, {"reason"}),
          str(*available, {"status"}) + "/" + str(*available, {"reason"}), str(*available, {"message"})};
}

TEST(Conditions, AggregateFalseThenUnknownThenTrue) {
  using enum Availability;
  Summary s = summary_of({result_of(0, kAvailable), result_of(1, kAvailable)});
  EXPECT_EQ(s.applied, "True/AppliedManifestWorkComplete");
  EXPECT_EQ(s.available, "True/ResourcesAvailable");
  EXPECT_EQ(s.message, "All resources are available");
  s = summary_of({result_of(0, kUnknown), result_of(1, kMissing, false), result_of(2, kAvailable)});
  EXPECT_EQ(s.applied, "False/AppliedManifestWorkFailed");
  EXPECT_EQ(s.available, "False/ResourcesNotAvailable");
  EXPECT_EQ(s.message, "1 of 3 resources are not available");
  s = summary_of({result_of(0, kUnknown), result_of(1, kAvailable)});
  EXPECT_EQ(s.available, "Unknown/ResourcesStatusUnknown");
  EXPECT_EQ(s.message, "1 of 2 resources have unknown status");
  s = summary_of({});
  EXPECT_EQ(s.message, "cannot get any available resource ");
}

TEST(Merge, AServiceLosesWhatItsManifestNoLongerSays) {
  const Json live = parsed(R"({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"},
    "spec": {"clusterIP": "10.0.0.7", "type": "LoadBalancer", "externalIPs": ["192.0.2.1"], "selector": {"a": "b"},
    "ports": [{"port": 80, "nodePort": 30080}]}})");
  const Json desired = parsed(R"({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"},
    "spec": {"ports": [{"port": 80}]}})");
  const Json result = object_to_update(desired, live, merge_mode_of("", "Service"), Owner{"amw", "u"}, true);
  EXPECT_EQ(object_at(result, {"spec"}), object_at(desired, {"spec"}));
}

TEST(Merge, AJobKeepsItsPodsOnly) {
  const Json live = parsed(R"({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n"},
    "spec": {"suspend": true, "ttlSecondsAfterFinished": 5, "selector": {"matchLabels": {"uid": "u"}},
    "template": {"metadata": {"labels": {"uid": "u"}}, "spec": {"dnsPolicy": "ClusterFirst", "containers": [{"name": "a", "image": "i"}]}}}})");
  const Json desired = parsed(R"({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n"},
    "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "i"}]}}}})");
  const Json result = object_to_update(desired, live, merge_mode_of("batch", "Job"), Owner{"amw", "u"}, true);
  EXPECT_EQ(object_at(result, {"spec"}), parsed(R"({"selector": {"matchLabels": {"uid": "u"}},
    "template": {"metadata": {"labels": {"uid": "u"}}, "spec": {"dnsPolicy": "ClusterFirst", "containers": [{"name": "a", "image": "i"}]}}})"));
}

TEST(Merge, AnAPIServiceKeepsTheBundleThatWasInjected) {
  const auto service = [](const char* spec) {
    Json object = parsed(R"({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.x.io"}})");
    object["spec"] = parsed(spec);
    return object;
  };
  const auto updated = [&](const char* desired, const char* live) {
    const MergeMode mode = merge_mode_of("apiregistration.k8s.io", "APIService");
    return object_at(object_to_update(service(desired), service(live), mode, Owner{"amw", "u"}, true), {"spec"});
  };
  EXPECT_EQ(updated(R"({"group": "x.io"})", R"({"group": "x.io", "caBundle": "Yg=="})"),
            parsed(R"({"group": "x.io", "caBundle": "Yg=="})"));
  EXPECT_EQ(updated(R"({"group": "x.io", "caBundle": "Yw=="})", R"({"group": "x.io", "insecureSkipTLSVerify": true})"),
            parsed(R"({"group": "x.io", "caBundle": "Yw=="})"))
      << "certificates are verified again once the manifest no longer says otherwise";
  EXPECT_EQ(updated(R"({"group": "x.io", "insecureSkipTLSVerify": true})", R"({"group": "x.io", "caBundle": "Yg=="})"),
            parsed(R"({"group": "x.io", "insecureSkipTLSVerify": true})"));
}

TEST(Merge, AServicesPortOfAnotherNumberTakesNothingOver) {
  const Json live = parsed(R"({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"},
    "spec": {"clusterIP": "10.0.0.7", "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80},
                                                {"name": "x", "port": 443, "protocol": "TCP", "targetPort": 443}]}})");
  const Json desired = parsed(R"({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"},
    "spec": {"ports": [{"port": 81}, {"name": "x", "port": 443}]}})");
  const Json result = object_to_update(desired, live, MergeMode::kOverlay, Owner{"amw", "u"}, true);
  EXPECT_EQ(str(result, {"spec", "clusterIP"}), "10.0.0.7");
  EXPECT_EQ(list_at(result, {"spec", "ports"}),
            parsed(R"([{"port": 81}, {"name": "x", "port": 443, "protocol": "TCP", "targetPort": 443}])"));
}

TEST(Conditions, FeedbackIsSyncedWhereItIsAskedForThoughThereIsNoneYet) {
  ManifestResult result = result_of(0, Availability::kAvailable);
  result.feedback_asked = true;
  const Json manifests = manifest_statuses(Json::array(), {result}, 1, kRulesNow);
  const Json* synced = condition_in(list_at(manifests[0], {"conditions"}), "StatusFeedbackSynced");
  ASSERT_NE(synced, nullptr);
  EXPECT_EQ(str(*synced, {"reason"}), "StatusFeedbackSynced");
}

TEST(Conditions, AppliedStartsAnewWithAGenerationAndMovesLast) {
  Json manifests = manifest_statuses(Json::array(), {result_of(0, Availability::kAvailable)}, 1, kRulesNow);
  const Instant later = kRulesNow + std::chrono::seconds(10);
  manifests = manifest_statuses(manifests, {result_of(0, Availability::kAvailable)}, 2, later);
  const Json& conditions = list_at(manifests[0], {"conditions"});
  ASSERT_EQ(conditions.size(), 3U);
  EXPECT_EQ(str(conditions[0], {"type"}), "Available");
  EXPECT_EQ(str(conditions[0], {"lastTransitionTime"}), "2026-11-21T12:00:00Z");
  EXPECT_EQ(find(conditions[0], {"observedGeneration"}), nullptr);
  EXPECT_EQ(str(conditions[1], {"reason"}), "NoStatusFeedbackSynced");
  EXPECT_EQ(str(conditions[2], {"type"}), "Applied");
  EXPECT_EQ(str(conditions[2], {"lastTransitionTime"}), "2026-11-21T12:00:10Z");
  EXPECT_EQ(num(conditions[2], {"observedGeneration"}), 2);
  EXPECT_EQ(manifest_statuses(manifests, {result_of(0, Availability::kAvailable)}, 2, later + std::chrono::hours(1)), manifests)
      << "nothing new: nothing changes";
}

TEST(Conditions, FeedbackIsKeptWhileTheObjectCannotBeRead) {
  ManifestResult read = result_of(0, Availability::kAvailable);
  read.feedback = parsed(R"([{"name": "Replicas", "fieldValue": {"type": "Integer", "integer": 1}}])");
  const Json before = manifest_statuses(Json::array(), {read}, 1, kRulesNow);
  const Json after = manifest_statuses(before, {result_of(0, Availability::kUnknown)}, 1, kRulesNow);
  EXPECT_EQ(object_at(after[0], {"statusFeedback"}), object_at(before[0], {"statusFeedback"}));
  EXPECT_EQ(str(*condition_in(list_at(after[0], {"conditions"}), "StatusFeedbackSynced"), {"reason"}), "StatusFeedbackSynced");
}

TEST(Conditions, RulesTakeAnOptionalForWhatItHolds) {
  const Json object = parsed(R"({"spec": {"ready": true, "text": "fine"}})");
  const auto condition = [&](const char* rule) { return evaluate_condition_rules(parsed(rule), object); };
  const Json held = condition(R"([{"type": "CEL", "condition": "Up", "celExpressions": ["object.?spec.?ready"],
                                   "messageExpression": "object.?spec.?text"}])");
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(str(held[0], {"status"}), "True");
  EXPECT_EQ(str(held[0], {"message"}), "fine");
  const Json none = condition(R"([{"type": "CEL", "condition": "Up", "celExpressions": ["object.?spec.?nope"]}])");
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(str(none[0], {"status"}), "False");
  EXPECT_EQ(str(none[0], {"reason"}), "ConditionRuleExpressionError");
}

TEST(Conditions, RulesAggregateToTheWorkAndGoWithTheirGeneration) {
  const Json job =
      parsed(R"({"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": [{"type": "Failed", "status": "True"}]}})");
  ManifestResult read = result_of(0, Availability::kAvailable);
  read.rule_conditions = evaluate_condition_rules(parsed(R"([{"type": "WellKnownConditions", "condition": "Complete"}])"), job);
  ASSERT_EQ(read.rule_conditions.size(), 1U);
  Json status = Json::object();
  at_or_make(status, {"resourceStatus", "manifests"}) = manifest_statuses(Json::array(), {read}, 1, kRulesNow);
  aggregate_conditions(status, 1, true, kRulesNow);
  const Json* complete = condition_in(list_at(status, {"conditions"}), "Complete");
  ASSERT_NE(complete, nullptr);
  EXPECT_EQ(str(*complete, {"status"}), "True");
  EXPECT_EQ(str(*complete, {"reason"}), "ConditionRulesAggregated");
  EXPECT_EQ(str(*complete, {"message"}), "Job is finished");
  at_or_make(status, {"resourceStatus", "manifests"}) =
      manifest_statuses(list_at(status, {"resourceStatus", "manifests"}), {result_of(0, Availability::kAvailable)}, 2, kRulesNow);
  aggregate_conditions(status, 2, true, kRulesNow);
  EXPECT_EQ(condition_in(list_at(status, {"conditions"}), "Complete"), nullptr);
}

}  // namespace
}  // namespace fleetadm::work
