#include "core/apimachinery/decode.h"

#include <functional>
#include <limits>
#include <set>

#include "core/apimachinery/unique_keys.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json_builder.h"
#include "kubeclient/base/quantity.h"

namespace fleetadm::apimachinery {
namespace {

std::string word_of(const Json& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "bool";
  return "number";
}

/// Where a value stands, for the decoder's messages: the innermost struct and the field path without indexes.
struct Place {
  std::string_view structure;
  std::string fields;
};

class Decoder {
 public:
  explicit Decoder(std::vector<std::string>& unknown) : unknown_(unknown) {}

  Status value(Json& json, const TypeNode& node, const std::string& path, const Place& place) {
    switch (node.form) {
      case Form::kStruct: return node.type() == nullptr ? Status() : structure(json, *node.type(), path, place);
      case Form::kMap:
        if (json.is_null()) return {};
        if (!json.is_object()) return mismatch(json, place, "map[string]" + go_type(*node.element));
        for (auto& [key, member] : json.items()) {
          if (member.is_null() && node.element->form != Form::kList) {
            if (node.element->form == Form::kString || node.element->form == Form::kBytes) {
              member = node.element->form == Form::kString ? Json("") : Json();
            }
            continue;
          }
          FLEETADM_CHECK(value(member, *node.element, path + "." + key, {place.structure, place.fields}));
        }
        return {};
      case Form::kList: {
        if (json.is_null()) return {};
        if (!json.is_array()) return mismatch(json, place, "[]" + go_type(*node.element));
        for (std::size_t i = 0; i < json.size(); ++i) {
          FLEETADM_CHECK(value(json[i], *node.element, path + "[" + std::to_string(i) + "]", place));
        }
        return {};
      }
      default: return scalar(json, node.form, place);
    }
  }

  Status structure(Json& json, const StructType& type, const std::string& path, const Place& place) {
    const std::string_view name = std::string_view(type.name).substr(type.name.rfind('.') + 1);
    if (json.is_null()) json = Json::object();
    if (!json.is_object()) return mismatch(json, place, type.name);
    for (auto at = json.begin(); at != json.end();) {
      const std::string member = path.empty() ? at.key() : path + "." + at.key();
      const FieldType* field = type.find(at.key());
      if (field == nullptr) {
        if (unknown_.size() < kMaxFieldComplaints) unknown_.push_back(member);
        at = json.erase(at);
        continue;
      }
      const bool absent = at->is_null() && (field->pointer || field->node.form != Form::kStruct);
      if (!absent) {
        const std::string inside = place.fields.empty() ? "" : place.fields + ".";
        FLEETADM_CHECK(value(*at, field->node, member, {name, inside + inlined_in(type, *field) + at.key()}));
      }
      // A time is a struct for Go: it is written as null where it is zero.
      if ((at->is_null() && !is_written_null(*field)) || (field->omit_empty && !field->pointer && is_empty(*at, *field))) {
        at = json.erase(at);
      } else {
        ++at;
      }
    }
    for (const FieldType* field : type.fields) {
      const bool is_struct = field->node.form == Form::kStruct && !field->pointer && !field->omit_zero;
      if ((field->omit_empty && !is_struct && !is_written_null(*field)) || json.contains(field->name)) continue;
      Json zero = field->pointer ? Json() : zero_of(field->node.form);
      if (is_struct) FLEETADM_CHECK(value(zero, field->node, "", {}));
      json[field->name] = std::move(zero);
    }
    return {};
  }

