// Objects that a command waits on: read once, kept fresh by watches, and the news that something about them has changed. Nothing
// is polled.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "kubeclient/rest/client.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {

/// The objects of several lists, by the number of the list.
class Objects {
 public:
  virtual ~Objects() = default;
  virtual std::vector<Json> objects(std::size_t which) const = 0;
  virtual std::optional<Json> find(std::size_t which, const std::string& ns, const std::string& name) const = 0;
};

class Watched final : public Objects {
 public:
  explicit Watched(kube::Client client) : client_(std::move(client)) {}
  ~Watched() override;
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// Before start(). The number is that of objects() and find().
  std::size_t add(const kube::Resource& resource, kube::InformerOptions options);
  /// Begins, and waits until every list is here. An answer that time does not heal (no rights, no such type) is an error at once;
  /// a server that is away is one after `patience`.
  Status start(Duration patience, const std::stop_token& stop);

  std::vector<Json> objects(std::size_t which) const override;
  std::optional<Json> find(std::size_t which, const std::string& ns, const std::string& name) const override;

  /// The same lists, read from the hub now. What a watch has shown may be older than what this command has written: before
  /// success is told, it is read back.
  Result<std::unique_ptr<Objects>> read_now() const;

  /// Returns a moment after something has changed since it last returned, when `at_most` is over, or when told to stop.
  void wait(Duration at_most, const std::stop_token& stop);
  /// Why what is here may be old: a watch that fails just now.
  std::optional<Error> trouble() const;

 private:
  void changed();

  struct List {
    kube::Resource resource;
    kube::InformerOptions options;
    std::shared_ptr<kube::Informer> informer;
  };

  kube::Client client_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool changed_ = false;
  std::vector<List> lists_;
};

}  // namespace fleetadm::commands
