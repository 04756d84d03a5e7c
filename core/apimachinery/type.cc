#include "core/apimachinery/type.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>

#include "templates/templates.h"

namespace fleetadm::apimachinery {
namespace {

/// The next word of `text`, which loses it.
std::string_view take(std::string_view& text, char separator) {
  const auto at = text.find(separator);
  const std::string_view word = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return word;
}

Form form_of(std::string_view type) {
  static constexpr std::pair<std::string_view, Form> kForms[] = {
      {"string", Form::kString},
      {"bool", Form::kBool},
      {"int32", Form::kInt32},
      {"int64", Form::kInt64},
      {"double", Form::kDouble},
      {"bytes", Form::kBytes},
      {"time", Form::kTime},
      {"microtime", Form::kMicroTime},
      {"duration", Form::kDuration},
      {"quantity", Form::kQuantity},
      {"intorstring", Form::kIntOrString},
      {"strings", Form::kStrings},
      {"raw", Form::kRaw},
      {"fieldsv1", Form::kFieldsV1},
      {"json", Form::kJson},
      {"schemaorbool", Form::kSchemaOrBool},
      {"schemaorarray", Form::kSchemaOrArray},
      {"schemaorstrings", Form::kSchemaOrStrings},
  };
  for (const auto& [name, form] : kForms) {
    if (name == type) return form;
  }
  return Form::kStruct;
}

/// The embedded table: an index of lines, and the messages that were asked for so far.
class SchemaTable {
 public:
  static SchemaTable& get() {
    static SchemaTable table;
    return table;
  }

  const StructType* message(std::string_view name) {
    const std::lock_guard lock(mutex_);
    return message_locked(name);
  }

  const TypeNode* kind(std::string_view package, std::string_view kind) {
    const std::string name = std::string(package) + "." + std::string(kind);
    const std::lock_guard lock(mutex_);
    if (const auto at = kinds_.find(name); at != kinds_.end()) return at->second.get();
    const StructType* type = message_locked(name);
    if (type == nullptr || !type->is_object) return nullptr;
    auto node = std::make_unique<TypeNode>();
    node->form = Form::kStruct;
    node->message = name;
    node->fixed_type = type;
    return kinds_.emplace(name, std::move(node)).first->second.get();
  }

  std::string_view package(std::string_view group, std::string_view version) const {
    const auto at = std::find_if(packages_.begin(), packages_.end(),
                                 [&](const Package& package) { return package.group == group && package.version == version; });
    return at == packages_.end() ? std::string_view() : at->name;
  }

  std::vector<std::string_view> objects(std::string_view package) const {
    std::vector<std::string_view> names;
    const std::string prefix = std::string(package) + ".";
    auto at = std::lower_bound(lines_.begin(), lines_.end(), std::string_view(prefix),
                               [](const Line& line, std::string_view name) { return line.name < name; });
    for (; at != lines_.end() && at->name.starts_with(prefix); ++at) {
      if (at->rest.starts_with('K')) names.push_back(at->name);
    }
    return names;
  }

 private:
  struct Package {
    std::string_view name, group, version;
  };
  struct Line {
    std::string_view name, rest;
  };

  SchemaTable() {
    std::string_view text = templates::api_types();
    while (!text.empty()) {
      std::string_view line = take(text, '\n');
      if (line.empty() || line.front() == '#') continue;
      if (line.front() == '@') {
        line.remove_prefix(1);
        const std::string_view name = take(line, ' ');
        const std::string_view group = take(line, ' ');
        packages_.push_back({name, group == "-" ? std::string_view() : group, line});
        continue;
      }
      const std::string_view name = take(line, ' ');
      lines_.push_back({name, line});
    }
    std::sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) { return a.name < b.name; });
  }

  const StructType* message_locked(std::string_view name) {
    if (const auto at = messages_.find(name); at != messages_.end()) return at->second.get();
    const auto line = std::lower_bound(lines_.begin(), lines_.end(), name,
                                       [](const Line& entry, std::string_view wanted) { return entry.name < wanted; });
    if (line == lines_.end() || line->name != name) return nullptr;
    auto type = std::make_unique<StructType>();
    type->name = name;
    std::string_view rest = line->rest;
    const std::string_view head = take(rest, ' ');
    type->is_object = head.starts_with('K');
    type->atomic = head.ends_with('A');
    if (type->is_object) {
      for (const char* member : {"apiVersion", "kind"}) {
        FieldType field;
        field.name = member;
        field.omit_empty = true;
        field.node.form = Form::kString;
        type->wire.push_back(std::move(field));
      }
    }
    while (!rest.empty()) type->wire.push_back(parse_field(take(rest, ' ')));
    for (const FieldType& field : type->wire) {
      if (!field.inlined) {
        type->fields.push_back(&field);
        continue;
      }
      // Inlined messages never refer back to what inlines them: this ends.
      if (const StructType* inner = message_locked(field.node.message)) {
        type->fields.insert(type->fields.end(), inner->fields.begin(), inner->fields.end());
      }
    }
    std::sort(type->fields.begin(), type->fields.end(), [](const FieldType* a, const FieldType* b) { return a->name < b->name; });
    return messages_.emplace(std::string(name), std::move(type)).first->second.get();
  }

