#include <algorithm>
#include <string>
#include <utility>

#include "core/apimachinery/patch.h"

namespace fleetadm::apimachinery {
namespace {

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteFrom = "$deleteFromPrimitiveList/";
constexpr std::string_view kSetOrder = "$setElementOrder/";

tl::unexpected<Error> unfit(std::string message) {
  return fail({.code = 500, .category = Category::kInvalid, .message = std::move(message)});
}
tl::unexpected<Error> bad_format(std::string message) {
  Error error{.code = 400, .category = Category::kInvalid, .message = std::move(message)};
  error.reason = "BadRequest";
  return fail(std::move(error));
}

const TypeNode* member_of(const TypeNode* type, const std::string& name) {
  if (type == nullptr) return nullptr;
  if (type->form == Form::kMap) return type->element;
  const StructType* fields = type->type();
  const FieldType* field = fields == nullptr ? nullptr : fields->find(name);
  return field == nullptr ? nullptr : &field->node;
}

/// Takes directives out of what is added as a whole, and nulls, which delete nothing there.
void drop_directives(Json& value) {
  if (value.is_array()) {
    Json kept = Json::array();
    for (Json& item : value) {
      if (item.is_object() && item.contains(kDirective)) {
        if (item.size() == 1 || str(item, {kDirective}) == "delete") continue;
      }
      drop_directives(item);
      kept.push_back(std::move(item));
    }
    value = std::move(kept);
    return;
  }
  if (!value.is_object()) return;
  for (auto at = value.begin(); at != value.end();) {
    const std::string& key = at.key();
    if (key == kDirective || key == kRetainKeys || key.starts_with(kDeleteFrom) || key.starts_with(kSetOrder) || at->is_null()) {
      at = value.erase(at);
    } else {
      drop_directives(*at);
      ++at;
    }
  }
}

/// Whether two elements of a list are the same one: by merge key, or by value where there is none.
bool same_element(const Json& a, const Json& b, const std::string& key) {
  if (key.empty() || !a.is_object() || !b.is_object()) return a == b;
  const auto at = a.find(key);
  const auto other = b.find(key);
  return at != a.end() && other != b.end() && *at == *other;
}
std::ptrdiff_t index_in(const Json& list, const Json& element, const std::string& key) {
  const auto at = std::find_if(list.begin(), list.end(), [&](const Json& item) { return same_element(item, element, key); });
  return at == list.end() ? -1 : at - list.begin();
}

/// The merged list in the patch's order where the patch says one, and in the server's elsewhere.
Json in_order(Json merged, const Json& patch_order, const Json& server_order, const std::string& key) {
  std::vector<std::pair<std::ptrdiff_t, Json>> ours;
  std::vector<std::pair<std::ptrdiff_t, Json>> servers;
  for (Json& item : merged) {
    const std::ptrdiff_t index = index_in(patch_order, item, key);
    if (index >= 0) {
      ours.emplace_back(index, std::move(item));
    } else {
      const std::ptrdiff_t at = index_in(server_order, item, key);
      servers.emplace_back(at, std::move(item));
    }
  }
  const auto by_index = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(ours.begin(), ours.end(), by_index);
  std::stable_sort(servers.begin(), servers.end(), by_index);
  Json result = Json::array();
  auto left = servers.begin();
  for (auto& [index, item] : ours) {
    const std::ptrdiff_t at = index_in(server_order, item, key);
    while (left != servers.end() && at >= 0 && left->first >= 0 && left->first < at)
      result.push_back(std::move((left++)->second));
    result.push_back(std::move(item));
  }
  for (; left != servers.end(); ++left) result.push_back(std::move(left->second));
  return result;
}

/// Lists are matched element by element: what would take too long is refused.
constexpr std::size_t kMaxComparisons = 20'000'000;

class Strategic {
 public:
  Result<Json> merge_map(Json original, Json patch, const TypeNode* type) {
    if (const auto directive = patch.find(kDirective); directive != patch.end()) {
      const std::string word = directive->is_string() ? directive->get<std::string>() : dump_json(*directive);
      if (word == "replace") {
        patch.erase(directive);
        drop_directives(patch);
        return patch;
      }
      if (word == "delete") return Json::object();
      return unfit("unknown patch type: " + word + " in map: " + go_text(patch));
    }
    FLEETADM_CHECK(retain_keys(original, patch));
    FLEETADM_CHECK(set_orders(original, patch, type));
    for (auto& [given_key, value] : patch.items()) {
      std::string key = given_key;
      const bool is_deletion = key.starts_with(kDeleteFrom);
      if (is_deletion) {
        key.erase(0, kDeleteFrom.size());
        if (!value.is_array()) return bad_format("the value of " + given_key + " is no list");
        if (!original.contains(key)) continue;
      }
      if (value.is_null()) {
        original.erase(key);
        continue;
      }
      const auto at = original.find(key);
      if (at == original.end() || at->type() != value.type()) {
        if (is_deletion) continue;
        const bool both_numbers = at != original.end() && at->is_number() && value.is_number();
        if (!both_numbers) drop_directives(value);
        original[key] = std::move(value);
        continue;
      }
      const TypeNode* member = member_of(type, key);
      if (value.is_object()) {
        FLEETADM_TRY(*at, merge_map(std::move(*at), std::move(value), member));
      } else if (value.is_array()) {
        FLEETADM_TRY(*at, merge_list_field(std::move(*at), std::move(value), member, is_deletion));
      } else {
        *at = std::move(value);
      }
    }
    return original;
  }

