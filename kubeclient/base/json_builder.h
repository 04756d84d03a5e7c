// Builds the DOM from the parser's events: the library's own builder has no depth limit, and copying, writing or destroying a
// deep tree recurses. Shared by parse_json() and parse_json_list(); no one else needs it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm {

/// Three bytes of text ("{},") make some 90 of memory.
inline constexpr std::size_t kMaxJsonValues = 4'000'000;

class JsonBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit JsonBuilder(Json& root) : root_(root) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool key(string_t& name) override {
    if (!count()) return false;  // a name costs as much as a value
    // Servers write most objects in the order of their keys: the end is the right place, nearly always.
    auto& members = stack_.back()->get_ref<Json::object_t&>();
    member_ = &members.emplace_hint(members.end(), std::move(name), nullptr)->second;
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    position_ = position;
    message_ = error.what();
    return false;
  }

  /// Why a text that is well-formed was not built; empty where none was refused.
  const std::string& refusal() const { return refusal_; }
  std::size_t position() const { return position_; }  // of a syntax error: bytes read
  /// The library's sentence about it, without its exception number and without the text it last read, which may be a secret.
  std::string reason() const;

 protected:
  /// What was built so far no longer counts: it was handed over.
  void forget_count() { count_ = 0; }
  Json& root() { return root_; }
  /// The containers that are open, outermost first.
  const std::vector<Json*>& open_containers() const { return stack_; }

 private:
  template <class T>
  Json& place(T&& value) {
    if (stack_.empty()) return root_ = std::forward<T>(value);
    if (stack_.back()->is_array()) return stack_.back()->emplace_back(std::forward<T>(value));
    return *member_ = std::forward<T>(value);
  }
  template <class T>
  bool put(T&& value) {
    if (!count()) return false;
    place(std::forward<T>(value));
    return true;
  }
  bool open(Json&& container) {
    if (stack_.size() >= static_cast<std::size_t>(kMaxJsonDepth)) {
      refusal_ = "the JSON is nested deeper than " + std::to_string(kMaxJsonDepth) + " levels";
      return false;
    }
    if (!count()) return false;
    stack_.push_back(&place(std::move(container)));
    return true;
  }
  bool count() {
    if (++count_ <= kMaxJsonValues) return true;
    refusal_ = "the JSON has more than " + std::to_string(kMaxJsonValues) + " values";
    return false;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  Json& root_;
  std::vector<Json*> stack_;
  Json* member_ = nullptr;
  std::size_t count_ = 0;
  std::string refusal_;
  std::size_t position_ = 0;
  std::string message_;
};

}  // namespace fleetadm
