#include "core/apimachinery/protobuf.h"

#include <bit>
#include <chrono>
#include <cstdint>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/utf8.h"

namespace fleetadm::apimachinery {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);

tl::unexpected<Error> malformed(std::string_view what) {
  Error error{.code = 400, .category = Category::kInvalid, .message = "the protobuf body is malformed: " + std::string(what)};
  error.reason = "BadRequest";
  return fail(std::move(error));
}

enum class Wire : unsigned char { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Item {
  int number = 0;
  Wire wire = Wire::kVarint;
  std::uint64_t value = 0;  // of a varint or fixed
  std::string_view bytes;   // of kBytes
};

/// Reads one message's items in order.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool at_end() const { return rest_.empty(); }

  Result<Item> next() {
    FLEETADM_TRY(const std::uint64_t tag, varint());
    Item item;
    const std::uint64_t number = tag >> 3U;
    if (number == 0 || number > 536'870'911) return malformed("an illegal field number");
    item.number = static_cast<int>(number);
    switch (tag & 7U) {
      case 0: {
        item.wire = Wire::kVarint;
        FLEETADM_TRY(item.value, varint());
        return item;
      }
      case 1: {
        item.wire = Wire::kFixed64;
        FLEETADM_TRY(item.value, fixed(8));
        return item;
      }
      case 2: {
        item.wire = Wire::kBytes;
        FLEETADM_TRY(const std::uint64_t size, varint());
        if (size > rest_.size()) return malformed("a field is cut off");
        item.bytes = rest_.substr(0, static_cast<std::size_t>(size));
        rest_.remove_prefix(static_cast<std::size_t>(size));
        return item;
      }
      case 5: {
        item.wire = Wire::kFixed32;
        FLEETADM_TRY(item.value, fixed(4));
        return item;
      }
      default: return malformed("an illegal wire type");  // groups, which Kubernetes never writes, included
    }
  }

  Result<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return malformed("a number is cut off");
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 127U) << shift;
      if ((byte & 128U) == 0) return value;
    }
    return malformed("a number is too long");
  }

 private:
  Result<std::uint64_t> fixed(std::size_t size) {
    if (rest_.size() < size) return malformed("a number is cut off");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(size);
    return value;
  }

  std::string_view rest_;
};

/// The items 1 and 2 of a small message (Time, map entries, Quantity, the unions).
struct Pair {
  std::uint64_t first = 0, second = 0;
  std::string_view first_bytes, second_bytes, third_bytes;
  bool any = false, has_second = false;
};

Result<Pair> read_pair(std::string_view bytes) {
  Pair pair;
  Reader reader(bytes);
  while (!reader.at_end()) {
    FLEETADM_TRY(const Item item, reader.next());
    pair.any = true;
    if (item.number == 1) {
      pair.first = item.value;
      pair.first_bytes = item.bytes;
    } else if (item.number == 2) {
      pair.second = item.value;
      pair.second_bytes = item.bytes;
      pair.has_second = true;
    } else if (item.number == 3) {
      pair.third_bytes = item.bytes;
    }
  }
  return pair;
}

class MessageDecoder {
 public:
  /// Merges a message into `into` (an object).
  Status message(std::string_view bytes, const StructType& type, Json& into, int depth) {
    if (depth > kMaxProtobufDepth) return malformed("it is nested too deep");
    Reader reader(bytes);
    while (!reader.at_end()) {
      FLEETADM_TRY(const Item item, reader.next());
      const FieldType* field = type.by_number(item.number);
      if (field != nullptr) FLEETADM_CHECK(add(item, *field, into, depth));
    }
    fill(type, into);
    return {};
  }

 private:
  Status count() {
    if (++values_ > kMaxProtobufValues) return malformed("it has too many values");
    return {};
  }

  Status add(const Item& item, const FieldType& field, Json& into, int depth) {
    FLEETADM_CHECK(count());
    if (field.inlined) {
      const StructType* inner = field.node.type();
      if (inner == nullptr || item.wire != Wire::kBytes) return malformed("a message was expected");
      return message(item.bytes, *inner, into, depth + 1);
    }
    switch (field.node.form) {
      case Form::kList: {
        Json& list = into[field.name];
        if (!list.is_array()) list = Json::array();
        return add_item(item, *field.node.element, list, depth);
      }
      case Form::kMap: {
        Json& map = into[field.name];
        if (!map.is_object()) map = Json::object();
        if (item.wire != Wire::kBytes) return malformed("a map entry was expected");
        return add_entry(item.bytes, *field.node.element, map, depth);
      }
      default: return value(item, field.node, into[field.name], depth);
    }
  }

