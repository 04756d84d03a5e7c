#include "tests/support/conversion_webhook.h"

#include <chrono>
#include <thread>

namespace fleetadm::testkit {
namespace {

Json link_in(Json object, const std::string& version) {
  const auto from = str(object, {"apiVersion"});
  object["apiVersion"] = version;
  if (from == version) return object;
  Json& spec = at_or_make(object, {"spec"});
  const auto rename = [&spec](const char* old_name, const char* new_name) {
    if (!spec.contains(old_name)) return;
    Json value = spec[old_name];
    spec.erase(old_name);
    spec[new_name] = std::move(value);
  };
  if (version.ends_with("/v2")) {
    rename("replicas", "count");
    if (const auto address = str(spec, {"address"}); !address.empty()) {
      spec["host"] = address.substr(0, address.find(':'));
      spec["port"] = address.substr(address.find(':') + 1);
      spec.erase("address");
    }
  } else {
    rename("count", "replicas");
    if (spec.contains("host") || spec.contains("port")) {
      spec["address"] = str(spec, {"host"}) + ":" + str(spec, {"port"});
      spec.erase("host");
      spec.erase("port");
    }
  }
  return object;
}

Json text_property() { return {{"type", "string"}}; }
Json number_property() { return {{"type", "integer"}}; }

}  // namespace

ConversionWebhook::ConversionWebhook(const std::string& name) {
  if (auto made = pki::make_ca("webhook authority", std::chrono::hours(1))) ca_ = std::move(*made);
  pki::LeafOptions leaf;
  leaf.subject.common_name = "webhook";
  leaf.dns_names = {name};
  leaf.ip_addresses = {"127.0.0.1"};
  leaf.server = true;
  const auto certificate = pki::issue(ca_, leaf);
  server_ =
      std::make_unique<TlsServer>(certificate.value_or(pki::KeyPair()),
                                  [this](const TlsRequest& request, const TlsWrite& write) { return handle(request, write); });
}

ConversionWebhook::~ConversionWebhook() {
  ending_ = true;
  server_.reset();
}

Json ConversionWebhook::conversion() const {
  return {{"strategy", "Webhook"},
          {"webhook",
           {{"clientConfig", {{"url", url()}, {"caBundle", ca_bundle()}}}, {"conversionReviewVersions", {"v1", "v1beta1"}}}}};
}

Json ConversionWebhook::definition(const std::string& group, const std::string& storage) const {
  const auto version = [&](const std::string& name, const Json& spec, const char* replicas) {
    const Json status = {{"type", "object"}, {"properties", {{"phase", text_property()}, {"replicas", number_property()}}}};
    const Json schema = {{"type", "object"},
                         {"properties", {{"spec", {{"type", "object"}, {"properties", spec}}}, {"status", status}}}};
    return Json{
        {"name", name},
        {"served", true},
        {"storage", name == storage},
        {"schema", {{"openAPIV3Schema", schema}}},
        {"subresources",
         {{"status", Json::object()}, {"scale", {{"specReplicasPath", replicas}, {"statusReplicasPath", ".status.replicas"}}}}},
        {"additionalPrinterColumns", Json::array({{{"name", name == "v1" ? "Address" : "Host"},
                                                   {"type", "string"},
                                                   {"jsonPath", name == "v1" ? ".spec.address" : ".spec.host"}}})}};
  };
  const Json first = {{"address", text_property()}, {"replicas", number_property()}, {"note", text_property()}};
  const Json second = {{"host", {{"type", "string"}, {"minLength", 1}}},
                       {"port", {{"type", "string"}, {"pattern", "^[0-9]+$"}}},
                       {"count", number_property()},
                       {"note", text_property()}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", "links." + group}}},
          {"spec",
           {{"group", group},
            {"scope", "Namespaced"},
            {"names", {{"plural", "links"}, {"kind", "Link"}}},
            {"conversion", conversion()},
            {"versions", Json::array({version("v1", first, ".spec.replicas"), version("v2", second, ".spec.count")})}}}};
}

std::vector<Json> ConversionWebhook::reviews() const {
  const std::lock_guard lock(mutex_);
  return reviews_;
}

std::string ConversionWebhook::answer(const Json& review, Mood mood) const {
  const auto wanted = str(review, {"request", "desiredAPIVersion"});
  Json converted = Json::array();
  for (const Json& object : list_at(review, {"request", "objects"})) {
    Json one = link_in(object, wanted);
    if (mood == Mood::kOtherVersion) one["apiVersion"] = str(object, {"apiVersion"});
    if (mood == Mood::kOtherName) one["metadata"]["name"] = "other";
    if (mood == Mood::kOddLabels) one["metadata"]["labels"] = {{"a", 1}};
    if (mood == Mood::kHuge) one["spec"]["note"] = std::string(std::size_t{4} << 20U, 'x');
    if (mood == Mood::kRelabels) {
      one["metadata"]["labels"]["via"] = "webhook";
      one["metadata"]["finalizers"] = {"example.com/mine"};
      one["metadata"]["resourceVersion"] = "1";
      one["metadata"].erase("creationTimestamp");
    }
    converted.push_back(std::move(one));
  }
  if (mood == Mood::kTooFew) converted.erase(converted.size() - 1);
  Json response = {{"uid", mood == Mood::kOtherUid ? "another" : str(review, {"request", "uid"})},
                   {"result", {{"status", "Success"}}},
                   {"convertedObjects", std::move(converted)}};
  if (mood == Mood::kRefuses) {
    response = {{"uid", str(review, {"request", "uid"})}, {"result", {{"status", "Failure"}, {"message", "not today"}}}};
  }
  return dump_json(
      {{"apiVersion", str(review, {"apiVersion"})}, {"kind", "ConversionReview"}, {"response", std::move(response)}});
}

bool ConversionWebhook::handle(const TlsRequest& request, const TlsWrite& write) {
  const auto review = parse_json(request.body);
  if (!review || request.method != "POST" || !request.target.starts_with("/convert"))
    return write(TlsServer::response(404, "{}"));
  {
    const std::lock_guard lock(mutex_);
    reviews_.push_back(*review);
  }
  auto mood = mood_.load();
  if (mood == Mood::kSlow) std::this_thread::sleep_for(std::chrono::seconds(2));
  while (mood == Mood::kNever && !ending_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    mood = mood_.load();
  }
  if (ending_) return false;
  if (mood == Mood::kBroken) {
    static constexpr std::string_view kText = "HTTP/1.1 500 X\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nit broke\n";
    return write(kText);
  }
  if (mood == Mood::kNoJson) return write(TlsServer::response(200, "well"));
  return write(TlsServer::response(200, answer(*review, mood)));
}

}  // namespace fleetadm::testkit