 private:
  static Status retain_keys(Json& original, Json& patch) {
    const auto at = patch.find(kRetainKeys);
    if (at == patch.end()) return {};
    const Json kept = std::move(*at);
    patch.erase(at);
    if (!kept.is_array()) return bad_format("invalid patch format of retainKeys");
    const auto contains = [&](const std::string& key) { return std::find(kept.begin(), kept.end(), key) != kept.end(); };
    for (const auto& [key, value] : patch.items()) {
      if (key.starts_with('$') || value.is_null()) continue;
      if (!contains(key)) return bad_format("invalid patch format of retainKeys");
    }
    for (auto member = original.begin(); member != original.end();) {
      member = contains(member.key()) ? std::next(member) : original.erase(member);
    }
    return {};
  }

  /// Handles the lists that have an order directive, and takes both out of the patch.
  Status set_orders(Json& original, Json& patch, const TypeNode* type) {
    std::vector<std::string> directives;
    for (const auto& [key, value] : patch.items()) {
      if (key.starts_with(kSetOrder)) directives.push_back(key);
    }
    for (const std::string& directive : directives) {
      const std::string key = directive.substr(kSetOrder.size());
      const Json order = std::move(patch[directive]);
      patch.erase(directive);
      if (!order.is_array()) return bad_format("invalid patch format of setElementOrder list");
      const TypeNode* member = member_of(type, key);
      const std::string merge_key = member == nullptr ? std::string() : member->merge_key;
      const auto given = patch.find(key);
      const bool in_patch = given != patch.end() && !given->is_null();
      Json items = in_patch ? std::move(*given) : Json::array();
      if (given != patch.end() && !in_patch) continue;  // null: the list goes
      if (given != patch.end()) patch.erase(given);
      if (!items.is_array()) return bad_format("invalid patch format of setElementOrder list");
      const Json* current = find(original, {key});
      const std::size_t size = items.size() + (current == nullptr ? 0 : current->size());
      if (size * order.size() > kMaxComparisons) return bad_format("the lists of the patch are too long");
      FLEETADM_CHECK(check_order(items, order, merge_key));
      // Taken out before the list is written: an absent one stays absent where the patch has no items for it.
      const bool in_original = original.contains(key) && original[key].is_array();
      if (!in_original && !in_patch) continue;
      const Json before = in_original ? original[key] : Json::array();
      Json merged = before;
      if (!in_original) {
        drop_directives(items);
        merged = std::move(items);
      } else if (in_patch) {
        FLEETADM_TRY(merged, merge_list_field(before, std::move(items), member, false));
      }
      original[key] = in_order(std::move(merged), order, before, merge_key);
      if (const auto deletions = patch.find(std::string(kDeleteFrom) + key); deletions != patch.end() && deletions->is_array()) {
        FLEETADM_TRY(original[key], merge_list_field(std::move(original[key]), *deletions, member, true));
        patch.erase(deletions);
      }
    }
    return {};
  }

  static Status check_order(const Json& items, const Json& order, const std::string& key) {
    auto at = order.begin();
    for (const Json& item : items) {
      if (item.is_object() && item.contains(kDirective)) continue;
      at = std::find_if(at, order.end(), [&](const Json& entry) { return same_element(entry, item, key); });
      if (at == order.end()) {
        return unfit("The order in patch list:\n" + go_text(items) + "\n doesn't match $setElementOrder list:\n" +
                     go_text(order) + "\n");
      }
      ++at;
    }
    return {};
  }

