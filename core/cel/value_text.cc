// Values as JSON and as text for people.
#include <algorithm>
#include <cmath>

#include "core/cel/convert.h"
#include "core/cel/time.h"
#include "core/cel/value.h"
#include "core/cel/value_nodes.h"

namespace fleetadm::cel {

namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = (group << 8U) | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kDigits[(group >> (18U - 6U * static_cast<std::uint32_t>(k))) & 0x3FU];
    }
  }
  return text;
}

class JsonWriter {
 public:
  explicit JsonWriter(std::size_t max_nodes) : left_(max_nodes) {}

  Result<Json> write(const Value& value) {
    if (left_ == 0) return fail(Category::kInvalid, "the value is too large to be written as JSON");
    --left_;
    if (const Json* json = ValueAccess::json(value)) {
      const std::size_t nodes = count(*json);
      if (nodes > left_) return fail(Category::kInvalid, "the value is too large to be written as JSON");
      left_ -= nodes;
      return *json;
    }
    switch (value.kind()) {
      case Kind::kNull: return Json();
      case Kind::kBool: return Json(value.as_bool());
      case Kind::kInt: return Json(value.as_int());
      case Kind::kUint: return Json(value.as_uint());
      case Kind::kDouble:
        if (!std::isfinite(value.as_double())) return Json(format_double(value.as_double()));
        return Json(value.as_double());
      case Kind::kString: return text(value.text());
      case Kind::kBytes: return text(base64(value.text()));
      case Kind::kTimestamp: return Json(format_timestamp(value));
      case Kind::kDuration: return Json(format_duration(value.duration_nanos()));
      case Kind::kList: return list(value);
      case Kind::kMap: return map(value);
      case Kind::kType: return Json(value.as_type().name());
      case Kind::kOptional: {
        const auto content = value.content();
        return content ? write(*content) : Result<Json>(Json());
      }
      case Kind::kOpaque: return Json(value.as_opaque()->text());
      case Kind::kError: break;
    }
    return fail(Category::kInvalid, std::string(value.text()));
  }

 private:
  Result<Json> text(std::string_view content) {
    const std::size_t weight = content.size() / 64;
    if (weight > left_) return fail(Category::kInvalid, "the value is too large to be written as JSON");
    left_ -= weight;
    return Json(std::string(content));
  }
  std::size_t count(const Json& json) {
    if (const auto* content = json.get_ptr<const std::string*>()) return 1 + content->size() / 64;
    std::size_t nodes = 1;
    if (json.is_structured()) {
      for (const auto& element : json) {
        nodes += count(element);
        if (nodes > left_) break;
      }
    }
    return nodes;
  }
  Result<Json> list(const Value& value) {
    Json result = Json::array();
    for (std::size_t i = 0; i < value.size(); ++i) {
      FLEETADM_TRY(Json element, write(value.at(i)));
      result.push_back(std::move(element));
    }
    return result;
  }
  Result<Json> map(const Value& value) {
    Json result = Json::object();
    Status status;
    value.each_entry([&](const Value& key, const Value& content) {
      auto member = write(content);
      if (!member) {
        status = tl::unexpected(member.error());
        return false;
      }
      result.emplace(key.is(Kind::kString) ? std::string(key.text()) : display(key), std::move(*member));
      return true;
    });
    if (!status) return tl::unexpected(status.error());
    return result;
  }

  std::size_t left_;
};

class Display {
 public:
  explicit Display(std::size_t max_bytes) : max_(max_bytes) {}

  void write(const Value& value) {
    if (full()) return;
    switch (value.kind()) {
      case Kind::kNull: text_ += "null"; break;
      case Kind::kBool: text_ += value.as_bool() ? "true" : "false"; break;
      case Kind::kInt: text_ += std::to_string(value.as_int()); break;
      case Kind::kUint: text_ += std::to_string(value.as_uint()); break;
      case Kind::kDouble: text_ += format_double(value.as_double()); break;
      case Kind::kString:
      case Kind::kError: text_ += value.text().substr(0, max_); break;
      case Kind::kBytes: text_ += "b\"" + base64(value.text().substr(0, max_)) + "\""; break;
      case Kind::kTimestamp: text_ += format_timestamp(value); break;
      case Kind::kDuration: text_ += format_duration(value.duration_nanos()); break;
      case Kind::kType: text_ += value.as_type().name(); break;
      case Kind::kOpaque: text_ += value.as_opaque()->text(); break;
      case Kind::kOptional: optional(value); break;
      case Kind::kList: list(value); break;
      case Kind::kMap: map(value); break;
    }
  }
  std::string take() {
    if (text_.size() > max_) {
      std::size_t end = max_;
      while (end > 0 && (static_cast<unsigned char>(text_[end]) & 0xC0U) == 0x80U) --end;
      text_.resize(end);
      text_ += "...";
    }
    return std::move(text_);
  }

 private:
  bool full() const { return text_.size() > max_; }
  void optional(const Value& value) {
    const auto content = value.content();
    if (!content) {
      text_ += "optional.none()";
      return;
    }
    text_ += "optional(";
    write(*content);
    text_ += ')';
  }
  void list(const Value& value) {
    text_ += '[';
    for (std::size_t i = 0; i < value.size() && !full(); ++i) {
      if (i != 0) text_ += ", ";
      write(value.at(i));
    }
    text_ += ']';
  }
  void map(const Value& value) {
    text_ += '{';
    bool first = true;
    value.each_entry([&](const Value& key, const Value& content) {
      if (!first) text_ += ", ";
      first = false;
      write(key);
      text_ += ": ";
      write(content);
      return !full();
    });
    text_ += '}';
  }

  std::size_t max_;
  std::string text_;
};

}  // namespace

Result<Json> to_json(const Value& value, std::size_t max_nodes) { return JsonWriter(max_nodes).write(value); }

std::string display(const Value& value, std::size_t max_bytes) {
  Display writer(max_bytes);
  writer.write(value);
  return writer.take();
}

}  // namespace fleetadm::cel