  Status add_item(const Item& item, const TypeNode& element, Json& list, int depth) {
    const bool number = element.form == Form::kInt32 || element.form == Form::kInt64;
    if (number && item.wire == Wire::kBytes) {  // packed
      Reader reader(item.bytes);
      while (!reader.at_end()) {
        FLEETADM_CHECK(count());
        Item one;
        FLEETADM_TRY(one.value, reader.varint());
        list.push_back(nullptr);
        FLEETADM_CHECK(value(one, element, list.back(), depth));
      }
      return {};
    }
    list.push_back(nullptr);
    return value(item, element, list.back(), depth);
  }

  Status add_entry(std::string_view bytes, const TypeNode& element, Json& map, int depth) {
    Reader reader(bytes);
    std::string key;
    Item content{.number = 2, .wire = element.form == Form::kBool ? Wire::kVarint : Wire::kBytes, .value = 0, .bytes = {}};
    while (!reader.at_end()) {
      FLEETADM_TRY(const Item item, reader.next());
      if (item.number == 1) key = valid_utf8(item.bytes);
      if (item.number == 2) content = item;
    }
    Json& slot = map[key];
    if (element.form == Form::kList) {  // a message that wraps a list
      slot = Json::array();
      return add_item(content, *element.element, slot, depth);
    }
    return value(content, element, slot, depth);
  }

  Status value(const Item& item, const TypeNode& node, Json& into, int depth) {
    switch (node.form) {
      case Form::kBool:
        if (item.wire != Wire::kVarint) return malformed("a boolean was expected");
        into = item.value != 0;
        return {};
      case Form::kInt32:
        if (item.wire != Wire::kVarint) return malformed("a number was expected");
        into = static_cast<std::int32_t>(static_cast<std::uint32_t>(item.value));
        return {};
      case Form::kInt64:
        if (item.wire != Wire::kVarint) return malformed("a number was expected");
        into = static_cast<std::int64_t>(item.value);
        return {};
      case Form::kDouble:
        if (item.wire != Wire::kFixed64) return malformed("a number was expected");
        into = std::bit_cast<double>(item.value);
        return {};
      default: break;
    }
    if (item.wire != Wire::kBytes) return malformed("a text or message was expected");
    switch (node.form) {
      case Form::kString: into = valid_utf8(item.bytes); return {};
      case Form::kBytes: into = base64_encode(item.bytes); return {};
      case Form::kStruct: {
        const StructType* type = node.type();
        if (type == nullptr) return malformed("a message is not known");
        if (!into.is_object()) into = Json::object();
        return message(item.bytes, *type, into, depth + 1);
      }
      case Form::kStrings: {
        into = Json::array();
        Reader reader(item.bytes);
        while (!reader.at_end()) {
          FLEETADM_CHECK(count());
          FLEETADM_TRY(const Item one, reader.next());
          if (one.number == 1) into.push_back(valid_utf8(one.bytes));
        }
        return {};
      }
      case Form::kSchemaOrBool:
      case Form::kSchemaOrArray:
      case Form::kSchemaOrStrings: return schema_union(item.bytes, node.form, into, depth);
      default: return special(item.bytes, node.form, into);
    }
  }