  Result<Json> merge_list_field(Json original, Json patch, const TypeNode* type, bool is_deletion) {
    const bool merges = type != nullptr && type->patch_merge;
    if (!merges) {
      if (is_deletion) return original;
      drop_directives(patch);
      return patch;
    }
    if (original.empty() && patch.empty()) return original;
    if ((original.size() + patch.size()) * patch.size() > kMaxComparisons)
      return bad_format("the lists of the patch are too long");
    const std::string& key = type->merge_key;
    const auto holds = [](const Json& list, bool objects) {
      return std::all_of(list.begin(), list.end(),
                         [&](const Json& item) { return item.is_object() == objects && !item.is_array(); });
    };
    const bool objects = !original.empty() ? original.front().is_object() : patch.front().is_object();
    if (!holds(original, objects) || !holds(patch, objects))
      return unfit("list element types are not identical: [" + go_text(original) + " " + go_text(patch) + "]");
    if (!objects) return merge_scalars(std::move(original), patch, is_deletion);
    if (key.empty()) return unfit("cannot merge lists without merge key");
    return merge_objects(std::move(original), std::move(patch), *type);
  }

  static Json merge_scalars(Json original, const Json& patch, bool is_deletion) {
    const auto contains = [](const Json& list, const Json& item) {
      return std::find(list.begin(), list.end(), item) != list.end();
    };
    Json merged = Json::array();
    if (is_deletion) {
      for (Json& item : original) {
        if (!contains(patch, item)) merged.push_back(std::move(item));
      }
      return merged;
    }
    for (const Json* list : {&std::as_const(original), &patch}) {
      for (const Json& item : *list) {
        if (!contains(merged, item)) merged.push_back(item);
      }
    }
    return in_order(std::move(merged), patch, original, "");
  }

  Result<Json> merge_objects(Json original, Json patch, const TypeNode& type) {
    const std::string& key = type.merge_key;
    bool replace = false;
    Json items = Json::array();
    for (Json& item : patch) {
      const auto directive = item.find(kDirective);
      if (directive == item.end()) {
        items.push_back(std::move(item));
        continue;
      }
      const std::string word = directive->is_string() ? directive->get<std::string>() : dump_json(*directive);
      if (word == "delete") {
        if (!item.contains(key)) return no_merge_key(item, key);
        Json kept = Json::array();
        for (Json& element : original) {
          if (!same_element(element, item, key)) kept.push_back(std::move(element));
        }
        original = std::move(kept);
      } else if (word == "replace") {
        replace = true;
      } else if (word == "merge") {
        return unfit("merging lists cannot yet be specified in the patch");
      } else {
        return unfit("unknown patch type: " + word + " in map: " + go_text(item));
      }
    }
    if (replace) {
      drop_directives(items);
      return items;
    }
    Json merged = original;
    for (const Json& item : items) {
      if (!item.contains(key)) return no_merge_key(item, key);
      const std::ptrdiff_t at = index_in(merged, item, key);
      if (at < 0) {
        Json added = item;
        drop_directives(added);
        merged.push_back(std::move(added));
      } else {
        Json& element = merged[static_cast<std::size_t>(at)];
        FLEETADM_TRY(element, merge_map(std::move(element), item, type.element));
      }
    }
    return in_order(std::move(merged), items, original, key);
  }

  static tl::unexpected<Error> no_merge_key(const Json& item, const std::string& key) {
    return unfit("map: " + go_text(item) + " does not contain declared merge key: " + key);
  }
};

}  // namespace

std::string go_text(const Json& value) {
  if (value.is_null()) return "<nil>";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) {
    std::string text = "map[";
    for (const auto& [key, member] : value.items()) {
      if (text.size() > 4) text += ' ';
      text += key + ":" + go_text(member);
    }
    return text + "]";
  }
  if (value.is_array()) {
    std::string text = "[";
    for (const Json& item : value) {
      if (text.size() > 1) text += ' ';
      text += go_text(item);
    }
    return text + "]";
  }
  return dump_json(value);
}

Result<Json> strategic_merge_patch(Json object, const Json& patch, const TypeNode& type) {
  if (!patch.is_object()) return bad_format("json: cannot unmarshal array into Go value of type map[string]interface {}");
  return Strategic().merge_map(std::move(object), patch, &type);
}

}  // namespace fleetadm::apimachinery
