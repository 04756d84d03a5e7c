#include "kubeclient/watch/list_scanner.h"

#include "kubeclient/base/ascii.h"

namespace fleetadm::kube {

namespace {

constexpr std::size_t kMaxEnvelope = std::size_t{1024} * 1024;
constexpr std::size_t kMaxItem = std::size_t{64} * 1024 * 1024;

}  // namespace

Status ListScanner::feed(std::string_view chunk) {
  for (const char c : chunk) FLEETADM_CHECK(take(c));
  return {};
}

Status ListScanner::take(char c) {
  // Inside items, everything below the array belongs to an item; everything else belongs to the envelope.
  const bool within_item = in_items_ && depth_ >= 2 && (depth_ > 2 || in_string_ || (c != ',' && c != ']' && !is_space(c)));
  if (within_item) {
    if (item_.size() >= kMaxItem) return fail(Category::kInvalid, "an item of the server's list is too long");
    item_ += c;
  } else if (!in_items_) {
    if (envelope_.size() >= kMaxEnvelope) return fail(Category::kInvalid, "the server's answer is not a list");
    envelope_ += c;
  }

  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      return {};
    }
    if (depth_ == 1 && !expect_value_) word_ += c;
    return {};
  }
  switch (c) {
    case '"':
      in_string_ = true;
      if (depth_ == 1 && !expect_value_) word_.clear();
      return {};
    case ':':
      if (depth_ == 1) expect_value_ = true;
      return {};
    case ',':
      if (depth_ == 1) expect_value_ = false;
      return {};
    case '{':
    case '[':
      ++depth_;
      // How deep an item may be is for the one that takes it.
      if (!in_items_ && depth_ > kMaxJsonDepth) return fail(Category::kInvalid, "the server's list is nested too deep");
      if (c == '[' && depth_ == 2 && expect_value_ && word_ == "items") {
        in_items_ = true;
      }
      return {};
    case '}':
    case ']':
      --depth_;
      if (depth_ < 0) return fail(Category::kInvalid, "the server's list is malformed");
      if (in_items_ && depth_ == 2) {
        const std::string text = std::move(item_);
        item_ = {};
        return on_item_(text);
      }
      if (in_items_ && depth_ == 1) {
        if (!item_.empty()) return fail(Category::kInvalid, "an item of the server's list is no object");
        in_items_ = false;
        envelope_ += ']';
      }
      return {};
    default: return {};
  }
}

Result<Json> ListScanner::finish() {
  if (depth_ != 0 || in_string_) return fail(Category::kUnavailable, "the server's list ended early");
  FLEETADM_TRY(auto envelope, parse_json(envelope_));
  // Go writes an empty list as null in places.
  const Json* items = find(envelope, {"items"});
  if (items == nullptr || !(items->is_array() || items->is_null()))
    return fail(Category::kInvalid, "the server's answer is not a list");
  return envelope;
}

}  // namespace fleetadm::kube
