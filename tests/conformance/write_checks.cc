// G: writes that clients seldom make, and what is said of what they get wrong.
#include <gtest/gtest.h>

#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

void g07(Lab& lab) {
  const auto path = lab.maps() + "/x";
  expect(lab.post(lab.maps(), lab.config_map("x")), 201);
  const auto send = [&](const std::string& body, const std::string& type = "application/json") {
    return lab.send({.method = "DELETE", .path = path, .body = body, .content_type = type});
  };
  expect(send(R"({"preconditions":{"uid":5}})"), 400, "BadRequest");
  expect(send(R"({"gracePeriodSeconds":"x"})"), 400, "BadRequest");
  expect(send(R"({"kind":"Other","apiVersion":"v1"})"), 400, "BadRequest");
  expect(send("{}", "application/x-www-form-urlencoded"), 415, "UnsupportedMediaType");
  expect(lab.get(path), 200);  // none of them did anything
  expect(send(R"({"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]})"), 200);
  expect(lab.get(path), 200);
  expect(send(R"({"apiVersion":"meta.k8s.io/v1","kind":"DeleteOptions","gracePeriodSeconds":0})"), 200);
  expect(lab.get(path), 404, "NotFound");
}

void g08(Lab& lab) {
  Json held = lab.config_map("x");
  held["metadata"]["finalizers"] = {"example.com/held"};
  expect(lab.post(lab.maps(), held), 201);
  expect(lab.remove(lab.maps() + "/x", {{"orphanDependents", false}}), 202);
  // Nothing more can be added, and one complaint names all of it.
  const auto more =
      lab.merge(lab.maps() + "/x", {{"metadata", {{"finalizers", {"example.com/held", "example.com/b", "example.com/a"}}}}});
  expect(more, 422, "Invalid");
  EXPECT_EQ(complaint(more, "metadata.finalizers"),
            "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
            "[]string{\"example.com/a\", \"example.com/b\"}");
  expect(lab.merge(lab.maps() + "/x", {{"metadata", {{"finalizers", nullptr}}}}), 200);
}

void g09(Lab& lab) {
  Json body = lab.config_map("x");
  body["metadata"]["finalizers"] = {"example.com"};
  auto answer = lab.post(lab.maps(), body);
  expect(answer, 422, "Invalid");
  EXPECT_EQ(complaint(answer, "metadata.finalizers[0]"),
            "Invalid value: \"example.com\": name is neither a standard finalizer name nor is it fully qualified");
  body["metadata"]["finalizers"] = {"orphan", "foregroundDeletion"};
  answer = lab.post(lab.maps(), body);
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(complaint(answer, "metadata.finalizers").ends_with("finalizer orphan and foregroundDeletion cannot be both set"));
  // Custom resources are only advised.
  lab.need_widgets();
  Json widget = lab.widget("w");
  widget["metadata"]["finalizers"] = {"plain"};
  answer = lab.post(lab.widgets(), widget);
  expect(answer, 201);
  EXPECT_EQ(header(answer, "warning"),
            "299 - \"metadata.finalizers: \\\"plain\\\": prefer a domain-qualified finalizer name to avoid accidental "
            "conflicts with other finalizer writers\"");
  answer = lab.merge(lab.widgets() + "/w", {{"metadata", {{"labels", {{"a", "b"}}}}}});
  expect(answer, 200);
  EXPECT_EQ(header(answer, "warning"), "");
  expect(lab.merge(lab.widgets() + "/w", {{"metadata", {{"finalizers", nullptr}}}}), 200);
}

