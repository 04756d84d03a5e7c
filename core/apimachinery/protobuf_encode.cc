#include "core/apimachinery/protobuf_encode.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>

#include "core/apimachinery/protobuf.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::apimachinery {
namespace {

constexpr std::string_view kEnvelopeMagic("k8s\0", 4);

tl::unexpected<Error> no_wire_form(const FieldType* field) {
  return fail(Category::kInvalid, "a value has no protobuf form" + (field == nullptr ? std::string() : ": " + field->name));
}

void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 128) {
    out += static_cast<char>(static_cast<unsigned char>((value & 127U) | 128U));
    value >>= 7U;
  }
  out += static_cast<char>(static_cast<unsigned char>(value));
}
void put_tag(std::string& out, int number, unsigned wire) { put_varint(out, (static_cast<std::uint64_t>(number) << 3U) | wire); }
void put_number(std::string& out, int number, std::int64_t value) {
  put_tag(out, number, 0);
  put_varint(out, static_cast<std::uint64_t>(value));
}
void put_bytes(std::string& out, int number, std::string_view bytes) {
  put_tag(out, number, 2);
  put_varint(out, bytes.size());
  out += bytes;
}

bool is_message(Form form) {
  switch (form) {
    case Form::kTime:
    case Form::kMicroTime:
    case Form::kDuration:
    case Form::kQuantity:
    case Form::kIntOrString:
    case Form::kRaw:
    case Form::kFieldsV1:
    case Form::kJson:
    case Form::kStruct: return true;
    default: return false;
  }
}

class Encoder {
 public:
  Status message(std::string& out, const Json& object, const StructType& type, int depth) {
    if (depth > kMaxProtobufDepth) return fail(Category::kInvalid, "the object is nested too deep");
    if (!object.is_object() && !object.is_null()) return no_wire_form(nullptr);
    for (const FieldType* field : by_number(type)) {
      if (field->number == 0) continue;
      if (field->inlined) {
        FLEETADM_CHECK(inlined(out, object, *field, depth));
        continue;
      }
      const Json* value = find(object, {field->name});
      if (value != nullptr && value->is_null()) value = nullptr;
      FLEETADM_CHECK(add(out, value, *field, depth));
    }
    return {};
  }

 private:
  static std::vector<const FieldType*> by_number(const StructType& type) {
    std::vector<const FieldType*> out;
    out.reserve(type.wire.size());
    for (const FieldType& field : type.wire) out.push_back(&field);
    const auto before = [](const FieldType* a, const FieldType* b) { return a->number < b->number; };
    if (!std::is_sorted(out.begin(), out.end(), before)) std::stable_sort(out.begin(), out.end(), before);
    return out;
  }

  Status inlined(std::string& out, const Json& object, const FieldType& field, int depth) {
    const StructType* type = field.node.type();
    if (type == nullptr) return no_wire_form(&field);
    if (field.pointer) {
      const bool any = std::any_of(type->fields.begin(), type->fields.end(),
                                   [&](const FieldType* member) { return find(object, {member->name}) != nullptr; });
      if (!any) return {};
    }
    std::string inner;
    FLEETADM_CHECK(message(inner, object, *type, depth + 1));
    put_bytes(out, field.number, inner);
    return {};
  }

  /// `given` is null where the object does not say it: what is no pointer is written all the same.
  Status add(std::string& out, const Json* given, const FieldType& field, int depth) {
    switch (field.node.form) {
      case Form::kList:
        if (given == nullptr) return {};
        if (!given->is_array()) return no_wire_form(&field);
        for (const Json& item : *given) FLEETADM_CHECK(value(out, field.number, item, *field.node.element, field, depth));
        return {};
      case Form::kMap: return given == nullptr ? Status() : map(out, *given, field, depth);
      case Form::kBytes:
      case Form::kStrings:
      case Form::kSchemaOrBool:
      case Form::kSchemaOrArray:
      case Form::kSchemaOrStrings:
        return given == nullptr ? Status() : value(out, field.number, *given, field.node, field, depth);
      default: break;
    }
    if (given == nullptr && field.pointer) return {};
    return value(out, field.number, given == nullptr ? Json() : *given, field.node, field, depth);
  }

