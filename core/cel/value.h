// Runtime values of CEL. A Value is 16 bytes and cheap to copy: scalars are held in place, the rest is shared and immutable.
//
// Borrowing: view(json) and borrowed() do not copy. Such values, and all that was read from them, are valid while the Json (text)
// they came from is unchanged. What an evaluation returns may borrow from its bindings and from its Program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cel/type.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::cel {

enum class Kind : unsigned char {
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTimestamp,
  kDuration,
  kList,
  kMap,
  kType,
  kOptional,
  kOpaque,
  kError,
};

class Value;
class Work;

/// Base of everything that values share. The count is atomic: values of a Program are used from many threads.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  virtual ~Counted() = default;

  void retain() const { references_.fetch_add(1, std::memory_order_relaxed); }
  /// True where this was the last reference: the caller deletes.
  bool release() const { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  /// Whether nobody else holds it: it may be changed in place.
  bool is_sole() const { return references_.load(std::memory_order_acquire) == 1; }

 private:
  mutable std::atomic<std::uint32_t> references_{1};
};

/// Base of the values of abstract types. Derive Quantity from OpaqueOf<Quantity>, then
/// `Value::opaque(std::make_unique<const Quantity>(…))`.
class Opaque : public Counted {
 public:
  /// This as T, or nullptr.
  template <class T>
  const T* as() const {
    return tag() == T::tag_of_type() ? static_cast<const T*>(this) : nullptr;
  }
  /// What type(x) yields; e.g. Type::opaque("kubernetes.Quantity").
  virtual Type type() const = 0;
  virtual bool equals(const Opaque& other) const = 0;
  /// What the cost of ==, in and friends is computed from (cel-go's Sizer); 1 where the type has no size.
  virtual std::uint64_t size() const { return 1; }
  /// Whether optional.ofNonZeroValue() drops it.
  virtual bool is_zero() const { return false; }
  /// For messages and for people.
  virtual std::string text() const { return type().name(); }

 private:
  /// An address that the class has for itself.
  virtual const void* tag() const = 0;
};

/// What T derives from, so that a T is known among the others.
template <class T>
class OpaqueOf : public Opaque {
 public:
  static const void* tag_of_type() {
    static constexpr char kTag = 0;
    return &kTag;
  }

 private:
  const void* tag() const final { return tag_of_type(); }
};

/// Limits of one value, so that calls of constant cost cannot eat the memory: operations beyond fail with an error value.
inline constexpr std::size_t kMaxStringBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxListSize = std::size_t{1} << 20;

class Value {
 public:
  using Entry = std::pair<Value, Value>;

