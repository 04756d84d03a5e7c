#include "kubeclient/base/json_list.h"

#include <iterator>

#include "kubeclient/base/json_builder.h"

namespace fleetadm {
namespace {

class ListBuilder final : public JsonBuilder {
 public:
  ListBuilder(Json& root, const std::function<Status(Json&&)>& on_item) : JsonBuilder(root), on_item_(on_item) {}

  bool null() override { return skipped() || (no_item() && JsonBuilder::null()); }
  bool boolean(bool value) override { return skipped() || (no_item() && JsonBuilder::boolean(value)); }
  bool number_integer(number_integer_t value) override { return skipped() || (no_item() && JsonBuilder::number_integer(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return skipped() || (no_item() && JsonBuilder::number_unsigned(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    return skipped() || (no_item() && JsonBuilder::number_float(value, text));
  }
  bool string(string_t& value) override { return skipped() || (no_item() && JsonBuilder::string(value)); }
  bool key(string_t& name) override {
    if (skipping_) return true;
    if (name == "managedFields" && in_item_metadata()) {
      skipping_ = true;
      return true;
    }
    return JsonBuilder::key(name);
  }
  bool start_object(std::size_t size) override { return skipping_ ? skip_into() : JsonBuilder::start_object(size); }
  bool start_array(std::size_t size) override { return skipping_ ? skip_into() : no_item() && JsonBuilder::start_array(size); }
  bool end_object() override {
    if (skipping_) return skip_out_of();
    return JsonBuilder::end_object() && (!in_items() || hand_over());
  }
  bool end_array() override { return skipping_ ? skip_out_of() : JsonBuilder::end_array(); }

  const Status& outcome() const { return outcome_; }

 private:
  // What is read next is an element of the list's items.
  bool in_items() {
    const auto& open = open_containers();
    return open.size() == 2 && open[1] == find(root(), {"items"}) && open[1]->is_array();
  }
  bool in_item_metadata() {
    const auto& open = open_containers();
    return open.size() == 4 && open[3] == find(*open[2], {"metadata"}) && open[1] == find(root(), {"items"});
  }
  bool no_item() {
    if (!in_items()) return true;
    outcome_ = fail(Category::kInvalid, "an item of the server's list is no object");
    return false;
  }
  bool hand_over() {
    Json& items = *open_containers()[1];
    Json item = std::move(items.back());
    items.clear();
    forget_count();
    outcome_ = on_item_(std::move(item));
    return outcome_.has_value();
  }

  bool skipped() {
    if (!skipping_) return false;
    if (skipped_depth_ == 0) skipping_ = false;  // the value was a scalar
    return true;
  }
  bool skip_into() {
    ++skipped_depth_;
    return true;
  }
  bool skip_out_of() {
    if (--skipped_depth_ == 0) skipping_ = false;
    return true;
  }

  const std::function<Status(Json&&)>& on_item_;
  Status outcome_;
  bool skipping_ = false;
  std::size_t skipped_depth_ = 0;
};

// The source as the range of characters that the parser wants.
class Characters {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Characters() = default;  // the end
  explicit Characters(const JsonSource& next) : next_(&next) { refill(); }

  reference operator*() const { return *at_; }
  Characters& operator++() {
    if (++at_ == end_) refill();
    return *this;
  }
  Characters operator++(int) {
    Characters before = *this;
    ++*this;
    return before;
  }
  // Only ever compared with the end.
  bool operator==(const Characters& other) const { return at_ == other.at_; }
  bool operator!=(const Characters& other) const { return at_ != other.at_; }

 private:
  void refill() {
    const std::string_view piece = (*next_)();
    at_ = piece.empty() ? nullptr : piece.data();
    end_ = at_ + piece.size();
  }

  const JsonSource* next_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

}  // namespace

Result<Json> parse_json_list(const JsonSource& next, const std::function<Status(Json&& item)>& on_item) {
  Json root;
  ListBuilder builder(root, on_item);
  bool good = false;
  try {
    good = Json::sax_parse(Characters(next), Characters(), &builder);
  } catch (const std::exception& error) {
    return fail(Category::kInternal, std::string("JSON: ") + error.what());
  }
  if (!builder.outcome()) return fail(builder.outcome().error());
  if (!builder.refusal().empty()) return fail(Category::kInvalid, builder.refusal());
  if (!good) {
    return fail(Category::kInvalid, "malformed JSON after " + std::to_string(builder.position()) + " bytes: " + builder.reason());
  }
  Json* items = root.is_object() && root.contains("items") ? &root["items"] : nullptr;
  // Go writes an empty list as null in places; an absent one must not look like an empty one.
  if (items == nullptr || !(items->is_array() || items->is_null()))
    return fail(Category::kInvalid, "the server's answer is not a list");
  *items = Json::array();
  return root;
}

}  // namespace fleetadm