  Status special(std::string_view bytes, Form form, Json& into) {
    FLEETADM_TRY(const Pair pair, read_pair(bytes));
    switch (form) {
      case Form::kTime:
      case Form::kMicroTime: {
        into = nullptr;
        if (!pair.any) return {};
        // Outside of what four digits of a year can say there is no JSON form; our clock's range is narrower still.
        constexpr std::int64_t kLimit = 9'000'000'000;
        const auto seconds = static_cast<std::int64_t>(pair.first);
        const auto nanos = static_cast<std::int64_t>(pair.second);
        if (seconds < -kLimit || seconds > kLimit || nanos < 0 || nanos >= 1'000'000'000)
          return malformed("a time is out of range");
        if (seconds == -62'135'596'800) return {};
        const Instant at{std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos)};
        into = form == Form::kTime ? format_time(at) : format_micro_time(at);
        return {};
      }
      case Form::kDuration: into = format_duration(Duration(static_cast<std::int64_t>(pair.first))); return {};
      case Form::kQuantity: into = valid_utf8(pair.first_bytes); return {};
      case Form::kIntOrString:
        if (pair.first == 1) {
          into = valid_utf8(pair.third_bytes);
        } else {
          into = static_cast<std::int32_t>(static_cast<std::uint32_t>(pair.second));
        }
        return {};
      case Form::kRaw:
      case Form::kFieldsV1:
      case Form::kJson: {
        into = nullptr;
        if (pair.first_bytes.empty()) return {};
        FLEETADM_TRY(into, parse_json(pair.first_bytes));
        return {};
      }
      default: return malformed("a field of this type has no protobuf form");
    }
  }

  Status schema_union(std::string_view bytes, Form form, Json& into, int depth) {
    const StructType* schema = find_message("apiextensions/v1.JSONSchemaProps");
    if (schema == nullptr) return malformed("a message is not known");
    bool allows = false;
    Json single;
    Json many = Json::array();
    Reader reader(bytes);
    while (!reader.at_end()) {
      FLEETADM_CHECK(count());
      FLEETADM_TRY(const Item item, reader.next());
      const bool is_schema = item.wire == Wire::kBytes && item.number == (form == Form::kSchemaOrBool ? 2 : 1);
      if (is_schema) {
        single = Json::object();
        FLEETADM_CHECK(message(item.bytes, *schema, single, depth + 1));
      } else if (form == Form::kSchemaOrBool && item.number == 1) {
        allows = item.value != 0;
      } else if (form == Form::kSchemaOrArray && item.number == 2 && item.wire == Wire::kBytes) {
        many.push_back(Json::object());
        FLEETADM_CHECK(message(item.bytes, *schema, many.back(), depth + 1));
      } else if (form == Form::kSchemaOrStrings && item.number == 2 && item.wire == Wire::kBytes) {
        many.push_back(valid_utf8(item.bytes));
      }
    }
    if (single.is_object()) {
      into = std::move(single);
    } else if (form == Form::kSchemaOrBool) {
      into = allows;
    } else {
      into = std::move(many);
    }
    return {};
  }

  /// What Go's encoding/json would leave out and write.
  static void fill(const StructType& type, Json& object) {
    for (const FieldType& field : type.wire) {
      if (field.inlined) continue;
      const auto at = object.find(field.name);
      if (at != object.end() && field.omit_empty && !field.pointer && is_zero(*at, field.node.form)) object.erase(at);
      if (at == object.end() && !field.omit_empty && !field.pointer && field.number != 0) {
        const Json zero = zero_of(field.node.form);
        if (!zero.is_null()) object[field.name] = zero;
      }
    }
  }
  static bool is_zero(const Json& value, Form form) {
    if (form == Form::kStruct || form == Form::kIntOrString || form == Form::kQuantity) return false;
    if (value.is_null()) return true;
    if (value.is_structured()) return value.empty() && form != Form::kRaw && form != Form::kJson && form != Form::kFieldsV1;
    if (value.is_string()) return value.get_ref<const std::string&>().empty();
    if (value.is_boolean()) return !value.get<bool>();
    return value.is_number() && value == 0;
  }
  static Json zero_of(Form form) {
    switch (form) {
      case Form::kString: return "";
      case Form::kBool: return false;
      case Form::kInt32:
      case Form::kInt64:
      case Form::kDouble: return 0;
      default: return nullptr;
    }
  }

  std::size_t values_ = 0;
};

}  // namespace

bool is_protobuf(std::string_view body) { return body.starts_with(kMagic); }

Result<Json> decode_message(std::string_view bytes, const StructType& type) {
  Json object = Json::object();
  FLEETADM_CHECK(MessageDecoder().message(bytes, type, object, 0));
  return object;
}

Result<Json> decode_protobuf(std::string_view body, std::string_view default_api_version, std::string_view default_kind) {
  if (!is_protobuf(body)) return malformed("it does not begin with the magic bytes of Kubernetes");
  body.remove_prefix(kMagic.size());
  std::string api_version(default_api_version);
  std::string kind(default_kind);
  std::string_view raw;
  Reader reader(body);
  while (!reader.at_end()) {
    FLEETADM_TRY(const Item item, reader.next());
    if (item.number == 1 && item.wire == Wire::kBytes) {
      FLEETADM_TRY(const Pair meta, read_pair(item.bytes));
      if (!meta.first_bytes.empty()) api_version = valid_utf8(meta.first_bytes);
      if (!meta.second_bytes.empty()) kind = valid_utf8(meta.second_bytes);
    } else if (item.number == 2 && item.wire == Wire::kBytes) {
      raw = item.bytes;
    } else if (item.number == 3 && !item.bytes.empty()) {
      return malformed("its content is encoded");
    }
  }
  const TypeNode* root = find_kind(api_version, kind);
  if (root == nullptr) {
    Error error{.code = 415,
                .category = Category::kUnsupported,
                .message = "no protobuf form is known of " + api_version + ", Kind=" + kind};
    error.reason = "UnsupportedMediaType";
    return fail(std::move(error));
  }
  FLEETADM_TRY(Json object, decode_message(raw, *root->type()));
  object["apiVersion"] = std::move(api_version);
  object["kind"] = std::move(kind);
  return object;
}

}  // namespace fleetadm::apimachinery
