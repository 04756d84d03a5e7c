// Every recorded pass of upstream's deploy controller, answered again.
#include <algorithm>
#include <gtest/gtest.h>
#include <iostream>

#include "core/addon/rules/deploy_scenario.h"
#include "kubeclient/rest/resource.h"
#include "tests/support/vectors.h"

namespace fleetadm::addon {
namespace {

/// The manifests of a work are a set.
Json with_sorted_manifests(Json object) {
  if (Json* manifests = const_cast<Json*>(find(object, {"spec", "workload", "manifests"})))
    std::sort(manifests->begin(), manifests->end());
  return comparable(object);
}

std::string differing_parts(const Json& expect, const Json& got) {
  std::string text;
  const auto compare = [&](std::string_view member, const Json& wanted, const Json& had) {
    if (wanted != had) text += std::string(member) + ": expected " + dump_json(wanted) + "\n  got " + dump_json(had) + "\n";
  };
  const auto changed_of = [](const Json& answer) {
    Json sorted = Json::array();
    for (const Json& object : list_at(answer, {"changed"})) sorted.push_back(with_sorted_manifests(object));
    return sorted;
  };
  compare("changed", changed_of(expect), changed_of(got));
  compare("deleted", list_at(expect, {"deleted"}), list_at(got, {"deleted"}));
  // Upstream's process ended: an error here.
  const bool failed = !list_at(expect, {"errors"}).empty() || flag(expect, {"panic"});
  compare("errors", failed, !list_at(got, {"errors"}).empty());
  return text;
}

TEST(AddonDeployVectors, UpstreamsConductAnswersEveryLineAlike) {
  int run = 0;
  int different = 0;
  const Status read = fleetadm::test::for_each_vector("addon-deploy.jsonl.gz", [&](const Json& line) {
    ++run;
    const Result<Json> got = answer_deploy_scenario(line, rollout::Semantics::kUpstream);
    ASSERT_TRUE(got) << str(line, {"id"}) << ": " << got.error().message;
    if (const std::string text = differing_parts(object_at(line, {"expect"}), *got); !text.empty()) {
      if (++different <= 5) ADD_FAILURE() << str(line, {"id"}) << ": " << text;
    }
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  std::cout << run << " recorded passes answered, " << different << " different\n";
  EXPECT_EQ(different, 0);
  EXPECT_EQ(run, 427);
}

Json* object_of(Json& objects, const Json& like) {
  for (Json& object : objects) {
    if (type_of(object) == type_of(like) && kube::object_key(object) == kube::object_key(like)) return &object;
  }
  return nullptr;
}

/// Writes an answer into a scenario's objects: what a server keeps stays. False: the add-on is gone.
bool write_answer(Json& objects, const Json& answer) {
  for (const Json& changed : list_at(answer, {"changed"})) {
    Json* object = object_of(objects, changed);
    if (object == nullptr) {
      objects.push_back(changed);
      continue;
    }
    for (const char* member : {"labels", "annotations", "ownerReferences", "finalizers"}) {
      erase_at(*object, {"metadata", member});
      if (const Json* value = find(changed, {"metadata", member})) at_or_make(*object, {"metadata", member}) = *value;
    }
    const bool work = type_of(changed) == manifest_works();
    (*object)[work ? "spec" : "status"] = object_at(changed, {work ? "spec" : "status"});
    if (!work && is_deleting(*object) && list_at(*object, {"metadata", "finalizers"}).empty()) return false;
  }
  for (const std::string& gone : string_list_at(answer, {"deleted"})) {
    std::erase_if(objects.get_ref<Json::array_t&>(), [&](const Json& object) {
      return type_of(object) == manifest_works() && "manifestworks/" + kube::object_key(object) == gone;
    });
  }
  return true;
}

TEST(AddonDeployVectors, TheStrictConductComesToRestOnEveryLine) {
  int run = 0;
  const Status read = fleetadm::test::for_each_vector("addon-deploy.jsonl.gz", [&](const Json& recorded) {
    ++run;
    Json line = recorded;
    bool rest = false;
    for (int pass = 0; pass < 8 && !rest; pass++) {
      const Result<Json> got = answer_deploy_scenario(line, rollout::Semantics::kStrict);
      ASSERT_TRUE(got) << str(line, {"id"}) << ": " << got.error().message;
      for (const Json& changed : list_at(*got, {"changed"})) {
        const Json* before = object_of(line["objects"], changed);
        if (before == nullptr || !is_deleting(*before)) continue;
        for (const std::string& finalizer : string_list_at(changed, {"metadata", "finalizers"}))
          EXPECT_TRUE(has_finalizer(*before, finalizer)) << str(line, {"id"}) << " adds " << finalizer;
      }
      rest = list_at(*got, {"changed"}).empty() && list_at(*got, {"deleted"}).empty();
      rest = !write_answer(line["objects"], *got) || rest;
    }
    EXPECT_TRUE(rest) << str(line, {"id"});
  });
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(run, 427);
}

}  // namespace
}  // namespace fleetadm::addon
