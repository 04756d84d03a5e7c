// The versions of the add-on kinds: what becomes of each field, and that nothing is lost on the way there and back.
#include "core/addon/rules/conversion.h"

#include <gtest/gtest.h>

#include "core/addon/rules/names.h"
#include "tests/support/property.h"

namespace fleetadm::addon {
namespace {

constexpr const char* kOld = "addon.open-cluster-management.io/v1alpha1";
constexpr const char* kNew = "addon.open-cluster-management.io/v1beta1";
constexpr const char* kApiClient = "kubernetes.io/kube-apiserver-client";

Json declaration(const char* version, Json spec, Json status = nullptr) {
  Json object{{"apiVersion", version},
              {"kind", "ClusterManagementAddOn"},
              {"metadata", {{"name", "hello"}, {"uid", "1"}}},
              {"spec", std::move(spec)}};
  if (!status.is_null()) object["status"] = std::move(status);
  return object;
}

Json addon_object(const char* version, Json spec, Json status = nullptr) {
  Json object = declaration(version, std::move(spec), std::move(status));
  object["kind"] = "ManagedClusterAddOn";
  object["metadata"]["namespace"] = "c1";
  return object;
}

Json annotated(Json object, std::string_view key, std::string_view value) {
  object["metadata"]["annotations"][key] = value;
  return object;
}

Json converted(const Json& object, const char* version) {
  const auto out = convert_addon(object, version);
  EXPECT_TRUE(out) << out.error().message;
  return out.value_or(Json());
}

void expect_pair(const Json& old_form, const Json& new_form) {
  EXPECT_EQ(converted(old_form, kNew), new_form);
  EXPECT_EQ(converted(new_form, kOld), old_form);
}

TEST(Conversion, SupportedConfigsAreDefaultConfigs) {
  expect_pair(
      declaration(kOld,
                  {{"addOnMeta", {{"displayName", "Hello"}}},
                   {"installStrategy", {{"type", "Manual"}}},
                   {"supportedConfigs",
                    Json::array({{{"group", "g"}, {"resource", "r"}, {"defaultConfig", {{"name", "n"}, {"namespace", "ns"}}}},
                                 {{"group", ""}, {"resource", "q"}}})}},
                  {{"defaultconfigReferences", Json::array({{{"group", "g"}, {"resource", "r"}}})},
                   {"installProgressions", Json::array()}}),
      declaration(kNew,
                  {{"addOnMeta", {{"displayName", "Hello"}}},
                   {"installStrategy", {{"type", "Manual"}}},
                   {"defaultConfigs", Json::array({{{"group", "g"}, {"resource", "r"}, {"name", "n"}, {"namespace", "ns"}},
                                                   {{"group", ""}, {"resource", "q"}, {"name", "__reserved_no_default__"}}})}},
                  {{"defaultConfigReferences", Json::array({{{"group", "g"}, {"resource", "r"}}})},
                   {"installProgressions", Json::array()}}));
}

TEST(Conversion, TheInstallNamespaceIsAnAnnotation) {
  const Json old_form = addon_object(kOld, {{"installNamespace", "agents"}, {"configs", Json::array()}});
  expect_pair(old_form, annotated(addon_object(kNew, {{"configs", Json::array()}}), kInstallNamespaceAnnotation, "agents"));
  const Json other = annotated(addon_object(kOld, {{"installNamespace", "agents"}}), "example.com/x", "1");
  const Json beta = converted(other, kNew);
  EXPECT_EQ(annotation_of(beta, "example.com/x"), "1");
  EXPECT_EQ(annotation_of(beta, kInstallNamespaceAnnotation), "agents");
  EXPECT_EQ(converted(beta, kOld), other);
}

TEST(Conversion, RegistrationsSayTheirType) {
  expect_pair(
      addon_object(kOld, Json::object(),
                   {{"kubeClientDriver", "token"},
                    {"registrations", Json::array({{{"signerName", kApiClient}, {"subject", {{"user", "u"}, {"groups", {"g"}}}}},
                                                   {{"signerName", "example.com/s"},
                                                    {"subject", {{"user", "v"}, {"organizationUnit", {"o"}}}}}})}}),
      addon_object(
          kNew, Json::object(),
          {{"registrations",
            Json::array(
                {{{"type", "kubeClient"}, {"kubeClient", {{"driver", "token"}, {"subject", {{"user", "u"}, {"groups", {"g"}}}}}}},
                 {{"type", "customSigner"},
                  {"customSigner",
                   {{"signerName", "example.com/s"}, {"subject", {{"user", "v"}, {"organizationUnits", {"o"}}}}}}}})}}));
}

TEST(Conversion, ConfigReferencesNameWhatIsDesired) {
  const Json desired{{"name", "n"}, {"namespace", "ns"}, {"specHash", "h"}};
  expect_pair(
      addon_object(kOld, Json::object(),
                   {{"configReferences", Json::array({{{"group", "g"},
                                                       {"resource", "r"},
                                                       {"name", "n"},
                                                       {"namespace", "ns"},
                                                       {"lastObservedGeneration", 2},
                                                       {"desiredConfig", desired}}})}}),
      addon_object(
          kNew, Json::object(),
          {{"configReferences",
            Json::array({{{"group", "g"}, {"resource", "r"}, {"lastObservedGeneration", 2}, {"desiredConfig", desired}}})}}));
}

// What v1beta1 has no member for is not lost by its clients' writes: neither by those of the status nor by those of the spec.
TEST(Conversion, ObsoleteMembersOutliveWritesOfNewClients) {
  const Json link{{"crdName", "things.example.com"}, {"crName", "x"}};
  const Json old_declaration = declaration(kOld, {{"addOnConfiguration", link}});
  Json edited = converted(old_declaration, kNew);
  EXPECT_EQ(find(edited, {"spec", "addOnConfiguration"}), nullptr);
  edited["spec"]["addOnMeta"]["displayName"] = "New";
  Json back = converted(edited, kOld);
  EXPECT_EQ(str(back, {"spec", "addOnConfiguration", "crName"}), "x");
  EXPECT_EQ(str(back, {"spec", "addOnMeta", "displayName"}), "New");
  EXPECT_EQ(find(back, {"metadata", "annotations"}), nullptr);

  const Json old_addon = addon_object(kOld, Json::object(), {{"addOnConfiguration", link}, {"kubeClientDriver", "csr"}});
  edited = converted(old_addon, kNew);
  edited["status"]["registrations"] = Json::array({{{"type", "kubeClient"}, {"kubeClient", {{"driver", "token"}}}}});
  back = converted(edited, kOld);
  EXPECT_EQ(str(back, {"status", "addOnConfiguration", "crName"}), "x");
  EXPECT_EQ(str(back, {"status", "kubeClientDriver"}), "token") << "what a new client says counts";
}

/// Go programs store it for what is not there, and an annotation on every object they wrote would say nothing.
TEST(Conversion, AnEmptyObjectIsNothingToKeep) {
  const Json stored = addon_object(kOld, Json::object(), {{"addOnConfiguration", Json::object()}});
  const Json read = converted(stored, kNew);
  EXPECT_EQ(find(read, {"metadata", "annotations", kKeptOfV1alpha1Annotation}), nullptr) << read;
  const Json declared = converted(declaration(kOld, {{"addOnConfiguration", Json::object()}}), kNew);
  EXPECT_EQ(find(declared, {"metadata", "annotations"}), nullptr) << declared;
}

TEST(Conversion, EachRegistrationKeepsItsDriver) {
  const auto client = [](const char* driver, const char* user) {
    return Json{{"type", "kubeClient"}, {"kubeClient", {{"driver", driver}, {"subject", {{"user", user}}}}}};
  };
  const Json two =
      addon_object(kNew, Json::object(), {{"registrations", Json::array({client("csr", "a"), client("token", "b")})}});
  Json stored = converted(two, kOld);
  EXPECT_EQ(str(stored, {"status", "kubeClientDriver"}), "csr");
  EXPECT_EQ(converted(stored, kNew), two);
  // An old client that changes the registrations is not answered with what they were.
  stored["status"]["registrations"].erase(1);
  EXPECT_EQ(converted(stored, kNew), addon_object(kNew, Json::object(), {{"registrations", Json::array({client("csr", "a")})}}));
}

TEST(Conversion, ACustomSignerIsNotTakenForTheApisOwn) {
  const Json odd = addon_object(
      kNew, Json::object(),
      {{"registrations", Json::array({{{"type", "customSigner"}, {"customSigner", {{"signerName", kApiClient}}}}})}});
  EXPECT_EQ(converted(converted(odd, kOld), kNew), odd);
}

TEST(Conversion, AnnotationsOfTheWrongVersionSayNothing) {
  const Json lie = R"({"spec.addOnConfiguration":{"for":"74234e98afe7498f","value":{"crName":"lie"}}})";
  const Json plain = declaration(kOld, Json::object());
  EXPECT_EQ(converted(annotated(plain, kKeptOfV1alpha1Annotation, lie.get<std::string>()), kNew),
            declaration(kNew, Json::object()));
  for (const char* text : {"", "no JSON", "[]", "{\"spec.defaultConfigs\":7}", "null"}) {
    EXPECT_EQ(converted(annotated(plain, kKeptOfV1beta1Annotation, text), kNew), declaration(kNew, Json::object())) << text;
  }
}

// Annotations are written with the rights of the main resource, the status with those of its subresource.
TEST(Conversion, AnnotationsCannotChangeTheStatus) {
  const auto registration = [](const char* user) {
    return Json::array({{{"signerName", kApiClient}, {"subject", {{"user", user}, {"organizationUnit", {"o"}}}}}});
  };
  const Json stored = addon_object(kOld, Json::object(), {{"registrations", registration("mine")}});
  Json seen = converted(stored, kNew);
  auto kept = parse_json(annotation_of(seen, kKeptOfV1alpha1Annotation));
  ASSERT_TRUE(kept);
  ASSERT_EQ((*kept)["status.registrations"]["value"], registration("mine"));
  (*kept)["status.registrations"]["value"] = registration("admin");
  seen = annotated(seen, kKeptOfV1alpha1Annotation, dump_json(*kept));
  const Json back = converted(seen, kOld);
  EXPECT_EQ(str(list_at(back, {"status", "registrations"}).front(), {"subject", "user"}), "mine");
}

TEST(Conversion, OtherKindsAndVersionsAreRefused) {
  const Json plain = declaration(kOld, Json::object());
  EXPECT_EQ(converted(plain, kOld), plain);
  EXPECT_EQ(convert_addon(plain, "addon.open-cluster-management.io/v1").error().category, Category::kUnsupported);
  EXPECT_EQ(convert_addon(plain, "example.com/v1beta1").error().category, Category::kUnsupported);
  Json other = plain;
  other["kind"] = "AddOnTemplate";
  EXPECT_FALSE(convert_addon(other, kNew));
  EXPECT_FALSE(convert_addon(Json(), kNew));
  EXPECT_FALSE(convert_addon(Json::array(), kNew));
}

// --- there and back ---

using testkit::Random;

Json random_odd(Random& random) {
  switch (random.below(5)) {  // no null: servers take it for a member that is not there
    case 1: return 7;
    case 2: return "text";
    case 3: return Json::array();
    case 4: return Json::array({1, Json::object(), "x"});
    default: return Json::object();
  }
}

/// Now and then something of another type than the schema says.
template <class Make>
void maybe(Random& random, Json& object, const char* name, int percent, Make make) {
  if (!random.chance(percent)) return;
  object[name] = random.chance(4) ? random_odd(random) : Json(make());
}

Json random_reference(Random& random) {
  Json out = Json::object();
  maybe(random, out, "name", 90, [&] { return random.one_of({"a", "b", ""}); });
  maybe(random, out, "namespace", 50, [&] { return random.one_of({"x", "y", ""}); });
  maybe(random, out, "specHash", 40, [&] { return "h"; });
  return out;
}

template <class Make>
Json random_list(Random& random, Make make) {
  Json out = Json::array();
  for (int i = random.below(4); i > 0; --i) out.push_back(random.chance(3) ? random_odd(random) : make());
  return out;
}

Json random_type(Random& random) {
  Json out = Json::object();
  maybe(random, out, "group", 60, [&] { return random.one_of({"", "g"}); });
  maybe(random, out, "resource", 95, [&] { return random.one_of({"r", "q"}); });
  return out;
}

Json random_declaration(Random& random, bool old) {
  Json spec = Json::object();
  if (old) {
    maybe(random, spec, "addOnConfiguration", 40, [] { return Json{{"crName", "x"}}; });
    maybe(random, spec, "supportedConfigs", 80, [&] {
      return random_list(random, [&] {
        Json out = random_type(random);
        maybe(random, out, "defaultConfig", 60, [&] { return random_reference(random); });
        return out;
      });
    });
  } else {
    maybe(random, spec, "defaultConfigs", 80, [&] {
      return random_list(random, [&] {
        Json out = random_type(random);
        maybe(random, out, "name", 90, [&] { return random.one_of({"a", "__reserved_no_default__", ""}); });
        maybe(random, out, "namespace", 50, [&] { return random.one_of({"x", ""}); });
        return out;
      });
    });
  }
  Json status = nullptr;
  if (random.chance(60)) {
    status = Json::object();
    maybe(random, status, old ? "defaultconfigReferences" : "defaultConfigReferences", 70, [&] {
      return random_list(random, [&] {
        Json out = random_type(random);
        maybe(random, out, "desiredConfig", 70, [&] { return random_reference(random); });
        return out;
      });
    });
  }
  return declaration(old ? kOld : kNew, spec, status);
}

Json random_subject(Random& random, const char* units) {
  Json out = Json::object();
  maybe(random, out, "user", 70, [&] { return random.one_of({"u", "v"}); });
  maybe(random, out, "groups", 60, [] { return Json::array({"g"}); });
  maybe(random, out, units, 40, [] { return Json::array({"o"}); });
  return out;
}

Json random_registration(Random& random, bool old) {
  Json out = Json::object();
  const auto signer = [&] { return random.one_of({kApiClient, "example.com/s"}); };
  if (old) {
    maybe(random, out, "signerName", 95, signer);
    maybe(random, out, "subject", 80, [&] { return random_subject(random, "organizationUnit"); });
    return out;
  }
  maybe(random, out, "type", 95, [&] { return random.one_of({"kubeClient", "customSigner", "other"}); });
  maybe(random, out, "kubeClient", 60, [&] {
    Json block = Json::object();
    maybe(random, block, "driver", 60, [&] { return random.one_of({"csr", "token"}); });
    maybe(random, block, "subject", 80, [&] { return random_subject(random, "groups"); });
    return block;
  });
  maybe(random, out, "customSigner", 60, [&] {
    Json block = Json::object();
    maybe(random, block, "signerName", 95, signer);
    maybe(random, block, "subject", 80, [&] { return random_subject(random, "organizationUnits"); });
    return block;
  });
  return out;
}

Json random_addon(Random& random, bool old) {
  Json spec = Json::object();
  if (old) maybe(random, spec, "installNamespace", 70, [&] { return random.one_of({"agents", "open-cluster-management", ""}); });
  maybe(random, spec, "configs", 40, [&] { return random_list(random, [&] { return random_reference(random); }); });
  Json status = nullptr;
  if (random.chance(80)) {
    status = Json::object();
    if (old) {
      maybe(random, status, "addOnConfiguration", 30, [] { return Json{{"crName", "x"}}; });
      maybe(random, status, "kubeClientDriver", 50, [&] { return random.one_of({"csr", "token"}); });
    }
    maybe(random, status, "registrations", 70,
          [&] { return random_list(random, [&] { return random_registration(random, old); }); });
    maybe(random, status, "configReferences", 60, [&] {
      return random_list(random, [&] {
        Json out = random_type(random);
        if (old) out.update(random_reference(random));
        maybe(random, out, "desiredConfig", 70, [&] { return random_reference(random); });
        return out;
      });
    });
  }
  Json object = addon_object(old ? kOld : kNew, spec, status);
  if (random.chance(30)) object["metadata"]["annotations"]["example.com/x"] = "1";
  if (!old && random.chance(40))
    object["metadata"]["annotations"][kInstallNamespaceAnnotation] = random.one_of({"agents", "not a namespace", ""});
  return object;
}

/// An empty addOnConfiguration is none.
Json without_nothing(Json object) {
  for (const char* section : {"spec", "status"}) {
    const Json* obsolete = find(object, {section, "addOnConfiguration"});
    if (obsolete != nullptr && *obsolete == Json::object()) erase_at(object, {section, "addOnConfiguration"});
  }
  return object;
}

void expect_there_and_back(const std::function<Json(Random&)>& make, const char* there, const char* back) {
  testkit::Property<Json> property;
  property.make = make;
  property.smaller = [](const Json& object) { return testkit::reductions(object, {"apiVersion", "kind", "metadata", "name"}); };
  property.describe = [](const Json& object) { return dump_json_pretty(object); };
  property.wrong = [&](const Json& object) -> std::string {
    const auto other = convert_addon(object, there);
    if (!other) return other.error().message;
    const auto again = convert_addon(*other, back);
    if (!again) return again.error().message;
    if (without_nothing(*again) == without_nothing(object)) return {};
    return "by way of " + dump_json(*other) + " it became " + dump_json(*again);
  };
  testkit::holds_for_all(1500, property);
}

TEST(ConversionProperties, ObjectsOfOldClientsComeBackTheSame) {
  expect_there_and_back([](Random& random) { return random_declaration(random, true); }, kNew, kOld);
  expect_there_and_back([](Random& random) { return random_addon(random, true); }, kNew, kOld);
}

TEST(ConversionProperties, ObjectsOfNewClientsComeBackTheSame) {
  expect_there_and_back([](Random& random) { return random_declaration(random, false); }, kOld, kNew);
  expect_there_and_back([](Random& random) { return random_addon(random, false); }, kOld, kNew);
}

}  // namespace
}  // namespace fleetadm::addon
