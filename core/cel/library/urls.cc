// Kubernetes' URL library.
#include "core/cel/library/libraries.h"
#include "core/cel/library/opaque_values.h"
#include "core/cel/library/url.h"

namespace fleetadm::cel {
namespace {

using Args = std::span<const Value>;

Value parse_url(CallContext&, Args args) {
  auto url = Url::parse_request(args[0].text());
  if (!url) return Value::error("URL parse error during conversion from string: " + url.error().message);
  return Value::opaque(std::make_unique<const UrlValue>(std::move(*url)));
}

Value is_url(CallContext&, Args args) { return Value::boolean(Url::check_request(args[0].text()).has_value()); }

/// A member that yields a text of the URL.
template <class Read>
Implementation text_of(Read read) {
  return [read](CallContext&, Args args) {
    const auto* url = args[0].as<UrlValue>();
    return url == nullptr ? Value::no_such_overload() : Value::string(std::string(read(url->value)));
  };
}

Value query(CallContext& context, Args args) {
  const auto* url = args[0].as<UrlValue>();
  if (url == nullptr) return Value::no_such_overload();
  std::vector<Value::Entry> entries;
  for (const auto& [key, values] : url->value.query()) {
    if (!context.work.spend(values.size())) return Value::error("the evaluation is too much work");
    std::vector<Value> list;
    for (const std::string& value : values) list.push_back(Value::string(value));
    entries.emplace_back(Value::string(key), Value::list(std::move(list)));
  }
  return Value::map(std::move(entries));
}

}  // namespace

Library urls_library() {
  const Type text = Type::string();
  const Type url = UrlValue::cel_type();
  Library library{.name = "kubernetes.urls"};
  library.functions = {
      {"url", {global("string_to_url", {text}, url, parse_url)}},
      {"isURL", {global("is_url_string", {text}, Type::boolean(), is_url)}},
      {"getScheme", {member("url_get_scheme", {url}, text, text_of([](const Url& u) { return u.scheme(); }))}},
      {"getHost", {member("url_get_host", {url}, text, text_of([](const Url& u) { return u.host(); }))}},
      {"getHostname", {member("url_get_hostname", {url}, text, text_of([](const Url& u) { return u.hostname(); }))}},
      {"getPort", {member("url_get_port", {url}, text, text_of([](const Url& u) { return u.port(); }))}},
      {"getEscapedPath", {member("url_get_escaped_path", {url}, text, text_of([](const Url& u) { return u.escaped_path(); }))}},
      {"getQuery", {member("url_get_query", {url}, Type::map(text, Type::list(text)), query)}},
  };
  return library;
}

}  // namespace fleetadm::cel
