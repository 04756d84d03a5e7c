// How the objects of one custom resource definition get from version to version: by its webhook, or (strategy None) by another
// apiVersion and the other version's schema. Immutable; any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/apimachinery/structural.h"
#include "core/sandbox/convert/webhook.h"
#include "core/sandbox/model/error.h"
#include "core/sandbox/store/store.h"

namespace fleetadm::sandbox::convert {

/// Objects that are being converted. Its end cancels what is left to do.
class Conversion {
 public:
  Conversion(const Conversion&) = delete;
  Conversion& operator=(const Conversion&) = delete;
  ~Conversion();

  bool done() const;
  /// Until it is done, which it is in time: a webhook has 30 s.
  void wait() const;
  /// The objects, in order, or a 500 with the reason in kube-apiserver's words. Once, when it is done.
  ApiResult<std::vector<Json>> take();

 private:
  friend class Converter;
  struct Parts;
  explicit Conversion(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

class Converter {
 public:
  struct Options {
    std::string group;
    std::string kind;
    std::string storage_version;  // what is written
    std::string first_version;    // of objects whose stored version is not known (kept by an earlier release)
    std::map<std::string, std::shared_ptr<const apimachinery::Structural>, std::less<>> shapes;  // of every version
    std::shared_ptr<const Webhook> webhook;                                                      // null: strategy None
    std::string review_version;
  };
  explicit Converter(Options options) : options_(std::move(options)) {}

  const std::string& storage_version() const { return options_.storage_version; }
  /// The version that an object is stored in.
  const std::string& version_of(const Stored& stored) const {
    return stored.version.empty() ? options_.first_version : stored.version;
  }
  /// The object in the version that it is stored in, with that version's defaults.
  Json decode(const Stored& stored) const;

  /// Any objects of the kind (with apiVersion) in `version`; those that are in it already stay as they are. Blocks.
  ApiResult<std::vector<Json>> convert(std::vector<Json> objects, const std::string& version) const;
  ApiResult<Json> convert(Json object, const std::string& version) const;
  /// The same without blocking, of at most kMaxAtOnce objects. `wake` is called when it is done, on any thread, this one
  /// included; it may be empty. The converter must outlive what is returned.
  std::unique_ptr<Conversion> start(std::vector<Json> objects, const std::string& version, std::function<void()> wake) const;
  static constexpr std::size_t kMaxAtOnce = 100;

  /// The shape of a version for server-side apply; null where the definition has no such version.
  const apimachinery::TypeNode* type(const std::string& version) const;

 private:
  friend class Conversion;
  std::string api_version(const std::string& version) const { return options_.group + "/" + version; }
  Options options_;
};

}  // namespace fleetadm::sandbox::convert
