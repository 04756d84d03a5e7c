// Kubernetes' library of named formats.
#include "core/cel/library/libraries.h"
#include "core/cel/library/opaque_values.h"

namespace fleetadm::cel {
namespace {

using Args = std::span<const Value>;

Value format_value(const NamedFormat& format) { return Value::opaque(std::make_unique<const FormatValue>(format)); }

Value named(CallContext&, Args args) {
  const NamedFormat* format = named_format(args[0].text());
  return format == nullptr ? Value::optional_none() : Value::optional_of(format_value(*format));
}

Value validate(CallContext& context, Args args) {
  const auto* format = args[0].as<FormatValue>();
  if (format == nullptr) return Value::no_such_overload();
  if (!context.work.spend(args[1].text().size() / 8)) return Value::error("the evaluation is too much work");
  std::vector<Value> errors;
  for (std::string& error : format->value.validate(args[1].text())) errors.push_back(Value::string(std::move(error)));
  return errors.empty() ? Value::optional_none() : Value::optional_of(Value::list(std::move(errors)));
}

}  // namespace

Library format_library() {
  const Type text = Type::string();
  const Type format = FormatValue::cel_type();
  Library library{.name = "kubernetes.format"};
  library.functions = {
      {"validate", {member("format-validate", {format, text}, Type::optional(Type::list(text)), validate)}},
      {"format.named", {global("format-named", {text}, Type::optional(format), named)}},
  };
  for (const NamedFormat& one : named_formats()) {
    const std::string name = "format." + std::string(one.function);
    library.functions.push_back({name, {global(name, {}, format, [&one](CallContext&, Args) { return format_value(one); })}});
  }
  return library;
}

}  // namespace fleetadm::cel
