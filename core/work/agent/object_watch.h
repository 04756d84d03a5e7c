// Watches the objects that works put on the cluster, by metadata only: a changed or deleted object wakes its works at once, and
// the cache holds identities and a signature, never content. Informers come and go with what is watched.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::work {

/// One object's place on the cluster.
struct Place {
  kube::Resource resource;
  std::string ns;
  std::string name;

  /// "deployments.v1.apps default/web": the key of indexes.
  std::string key() const;
};

/// Text that changes when something other than an object's status may have changed: generation, labels, annotations, owners,
/// deletion. Objects without a generation: the resourceVersion.
std::string signature_of(const Json& object);

/// The same connection, asking for metadata only (PartialObjectMetadata) in every read.
kube::Client metadata_client(const kube::Client& client);

class ObjectWatch {
 public:
  /// `wake` is called with the name of a work, on the I/O thread.
  ObjectWatch(const kube::Client& spoke, std::function<void(const std::string& work)> wake);
  ~ObjectWatch();  // stops
  ObjectWatch(const ObjectWatch&) = delete;
  ObjectWatch& operator=(const ObjectWatch&) = delete;

  /// The places of a work from now on; none: it is forgotten. Thread-safe.
  void track(const std::string& work, const std::vector<Place>& places);

  struct Observation {
    bool known = false;  // the watch is in sync, so that what follows can be trusted
    bool exists = false;
    std::string resource_version;
    std::string signature;
    std::string uid;
    std::string only_owner;  // uid of its one owner reference; empty: it has none or several, or it is being deleted
  };
  Observation look(const Place& place) const;
  void stop();

  /// How many informers run (for tests and metrics).
  std::size_t informer_count() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace fleetadm::work
