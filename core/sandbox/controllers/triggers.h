// Which controllers there are, and which of them a write concerns.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/sandbox/controllers/controller.h"
#include "core/sandbox/controllers/owners.h"

namespace fleetadm::sandbox {

using Sync = void (*)(const ControllerContext&, const ObjectKey&);

/// The controller that looks after the objects of a storage; null where none does.
Sync controller_of(std::string_view storage);

/// Queues objects whose controllers are due. Not thread-safe.
class Triggers {
 public:
  struct Queue {
    std::function<void(ObjectKey)> add;
    std::function<void(const ObjectKey&, Duration)> add_after;
    bool keeps_time = false;  // add_after() has an effect
  };
  Triggers(const Store& store, Queue queue) : store_(store), queue_(std::move(queue)) {}

  /// An object as a write left it; null where it is gone.
  void written(const ObjectKey& key, const Json* object);

 private:
  using Trigger = void (Triggers::*)(const ObjectKey&, const Json*);
  static const std::map<std::string_view, Trigger>& table();

  void itself(const ObjectKey& key, const Json* object);
  void namespace_written(const ObjectKey& key, const Json* object);
  void definition_written(const ObjectKey& key, const Json* object);
  void service_account_written(const ObjectKey& key, const Json* object);
  void config_map_written(const ObjectKey& key, const Json* object);
  void quota_written(const ObjectKey& key, const Json* object);
  void priority_level_written(const ObjectKey& key, const Json* object);
  void cluster_role_written(const ObjectKey& key, const Json* object);
  void event_written(const ObjectKey& key, const Json* object);
  void endpoints_written(const ObjectKey& key, const Json* object);
  void slice_written(const ObjectKey& key, const Json* object);
  void job_written(const ObjectKey& key, const Json* object);
  void replica_set_written(const ObjectKey& key, const Json* object);
  void revision_written(const ObjectKey& key, const Json* object);
  void node_written(const ObjectKey& key, const Json* object);
  void pod_written(const ObjectKey& key, const Json* object);

  void add_all(const char* storage, const std::string& ns);
  void add_service(const std::string& ns, const std::string& name);
  void add_owner(const std::string& ns, const Json* object, std::string_view kind, const char* storage);
  void add_controllers(const std::string& ns, const Json* object,
                       std::initializer_list<std::pair<std::string_view, const char*>> controllers);

  const Store& store_;
  Queue queue_;
  std::set<std::string> ending_;                     // namespaces that are being deleted
  std::map<std::string, std::string> ending_kinds_;  // storage of custom resources whose definition is being deleted → its name
};

}  // namespace fleetadm::sandbox