 private:
  static tl::unexpected<Error> bad(std::string message) {
    Error error{.code = 400, .category = Category::kInvalid, .message = std::move(message)};
    error.reason = "BadRequest";
    return fail(std::move(error));
  }
  /// A fraction keeps its point: of "1.0" nothing more than its type is left.
  static std::string number_text(const Json& json) {
    std::string text = dump_json(json);
    if (json.is_number_float() && text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }
  static tl::unexpected<Error> mismatch(const Json& json, const Place& place, std::string_view wanted) {
    std::string got = word_of(json);
    if (json.is_number() && (wanted == "int32" || wanted == "int64")) got += " " + number_text(json);
    std::string where =
        place.fields.empty() ? "value of" : "struct field " + std::string(place.structure) + "." + place.fields + " of";
    return bad("json: cannot unmarshal " + got + " into Go " + where + " type " + go_name(wanted));
  }
  static std::string go_name(std::string_view type) {
    const auto slash = type.find('/');
    // "core/v1.PodSpec": Go prints the package's last word.
    return std::string(slash == std::string_view::npos || type.find('[') != std::string_view::npos ? type
                                                                                                   : type.substr(slash + 1));
  }
  static std::string go_type(const TypeNode& node) {
    switch (node.form) {
      case Form::kStruct: return go_name(node.message);
      case Form::kInt32: return "int32";
      case Form::kInt64: return "int64";
      case Form::kBool: return "bool";
      case Form::kBytes: return "[]uint8";
      case Form::kQuantity: return "resource.Quantity";
      case Form::kList: return "[]" + go_type(*node.element);
      default: return "string";
    }
  }
  /// "VolumeSource." where the field is a member of what the type inlines.
  static std::string inlined_in(const StructType& type, const FieldType& field) {
    for (const FieldType& direct : type.wire) {
      if (&direct == &field) return {};
    }
    for (const FieldType& direct : type.wire) {
      const StructType* inner = direct.inlined ? direct.node.type() : nullptr;
      if (inner == nullptr || inner->find(field.name) != &field) continue;
      return inner->name.substr(inner->name.rfind('.') + 1) + "." + inlined_in(*inner, field);
    }
    return {};
  }

  Status scalar(Json& json, Form form, const Place& place) {
    switch (form) {
      case Form::kString: return json.is_string() || json.is_null() ? Status() : mismatch(json, place, "string");
      case Form::kBool: return json.is_boolean() || json.is_null() ? Status() : mismatch(json, place, "bool");
      case Form::kInt32:
        return integer(json, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max(), place, "int32");
      case Form::kInt64:
        return integer(json, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), place, "int64");
      case Form::kDouble:
      case Form::kNumber: return json.is_number() || json.is_null() ? Status() : mismatch(json, place, "float64");
      case Form::kBytes:
        if (json.is_null()) return {};
        if (!json.is_string()) return mismatch(json, place, "[]uint8");
        if (!base64_decode(json.get_ref<const std::string&>())) return bad("illegal base64 data at input byte 0");
        return {};
      case Form::kTime:
      case Form::kMicroTime: return time(json, form, place);
      case Form::kQuantity: return quantity(json);
      case Form::kIntOrString:
        if (json.is_string() || json.is_null()) return {};
        return integer(json, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max(), place, "int32");
      case Form::kStrings:
        if (!json.is_array() && !json.is_null()) return mismatch(json, place, "[]string");
        for (const Json& item : json) {
          if (!item.is_string()) return mismatch(item, place, "string");
        }
        return {};
      case Form::kSchemaOrBool: return schema(json, json.is_boolean(), place);
      case Form::kSchemaOrArray:
        if (json.is_array()) {
          for (Json& item : json) FLEETADM_CHECK(schema(item, false, place));
          return {};
        }
        return schema(json, false, place);
      case Form::kSchemaOrStrings: return schema(json, json.is_array(), place);
      default: return {};
    }
  }

  Status schema(Json& json, bool other, const Place& place) {
    const StructType* type = find_message("apiextensions/v1.JSONSchemaProps");
    if (other || json.is_null() || type == nullptr) return {};
    return structure(json, *type, place.fields, place);
  }

  static Status integer(const Json& json, std::int64_t least, std::int64_t most, const Place& place, std::string_view type) {
    if (json.is_null()) return {};
    const bool fits = json.is_number_unsigned()
                          ? json.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                          : json.is_number_integer() && json.get<std::int64_t>() >= least && json.get<std::int64_t>() <= most;
    return fits ? Status() : mismatch(json, place, type);
  }

  static Status time(Json& json, Form form, const Place& place) {
    if (json.is_null()) return {};
    if (!json.is_string()) return mismatch(json, place, form == Form::kTime ? "v1.Time" : "v1.MicroTime");
    const std::string text = json.get<std::string>();
    const auto at = parse_time(text);
    if (!at) {
      const std::string layout = form == Form::kTime ? "2006-01-02T15:04:05Z07:00" : "2006-01-02T15:04:05.000000Z07:00";
      return bad("parsing time \"" + text + "\" as \"" + layout + "\": cannot parse \"" + text + "\" as \"2006\"");
    }
    json = form == Form::kTime ? format_time(*at) : format_micro_time(*at);
    return {};
  }

