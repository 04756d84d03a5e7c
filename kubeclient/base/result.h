// Result<T> and Error: how every fallible function of fleetadm answers. Exceptions do not cross a module's edge.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace fleetadm {

/// What kind of failure it was. One function of the cli maps it to an exit code.
enum class Category {
  kInternal,     // a defect of ours, or anything without a better name
  kCancelled,    // the user or a stop token ended it
  kPartial,      // some clusters or objects failed, others did not
  kAuth,         // 401, 403, an exec plugin that failed, no credentials
  kNotFound,     // 404, or a name that is not in a kubeconfig
  kTimeout,      // a deadline passed
  kUsage,        // wrong flags, arguments or input files
  kConflict,     // 409: already exists, or the resourceVersion moved on
  kInvalid,      // 400, 422: the server refused the content
  kUnavailable,  // connection refused or cut, DNS, 5xx, 429 after all retries
  kTls,          // certificate, name or pin verification failed
  kGone,         // 410: the resourceVersion or the continue token expired
  kUnsupported,  // 405, 406, 415, or a feature the server lacks
};

/// A structured failure. `message` says what failed, `hint` the next step for a person; neither ever holds a secret.
struct Error {
  int code = 0;                             // HTTP status where there is one, else 0
  Category category = Category::kInternal;  //
  std::string message;                      // one sentence, no trailing full stop
  std::string reason;                       // Kubernetes' Status.reason ("AlreadyExists") or our own CamelCase word
  std::string hint;                         // how to fix it; may be empty
  std::string cluster;                      // the cluster or context it happened on; may be empty
  int retry_after_seconds = 0;              // from Retry-After or Status.details; 0 where none

  /// The same error with `prefix` and ": " before its message.
  Error wrap(std::string_view prefix) const&;
  Error with_hint(std::string text) const&;
  Error with_cluster(std::string name) const&;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// The error side of a Result: `return fail(Category::kUsage, "no such thing");`
tl::unexpected<Error> fail(Category category, std::string message, std::string hint = {});
tl::unexpected<Error> fail(Error error);

std::string_view to_string(Category category);

}  // namespace fleetadm

// FLEETADM_TRY(var, expr): declares `var` with the value of `expr`, or returns its error from the enclosing function.
#define FLEETADM_CONCAT_(a, b) a##b
#define FLEETADM_CONCAT(a, b) FLEETADM_CONCAT_(a, b)
#define FLEETADM_TRY_(tmp, var, expr)                        \
  auto tmp = (expr);                                         \
  if (!tmp) return ::tl::unexpected(std::move(tmp).error()); \
  var = std::move(*tmp)
#define FLEETADM_TRY(var, ...) FLEETADM_TRY_(FLEETADM_CONCAT(try_result_, __COUNTER__), var, (__VA_ARGS__))
// FLEETADM_CHECK(expr): returns the error of a Status.
#define FLEETADM_CHECK(...)                                                                                         \
  do {                                                                                                              \
    if (auto check_status = (__VA_ARGS__); !check_status) return ::tl::unexpected(std::move(check_status).error()); \
  } while (false)
