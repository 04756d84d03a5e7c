#include "core/addon/rules/earlier_contents.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/addon/rules/config_hash.h"

namespace fleetadm::addon {
namespace {

bool is_content(std::string_view member) {
  return member != "apiVersion" && member != "kind" && member != "metadata" && member != "status";
}

Json kept_in(const Json& object) {
  Result<Json> list = parse_json(annotation_of(object, kEarlierAnnotation));
  return list && list->is_array() ? std::move(*list) : Json::array();
}

}  // namespace

Json contents_of(const Json& object) {
  Json contents = Json::object();
  for (const auto& [member, value] : object.items()) {
    if (is_content(member)) contents[member] = value;
  }
  return contents;
}

void set_contents(Json& object, const Json& contents) {
  const Json before = contents_of(object);
  for (const auto& [member, value] : before.items()) object.erase(member);
  for (const auto& [member, value] : contents.items()) {
    if (is_content(member)) object[member] = value;
  }
}

void keep_contents(Json& object, const Json& before) {
  const std::string now = config_spec_hash(object);
  const std::string earlier = config_spec_hash(before);
  Json list = kept_in(object);
  list.erase(std::remove_if(list.begin(), list.end(),
                            [&](const Json& one) {
                              const std::string hash = str(one, {"specHash"});
                              return hash == now || hash == earlier || !one.is_object();
                            }),
             list.end());
  if (earlier != now) list.push_back({{"specHash", earlier}, {"contents", contents_of(before)}});
  std::string text = dump_json(list);
  while (!list.empty() && (list.size() > kEarlierLimit || text.size() > kEarlierBytes)) {
    list.erase(list.begin());
    text = dump_json(list);
  }
  if (list.empty()) {
    erase_at(object, {"metadata", "annotations", kEarlierAnnotation});
  } else {
    at_or_make(object, {"metadata", "annotations", kEarlierAnnotation}) = std::move(text);
  }
}

std::optional<Json> contents_with(const Json& object, std::string_view hash) {
  if (config_spec_hash(object) == hash) return contents_of(object);
  for (const Json& one : kept_in(object)) {
    // Whoever may edit the object may edit the annotation: the contents are what they say only if the hash agrees.
    const Json& contents = object_at(one, {"contents"});
    if (str(one, {"specHash"}) == hash && config_spec_hash(contents) == hash) return contents;
  }
  return std::nullopt;
}

}  // namespace fleetadm::addon