void g10(Lab& lab) {
  const Json owner = {{"apiVersion", "v1"}, {"kind", "Thing"}, {"name", "a"}, {"uid", "u1"}};
  Json body = lab.config_map("x");
  body["metadata"]["ownerReferences"] = Json::array({owner, owner});
  auto answer = lab.send({.method = "POST", .path = lab.maps() + "?dryRun=All", .body = dump_json(body)});
  expect(answer, 201);
  EXPECT_EQ(list_at(answer.json(), {"metadata", "ownerReferences"}).size(), 1U);
  EXPECT_NE(header(answer, "warning").find("duplicate UID(s) observed: u1"), std::string::npos) << header(answer, "warning");
  body["metadata"]["ownerReferences"] =
      Json::array({{{"apiVersion", ""}, {"kind", "Thing"}, {"name", "a"}, {"uid", ""}, {"controller", true}},
                   {{"apiVersion", "v1"}, {"kind", "Event"}, {"name", "b"}, {"uid", "u2"}, {"controller", true}}});
  answer = lab.post(lab.maps(), body);
  expect(answer, 422, "Invalid");
  EXPECT_EQ(complaint(answer, "metadata.ownerReferences.apiVersion"), "Invalid value: \"\": version must not be empty");
  EXPECT_EQ(complaint(answer, "metadata.ownerReferences.uid"), "Invalid value: \"\": must not be empty");
  const auto message = answer.message();
  EXPECT_NE(message.find("/v1, Kind=Event is disallowed from being an owner"), std::string::npos) << message;
  EXPECT_NE(
      message.find("Only one reference can have Controller set to true. Found \"true\" in references for Thing/a and Event/b"),
      std::string::npos)
      << message;
}

void g11(Lab& lab) {
  Json body = lab.config_map("x");
  body["metadata"].erase("name");
  body["metadata"]["generateName"] = "Bad_";
  auto answer = lab.post(lab.maps(), body);
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(has_cause(answer, "metadata.generateName"));
  EXPECT_TRUE(has_cause(answer, "metadata.name"));
  body = lab.config_map("x");
  body["metadata"]["generation"] = -1;
  answer = lab.post(lab.maps(), body);
  expect(answer, 422, "Invalid");
  EXPECT_EQ(complaint(answer, "metadata.generation"), "Invalid value: -1: must be greater than or equal to 0");
}

