#include "core/apimachinery/causes.h"

namespace fleetadm::apimachinery {
namespace {

std::string with_detail(std::string text, std::string_view detail) {
  if (!detail.empty()) text.append(": ").append(detail);
  return text;
}

}  // namespace

Cause required(std::string field, std::string_view detail) {
  return {"FieldValueRequired", with_detail("Required value", detail), std::move(field)};
}
Cause bad_value(std::string field, const Json& value, std::string_view detail) {
  return {"FieldValueInvalid", with_detail("Invalid value: " + dump_json(value), detail), std::move(field)};
}
Cause invalid_without_value(std::string field, std::string_view detail) {
  return {"FieldValueInvalid", with_detail("Invalid value", detail), std::move(field)};
}
Cause type_invalid(std::string field, const Json& value, std::string_view detail) {
  return {"FieldValueTypeInvalid", with_detail("Invalid value: " + dump_json(value), detail), std::move(field)};
}
Cause forbidden_field(std::string field, std::string_view detail) {
  return {"FieldValueForbidden", with_detail("Forbidden", detail), std::move(field)};
}
Cause duplicate(std::string field, const Json& value) {
  return {"FieldValueDuplicate", "Duplicate value: " + dump_json(value), std::move(field)};
}
Cause unsupported(std::string field, const Json& value, const std::vector<std::string>& supported) {
  std::string text;
  for (const std::string& word : supported) text += (text.empty() ? "supported values: " : ", ") + dump_json(word);
  return {"FieldValueNotSupported", with_detail("Unsupported value: " + dump_json(value), text), std::move(field)};
}
Cause too_long(std::string field, std::int64_t limit) {
  return {"FieldValueTooLong", "Too long: may not be more than " + std::to_string(limit) + " bytes", std::move(field)};
}
Cause too_many(std::string field, std::int64_t actual, std::int64_t limit) {
  return {
      "FieldValueTooMany",
      "Too many: " + std::to_string(actual) + ": must have at most " + std::to_string(limit) + (limit == 1 ? " item" : " items"),
      std::move(field)};
}

std::string invalid_message(std::string_view qualified_kind, std::string_view name, const Causes& causes) {
  std::string text;
  for (const Cause& cause : causes) text += (text.empty() ? "" : ", ") + cause.field + ": " + cause.message;
  if (causes.size() != 1) text = "[" + text + "]";
  return std::string(qualified_kind) + " " + dump_json(std::string(name)) + " is invalid: " + text;
}

Json to_json(const Causes& causes) {
  Json list = Json::array();
  for (const Cause& cause : causes) {
    list.push_back({{"reason", cause.reason}, {"message", cause.message}, {"field", cause.field}});
  }
  return list;
}

}  // namespace fleetadm::apimachinery
