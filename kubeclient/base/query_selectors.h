// The selectors of a request's query and of objects, with every operator that the API has
// (docs/reference/kubernetes-api.md#selectors).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"
#include "kubeclient/base/selector.h"

namespace fleetadm {

/// The failure of all that is parsed here.
tl::unexpected<Error> bad_selector(std::string message);

class LabelSelector {
 public:
  /// kInvalid with code 400, in the words of the wire, where it does not parse. Empty text: everything.
  static Result<LabelSelector> parse(std::string_view text);
  /// From a LabelSelector object; null selects nothing.
  static Result<LabelSelector> from_object(const Json* selector);
  bool matches(const Labels& labels) const;
  bool empty() const { return terms_.empty() && !nothing_; }

 private:
  enum class Op { kIn, kNotIn, kExists, kAbsent, kGreater, kLess };
  struct Term {
    std::string key;
    Op op = Op::kIn;
    std::vector<std::string> values;
  };
  std::vector<Term> terms_;
  bool nothing_ = false;
};

class FieldSelector {
 public:
  static Result<FieldSelector> parse(std::string_view text);
  /// The value that "path=value" demands; empty where it does not.
  std::string exact(std::string_view path) const;
  std::vector<std::string> paths() const;
  /// Selects no other value of `path` besides what it does already.
  void demand(std::string path, std::string value) { terms_.push_back({std::move(path), std::move(value), false}); }
  /// metadata.name and metadata.namespace come from the arguments; other fields from the object, which is read only then.
  template <class ReadObject>
  bool matches(const std::string& ns, const std::string& name, ReadObject&& object) const {
    for (const auto& term : terms_) {
      std::string value;
      if (term.path == "metadata.name") {
        value = name;
      } else if (term.path == "metadata.namespace") {
        value = ns;
      } else {
        value = field_of(object(), term.path);
      }
      if ((value == term.value) == term.negated) return false;
    }
    return true;
  }
  bool empty() const { return terms_.empty(); }

 private:
  struct Term {
    std::string path;
    std::string value;
    bool negated = false;
  };
  static std::string field_of(const Json& object, std::string_view path);
  std::vector<Term> terms_;
};

}  // namespace fleetadm