/// A definition that is right but for what `change` does to its spec; nothing is kept of it.
Answer defined(Lab& lab, const std::function<void(Json& spec)>& change) {
  Json definition = widget_definition();
  const auto group = lab.ns() + ".example.com";
  definition["metadata"]["name"] = "widgets." + group;
  definition["spec"]["group"] = group;
  change(definition["spec"]);
  return lab.send({.method = "POST",
                   .path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All",
                   .body = dump_json(definition)});
}
void g12(Lab& lab) {
  expect(defined(lab, [](Json&) {}), 201);
  auto answer = defined(lab, [](Json& spec) {
    spec["scope"] = "";
    spec["names"]["kind"] = "Wid get";
    spec["names"]["listKind"] = "Wid get";
    spec["names"]["singular"] = "Widget";
    spec["names"]["shortNames"] = {"ok", "W"};
    spec["names"]["categories"] = {"1a"};
    spec["versions"][1]["name"] = "2";
  });
  expect(answer, 422, "Invalid");
  EXPECT_EQ(complaint(answer, "spec.scope"), "Required value");
  EXPECT_TRUE(
      complaint(answer, "spec.names.kind")
          .starts_with("Invalid value: \"Wid get\": may have mixed case, but should otherwise match: a DNS-1035 label must"));
  EXPECT_NE(answer.message().find("kind and listKind may not be the same"), std::string::npos) << answer.message();
  for (const char* field :
       {"spec.names.singular", "spec.names.shortNames[1]", "spec.names.categories[0]", "spec.versions[1].name"})
    EXPECT_NE(complaint(answer, field).find(": a DNS-1035 label must consist of"), std::string::npos) << field;
}
void g13(Lab& lab) {
  // What both versions have alike is the definition's, else it is a version's.
  const auto break_both = [](Json& spec) {
    for (Json& version : spec["versions"]) {
      version["additionalPrinterColumns"][0] = {{"name", ""}, {"type", "word"}, {"format", "odd"}, {"jsonPath", "spec"}};
      version["subresources"]["scale"] = {{"specReplicasPath", ".status.replicas"}, {"statusReplicasPath", ""}};
      version["schema"]["openAPIV3Schema"]["properties"]["spec"].erase("type");
      version["deprecationWarning"] = "soon";
    }
  };
  auto answer = defined(lab, break_both);
  expect(answer, 422, "Invalid");
  EXPECT_EQ(complaint(answer, "spec.additionalPrinterColumns[0].name"), "Required value");
  EXPECT_EQ(complaint(answer, "spec.additionalPrinterColumns[0].type"),
            "Invalid value: \"word\": must be one of boolean,date,integer,number,string");
  EXPECT_EQ(complaint(answer, "spec.additionalPrinterColumns[0].format"),
            "Invalid value: \"odd\": must be one of byte,date,date-time,double,float,int32,int64,password");
  EXPECT_EQ(complaint(answer, "spec.additionalPrinterColumns[0].JSONPath"),
            "Invalid value: \"spec\": must be a simple json path starting with .");
  EXPECT_EQ(complaint(answer, "spec.subresources.scale.specReplicasPath"),
            "Invalid value: \".status.replicas\": should be a json path under .spec");
  EXPECT_EQ(complaint(answer, "spec.subresources.scale.statusReplicasPath"), "Required value");
  EXPECT_FALSE(complaint(answer, "spec.validation.openAPIV3Schema.properties[spec].type").empty()) << answer.message();
  EXPECT_NE(complaint(answer, "spec.versions[1].deprecationWarning").find("can only be set for deprecated versions"),
            std::string::npos);
  answer = defined(lab, [](Json& spec) {
    spec["versions"][1]["additionalPrinterColumns"][0]["type"] = "word";
    spec["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"].erase("type");
  });
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(has_cause(answer, "spec.versions[1].additionalPrinterColumns[0].type"));
  EXPECT_TRUE(has_cause(answer, "spec.versions[1].schema.openAPIV3Schema.properties[spec].type")) << answer.message();
}
void g14(Lab& lab) {
  const auto select = [&](const Json& paths) {
    return defined(lab, [&](Json& spec) {
      for (Json& version : spec["versions"]) version["selectableFields"] = paths;
    });
  };
  const auto path = [](const char* text) { return Json{{"jsonPath", text}}; };
  expect(select(Json::array({path(".spec.size")})), 201);
  const auto answer = select(Json::array({path(".spec.size"), path(".spec.size"), path(".spec.nope"), path(".spec.items"),
                                          path(".metadata.name"), path(".spec.items[0]")}));
  expect(answer, 422, "Invalid");
  EXPECT_EQ(complaint(answer, "spec.selectableFields[1].jsonPath"), "Duplicate value: \".spec.size\"");
  EXPECT_EQ(complaint(answer, "spec.selectableFields[2].jsonPath"),
            "Invalid value: \".spec.nope\": is an invalid path: does not refer to a valid field");
  EXPECT_TRUE(complaint(answer, "spec.selectableFields[3].jsonPath")
                  .starts_with("Invalid value: \".spec.items\": must point to a field of type string, boolean or integer."));
  EXPECT_TRUE(has_cause(answer, "spec.selectableFields[4].jsonPath"));
  EXPECT_EQ(complaint(answer, "spec.selectableFields[5].jsonPath"),
            "Invalid value: \".spec.items[0]\": is an invalid path: array notation is not allowed");
}