  FieldType parse_field(std::string_view text) {
    FieldType field;
    std::string_view name = take(text, ':');
    if (name.starts_with('~')) name.remove_prefix(1);
    field.name = name;
    const std::string_view number = take(text, ':');
    std::from_chars(number.data(), number.data() + number.size(), field.number);
    const std::string_view type = take(text, ':');
    const std::string_view flags = take(text, ':');
    const auto has = [&](char flag) { return flags.find(flag) != std::string_view::npos; };
    field.pointer = has('p');
    field.inlined = has('i');
    field.omit_empty = has('o');
    field.omit_zero = has('z');
    field.required = has('q');

    TypeNode scalar;
    scalar.form = form_of(type);
    if (scalar.form == Form::kStruct) {
      scalar.message = type;
      scalar.atomic = is_atomic(type);
    }
    if (has('L')) scalar = wrap(Form::kList, std::move(scalar));
    if (has('m')) scalar = wrap(Form::kMap, std::move(scalar));
    if (has('r')) scalar = wrap(Form::kList, std::move(scalar));
    field.node = std::move(scalar);
    parse_markers(text, field);
    return field;
  }

  void parse_markers(std::string_view text, FieldType& field) {
    TypeNode& node = field.node;
    while (!text.empty()) {
      std::string_view marker = take(text, '+');
      if (marker.starts_with("D=")) {
        if (auto value = parse_json(marker.substr(2))) field.default_value = std::move(*value);
      } else if (marker == "Ls") {
        node.list_type = ListType::kSet;
      } else if (marker.starts_with("Lm=")) {
        node.list_type = ListType::kMap;
        marker.remove_prefix(3);
        while (!marker.empty()) {
          const std::string key(take(marker, ','));
          if (const std::optional<Json> value = default_of(node.element->message, key))
            node.key_defaults.emplace_back(key, *value);
          node.keys.push_back(key);
        }
      } else if (marker == "Ma") {
        node.atomic = true;
      } else if (marker.starts_with("Pm")) {
        node.patch_merge = true;
        if (marker.size() > 3) node.merge_key = marker.substr(3);
      } else if (marker == "Pr") {
        node.patch_retain_keys = true;
      }
    }
  }

  std::string_view rest_of(std::string_view message) const {
    const auto line = std::lower_bound(lines_.begin(), lines_.end(), message,
                                       [](const Line& entry, std::string_view wanted) { return entry.name < wanted; });
    return line == lines_.end() || line->name != message ? std::string_view() : line->rest;
  }
  bool is_atomic(std::string_view message) const {
    std::string_view rest = rest_of(message);
    return take(rest, ' ').ends_with('A');
  }
  /// The declared default of a message's field, without parsing the message (they may refer to each other).
  std::optional<Json> default_of(std::string_view message, std::string_view field) const {
    std::string_view rest = rest_of(message);
    take(rest, ' ');
    while (!rest.empty()) {
      std::string_view word = take(rest, ' ');
      if (take(word, ':') != field) continue;
      const auto at = word.rfind("D=");
      if (at == std::string_view::npos) {
        // A member that is always there has its zero value where it is not said.
        take(word, ':');
        const std::string_view form = take(word, ':');
        const std::string_view flags = take(word, ':');
        if (flags != "q") return std::nullopt;
        return form == "string" ? std::optional<Json>("") : form == "int32" ? std::optional<Json>(0) : std::nullopt;
      }
      auto value = parse_json(word.substr(at + 2));
      return value ? std::optional(std::move(*value)) : std::nullopt;
    }
    return std::nullopt;
  }

  TypeNode wrap(Form form, TypeNode inner) {
    elements_.push_back(std::make_unique<TypeNode>(std::move(inner)));
    TypeNode node;
    node.form = form;
    node.element = elements_.back().get();
    return node;
  }

  std::vector<Package> packages_;  // immutable, as lines_
  std::vector<Line> lines_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<const StructType>, std::less<>> messages_;
  std::map<std::string, std::unique_ptr<const TypeNode>, std::less<>> kinds_;
  std::vector<std::unique_ptr<const TypeNode>> elements_;
};

}  // namespace

const StructType* TypeNode::type() const {
  if (fixed_type != nullptr || form != Form::kStruct) return fixed_type;
  return find_message(message);
}

const FieldType* StructType::find(std::string_view field) const {
  const auto at = std::lower_bound(fields.begin(), fields.end(), field,
                                   [](const FieldType* entry, std::string_view wanted) { return entry->name < wanted; });
  return at == fields.end() || (*at)->name != field ? nullptr : *at;
}

const FieldType* StructType::by_number(int number) const {
  if (number <= 0) return nullptr;
  const auto at = std::find_if(wire.begin(), wire.end(), [&](const FieldType& field) { return field.number == number; });
  return at == wire.end() ? nullptr : &*at;
}

const StructType* find_message(std::string_view name) { return SchemaTable::get().message(name); }

const TypeNode* find_kind(std::string_view group, std::string_view version, std::string_view kind) {
  // Kinds of meta.k8s.io are registered in every group.
  if (kind == "DeleteOptions" || kind == "Status" || (kind == "List" && group.empty()))
    return SchemaTable::get().kind("meta/v1", kind);
  const std::string_view package = package_of(group, version);
  return package.empty() ? nullptr : SchemaTable::get().kind(package, kind);
}

const TypeNode* find_kind(std::string_view api_version, std::string_view kind) {
  const auto [group, version] = split_api_version(api_version);
  return find_kind(group, version, kind);
}

std::string_view package_of(std::string_view group, std::string_view version) {
  return SchemaTable::get().package(group, version);
}

std::vector<std::string_view> kinds_of(std::string_view package) { return SchemaTable::get().objects(package); }

const TypeNode& object_meta() {
  static const TypeNode node = [] {
    TypeNode made;
    made.form = Form::kStruct;
    made.message = "meta/v1.ObjectMeta";
    return made;
  }();
  return node;
}

std::pair<std::string_view, std::string_view> split_api_version(std::string_view api_version) {
  const auto slash = api_version.find('/');
  if (slash == std::string_view::npos) return {"", api_version};
  return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

}  // namespace fleetadm::apimachinery