  Status map(std::string& out, const Json& given, const FieldType& field, int depth) {
    if (!given.is_object()) return no_wire_form(&field);
    const TypeNode& element = *field.node.element;
    for (const auto& [key, member] : given.items()) {
      std::string entry;
      put_bytes(entry, 1, key);
      if (element.form == Form::kList) {  // a message that wraps a list
        std::string wrapped;
        if (member.is_array()) {
          for (const Json& item : member) FLEETADM_CHECK(value(wrapped, 1, item, *element.element, field, depth));
        }
        put_bytes(entry, 2, wrapped);
      } else if (!member.is_null() || element.form != Form::kBytes) {
        FLEETADM_CHECK(value(entry, 2, member, element, field, depth));
      }
      put_bytes(out, field.number, entry);
    }
    return {};
  }

  /// One scalar, null as its zero.
  static Status scalar(std::string& out, int number, const Json& json, Form form, const FieldType& field) {
    switch (form) {
      case Form::kBool:
        if (!json.is_boolean() && !json.is_null()) return no_wire_form(&field);
        put_number(out, number, json.is_boolean() && json.get<bool>() ? 1 : 0);
        return {};
      case Form::kInt32:
      case Form::kInt64:
        if (!json.is_number_integer() && !json.is_null()) return no_wire_form(&field);
        put_number(out, number, json.is_null() ? 0 : json.get<std::int64_t>());
        return {};
      case Form::kDouble: {
        if (!json.is_number() && !json.is_null()) return no_wire_form(&field);
        put_tag(out, number, 1);
        const auto bits = std::bit_cast<std::uint64_t>(json.is_null() ? 0.0 : json.get<double>());
        for (unsigned i = 0; i < 8; ++i) out += static_cast<char>(static_cast<unsigned char>((bits >> (8 * i)) & 255U));
        return {};
      }
      case Form::kString:
        if (!json.is_string() && !json.is_null()) return no_wire_form(&field);
        put_bytes(out, number, json.is_null() ? std::string_view() : std::string_view(json.get_ref<const std::string&>()));
        return {};
      case Form::kBytes: {
        if (!json.is_string() && !json.is_null()) return no_wire_form(&field);
        const auto bytes =
            json.is_null() ? Result<std::string>(std::string()) : base64_decode(json.get_ref<const std::string&>());
        if (!bytes) return no_wire_form(&field);
        put_bytes(out, number, *bytes);
        return {};
      }
      default: return no_wire_form(&field);
    }
  }

  /// One value, null as its zero.
  Status value(std::string& out, int number, const Json& json, const TypeNode& node, const FieldType& field, int depth) {
    switch (node.form) {
      case Form::kBool:
      case Form::kInt32:
      case Form::kInt64:
      case Form::kDouble:
      case Form::kString:
      case Form::kBytes: return scalar(out, number, json, node.form, field);
      case Form::kStrings: {
        std::string inner;
        for (const Json& item : json) {
          if (!item.is_string()) return no_wire_form(&field);
          put_bytes(inner, 1, item.get_ref<const std::string&>());
        }
        put_bytes(out, number, inner);
        return {};
      }
      case Form::kStruct: {
        const StructType* type = node.type();
        if (type == nullptr) return no_wire_form(&field);
        std::string inner;
        FLEETADM_CHECK(message(inner, json, *type, depth + 1));
        put_bytes(out, number, inner);
        return {};
      }
      case Form::kSchemaOrBool:
      case Form::kSchemaOrArray:
      case Form::kSchemaOrStrings: {
        std::string inner;
        FLEETADM_CHECK(schema_union(inner, json, node.form, depth));
        put_bytes(out, number, inner);
        return {};
      }
      default: break;
    }
    if (!is_message(node.form)) return no_wire_form(&field);
    std::string inner;
    FLEETADM_CHECK(special(inner, json, node.form, field));
    put_bytes(out, number, inner);
    return {};
  }