void g15(Lab& lab) {
  const Json container = {{"name", "c"}, {"image", "example.com/i"}};
  const Json pod = {{"apiVersion", "v1"},
                    {"kind", "Pod"},
                    {"metadata", {{"name", "p"}}},
                    {"spec", {{"containers", Json::array({container})}, {"automountServiceAccountToken", false}}}};
  expect(
      lab.post(lab.core("serviceaccounts"), {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "own"}}}}),
      201);
  Json own = pod;
  own["spec"]["serviceAccountName"] = "own";
  expect(lab.post(lab.core("pods"), own), 201);
  const auto evict = [&](const std::string& name, const Json& options) {
    return lab.post(lab.core("pods") + "/p/eviction", {{"apiVersion", "policy/v1"},
                                                       {"kind", "Eviction"},
                                                       {"metadata", {{"name", name}, {"namespace", lab.ns()}}},
                                                       {"deleteOptions", options}});
  };
  expect(evict("q", Json::object()), 400, "BadRequest");
  expect(evict("p", {{"preconditions", {{"uid", "other"}}}}), 409, "Conflict");
  // "kubectl drain --dry-run=server" says so in the body only.
  expect(evict("p", {{"dryRun", {"All"}}}), 201);
  expect(lab.get(lab.core("pods") + "/p"), 200);
  expect(evict("p", {{"gracePeriodSeconds", 0}}), 201);
  EXPECT_TRUE(lab.eventually([&] { return lab.get(lab.core("pods") + "/p").status == 404; }));
}

void g16(Lab& lab) {
  const auto path = lab.maps() + "/x";
  expect(lab.post(lab.maps(), lab.config_map("x")), 201);
  for (const std::string type : {"application/merge-patch+json", "application/json-patch+json"}) {
    const bool merge = type.find("merge") != std::string::npos;
    auto answer = lab.patch(path, type, merge ? R"({"data":{"a":5}})" : R"([{"op":"add","path":"/data/a","value":5}])");
    expect(answer, 422, "Invalid");
    EXPECT_TRUE(complaint(answer, "patch").starts_with("Invalid value: \"{")) << answer.body;
    EXPECT_TRUE(
        complaint(answer, "patch").ends_with("json: cannot unmarshal number into Go struct field ConfigMap.data of type string"))
        << answer.body;
    answer = lab.patch(path, type, merge ? R"({"kind":"Secret"})" : R"([{"op":"add","path":"/kind","value":"Secret"}])");
    EXPECT_EQ(answer.status, 422) << answer.body;
    EXPECT_TRUE(has_cause(answer, "patch")) << answer.body;
  }
  EXPECT_EQ(lab.patch(path, "application/json-patch+json", R"([{"op":"remove","path":"/metadata/name"}])").message(),
            "the name of the object (x based on URL) was undeterminable: name must be provided");
  Json nameless = lab.config_map("x");
  nameless["metadata"].erase("name");
  EXPECT_EQ(lab.put(path, nameless).message(),
            "the name of the object (x based on URL) was undeterminable: name must be provided");
}

void g17(Lab& lab) {
  const auto path = lab.maps() + "/x";
  Json nameless = lab.config_map("x");
  nameless["metadata"].erase("name");
  auto answer = lab.apply(path, nameless, "m");
  expect(answer, 400, "BadRequest");
  EXPECT_EQ(answer.message(), "the name of the object (x based on URL) was undeterminable: name must be provided");
  expect(lab.apply(path, lab.config_map("x"), "m"), 201);
  // Of an object that is there the URL says enough.
  nameless["data"] = {{"b", "2"}};
  expect(lab.apply(path, nameless, "m"), 200);
  EXPECT_EQ(object_at(lab.get(path).json(), {"data"}), (Json{{"b", "2"}}));
}

void g18(Lab& lab) {
  expect(lab.post(lab.maps(), lab.config_map("x")), 201);
  auto answer = lab.merge(lab.maps() + "/x", {{"metadata", {{"deletionTimestamp", "2030-01-01T00:00:00Z"}}}});
  expect(answer, 422, "Invalid");
  EXPECT_EQ(complaint(answer, "metadata.deletionTimestamp"), "Invalid value: \"2030-01-01T00:00:00Z\": field is immutable");
  answer = lab.merge(lab.maps() + "/x", {{"metadata", {{"deletionGracePeriodSeconds", 5}}}});
  expect(answer, 422, "Invalid");
  EXPECT_EQ(complaint(answer, "metadata.deletionGracePeriodSeconds"), "Invalid value: 5: field is immutable");
}

