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

/// Rows in discovery's order, and how they are found. The keys are the rows' own text.
struct KindTable::Rows {
  explicit Rows(std::vector<KindPtr> rows) : ordered(std::move(rows)) {
    for (const auto& row : ordered) {
      by_plural.emplace(std::tuple<std::string_view, std::string_view, std::string_view>(row->group, row->version, row->plural),
                        row);
      groups.insert(row->group);
    }
  }
  const std::vector<KindPtr> ordered;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, KindPtr> by_plural;
  std::set<std::string_view> groups;
};

KindTable::KindTable() { rebuild(); }

const KindTable::Rows& KindTable::built_in() {
  static const Rows kRows(built_in_kinds());
  return kRows;
}

std::shared_ptr<const KindTable::Rows> KindTable::custom_rows() const {
  const std::lock_guard lock(mutex_);
  return custom_rows_;
}

void KindTable::rebuild() {
  std::vector<KindPtr> rows;
  for (const auto& [name, some] : custom_) rows.insert(rows.end(), some.begin(), some.end());
  std::stable_sort(rows.begin(), rows.end(), [](const KindPtr& a, const KindPtr& b) {
    if (a->group != b->group) return a->group < b->group;
    if (a->version != b->version) return version_before(a->version, b->version);
    return a->plural < b->plural;
  });
  custom_rows_ = std::make_shared<const Rows>(std::move(rows));
  ++generation_;
}

KindPtr KindTable::find(std::string_view group, std::string_view version, std::string_view plural) const {
  const auto key = std::tuple(group, version, plural);
  if (const auto at = built_in().by_plural.find(key); at != built_in().by_plural.end()) return at->second;
  const auto custom = custom_rows();
  const auto at = custom->by_plural.find(key);
  return at == custom->by_plural.end() ? nullptr : at->second;
}

/// The first row that passes: built-in ones come first.
template <class Test>
KindPtr KindTable::first(const Test& test) const {
  const auto custom = custom_rows();
  for (const auto* rows : {&built_in().ordered, &custom->ordered}) {
    const auto at = std::find_if(rows->begin(), rows->end(), test);
    if (at != rows->end()) return *at;
  }
  return nullptr;
}

KindPtr KindTable::find_kind(std::string_view group, std::string_view kind) const {
  return first([&](const KindPtr& row) { return row->group == group && row->kind == kind && row->has_verb("get"); });
}

KindPtr KindTable::find_plural(std::string_view group, std::string_view plural) const {
  return first([&](const KindPtr& row) { return row->group == group && row->plural == plural; });
}

bool KindTable::has_group(std::string_view group) const {
  return built_in().groups.contains(group) || custom_rows()->groups.contains(group);
}
bool KindTable::is_custom_group(std::string_view group) const { return !built_in().groups.contains(group); }

std::vector<KindPtr> KindTable::all() const {
  std::vector<KindPtr> out = built_in().ordered;
  const auto custom = custom_rows();
  out.insert(out.end(), custom->ordered.begin(), custom->ordered.end());
  return out;
}

void KindTable::set_custom(const std::string& definition, std::vector<KindPtr> rows) {
  const std::lock_guard lock(mutex_);
  if (rows.empty()) {
    if (custom_.erase(definition) == 0) return;
  } else {
    custom_[definition] = std::move(rows);
  }
  rebuild();
}

std::uint64_t KindTable::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

}  // namespace fleetadm::sandbox
