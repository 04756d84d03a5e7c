#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "core/apimachinery/depth.h"
#include "core/apimachinery/patch.h"

namespace fleetadm::apimachinery {
namespace {

tl::unexpected<Error> bad_document(std::string message) {
  Error error{.code = 400, .category = Category::kInvalid, .message = std::move(message)};
  error.reason = "BadRequest";
  return fail(std::move(error));
}
std::string kind_of(const Json& value) {
  return value.is_object()    ? "object"
         : value.is_array()   ? "array"
         : value.is_string()  ? "string"
         : value.is_boolean() ? "bool"
                              : "number";
}

/// An operation that does not apply: the server says no more than this, whatever it was.
tl::unexpected<Error> failed() {
  Error error{
      .code = 422, .category = Category::kInvalid, .message = "the server rejected our request due to an error in our request"};
  error.reason = "Invalid";
  return fail(std::move(error));
}

/// The tokens of a JSON pointer, unescaped; nullopt where it is none.
std::optional<std::vector<std::string>> parse_pointer(const std::string& text) {
  std::vector<std::string> tokens;
  if (text.empty()) return tokens;
  if (text.front() != '/') return std::nullopt;
  std::size_t at = 1;
  while (true) {
    const std::size_t slash = text.find('/', at);
    std::string token;
    for (std::size_t i = at; i < std::min(slash, text.size()); ++i) {
      if (text[i] == '~' && i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')) {
        token += text[++i] == '0' ? '~' : '/';
      } else {
        token += text[i];
      }
    }
    tokens.push_back(std::move(token));
    if (slash == std::string::npos) return tokens;
    at = slash + 1;
  }
}

/// An index into a list of `size` elements; negative ones count from the end.
std::optional<std::size_t> index_of(const std::string& token, std::size_t size) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  if (value < 0) value += static_cast<std::int64_t>(size);
  if (value < 0) return std::nullopt;
  return static_cast<std::size_t>(value);
}

Json* child_of(Json& value, const std::string& token) {
  if (value.is_object()) {
    const auto at = value.find(token);
    return at == value.end() ? nullptr : &*at;
  }
  if (value.is_array()) {
    const auto index = index_of(token, value.size());
    return index && *index < value.size() ? &value[*index] : nullptr;
  }
  return nullptr;
}

/// About what a value takes in memory; looks no further once that is more than `most`.
std::size_t memory_of(const Json& value, std::size_t most) {
  std::size_t bytes = sizeof(Json);
  if (value.is_string()) bytes += value.get_ref<const std::string&>().size();
  if (value.is_array()) {
    for (auto item = value.begin(); item != value.end() && bytes <= most; ++item) bytes += memory_of(*item, most);
  } else if (value.is_object()) {
    for (auto item = value.begin(); item != value.end() && bytes <= most; ++item)
      bytes += sizeof(Json::object_t::value_type) + item.key().size() + memory_of(*item, most);
  }
  return bytes;
}

class Patcher {
 public:
  explicit Patcher(Json object) : object_(std::move(object)) {}
  Json take() { return std::move(object_); }

  Status apply(const Json& operation) {
    const std::string op = str(operation, {"op"});
    const Json* path = find(operation, {"path"});
    if (path == nullptr || !path->is_string()) return failed();
    const auto tokens = parse_pointer(path->get_ref<const std::string&>());
    if (!tokens) return failed();
    const Json* value = find(operation, {"value"});
    if (op == "add" || op == "replace" || op == "test") {
      static const Json kNull;
      if (value == nullptr && op != "test") value = &kNull;
      if (op == "add") return add(*tokens, *value);
      if (op == "replace") return replace(*tokens, *value);
      return test(*tokens, value == nullptr ? kNull : *value);
    }
    if (op == "remove") return remove(*tokens);
    if (op != "move" && op != "copy") return failed();
    const Json* from = find(operation, {"from"});
    const auto source = from != nullptr && from->is_string() ? parse_pointer(from->get<std::string>()) : std::nullopt;
    if (!source) return failed();
    Json* moved = at(*source);
    Json* holder = source->empty() ? nullptr : parent_of(*source);
    // A copy of a member that is not there is null.
    const bool absent_member = moved == nullptr && op == "copy" && holder != nullptr && holder->is_object();
    if (moved == nullptr && !absent_member) return failed();
    if (op == "copy") {
      Json content;
      if (!absent_member) {
        copied_ += memory_of(*moved, kMaxCopiedBytes);
        if (copied_ > kMaxCopiedBytes) return failed();
        content = *moved;
      }
      return add(*tokens, std::move(content));
    }
    if (tokens->size() > source->size() && std::equal(source->begin(), source->end(), tokens->begin())) return failed();
    Json content = std::move(*moved);
    FLEETADM_CHECK(remove(*source));
    moved_ += count_values(content);
    if (moved_ > kMaxMovedValues) return failed();
    return add(*tokens, std::move(content));
  }