void g24(Lab& lab) {
  const Json container = {{"name", "c"}, {"image", "example.com/i"}};
  expect(
      lab.post(lab.core("serviceaccounts"), {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "own"}}}}),
      201);
  Json pod = {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"name", "p"}}},
      {"spec",
       {{"containers", Json::array({container})}, {"automountServiceAccountToken", false}, {"serviceAccountName", "own"}}}};
  const auto debugger = [](const std::string& name) {
    return Json{{"name", name}, {"image", "example.com/debug"}, {"targetContainerName", "c"}};
  };
  pod["spec"]["ephemeralContainers"] = Json::array({debugger("d")});
  EXPECT_EQ(complaint(lab.post(lab.core("pods"), pod), "spec.ephemeralContainers"), "Forbidden: cannot be set on create");
  pod["spec"].erase("ephemeralContainers");
  lab.create_pod(pod);
  const auto path = lab.core("pods") + "/p/ephemeralcontainers";
  const auto add = [&](const Json& list) { return lab.strategic(path, {{"spec", {{"ephemeralContainers", list}}}}); };
  // As "kubectl debug" does it.
  auto answer = add(Json::array({debugger("d")}));
  expect(answer, 200);
  EXPECT_EQ(str(answer.json(), {"kind"}), "Pod");
  EXPECT_EQ(num(answer.json(), {"metadata", "generation"}), 2);
  ASSERT_EQ(list_at(answer.json(), {"spec", "ephemeralContainers"}).size(), 1U);
  EXPECT_EQ(str(list_at(answer.json(), {"spec", "ephemeralContainers"})[0], {"imagePullPolicy"}), "Always");
  expect(add(Json::array({debugger("e")})), 200);
  EXPECT_EQ(list_at(lab.get(path).json(), {"spec", "ephemeralContainers"}).size(), 2U);
  Json bad = debugger("c");
  bad["targetContainerName"] = "none";
  bad["livenessProbe"] = {{"exec", {{"command", {"x"}}}}};
  answer = add(Json::array({bad}));
  expect(answer, 422, "Invalid");
  const auto message = answer.message();
  for (const char* text : {"name: Duplicate value: \"c\"", "targetContainerName: Not found: \"none\"",
                           "livenessProbe: Forbidden: cannot be set for an Ephemeral Container"})
    EXPECT_NE(message.find(text), std::string::npos) << message;
  answer = lab.merge(path, {{"spec", {{"ephemeralContainers", Json::array({debugger("e")})}}}});
  expect(answer, 422, "Invalid");
  EXPECT_NE(answer.message().find("existing ephemeral containers \"d\" may not be removed"), std::string::npos)
      << answer.message();
  // By this way nothing else of a pod changes.
  answer = lab.strategic(path, {{"metadata", {{"labels", {{"a", "b"}}}}}, {"spec", {{"activeDeadlineSeconds", 5}}}});
  expect(answer, 200);
  EXPECT_TRUE(object_at(answer.json(), {"metadata", "labels"}).empty()) << answer.body;
}

}  // namespace

std::vector<Check> write_checks() {
  return {{"G07", "DeleteOptions that cannot be read", g07},
          {"G08", "deletions that wait", g08},
          {"G09", "names of finalizers", g09},
          {"G10", "owners", g10},
          {"G11", "generateName and generation", g11},
          {"G12", "names of a definition", g12},
          {"G13", "parts of a definition's versions", g13},
          {"G14", "selectable fields of a definition", g14},
          {"G15", "options of evictions", g15},
          {"G16", "patches whose outcome is no such object", g16},
          {"G17", "applies by name", g17},
          {"G18", "marks of deletion", g18},
          {"G24", "ephemeral containers", g24}};
}

}  // namespace fleetadm::conformance
