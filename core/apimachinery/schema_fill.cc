#include "core/apimachinery/decode.h"
#include "core/apimachinery/schema_node.h"

namespace fleetadm::apimachinery {
namespace {

class Pruner {
 public:
  explicit Pruner(std::vector<std::string>& unknown) : unknown_(unknown) {}

  Status prune(Json& value, const SchemaNode* node, const std::string& path, bool root) {
    if (value.is_array()) {
      const SchemaNode* items = node == nullptr ? nullptr : node->items.get();
      for (std::size_t i = 0; i < value.size(); ++i) {
        FLEETADM_CHECK(prune(value[i], items, path + "[" + std::to_string(i) + "]", false));
      }
      return {};
    }
    if (!value.is_object()) return {};
    const bool is_object = root || (node != nullptr && node->embedded);
    // What lies below an undeclared field that is kept is kept as a whole.
    const bool keep = node == nullptr || node->preserve_unknown || node->additional_any;
    for (auto at = value.begin(); at != value.end();) {
      const std::string& key = at.key();
      const std::string member = below(path, key);
      if (is_object && (key == "apiVersion" || key == "kind")) {
        ++at;
        continue;
      }
      if (is_object && key == "metadata") {
        FLEETADM_CHECK(metadata(*at, member));
        ++at;
        continue;
      }
      const SchemaNode* child = node == nullptr ? nullptr : node->property(key);
      if (child == nullptr && node != nullptr) child = node->additional.get();
      if (child == nullptr && !keep) {
        if (unknown_.size() < kMaxFieldComplaints) unknown_.push_back(member);
        at = value.erase(at);
        continue;
      }
      if (child != nullptr) FLEETADM_CHECK(prune(*at, child, member, false));
      ++at;
    }
    return {};
  }

 private:
  Status metadata(Json& value, const std::string& path) {
    if (!value.is_object() && !value.is_null()) return {};  // the schema's own complaint follows
    const Json given = value;
    if (Status decoded = decode_part(value, object_meta(), path, unknown_); !decoded) {
      Error error = std::move(decoded).error();
      error.message = path + ": Invalid value: " + dump_json(given) + ": " + error.message;
      return fail(std::move(error));
    }
    return {};
  }

  std::vector<std::string>& unknown_;
};

void drop_nulls_and_default(Json& value, const SchemaNode& node, bool root) {
  if (value.is_array()) {
    if (node.items == nullptr) return;
    for (Json& item : value) {
      if (item.is_null() && !node.items->nullable && node.items->default_value) item = *node.items->default_value;
      drop_nulls_and_default(item, *node.items, false);
    }
    return;
  }
  if (!value.is_object()) return;
  for (auto at = value.begin(); at != value.end();) {
    const bool implied = (root || node.embedded) && (at.key() == "metadata" || at.key() == "apiVersion" || at.key() == "kind");
    const SchemaNode* child = implied ? nullptr : node.property(at.key());
    if (child == nullptr && !implied) child = node.additional.get();
    if (child != nullptr && at->is_null() && !child->nullable) {
      if (child->default_value) {
        *at = *child->default_value;
      } else {
        at = value.erase(at);
        continue;
      }
    }
    if (child != nullptr) drop_nulls_and_default(*at, *child, false);
    ++at;
  }
  for (const auto& [key, child] : node.properties) {
    if ((root || node.embedded) && key == "metadata") continue;
    if (!child.default_value || value.contains(key)) continue;
    Json& added = value[key] = *child.default_value;
    drop_nulls_and_default(added, child, false);
  }
}

}  // namespace

Status Structural::prune(Json& object, std::vector<std::string>& unknown) const {
  return Pruner(unknown).prune(object, root_.get(), "", true);
}

void Structural::default_values(Json& object) const { drop_nulls_and_default(object, *root_, true); }

}  // namespace fleetadm::apimachinery