  static Status special(std::string& out, const Json& json, Form form, const FieldType& field) {
    switch (form) {
      case Form::kTime:
      case Form::kMicroTime: {
        if (json.is_null()) return {};
        const auto at = json.is_string() ? parse_time(json.get_ref<const std::string&>()) : std::nullopt;
        if (!at) return no_wire_form(&field);
        const auto since = at->time_since_epoch();
        const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
        put_number(out, 1, seconds.count());
        put_number(out, 2,
                   form == Form::kTime ? 0 : std::chrono::duration_cast<std::chrono::nanoseconds>(since - seconds).count());
        return {};
      }
      case Form::kDuration: {
        if (json.is_null()) return {};
        if (!json.is_string()) return no_wire_form(&field);
        FLEETADM_TRY(const Duration length, parse_duration(json.get_ref<const std::string&>()));
        put_number(out, 1, length.count());
        return {};
      }
      case Form::kQuantity:
        if (!json.is_string() && !json.is_null()) return no_wire_form(&field);
        put_bytes(out, 1, json.is_null() ? std::string_view("0") : std::string_view(json.get_ref<const std::string&>()));
        return {};
      case Form::kIntOrString: {
        if (!json.is_string() && !json.is_number_integer() && !json.is_null()) return no_wire_form(&field);
        put_number(out, 1, json.is_string() ? 1 : 0);
        put_number(out, 2, json.is_number_integer() ? json.get<std::int64_t>() : 0);
        put_bytes(out, 3, json.is_string() ? std::string_view(json.get_ref<const std::string&>()) : std::string_view());
        return {};
      }
      default:  // JSON in a message
        if (!json.is_null() || form == Form::kJson) put_bytes(out, 1, dump_json(json));
        return {};
    }
  }

  Status schema_union(std::string& out, const Json& json, Form form, int depth) {
    const StructType* schema = find_message("apiextensions/v1.JSONSchemaProps");
    if (schema == nullptr) return no_wire_form(nullptr);
    const auto put_schema = [&](int number, const Json& one) -> Status {
      std::string inner;
      FLEETADM_CHECK(message(inner, one, *schema, depth + 1));
      put_bytes(out, number, inner);
      return {};
    };
    if (form == Form::kSchemaOrBool) {
      put_number(out, 1, json.is_object() || (json.is_boolean() && json.get<bool>()) ? 1 : 0);
      return json.is_object() ? put_schema(2, json) : Status();
    }
    if (json.is_object()) return put_schema(1, json);
    if (!json.is_array()) return no_wire_form(nullptr);
    for (const Json& item : json) {
      if (form == Form::kSchemaOrArray) {
        FLEETADM_CHECK(put_schema(2, item));
      } else if (item.is_string()) {
        put_bytes(out, 2, item.get_ref<const std::string&>());
      } else {
        return no_wire_form(nullptr);
      }
    }
    return {};
  }
};

/// Tables have no protobuf form: their messages have no numbers.
const StructType* wire_type(std::string_view api_version, std::string_view kind) {
  const TypeNode* node = find_kind(api_version, kind);
  if (node == nullptr && api_version == "v1") node = find_kind("meta.k8s.io/v1", kind);  // what discovery answers
  if (node == nullptr && api_version == "meta.k8s.io/v1beta1") node = find_kind("meta.k8s.io/v1", kind);
  const StructType* type = node == nullptr ? nullptr : node->type();
  if (type == nullptr || type->wire.empty()) return nullptr;
  const bool any = std::any_of(type->wire.begin(), type->wire.end(), [](const FieldType& field) { return field.number != 0; });
  return any ? type : nullptr;
}

}  // namespace

bool has_protobuf(std::string_view api_version, std::string_view kind) { return wire_type(api_version, kind) != nullptr; }

Result<std::string> encode_message(const Json& object, const StructType& type) {
  std::string out;
  FLEETADM_CHECK(Encoder().message(out, object, type, 0));
  return out;
}

Result<std::string> encode_protobuf(const Json& object) {
  const std::string api_version = str(object, {"apiVersion"});
  const std::string kind = str(object, {"kind"});
  const StructType* type = wire_type(api_version, kind);
  if (type == nullptr) return fail(Category::kUnsupported, kind + " of " + api_version + " has no protobuf form");
  std::string raw;
  FLEETADM_CHECK(Encoder().message(raw, object, *type, 0));
  std::string meta;
  put_bytes(meta, 1, api_version);
  put_bytes(meta, 2, kind);
  std::string out(kEnvelopeMagic);
  out.reserve(raw.size() + meta.size() + 24);
  put_bytes(out, 1, meta);
  put_bytes(out, 2, raw);
  put_bytes(out, 3, {});
  put_bytes(out, 4, {});
  return out;
}

std::string watch_frame(std::string_view type, std::string_view envelope) {
  std::string raw;
  put_bytes(raw, 1, envelope);
  std::string event;
  put_bytes(event, 1, type);
  put_bytes(event, 2, raw);
  std::string out;
  for (unsigned shift = 32; shift > 0;) {
    shift -= 8;
    out += static_cast<char>(static_cast<unsigned char>((event.size() >> shift) & 255U));
  }
  return out + event;
}

}  // namespace fleetadm::apimachinery