  static Status quantity(Json& json) {
    if (json.is_null()) {
      json = "0";
      return {};
    }
    const auto parsed = Quantity::parse(json.is_string() ? json.get<std::string>() : dump_json(json));
    if (!parsed) return bad("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    json = parsed->to_string();
    return {};
  }

  static bool is_written_null(const FieldType& field) {
    return (field.node.form == Form::kTime || field.node.form == Form::kMicroTime) && !field.pointer && !field.omit_zero;
  }
  static bool is_empty(const Json& json, const FieldType& field) {
    switch (field.node.form) {
      case Form::kStruct: return field.omit_zero && json.empty();
      case Form::kQuantity:
      case Form::kIntOrString:
      case Form::kRaw:
      case Form::kJson:
      case Form::kFieldsV1:
      case Form::kTime:
      case Form::kMicroTime: return false;
      default: break;
    }
    if (json.is_structured()) return json.empty();
    if (json.is_string()) return json.get_ref<const std::string&>().empty();
    if (json.is_boolean()) return !json.get<bool>();
    return json.is_number() && json == 0;
  }
  static Json zero_of(Form form) {
    switch (form) {
      case Form::kString: return "";
      case Form::kBool: return false;
      case Form::kInt32:
      case Form::kInt64:
      case Form::kDouble:
      case Form::kNumber:
      case Form::kIntOrString: return 0;
      case Form::kQuantity: return "0";
      default: return nullptr;
    }
  }

  std::vector<std::string>& unknown_;
};

/// Notes keys that come twice in one object; builds nothing.
class DuplicateScanner : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return leaf(); }
  bool boolean(bool) override { return leaf(); }
  bool number_integer(number_integer_t) override { return leaf(); }
  bool number_unsigned(number_unsigned_t) override { return leaf(); }
  bool number_float(number_float_t, const string_t&) override { return leaf(); }
  bool string(string_t&) override { return leaf(); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(false); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    path_.resize(level.path);
    if (!path_.empty()) path_ += '.';
    path_ += name;
    const bool again = !level.keys.insert(name).second;
    if (!again && on_key) on_key(path_, false);
    if (again && on_key) on_key(path_, true);
    if (again && found.size() < kMaxFieldComplaints && level.reported.insert(name).second) {
      found.push_back(path_);
    }
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  std::vector<std::string> found;
  /// Told of every key in the order of the text, and whether it is there already.
  std::function<void(const std::string& path, bool again)> on_key;

 private:
  struct Level {
    bool is_array = false;
    std::size_t path = 0;  // length of the path of the container
    std::size_t index = 0;
    std::set<std::string> keys, reported;
  };

  void step() {
    if (levels_.empty() || !levels_.back().is_array) return;
    path_.resize(levels_.back().path);
    path_ += "[" + std::to_string(levels_.back().index++) + "]";
  }
  bool leaf() {
    step();
    return true;
  }
  bool open(bool is_array) {
    step();
    if (levels_.size() >= static_cast<std::size_t>(kMaxJsonDepth)) return false;
    levels_.push_back({is_array, path_.size(), 0, {}, {}});
    return true;
  }
  bool close() {
    path_.resize(levels_.back().path);
    levels_.pop_back();
    return true;
  }

  std::vector<Level> levels_;
  std::string path_;
};

}  // namespace

Status decode_builtin(Json& object, const TypeNode& type, std::vector<std::string>& unknown) {
  return decode_part(object, type, "", unknown);
}

Status decode_part(Json& value, const TypeNode& type, const std::string& path, std::vector<std::string>& unknown) {
  return Decoder(unknown).value(value, type, path, {});
}

Json empty_builtin(std::string_view api_version, std::string_view kind) {
  Json empty = Json::object();
  const TypeNode* type = find_kind(api_version, kind);
  if (type == nullptr) return empty;
  std::vector<std::string> unknown;
  if (!decode_builtin(empty, *type, unknown)) return Json::object();
  return empty;
}

std::vector<std::string> duplicate_fields(std::string_view json_text) {
  if (has_unique_keys(json_text)) return {};
  DuplicateScanner scanner;
  try {
    Json::sax_parse(json_text, &scanner);
  } catch (const std::exception&) {  // what it found so far stands
  }
  return std::move(scanner.found);
}

std::vector<std::string> field_complaints(const std::vector<std::string>& unknown, const std::vector<std::string>& duplicates) {
  std::vector<std::string> complaints;
  for (const std::string& path : duplicates) complaints.push_back("duplicate field " + dump_json(path));
  for (const std::string& path : unknown) complaints.push_back("unknown field " + dump_json(path));
  if (complaints.size() > kMaxFieldComplaints) complaints.resize(kMaxFieldComplaints);
  return complaints;
}

std::vector<std::string> complaints_in_order(std::string_view json_text, const std::vector<std::string>& unknown) {
  if (unknown.empty() && has_unique_keys(json_text)) return {};
  const std::set<std::string, std::less<>> undeclared(unknown.begin(), unknown.end());
  std::vector<std::string> complaints;
  std::set<std::string> said;
  DuplicateScanner scanner;
  scanner.on_key = [&](const std::string& path, bool again) {
    if (complaints.size() >= kMaxFieldComplaints) return;
    const auto say = [&](std::string complaint) {
      if (said.insert(complaint).second) complaints.push_back(std::move(complaint));
    };
    if (again) say("duplicate field " + dump_json(path));
    if (undeclared.contains(path)) say("unknown field " + dump_json(path));
  };
  try {
    Json::sax_parse(json_text, &scanner);
  } catch (const std::exception&) {  // what it found so far stands
  }
  return complaints;
}

std::string strict_message(std::string_view kind, std::string_view version, const std::vector<std::string>& complaints) {
  std::string text;
  for (const std::string& complaint : complaints) text += (text.empty() ? "" : ", ") + complaint;
  const std::string name(kind);
  return name + " in version \"" + std::string(version) + "\" cannot be handled as a " + name +
         ": strict decoding error: " + text;
}

}  // namespace fleetadm::apimachinery
