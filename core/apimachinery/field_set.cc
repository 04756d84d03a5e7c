#include "core/apimachinery/field_set.h"

namespace fleetadm::apimachinery {

const FieldSet* FieldSet::child(std::string_view element) const {
  const auto at = children.find(element);
  return at == children.end() ? nullptr : &at->second;
}

void FieldSet::add(const FieldSet& other) {
  member = member || other.member;
  for (const auto& [element, below] : other.children) children[element].add(below);
}

void FieldSet::subtract(const FieldSet& other) {
  if (other.member) member = false;
  for (const auto& [element, below] : other.children) {
    const auto at = children.find(element);
    if (at == children.end()) continue;
    at->second.subtract(below);
    if (at->second.empty()) children.erase(at);
  }
}

void FieldSet::subtract_below(const FieldSet& other) {
  if (other.member) {
    member = false;
    children.clear();
    return;
  }
  for (const auto& [element, below] : other.children) {
    const auto at = children.find(element);
    if (at == children.end()) continue;
    at->second.subtract_below(below);
    if (at->second.empty()) children.erase(at);
  }
}

FieldSet FieldSet::intersection(const FieldSet& other) const {
  FieldSet both;
  both.member = member && other.member;
  for (const auto& [element, below] : children) {
    const FieldSet* theirs = other.child(element);
    if (theirs == nullptr) continue;
    FieldSet shared = below.intersection(*theirs);
    if (!shared.empty()) both.children.emplace(element, std::move(shared));
  }
  return both;
}

FieldSet FieldSet::of_field(std::string_view name) {
  FieldSet set;
  set.children[field_element(name)].member = true;
  return set;
}

Json FieldSet::to_json() const {
  Json json = Json::object();
  for (const auto& [element, below] : children) {
    Json inner = below.to_json();
    if (below.member && !below.children.empty()) inner["."] = Json::object();
    json[element] = std::move(inner);
  }
  return json;
}

Result<FieldSet> FieldSet::from_json(const Json& fields) {
  FieldSet set;
  if (!fields.is_object()) return fail(Category::kInvalid, "managed fields are no object");
  for (const auto& [element, inner] : fields.items()) {
    if (element == ".") {
      set.member = true;
      continue;
    }
    if (element.size() < 2 || element[1] != ':' || std::string_view("fkvi").find(element[0]) == std::string_view::npos) {
      return fail(Category::kInvalid, "managed fields have an element of no known form");
    }
    FLEETADM_TRY(FieldSet below, from_json(inner));
    if (below.children.empty()) below.member = true;
    set.children.emplace(element, std::move(below));
  }
  return set;
}

void FieldSet::collect(const std::string& prefix, std::size_t limit, std::vector<std::string>& into) const {
  if (member && !prefix.empty() && into.size() < limit) into.push_back(prefix);
  for (const auto& [element, below] : children) {
    if (into.size() >= limit) return;
    below.collect(prefix + element_text(element), limit, into);
  }
}

std::vector<std::string> FieldSet::paths(std::size_t limit) const {
  std::vector<std::string> found;
  collect("", limit, found);
  return found;
}

std::string field_element(std::string_view name) { return "f:" + std::string(name); }
std::string value_element(const Json& value) { return "v:" + dump_json(value); }
std::string key_element(const Json& key) { return "k:" + dump_json(key); }

std::string element_text(std::string_view element) {
  const std::string content(element.substr(2));
  switch (element.front()) {
    case 'f': return "." + content;
    case 'i': return "[" + content + "]";
    case 'v': return "[=" + content + "]";
    default: break;
  }
  const auto key = parse_json(content);
  if (!key || !key->is_object()) return "[" + content + "]";
  std::string text;
  for (const auto& [name, value] : key->items()) text += (text.empty() ? "" : ",") + name + "=" + dump_json(value);
  return "[" + text + "]";
}

}  // namespace fleetadm::apimachinery
