#include "core/apimachinery/defaults.h"

#include <gtest/gtest.h>

#include "core/apimachinery/decode.h"
#include "core/apimachinery/managed_fields.h"
#include "tests/unit/core/apimachinery/recorded.h"

namespace fleetadm::apimachinery {
namespace {

/// What the server adds when it creates, beyond decoding: taken out of its answer.
void drop_creation(const Json& given, Json& stored) {
  Json& metadata = stored["metadata"];
  for (const char* name : {"namespace", "generation", "labels", "annotations", "finalizers"}) {
    if (!given["metadata"].contains(name)) metadata.erase(name);
  }
  const std::string kind = str(stored, {"kind"});
  if (kind == "Job") {
    erase_at(stored, {"spec", "selector"});
    at_or_make(stored, {"spec", "template", "metadata"}) = Json::object();
  }
  if (kind == "Pod") {
    for (const char* name : {"serviceAccountName", "serviceAccount", "tolerations", "priority", "preemptionPolicy"})
      stored["spec"].erase(name);
    stored["status"] = Json::object();
  }
  if (kind == "Service") {
    for (const char* name : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
      if (!given["spec"].contains(name)) stored["spec"].erase(name);
    }
  }
  if (kind == "Namespace") stored["spec"] = Json::object();
  if (kind == "Node") stored["spec"] = Json::object();
}

Json stored_form(Json object) {
  std::vector<std::string> unknown;
  const TypeNode* type = find_kind(str(object, {"apiVersion"}), str(object, {"kind"}));
  EXPECT_NE(type, nullptr);
  const Status decoded = decode_builtin(object, *type, unknown);
  EXPECT_TRUE(decoded) << decoded.error().message;
  EXPECT_TRUE(unknown.empty());
  apply_defaults(object);
  return object;
}

// Objects as they were sent to kube-apiserver 1.35.4, and as it answered.
TEST(Defaults, AreThoseOfARealServer) {
  const Json record = recorded("defaults");
  ASSERT_GE(record.size(), 30U);
  for (const Json& c : record) {
    const Json& given = object_at(c, {"given"});
    Json wanted = object_at(c, {"stored"});
    Json got = stored_form(given);
    drop_creation(given, wanted);
    if (str(given, {"kind"}) == "Secret") {
      got.erase("stringData");
      wanted.erase("data");
      got.erase("data");
    }
    if (str(given, {"kind"}) == "Service") erase_at(got, {"spec", "clusterIPs"});
    if (str(given, {"kind"}) == "Service") erase_at(wanted, {"spec", "clusterIPs"});
    for (const char* name : {"namespace"}) got["metadata"].erase(name), wanted["metadata"].erase(name);
    EXPECT_EQ(dump_json(got), dump_json(wanted));
    // Decoding again changes nothing.
    EXPECT_EQ(dump_json(stored_form(got)), dump_json(got));
  }
}

TEST(Defaults, WhatACreatorOwnsIsWhatARealServerSays) {
  for (const Json& c : recorded("defaults")) {
    const Json& given = object_at(c, {"given"});
    const std::string kind = str(given, {"kind"});
    Json stored = object_at(c, {"stored"});
    const TypeNode& type = *find_kind(str(given, {"apiVersion"}), kind);
    const Json empty = empty_builtin(str(given, {"apiVersion"}), kind);
    // What admission and the storage add comes after ownership is recorded, or is recorded by their own rules.
    if (kind != "DaemonSet") drop_creation(given, stored);  // its annotation is the creator's
    std::vector<std::string> reset{"status"};
    const Json tracked = track_update(nullptr, empty, stored, type, {"m", str(given, {"apiVersion"}), "", reset, Instant()});
    Json wanted = list_at(c, {"managedFields"});
    if (kind == "Job" || kind == "Pod" || kind == "Service" || kind == "Namespace" || kind == "Node" || wanted.empty()) continue;
    ASSERT_EQ(list_at(tracked, {"metadata", "managedFields"}).size(), 1U) << kind;
    EXPECT_EQ(dump_json(list_at(tracked, {"metadata", "managedFields"})[0]["fieldsV1"]), dump_json(wanted[0]["fieldsV1"]))
        << kind;
  }
}

}  // namespace
}  // namespace fleetadm::apimachinery