  Value() noexcept = default;  // null
  Value(const Value& other) noexcept;
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other) noexcept;
  Value& operator=(Value&& other) noexcept;
  ~Value();

  static Value null() { return {}; }
  static Value boolean(bool value);
  static Value integer(std::int64_t value);
  static Value unsigned_integer(std::uint64_t value);
  static Value real(double value);
  /// UTF-8; callers keep it valid. Longer than kMaxStringBytes: an error value.
  static Value string(std::string value);
  static Value borrowed(std::string_view text);
  static Value bytes(std::string value);
  /// Seconds since 1970 and 0 ≤ nanos < 1e9; `zone` is the offset its text is written with (minutes east of UTC, −1500…1500). The
  /// range is the caller's business (time.h).
  static Value timestamp(std::int64_t seconds, std::int32_t nanos, std::int16_t zone = 0);
  static Value duration(std::int64_t nanoseconds);
  /// Longer than kMaxListSize: an error value.
  static Value list(std::vector<Value> elements);
  /// Of two entries whose keys have the same kind and content the last stays. The order of the others is kept.
  static Value map(std::vector<Entry> entries);
  static Value type(Type type);
  static Value optional_none();
  static Value optional_of(Value value);
  static Value opaque(std::unique_ptr<const Opaque> value);
  /// An error that && and || may absorb.
  static Value error(std::string message);
  /// An error that ends the evaluation whatever is around it (a defect of the caller's data that upstream panics on).
  static Value abort(std::string message);
  /// cel-go's answer to a call whose arguments fit no overload at run time.
  static Value no_such_overload();

  /// A lazy, borrowed view: nothing is converted until it is selected. Integers that fit are int, all other numbers double.
  static Value view(const Json& json);
  /// A deep copy that borrows nothing.
  static Value copy_of(const Json& json);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_error() const { return kind_ == Kind::kError; }
  bool is_abort() const;
  bool is_true() const { return kind_ == Kind::kBool && payload_.boolean; }
  bool is_false() const { return kind_ == Kind::kBool && !payload_.boolean; }

  // Readers of one kind each; of another kind they yield zero, empty or none.
  bool as_bool() const { return is_true(); }
  std::int64_t as_int() const { return kind_ == Kind::kInt ? payload_.integer : 0; }
  std::uint64_t as_uint() const { return kind_ == Kind::kUint ? payload_.natural : 0; }
  double as_double() const { return kind_ == Kind::kDouble ? payload_.real : 0; }
  /// The bytes of a string or of bytes, or the message of an error.
  std::string_view text() const;
  std::int64_t seconds() const { return kind_ == Kind::kTimestamp ? payload_.integer : 0; }
  std::int32_t nanos() const { return kind_ == Kind::kTimestamp ? static_cast<std::int32_t>(extra_) : 0; }
  std::int16_t zone() const { return zone_; }
  std::int64_t duration_nanos() const { return kind_ == Kind::kDuration ? payload_.integer : 0; }
  Type as_type() const;
  /// The content of an optional; none where it is empty.
  std::optional<Value> content() const;
  const Opaque* as_opaque() const;
  /// The opaque value as T, or nullptr: `if (const auto* q = value.as<Quantity>())`.
  template <class T>
  const T* as() const {
    const Opaque* opaque = as_opaque();
    return opaque == nullptr ? nullptr : opaque->as<T>();
  }

  /// Elements of a list, entries of a map; 0 for others.
  std::size_t size() const;
  /// The element of a list; index < size().
  Value at(std::size_t index) const;
  /// Calls `visit` for each element in order until it returns false.
  void each(const std::function<bool(const Value&)>& visit) const;
  std::vector<Value> elements() const;
  /// The entry of a map; numeric keys are found across int, uint and double.
  std::optional<Value> find(const Value& key) const;
  std::optional<Value> find(std::string_view key) const;
  /// Calls `visit` for each entry (key, value) until it returns false. The order is fixed but says nothing.
  void each_entry(const std::function<bool(const Value&, const Value&)>& visit) const;
  std::vector<Value> keys() const;

  /// What type(x) yields.
  Type runtime_type() const;

 private:
  friend class ValueAccess;
  /// How the payload is held.
  enum class Rep : unsigned char { kInline, kBorrowedText, kJson, kShared };
  union Payload {
    bool boolean;
    std::int64_t integer;
    std::uint64_t natural;
    double real;
    const char* text;
    const Json* json;
    const Counted* shared;
  };
  Value(Kind kind, const Counted* shared) noexcept : kind_(kind), rep_(Rep::kShared) { payload_.shared = shared; }
  void drop() noexcept;

  Kind kind_ = Kind::kNull;
  Rep rep_ = Rep::kInline;
  std::int16_t zone_ = 0;    // of a timestamp
  std::uint32_t extra_ = 0;  // length of a borrowed text, nanoseconds of a timestamp
  Payload payload_{.integer = 0};
};

/// A deterministic allowance of elementary steps (elements visited, entries compared), beside the cost of the language: calls of
/// constant cost over large values end by it. Once it is used up the evaluation ends.
class Work {
 public:
  explicit Work(std::uint64_t steps) : left_(steps) {}
  bool spend(std::uint64_t steps) {
    if (steps > left_) {
      left_ = 0;
      exhausted_ = true;
      return false;
    }
    left_ -= steps;
    return true;
  }
  bool exhausted() const { return exhausted_; }

 private:
  std::uint64_t left_;
  bool exhausted_ = false;
};

/// CEL's ==: numbers across types, lists and maps by content, NaN unequal to itself, other kinds of different type unequal.
bool equal(const Value& a, const Value& b, Work& work);
/// −1, 0, 1 for two comparable values (numbers across types; bool, string, bytes, timestamp, duration among themselves). None
/// where they are not comparable, or one is NaN.
std::optional<int> compare(const Value& a, const Value& b);
/// Code points of a string, bytes, elements or entries; 1 for all else (of an optional: its content's). cel-go's actualSize.
std::uint64_t cost_size(const Value& value);
/// UTF-8 code points.
std::size_t code_points(std::string_view text);
/// a + b in constant time.
Value concat(const Value& a, const Value& b);
/// Whether optional.ofNonZeroValue() drops it.
bool is_zero_value(const Value& value);
/// JSON as google.protobuf.Value has it: bytes as base64, timestamps and durations as text, none as null; a type as its name.
/// Fails (Category::kInvalid) above `max_nodes` values and on what has no JSON form.
Result<Json> to_json(const Value& value, std::size_t max_nodes = std::size_t{1} << 20);
/// For messages and for people, as cel-go prints a value: strings as they are, [1, 2], {a: 1}.
std::string display(const Value& value, std::size_t max_bytes = 1024);

}  // namespace fleetadm::cel
