#include "kubeclient/base/json_shallow.h"

#include <algorithm>

#include "kubeclient/base/json_builder.h"
#include "kubeclient/base/json_reader.h"

namespace fleetadm {
namespace {

class ShallowBuilder final : public JsonBuilder {
 public:
  ShallowBuilder(Json& root, int depth) : JsonBuilder(root), depth_(static_cast<std::size_t>(depth)) {}

  bool null() override { return skipped_ > 0 || JsonBuilder::null(); }
  bool boolean(bool value) override { return skipped_ > 0 || JsonBuilder::boolean(value); }
  bool number_integer(number_integer_t value) override { return skipped_ > 0 || JsonBuilder::number_integer(value); }
  bool number_unsigned(number_unsigned_t value) override { return skipped_ > 0 || JsonBuilder::number_unsigned(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    return skipped_ > 0 || JsonBuilder::number_float(value, text);
  }
  bool string(string_t& value) override { return skipped_ > 0 || JsonBuilder::string(value); }
  bool key(string_t& name) override { return skipped_ > 0 || JsonBuilder::key(name); }
  bool start_object(std::size_t size) override { return too_deep() ? skip() : JsonBuilder::start_object(size); }
  bool start_array(std::size_t size) override { return too_deep() ? skip() : JsonBuilder::start_array(size); }
  bool end_object() override { return skipped_ > 0 ? --skipped_ >= 0 : JsonBuilder::end_object(); }
  bool end_array() override { return skipped_ > 0 ? --skipped_ >= 0 : JsonBuilder::end_array(); }

  bool cut() const { return cut_; }

 private:
  bool too_deep() const { return skipped_ > 0 || open_containers().size() >= depth_; }
  bool skip() {
    if (skipped_++ > 0) return true;
    cut_ = cut_ || !in_managed_fields();
    return JsonBuilder::null();
  }
  bool in_managed_fields() {
    const Json* of_object = find(root(), {"metadata", "managedFields"});
    const Json* of_event = find(root(), {"object", "metadata", "managedFields"});
    const auto& open = open_containers();
    return std::any_of(open.begin(), open.end(), [&](const Json* one) { return one == of_object || one == of_event; });
  }

  std::size_t depth_;
  long skipped_ = 0;  // containers that are open below the depth
  bool cut_ = false;
};

}  // namespace

Result<ShallowJson> parse_json_shallow(std::string_view text, int depth) {
  depth = std::clamp(depth, 1, kMaxJsonDepth);
  ShallowJson read;
  ShallowBuilder builder(read.value, depth);
  bool good = false;
  try {
    // Nearly every text is not deep.
    if (JsonBuilder fast(read.value); read_json(text, fast, depth)) return read;
    read.value = nullptr;
    good = Json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const std::exception& error) {
    return fail(Category::kInternal, std::string("JSON: ") + error.what());
  }
  if (!good) {
    const Result<Json> why = parse_json(text);
    return why ? fail(Category::kInvalid, builder.refusal()) : tl::unexpected(why.error());
  }
  read.cut = builder.cut();
  return read;
}

}  // namespace fleetadm
