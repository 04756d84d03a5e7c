#include "core/sandbox/model/kind.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

namespace fleetadm::sandbox {
namespace {

/// ("v", major, stage, minor): stage 2 GA, 1 beta, 0 alpha; false for other names.
bool parse_version(std::string_view text, std::tuple<int, int, int>& out) {
  if (text.size() < 2 || text.front() != 'v') return false;
  text.remove_prefix(1);
  const auto digits = [&text](int& into) {
    std::size_t n = 0;
    into = 0;
    while (n < text.size() && n < 6 && text[n] >= '0' && text[n] <= '9') into = into * 10 + (text[n++] - '0');
    text.remove_prefix(n);
    return n > 0;
  };
  int major = 0;
  int stage = 2;
  int minor = 0;
  if (!digits(major)) return false;
  if (text.starts_with("beta")) {
    stage = 1;
    text.remove_prefix(4);
  } else if (text.starts_with("alpha")) {
    stage = 0;
    text.remove_prefix(5);
  }
  if (stage != 2 && !digits(minor)) return false;
  if (!text.empty()) return false;
  out = {stage, major, minor};
  return true;
}

}  // namespace

bool version_before(std::string_view a, std::string_view b) {
  std::tuple<int, int, int> left;
  std::tuple<int, int, int> right;
  const bool left_ok = parse_version(a, left);
  const bool right_ok = parse_version(b, right);
  if (left_ok != right_ok) return left_ok;
  return left_ok ? left > right : a < b;
}

bool Kind::has_verb(std::string_view verb) const { return std::find(verbs.begin(), verbs.end(), verb) != verbs.end(); }

const Subresource* Kind::subresource(std::string_view name) const {
  const auto at =
      std::find_if(subresources.begin(), subresources.end(), [&](const Subresource& sub) { return sub.name == name; });
  return at == subresources.end() ? nullptr : &*at;
}

struct KindTable::State {
  std::map<std::tuple<std::string, std::string, std::string>, KindPtr, std::less<>> by_plural;
  std::vector<KindPtr> ordered;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> versions;
  std::set<std::string, std::less<>> built_in_groups;
};

KindTable::KindTable() : built_in_(built_in_kinds()) { rebuild(); }

std::shared_ptr<const KindTable::State> KindTable::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void KindTable::rebuild() {
  auto next = std::make_shared<State>();
  next->ordered = built_in_;
  for (const auto& row : built_in_) next->built_in_groups.insert(row->group);
  std::vector<KindPtr> added;
  for (const auto& [name, rows] : custom_) added.insert(added.end(), rows.begin(), rows.end());
  std::stable_sort(added.begin(), added.end(), [](const KindPtr& a, const KindPtr& b) {
    if (a->group != b->group) return a->group < b->group;
    if (a->version != b->version) return version_before(a->version, b->version);
    return a->plural < b->plural;
  });
  next->ordered.insert(next->ordered.end(), added.begin(), added.end());
  for (const auto& row : next->ordered) {
    next->by_plural.emplace(std::tuple(row->group, row->version, row->plural), row);
    next->versions[row->group].insert(row->version);
  }
  state_ = std::move(next);
  ++generation_;
}

KindPtr KindTable::find(std::string_view group, std::string_view version, std::string_view plural) const {
  const auto now = state();
  const auto at = now->by_plural.find(std::tuple(std::string(group), std::string(version), std::string(plural)));
  return at == now->by_plural.end() ? nullptr : at->second;
}

KindPtr KindTable::find_kind(std::string_view group, std::string_view kind) const {
  const auto now = state();
  const auto at = std::find_if(now->ordered.begin(), now->ordered.end(), [&](const KindPtr& row) {
    return row->group == group && row->kind == kind && row->has_verb("get");
  });
  return at == now->ordered.end() ? nullptr : *at;
}

KindPtr KindTable::find_plural(std::string_view group, std::string_view plural) const {
  const auto now = state();
  const auto at = std::find_if(now->ordered.begin(), now->ordered.end(),
                               [&](const KindPtr& row) { return row->group == group && row->plural == plural; });
  return at == now->ordered.end() ? nullptr : *at;
}

bool KindTable::has_group(std::string_view group) const { return state()->versions.contains(group); }
bool KindTable::is_custom_group(std::string_view group) const { return !state()->built_in_groups.contains(group); }

std::vector<KindPtr> KindTable::all() const { return state()->ordered; }

void KindTable::set_custom(const std::string& definition, std::vector<KindPtr> rows) {
  const std::lock_guard lock(mutex_);
  if (rows.empty()) {
    if (custom_.erase(definition) == 0) return;
  } else {
    custom_[definition] = std::move(rows);
  }
  rebuild();
}

std::vector<KindPtr> KindTable::custom(const std::string& definition) const {
  const std::lock_guard lock(mutex_);
  const auto at = custom_.find(definition);
  return at == custom_.end() ? std::vector<KindPtr>() : at->second;
}

std::uint64_t KindTable::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

}  // namespace fleetadm::sandbox
