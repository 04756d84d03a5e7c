// The sandbox's server, fed by clients who mean it ill.
#include <atomic>
#include <memory>
#include <mutex>

#include "core/apimachinery/protobuf.h"
#include "core/apimachinery/structural.h"
#include "core/sandbox/api/api_server.h"
#include "core/sandbox/api/write.h"
#include "kubeclient/base/query_selectors.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/pki/pki.h"
#include "tests/fuzz/targets.h"

namespace fleetadm::fuzz {
namespace {

using namespace sandbox;

tl::unexpected<Error> no_promise_kept(const std::string& what) { return fail(Category::kInternal, "broken promise: " + what); }

std::string_view line_of(std::string_view& text) {
  const auto end = text.find('\n');
  const auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

/// A server that is made anew now and then, because what clients make stays.
std::shared_ptr<ApiServer> fuzzed_server() {
  static std::mutex mutex;
  static std::shared_ptr<ApiServer> server;
  static int uses = 0;
  const std::lock_guard lock(mutex);
  if (!server || ++uses > 500) {
    static const std::string key = *pki::generate_key();
    ApiOptions options;
    options.token_key = key;
    options.clock = std::make_shared<FakeClock>(*parse_time("2026-01-01T00:00:00Z"));
    auto opened = ApiServer::open(std::move(options));
    if (!opened) return nullptr;
    server = std::move(*opened);
    uses = 0;
  }
  return server;
}

// --- "METHOD path?query", a content type (or "-"), an Accept header (or "-"), and the body
// ---------------------------------------

Result<std::string> run_http(std::string_view input) {
  const auto server = fuzzed_server();
  if (!server) return no_promise_kept("no server");
  serve::HttpRequest request;
  const auto first = line_of(input);
  const auto blank = first.find(' ');
  request.method = std::string(first.substr(0, blank));
  const auto target = blank == std::string_view::npos ? std::string_view() : first.substr(blank + 1);
  request.path = std::string(target.substr(0, target.find('?')));
  if (const auto mark = target.find('?'); mark != std::string_view::npos) request.query = std::string(target.substr(mark + 1));
  for (const char* name : {"content-type", "accept"}) {
    const auto value = line_of(input);
    if (value != "-" && !value.empty()) request.headers.emplace_back(name, std::string(value));
  }
  request.body = std::string(input);
  auto peer = std::make_shared<serve::Peer>();
  peer->certificate = serve::Peer::Certificate::kValid;
  peer->common_name = "fuzz";
  peer->organizations = {"system:masters"};
  request.peer = peer;
  serve::HttpResponse response = server->handle(request);
  if (response.status < 200 || response.status > 599) return no_promise_kept("no such status");
  std::string type;
  for (const auto& [name, value] : response.headers) {
    if (name == "content-type") type = value;
  }
  std::string said;
  if (response.stream) {
    response.stream->read(said, 64 * 1024);
    return "stream " + std::to_string(response.status);
  }
  if (type == "application/json") {
    const auto json = parse_json(response.body);
    if (!json) return no_promise_kept("an answer that is no JSON");
    // What went wrong inside is no client's to bring about.
    if (response.status == 500 && str(*json, {"reason"}) == "InternalError") return no_promise_kept(str(*json, {"message"}));
    if (response.status >= 400) said = str(*json, {"reason"}) + " " + shape_of(str(*json, {"message"}));
  }
  return std::to_string(response.status) + " " + request.method.substr(0, 6) + " " + said;
}

// --- {"type": merge|json|strategic, "old": {…}, "patch": …} ------------------------------------------------------------------

Result<std::string> run_patch(std::string_view input) {
  static const KindTable kinds;
  const auto parsed = parse_json(input);
  if (!parsed) return "no json";
  const auto word = str(*parsed, {"type"});
  const bool pod = str(*parsed, {"old", "kind"}) == "Pod";
  const auto kind = pod ? kinds.find("", "v1", "pods") : kinds.find("apps", "v1", "deployments");
  const Json* patch = find(*parsed, {"patch"});
  if (!kind || patch == nullptr) return "no patch";
  const std::string type = word == "json"    ? "application/json-patch+json"
                           : word == "merge" ? "application/merge-patch+json"
                                             : "application/strategic-merge-patch+json";
  const Json old = object_at(*parsed, {"old"});
  const auto once = apply_patch(*kind, old, type, *patch);
  const auto twice = apply_patch(*kind, old, type, *patch);
  if (once.has_value() != twice.has_value()) return no_promise_kept("the same patch, two outcomes");
  if (!once) return word.substr(0, 9) + " " + std::to_string(once.error().code) + " " + shape_of(once.error().message);
  if (*once != *twice) return no_promise_kept("the same patch, two objects");
  if (word == "merge") {
    const auto again = apply_patch(*kind, *once, type, *patch);
    if (!again || *again != *once) return no_promise_kept("a merge patch that changes its own outcome");
  }
  return word.substr(0, 9) + " ok " + std::to_string(once->size());
}

// --- protobuf bodies of a few kinds, named by the first byte ------------------------------------------------------------------

Result<std::string> run_protobuf(std::string_view input) {
  static constexpr std::pair<const char*, const char*> kKinds[] = {
      {"v1", "Pod"}, {"v1", "ConfigMap"}, {"apps/v1", "Deployment"}, {"v1", "Secret"}, {"coordination.k8s.io/v1", "Lease"}};
  if (input.empty()) return "empty";
  const auto& [version, kind] = kKinds[static_cast<unsigned char>(input.front()) % std::size(kKinds)];
  const std::string body = std::string("k8s\0", 4) + std::string(input.substr(1));
  const auto decoded = apimachinery::decode_protobuf(body, version, kind);
  if (!decoded) return "e " + std::to_string(decoded.error().code) + " " + shape_of(decoded.error().message);
  if (!decoded->is_object()) return no_promise_kept("a body that is no object");
  if (!parse_json(dump_json(*decoded))) return no_promise_kept("an object that is no JSON");
  return std::string("ok ") + kind + " " + std::to_string(decoded->size());
}

// --- {"schema": {…}, "object": {…}} ------------------------------------------------------------------------------------------

Result<std::string> run_schema(std::string_view input) {
  const auto parsed = parse_json(input);
  if (!parsed) return "no json";
  const auto compiled = apimachinery::Structural::compile(object_at(*parsed, {"schema"}), "spec");
  if (!compiled) {
    if (compiled.error().empty()) return no_promise_kept("a schema is refused, and nothing says why");
    return "refused " + compiled.error().front().reason + " " + shape_of(compiled.error().front().message);
  }
  Json object = object_at(*parsed, {"object"});
  std::vector<std::string> unknown;
  if (const auto pruned = (*compiled)->prune(object, unknown); !pruned) return "metadata " + shape_of(pruned.error().message);
  Json again = object;
  std::vector<std::string> none;
  if (!(*compiled)->prune(again, none) || !none.empty() || again != object)
    return no_promise_kept("what was pruned is pruned again");
  (*compiled)->default_values(object);
  again = object;
  (*compiled)->default_values(again);
  if (again != object) return no_promise_kept("defaults of what has its defaults");
  const auto causes = (*compiled)->validate(object, nullptr);
  if (causes.empty()) return "valid " + std::to_string(std::min<std::size_t>(unknown.size(), 3));
  return "invalid " + causes.front().reason + " " + shape_of(causes.front().message);
}

// --- selectors as a request has them, and YAML that comes back as it was -------------------------------------------------------

Result<std::string> run_wire(std::string_view input) {
  const auto labels = LabelSelector::parse(input);
  const auto fields = FieldSelector::parse(input);
  std::string out = labels ? "l" : "le " + shape_of(labels.error().message);
  if (labels) out += labels->matches({{"app", "web"}, {"tier", "1"}}) ? "+" : "-";
  out += fields ? " f" + std::to_string(std::min<std::size_t>(fields->paths().size(), 3))
                : " fe " + shape_of(fields.error().message);
  const auto documents = parse_yaml_documents(input);
  if (!documents) return out + " ye " + shape_of(documents.error().message);
  for (const auto& document : *documents) {
    const auto text = dump_yaml(document.value);
    const auto back = parse_yaml(text);
    if (document.value.is_null()) continue;
    if (!back || dump_json(*back) != dump_json(document.value)) return no_promise_kept("YAML that reads back as something else");
  }
  return out + " y" + std::to_string(std::min<std::size_t>(documents->size(), 3));
}

const std::vector<std::string_view> kHttpWords = {"GET ",
                                                  "POST ",
                                                  "PUT ",
                                                  "PATCH ",
                                                  "DELETE ",
                                                  "/api/v1/",
                                                  "/apis/",
                                                  "namespaces/default/",
                                                  "configmaps",
                                                  "pods",
                                                  "secrets",
                                                  "deployments",
                                                  "/status",
                                                  "/scale",
                                                  "/token",
                                                  "/binding",
                                                  "/openapi/v3",
                                                  "?watch=1",
                                                  "&limit=1",
                                                  "&continue=",
                                                  "resourceVersion=0",
                                                  "labelSelector=",
                                                  "fieldSelector=metadata.name%3D",
                                                  "fieldManager=m",
                                                  "dryRun=All",
                                                  "force=true",
                                                  "\n-\n-\n",
                                                  "application/json",
                                                  "application/yaml",
                                                  "application/apply-patch+yaml",
                                                  "application/json-patch+json",
                                                  "application/merge-patch+json",
                                                  "application/strategic-merge-patch+json",
                                                  "application/vnd.kubernetes.protobuf",
                                                  "application/json;as=Table;v=v1;g=meta.k8s.io",
                                                  "{\"metadata\":{\"name\":\"a\"}}",
                                                  "\"finalizers\":[\"a/b\"]",
                                                  "customresourcedefinitions",
                                                  "apiextensions.k8s.io/v1/"};
const std::vector<std::string_view> kPatchWords = {"merge",
                                                   "json",
                                                   "strategic",
                                                   "op",
                                                   "add",
                                                   "remove",
                                                   "replace",
                                                   "move",
                                                   "copy",
                                                   "test",
                                                   "path",
                                                   "from",
                                                   "value",
                                                   "$patch",
                                                   "delete",
                                                   "$retainKeys",
                                                   "$setElementOrder/containers",
                                                   "$deleteFromPrimitiveList/finalizers",
                                                   "containers",
                                                   "name",
                                                   "spec",
                                                   "metadata",
                                                   "/spec/-",
                                                   "~0",
                                                   "~1",
                                                   "null"};
const std::vector<std::string_view> kProtobufWords = {"\x0a",
                                                      "\x12",
                                                      "\x1a",
                                                      "\x08",
                                                      "\x12\x04",
                                                      "\x0a\x02v1",
                                                      "\xff\xff\xff\xff\x0f",
                                                      "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
                                                      "default"};
const std::vector<std::string_view> kSchemaWords = {"type",
                                                    "object",
                                                    "array",
                                                    "string",
                                                    "integer",
                                                    "number",
                                                    "boolean",
                                                    "properties",
                                                    "items",
                                                    "additionalProperties",
                                                    "required",
                                                    "enum",
                                                    "default",
                                                    "nullable",
                                                    "pattern",
                                                    "format",
                                                    "minimum",
                                                    "maximum",
                                                    "minLength",
                                                    "maxLength",
                                                    "maxItems",
                                                    "uniqueItems",
                                                    "multipleOf",
                                                    "allOf",
                                                    "anyOf",
                                                    "oneOf",
                                                    "not",
                                                    "x-kubernetes-int-or-string",
                                                    "x-kubernetes-preserve-unknown-fields",
                                                    "x-kubernetes-embedded-resource",
                                                    "x-kubernetes-list-type",
                                                    "x-kubernetes-list-map-keys",
                                                    "x-kubernetes-validations",
                                                    "rule",
                                                    "self.size() > 1",
                                                    "oldSelf",
                                                    "map",
                                                    "set",
                                                    "date-time",
                                                    "metadata",
                                                    "status"};
const std::vector<std::string_view> kWireWords = {
    "app", "=",  "==",   "!=",     " in (", " notin (", ")",     ",",  "!", ">", "<",  "tier", "metadata.name", "\\,", ": ", "- ",
    "&a ", "*a", "<<: ", "!!str ", "|\n ",  ">-\n ",    "---\n", "\"", "'", "#", "? ", "0x1f", "1e3",           "~",   "\t"};

}  // namespace

std::vector<Target> sandbox_targets() {
  return {{"http", 8'000, false, kHttpWords, run_http},
          {"patch", 8'000, true, kPatchWords, run_patch},
          {"protobuf", 4'000, false, kProtobufWords, run_protobuf},
          {"schema", 8'000, true, kSchemaWords, run_schema},
          {"wire", 1'000, false, kWireWords, run_wire}};
}

}  // namespace fleetadm::fuzz
