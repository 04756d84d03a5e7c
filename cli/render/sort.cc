#include "cli/render/sort.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/quantity.h"

namespace fleetadm::cli {
namespace {

// Text with runs of digits compared as numbers.
int natural(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      auto number = [](std::string_view text, std::size_t& at) {
        while (at + 1 < text.size() && text[at] == '0' && is_digit(text[at + 1])) ++at;
        const std::size_t from = at;
        while (at < text.size() && is_digit(text[at])) ++at;
        return text.substr(from, at - from);
      };
      const std::string_view x = number(a, i);
      const std::string_view y = number(b, j);
      if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
      if (const int order = x.compare(y); order != 0) return order;
      continue;
    }
    if (a[i] != b[j]) return a[i] < b[j] ? -1 : 1;
    ++i;
    ++j;
  }
  return static_cast<int>(i < a.size()) - static_cast<int>(j < b.size());
}

struct Key {
  const Json* value = nullptr;
  std::optional<Quantity> quantity;
};

bool less(const Key& a, const Key& b) {
  if (a.value == nullptr || b.value == nullptr) return a.value == nullptr && b.value != nullptr;
  if (a.quantity && b.quantity) return a.quantity->compare(*b.quantity) < 0;
  const auto* x = a.value->get_ptr<const Json::string_t*>();
  const auto* y = b.value->get_ptr<const Json::string_t*>();
  if (x != nullptr && y != nullptr) return natural(*x, *y) < 0;
  return *a.value < *b.value;
}

template <class T>
void reorder(std::vector<T>& list, const std::vector<std::size_t>& order) {
  if (list.size() != order.size()) return;
  std::vector<T> sorted;
  sorted.reserve(list.size());
  for (const std::size_t index : order) sorted.push_back(std::move(list[index]));
  list = std::move(sorted);
}

}  // namespace

Status sort_report(commands::Report& report, const JsonPath& path) {
  const Json& items = list_at(report.data, {"items"});
  if (items.empty()) return {};
  std::vector<Key> keys;
  bool any = false;
  for (const Json& item : items) {
    FLEETADM_TRY(const std::vector<const Json*> found, path.find(item));
    Key& key = keys.emplace_back();
    if (found.empty() || found.front()->is_null()) continue;
    key.value = found.front();
    any = true;
    if (key.value->is_string()) {
      if (auto quantity = Quantity::parse(plain_text(*key.value))) key.quantity = *quantity;
    }
  }
  if (!any) return fail(Category::kUsage, "--sort-by: no object has this field");
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return less(keys[a], keys[b]); });

  Json& list = at_or_make(report.data, {"items"});
  Json sorted = Json::array();
  for (const std::size_t index : order) sorted.push_back(std::move(*(list.begin() + static_cast<std::ptrdiff_t>(index))));
  list = std::move(sorted);
  if (report.table) reorder(report.table->rows, order);
  reorder(report.names, order);
  return {};
}

}  // namespace fleetadm::cli
