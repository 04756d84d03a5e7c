#include "core/sandbox/store/stored.h"

#include <string_view>

namespace fleetadm::sandbox {
namespace {

std::vector<std::pair<std::string, std::string>> labels_of(const Json& object) {
  std::vector<std::pair<std::string, std::string>> out;
  auto labels = strings_at(object, {"metadata", "labels"});
  out.reserve(labels.size());
  for (auto& [key, value] : labels) out.emplace_back(key, std::move(value));
  return out;
}

constexpr std::string_view kVersionBefore = "{\"apiVersion\":\"";
constexpr std::string_view kVersionBehind = "\",";

/// Takes the version out of a journal's text.
std::string take_version(std::string& body) {
  if (!body.starts_with(kVersionBefore)) return {};
  const auto end = body.find('"', kVersionBefore.size());
  if (end == std::string::npos || body.compare(end, kVersionBehind.size(), kVersionBehind) != 0) return {};
  auto version = body.substr(kVersionBefore.size(), end - kVersionBefore.size());
  body.replace(0, end + kVersionBehind.size(), "{");
  return version;
}

}  // namespace

Json Stored::json() const {
  auto parsed = parse_json(body);
  return parsed ? std::move(*parsed) : Json::object();
}

StoredPtr store_object(Json& object, std::int64_t revision, std::string version) {
  auto stored = std::make_shared<Stored>();
  stored->version = std::move(version);
  at_or_make(object, {"metadata", "resourceVersion"}) = std::to_string(revision);
  object.erase("apiVersion");
  object.erase("kind");
  stored->body = dump_json(object);
  stored->body.shrink_to_fit();  // it is kept for long, and there are many
  stored->revision = revision;
  stored->labels = labels_of(object);
  return stored;
}

std::string journal_body(const Stored& stored) {
  if (stored.version.empty()) return stored.body;
  return std::string(kVersionBefore) + stored.version + std::string(kVersionBehind) + stored.body.substr(1);
}

Result<StoredPtr> stored_of(std::string text, std::int64_t revision) {
  FLEETADM_TRY(const Json object, parse_json(text));
  auto stored = std::make_shared<Stored>();
  stored->labels = labels_of(object);
  stored->version = take_version(text);
  stored->body = std::move(text);
  stored->revision = revision;
  return stored;
}

}  // namespace fleetadm::sandbox
