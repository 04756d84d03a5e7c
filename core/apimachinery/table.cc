#include "core/apimachinery/table.h"

#include <cstdlib>

#include "kubeclient/base/jsonpath.h"

namespace fleetadm::apimachinery {
namespace {

constexpr std::string_view kNameHelp = "Name must be unique within a namespace.";

class CustomPrinter final : public TablePrinter {
 public:
  explicit CustomPrinter(const Json& additional) {
    columns_.push_back({"Name", "string", "name", 0, std::string(kNameHelp)});
    paths_.push_back(".metadata.name");
    if (additional.is_array()) {
      for (const Json& given : additional) {
        columns_.push_back({str(given, {"name"}), str(given, {"type"}), str(given, {"format"}),
                            static_cast<int>(num(given, {"priority"})), str(given, {"description"})});
        paths_.push_back(str(given, {"jsonPath"}));
      }
    }
    if (columns_.size() == 1) {
      columns_.push_back({"Age", "date", "", 0, "When the object was created."});
      paths_.push_back(".metadata.creationTimestamp");
    }
  }

  const std::vector<TableColumn>& columns() const override { return columns_; }

  Json cells(const Json& object, Instant now) const override {
    Json row = Json::array();
    row.push_back(name_of(object));
    for (std::size_t i = 1; i < columns_.size(); ++i) row.push_back(cell(columns_[i].type, paths_[i], object, now));
    return row;
  }

 private:
  static Json cell(const std::string& type, const std::string& path, const Json& object, Instant now) {
    const auto found = select_json_path(path, object);
    if (!found || found->empty()) return nullptr;
    const Json& first = found->front();
    if (type == "string") return first.is_string() ? first : Json(dump_json(first));  // of several the first is shown
    if (type == "date") {
      if (!first.is_string()) return first.is_null() ? Json() : Json("<invalid>");
      const auto at = parse_time(first.get_ref<const std::string&>());
      return at ? Json(format_age(*at, now)) : Json("<invalid>");
    }
    if (type == "integer") return integer(first);
    if (type == "number") return first.is_number() ? first : text_number(first);
    if (type == "boolean") return boolean(first);
    return nullptr;
  }
  static Json integer(const Json& value) {
    if (value.is_number_integer()) return value;
    if (value.is_number()) return static_cast<std::int64_t>(value.get<double>());
    const Json number = text_number(value);
    return number.is_number() ? Json(static_cast<std::int64_t>(number.get<double>())) : Json();
  }
  static Json text_number(const Json& value) {
    if (!value.is_string()) return nullptr;
    const std::string& text = value.get_ref<const std::string&>();
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    return text.empty() || *end != '\0' ? Json() : Json(number);
  }
  static Json boolean(const Json& value) {
    if (value.is_boolean()) return value;
    if (value == "true" || value == "false") return value == "true";
    return nullptr;
  }

  std::vector<TableColumn> columns_;
  std::vector<std::string> paths_;
};

Json column_json(const TableColumn& column) {
  return {{"name", column.name},
          {"type", column.type},
          {"format", column.format},
          {"description", column.description},
          {"priority", column.priority}};
}

Json list_metadata_of(const Json& given) {
  Json metadata = Json::object();
  for (const char* name : {"resourceVersion", "continue", "remainingItemCount"}) {
    if (const Json* value = find(given, {name})) metadata[name] = *value;
  }
  return metadata;
}

}  // namespace

std::shared_ptr<const TablePrinter> custom_printer(const Json& additional_columns) {
  return std::make_shared<const CustomPrinter>(additional_columns);
}

Result<Include> parse_include(std::string_view word) {
  if (word.empty() || word == "Metadata") return Include::kMetadata;
  if (word == "None") return Include::kNone;
  if (word == "Object") return Include::kObject;
  Error error{
      .code = 400, .category = Category::kInvalid, .message = "unrecognized includeObject value: \"" + std::string(word) + "\""};
  error.reason = "BadRequest";
  return fail(std::move(error));
}

Json partial_metadata(const Json& object, std::string_view version) {
  return {{"kind", "PartialObjectMetadata"},
          {"apiVersion", "meta.k8s.io/" + std::string(version)},
          {"metadata", object_at(object, {"metadata"})}};
}

Json partial_metadata_list(const std::vector<const Json*>& objects, const Json& list_metadata, std::string_view version) {
  Json items = Json::array();
  for (const Json* object : objects) items.push_back(partial_metadata(*object, version));
  return {{"kind", "PartialObjectMetadataList"},
          {"apiVersion", "meta.k8s.io/" + std::string(version)},
          {"metadata", list_metadata_of(list_metadata)},
          {"items", std::move(items)}};
}

Json make_table(const TablePrinter& printer, const std::vector<const Json*>& objects, const Json& list_metadata, Include include,
                Instant now, bool with_columns, std::string_view version) {
  Json table = {
      {"kind", "Table"}, {"apiVersion", "meta.k8s.io/" + std::string(version)}, {"metadata", list_metadata_of(list_metadata)}};
  if (objects.size() == 1 && !table["metadata"].contains("resourceVersion")) {
    if (std::string revision = resource_version_of(*objects.front()); !revision.empty())
      table["metadata"]["resourceVersion"] = std::move(revision);
  }
  table["columnDefinitions"] = nullptr;
  if (with_columns) {
    Json columns = Json::array();
    for (const TableColumn& column : printer.columns()) columns.push_back(column_json(column));
    table["columnDefinitions"] = std::move(columns);
  }
  Json rows = Json::array();
  for (const Json* object : objects) {
    Json row = {{"cells", printer.cells(*object, now)}};
    if (include == Include::kMetadata) row["object"] = partial_metadata(*object, version);
    if (include == Include::kObject) row["object"] = *object;
    if (include == Include::kNone) row["object"] = nullptr;
    rows.push_back(std::move(row));
  }
  table["rows"] = std::move(rows);
  return table;
}

}  // namespace fleetadm::apimachinery
