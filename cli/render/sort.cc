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

// The rows, names and objects of a report, where they match one to one.
void reorder_all(commands::Report& report, const std::vector<std::size_t>& order) {
  const auto count = list_at(report.data, {"items"}).size();
  if (count == order.size()) {
    Json& list = at_or_make(report.data, {"items"});
    Json sorted = Json::array();
    for (const std::size_t index : order) sorted.push_back(std::move(*(list.begin() + static_cast<std::ptrdiff_t>(index))));
    list = std::move(sorted);
  }
  if (report.table) reorder(report.table->rows, order);
  reorder(report.branches, order);
  reorder(report.names, order);
}

// The seconds of "5m" or "2d4h"; nullopt for other text.
std::optional<std::int64_t> seconds_of_age(std::string_view text) {
  std::int64_t total = 0;
  std::int64_t number = -1;
  for (const char c : text) {
    if (is_digit(c)) {
      if (number > 1'000'000) return std::nullopt;
      number = std::max<std::int64_t>(number, 0) * 10 + (c - '0');
      continue;
    }
    const std::int64_t unit = c == 's' ? 1 : c == 'm' ? 60 : c == 'h' ? 3600 : c == 'd' ? 86400 : c == 'y' ? 365 * 86400 : 0;
    if (number < 0 || unit == 0) return std::nullopt;
    total += number * unit;
    number = -1;
  }
  if (number >= 0 || text.empty()) return std::nullopt;
  return total;
}

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

bool sort_by_column(commands::Report& report, std::string_view name) {
  if (!report.table) return false;
  const auto& columns = report.table->columns;
  const auto column =
      std::find_if(columns.begin(), columns.end(), [&](const commands::Column& one) { return same_word(one.name, name); });
  if (column == columns.end()) return false;
  const auto at = static_cast<std::size_t>(column - columns.begin());
  struct Cell {
    std::string_view text;
    std::optional<std::int64_t> age;
    std::optional<Quantity> quantity;
  };
  std::vector<Cell> cells;
  bool ages = true;
  for (const auto& row : report.table->rows) {
    Cell& cell = cells.emplace_back();
    if (at < row.size() && !row[at].starts_with('<')) cell.text = row[at];  // "<none>", "<unknown>"
    if (cell.text.empty()) continue;
    cell.age = seconds_of_age(cell.text);
    ages = ages && cell.age;
    if (auto quantity = Quantity::parse(cell.text)) cell.quantity = *quantity;
  }
  std::vector<std::size_t> order(cells.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    const Cell& a = cells[i];
    const Cell& b = cells[j];
    if (a.text.empty() || b.text.empty()) return a.text.empty() && !b.text.empty();
    if (ages) return *a.age < *b.age;
    if (a.quantity.has_value() != b.quantity.has_value()) return a.quantity.has_value();
    return a.quantity ? a.quantity->compare(*b.quantity) < 0 : natural(a.text, b.text) < 0;
  });
  reorder_all(report, order);
  return true;
}

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
  reorder_all(report, order);
  return {};
}

}  // namespace fleetadm::cli
