#include "kubeclient/base/json_reader.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/src.hpp>  // the library's own sources, compiled here alone
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace fleetadm {
namespace {

using Piece = boost::json::string_view;
using Failure = boost::json::error_code;

/// The parser's events as those that the builder knows. Calls name its class, so that they are not virtual.
struct Events {
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();

  JsonBuilder& builder;
  std::string text;  // of a string or name so far: one with escapes comes in parts

  static bool done(bool good, Failure& failure) {
    if (!good) failure = boost::json::error::exception;  // the parser wants a reason; nobody reads it
    return good;
  }
  bool part(Piece piece) {
    text.append(piece.data(), piece.size());
    return true;
  }
  std::string take(Piece last) {
    text.append(last.data(), last.size());
    return std::exchange(text, {});
  }
  /// Types and values of numbers are those of nlohmann/json: exact to the last bit, and no integer where there is a fraction or
  /// an exponent.
  bool floating(Piece number, Failure& failure) {
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size()) return done(false, failure);
    return done(builder.JsonBuilder::number_float(value, {}), failure);
  }
  static bool is_integer(Piece number) { return number.find_first_of(".eE") == Piece::npos; }

  bool on_document_begin(Failure&) { return true; }
  bool on_document_end(Failure&) { return true; }
  bool on_object_begin(Failure& failure) { return done(builder.JsonBuilder::start_object(0), failure); }
  bool on_object_end(std::size_t, Failure& failure) { return done(builder.JsonBuilder::end_object(), failure); }
  bool on_array_begin(Failure& failure) { return done(builder.JsonBuilder::start_array(0), failure); }
  bool on_array_end(std::size_t, Failure& failure) { return done(builder.JsonBuilder::end_array(), failure); }
  bool on_key_part(Piece piece, std::size_t, Failure&) { return part(piece); }
  bool on_key(Piece piece, std::size_t, Failure& failure) {
    std::string name = take(piece);
    return done(builder.JsonBuilder::key(name), failure);
  }
  bool on_string_part(Piece piece, std::size_t, Failure&) { return part(piece); }
  bool on_string(Piece piece, std::size_t, Failure& failure) {
    std::string value = take(piece);
    return done(builder.JsonBuilder::string(value), failure);
  }
  bool on_number_part(Piece, Failure&) { return true; }
  bool on_int64(std::int64_t value, Piece number, Failure& failure) {
    if (!is_integer(number)) return floating(number, failure);
    if (number.front() == '-') return done(builder.JsonBuilder::number_integer(value), failure);
    return done(builder.JsonBuilder::number_unsigned(static_cast<std::uint64_t>(value)), failure);
  }
  bool on_uint64(std::uint64_t value, Piece number, Failure& failure) {
    if (!is_integer(number)) return floating(number, failure);
    return done(builder.JsonBuilder::number_unsigned(value), failure);
  }
  bool on_double(double, Piece number, Failure& failure) { return floating(number, failure); }
  bool on_bool(bool value, Failure& failure) { return done(builder.JsonBuilder::boolean(value), failure); }
  bool on_null(Failure& failure) { return done(builder.JsonBuilder::null(), failure); }
  bool on_comment_part(Piece, Failure&) { return true; }
  bool on_comment(Piece, Failure&) { return true; }
};

}  // namespace

bool read_json(std::string_view text, JsonBuilder& builder, int depth) {
  boost::json::parse_options options;
  options.max_depth = static_cast<std::size_t>(depth);
  boost::json::basic_parser<Events> parser(options, Events{builder, {}});
  Failure failure;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), failure);
  return !failure && parser.done() && used == text.size();
}

}  // namespace fleetadm