 private:
  Json* at(const std::vector<std::string>& tokens) {
    Json* here = &object_;
    for (const std::string& token : tokens) {
      here = child_of(*here, token);
      if (here == nullptr) return nullptr;
    }
    return here;
  }
  /// The container of the last token.
  Json* parent_of(const std::vector<std::string>& tokens) { return at({tokens.begin(), tokens.end() - 1}); }

  /// There would be something deeper than anything that was parsed.
  static bool too_deep(const std::vector<std::string>& tokens, const Json& value) {
    return tokens.size() > kMaxJsonDepth || nested_deeper(value, kMaxJsonDepth - static_cast<int>(tokens.size()));
  }

  Status add(const std::vector<std::string>& tokens, Json value) {
    if (too_deep(tokens, value)) return failed();
    if (tokens.empty()) {
      object_ = std::move(value);
      return {};
    }
    Json* parent = parent_of(tokens);
    if (parent == nullptr || !parent->is_structured()) return failed();
    if (parent->is_object()) {
      (*parent)[tokens.back()] = std::move(value);
      return {};
    }
    if (tokens.back() == "-") {
      parent->push_back(std::move(value));
      return {};
    }
    const auto index = index_of(tokens.back(), parent->size() + 1);
    if (!index || *index > parent->size()) {
      return failed();
    }
    parent->insert(parent->begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
    return {};
  }

  Status replace(const std::vector<std::string>& tokens, Json value) {
    if (too_deep(tokens, value)) return failed();
    if (Json* target = at(tokens)) {
      *target = std::move(value);
      return {};
    }
    // A member that is not there is added, as the server's library does; an element is not.
    Json* parent = tokens.empty() ? nullptr : parent_of(tokens);
    if (parent == nullptr || !parent->is_object()) return failed();
    (*parent)[tokens.back()] = std::move(value);
    return {};
  }

  Status remove(const std::vector<std::string>& tokens) {
    Json* parent = tokens.empty() ? nullptr : parent_of(tokens);
    if (parent == nullptr || child_of(*parent, tokens.back()) == nullptr) return failed();
    if (parent->is_object()) {
      parent->erase(tokens.back());
    } else {
      parent->erase(*index_of(tokens.back(), parent->size()));
    }
    return {};
  }

  Status test(const std::vector<std::string>& tokens, const Json& value) {
    if (const Json* target = at(tokens)) return *target == value ? Status() : failed();
    // A member that is not there is null; what it would be a member of has to be there.
    return value.is_null() && !tokens.empty() && parent_of(tokens) != nullptr ? Status() : failed();
  }

  Json object_;
  std::size_t copied_ = 0;
  std::size_t moved_ = 0;
};

/// RFC 7386; recursion is bounded by the depth of what was parsed.
void merge(Json& target, const Json& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Json::object();
  for (const auto& [key, value] : patch.items()) {
    if (value.is_null()) {
      target.erase(key);
    } else {
      merge(target[key], value);
    }
  }
}

}  // namespace

std::size_t count_values(const Json& value) {
  std::size_t count = 1;
  if (value.is_structured()) {
    for (const Json& child : value) count += count_values(child);
  }
  return count;
}

Result<Json> json_patch(Json object, const Json& operations) {
  if (!operations.is_array())
    return bad_document("error decoding patch: json: cannot unmarshal " + kind_of(operations) +
                        " into Go value of type []handlers.jsonPatchOp");
  if (operations.size() > kMaxJsonPatchOperations) {
    Error error{.code = 413,
                .category = Category::kInvalid,
                .message = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got " +
                           std::to_string(operations.size())};
    error.reason = "RequestEntityTooLarge";
    return fail(std::move(error));
  }
  Patcher patcher(std::move(object));
  for (const Json& operation : operations) {
    if (!operation.is_object())
      return bad_document("error decoding patch: json: cannot unmarshal " + kind_of(operation) +
                          " into Go value of type handlers.jsonPatchOp");
    FLEETADM_CHECK(patcher.apply(operation));
  }
  return patcher.take();
}

Result<Json> merge_patch(Json object, const Json& patch) {
  if (!patch.is_object())
    return bad_document("error decoding patch: json: cannot unmarshal " + kind_of(patch) +
                        " into Go value of type map[string]interface {}");
  merge(object, patch);
  return object;
}

}  // namespace fleetadm::apimachinery
