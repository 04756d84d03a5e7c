#include "core/work/agent/object_watch.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "kubeclient/base/encoding.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::work {
namespace {

/// A type that is used in more namespaces than this gets one informer for all of them.
constexpr std::size_t kMaxNamespaces = 8;

std::string type_key(const kube::Resource& resource) { return resource.plural + "." + resource.version + "." + resource.group; }

class MetadataTransport final : public kube::Transport {
 public:
  explicit MetadataTransport(std::shared_ptr<kube::Transport> next) : next_(std::move(next)) {}

  Result<kube::Response> call(const kube::Request& request) override { return next_->call(rewritten(request)); }
  std::unique_ptr<kube::StreamHandle> stream(const kube::Request& request, std::shared_ptr<kube::StreamSink> sink) override {
    return next_->stream(rewritten(request), std::move(sink));
  }

 private:
  static kube::Request rewritten(kube::Request request) {
    bool watch = false;
    for (const auto& [key, value] : request.query) watch = watch || (key == "watch" && value != "false" && value != "0");
    request.accept = watch ? "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
                           : "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    return request;
  }

  std::shared_ptr<kube::Transport> next_;
};

/// Keeps identity, signature and the one owner only.
void keep_identity(Json& object) {
  Json metadata = Json::object();
  metadata["name"] = name_of(object);
  if (std::string ns = namespace_of(object); !ns.empty()) metadata["namespace"] = std::move(ns);
  metadata["uid"] = uid_of(object);
  metadata["resourceVersion"] = resource_version_of(object);
  metadata["signature"] = signature_of(object);
  const Json& owners = list_at(object, {"metadata", "ownerReferences"});
  if (owners.size() == 1 && !is_deleting(object)) metadata["owner"] = str(owners.front(), {"uid"});
  object = Json::object({{"metadata", std::move(metadata)}});
}

}  // namespace

std::string Place::key() const { return type_key(resource) + " " + kube::object_key(ns, name); }

std::string signature_of(const Json& object) {
  Json subject = Json::object();
  const std::int64_t generation = num(object, {"metadata", "generation"});
  subject["generation"] = generation;
  if (generation == 0) subject["resourceVersion"] = resource_version_of(object);
  subject["labels"] = object_at(object, {"metadata", "labels"});
  subject["annotations"] = object_at(object, {"metadata", "annotations"});
  subject["owners"] = list_at(object, {"metadata", "ownerReferences"});
  subject["deleting"] = is_deleting(object);
  return sha256_hex(dump_json(subject)).substr(0, 16);
}

kube::Client metadata_client(const kube::Client& client) {
  return {std::make_shared<MetadataTransport>(client.transport()), std::make_shared<kube::WriteGate>(client.gate()),
          client.cluster_name()};
}

struct ObjectWatch::State : std::enable_shared_from_this<State> {
  explicit State(const kube::Client& client) : metadata(metadata_client(client)) {}

  /// One type of objects: in which namespaces works have how many of them, and which works an object belongs to.
  struct Type {
    kube::Resource resource;
    std::map<std::string, std::size_t> uses;                             // namespace ("" of types without) → objects
    std::unordered_map<std::string, std::vector<std::string>> works_at;  // object key → works
  };
  struct Tracked {
    std::map<std::string, Type>::iterator type;
    std::string object;  // key

    bool operator==(const Tracked&) const = default;
  };

  kube::Client metadata;
  std::function<void(const std::string&)> wake;
  mutable std::mutex mutex;
  bool stopped = false;
  std::map<std::string, Type> types;  // by type_key()
  std::unordered_map<std::string, std::vector<Tracked>> objects_of;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<kube::Informer>> watches;  // (type, namespace or "")

  /// The namespace of the informer that covers a place; called under the mutex.
  std::string scope_of(const Place& place) const {
    if (!place.resource.namespaced) return {};
    return watches.contains({type_key(place.resource), std::string{}}) ? std::string{} : place.ns;
  }

  void on_event(const std::string& type, const kube::CachedPtr& object) {
    std::vector<std::string> works;
    {
      const std::lock_guard lock(mutex);
      if (stopped) return;
      const auto known = types.find(type);
      if (known == types.end()) return;
      const auto found = known->second.works_at.find(object->key());
      if (found == known->second.works_at.end()) return;
      works = found->second;
    }
    for (const std::string& work : works) wake(work);
  }

  /// Each object of the places once. Types are made where they are new.
  std::vector<Tracked> tracked(const std::vector<Place>& places) {
    std::vector<Tracked> objects;
    objects.reserve(places.size());
    for (const Place& place : places) {
      const auto type = types.try_emplace(type_key(place.resource), Type{place.resource, {}, {}}).first;
      Tracked object{type, kube::object_key(place.resource.namespaced ? place.ns : std::string{}, place.name)};
      if (std::find(objects.begin(), objects.end(), object) == objects.end()) objects.push_back(std::move(object));
    }
    return objects;
  }

  void add(const std::string& work, const Tracked& object) {
    Type& type = object.type->second;
    ++type.uses[kube::split_key(object.object).ns];
    type.works_at[object.object].push_back(work);
  }

  void remove(const std::string& work, const Tracked& object) {
    Type& type = object.type->second;
    const auto use = type.uses.find(kube::split_key(object.object).ns);
    if (use != type.uses.end() && --use->second == 0) type.uses.erase(use);
    const auto works = type.works_at.find(object.object);
    if (works == type.works_at.end()) return;
    std::erase(works->second, work);
    if (works->second.empty()) type.works_at.erase(works);
  }

  using Informers = std::vector<std::shared_ptr<kube::Informer>>;
  /// What must be watched of a type → watches; the informers to start and to stop are handed out, for both may call back.
  void settle(const std::string& name, const Type& type, Informers& to_start, Informers& to_stop) {
    const bool is_wide = watches.contains({name, std::string{}});
    const bool wide = type.uses.size() > kMaxNamespaces || (is_wide && type.uses.size() > kMaxNamespaces / 2);
    const auto wanted = [&](const std::string& scope) { return wide ? scope.empty() : type.uses.contains(scope); };
    for (auto it = watches.lower_bound({name, std::string{}}); it != watches.end() && it->first.first == name;) {
      if (wanted(it->first.second)) {
        ++it;
      } else {
        to_stop.push_back(it->second);
        it = watches.erase(it);
      }
    }
    const auto watch = [&](const std::string& scope) {
      if (watches.contains({name, scope})) return;
      to_start.push_back(watches[{name, scope}] = make_informer(type.resource, scope));
    };
    if (wide) return watch({});
    for (const auto& [scope, objects] : type.uses) watch(scope);
  }

  std::shared_ptr<kube::Informer> make_informer(const kube::Resource& resource, const std::string& ns) {
    kube::InformerOptions options;
    options.ns = ns;
    options.project = keep_identity;
    std::shared_ptr<kube::Informer> informer = kube::Informer::make(metadata, resource, std::move(options));
    informer->on_event([weak = weak_from_this(), type = type_key(resource)](kube::EventType, const kube::CachedPtr& before,
                                                                            const kube::CachedPtr& after) {
      if (const std::shared_ptr<State> state = weak.lock()) state->on_event(type, after ? after : before);
    });
    return informer;
  }
};

ObjectWatch::ObjectWatch(const kube::Client& spoke, std::function<void(const std::string&)> wake)
    : state_(std::make_shared<State>(spoke)) {
  state_->wake = std::move(wake);
}

ObjectWatch::~ObjectWatch() { stop(); }

void ObjectWatch::track(const std::string& work, const std::vector<Place>& places) {
  State::Informers to_start;
  State::Informers to_stop;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopped) return;
    std::vector<State::Tracked> after = state_->tracked(places);
    std::vector<State::Tracked> before;
    const auto known = state_->objects_of.find(work);
    if (known != state_->objects_of.end()) {
      if (known->second == after) return;
      before = std::move(known->second);
      state_->objects_of.erase(known);
    }
    // Added before others are removed: a namespace that both have keeps its informer.
    for (const State::Tracked& object : after) state_->add(work, object);
    for (const State::Tracked& object : before) state_->remove(work, object);
    std::set<std::string> changed;
    for (const auto* list : {&before, &after}) {
      for (const State::Tracked& object : *list) changed.insert(object.type->first);
    }
    if (!after.empty()) state_->objects_of.emplace(work, std::move(after));
    for (const std::string& name : changed) {
      const auto type = state_->types.find(name);
      state_->settle(name, type->second, to_start, to_stop);
      if (type->second.uses.empty()) state_->types.erase(type);
    }
  }
  for (const auto& informer : to_start) informer->start();
  for (const auto& informer : to_stop) informer->stop();
}

ObjectWatch::Observation ObjectWatch::look(const Place& place) const {
  std::shared_ptr<kube::Informer> informer;
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->watches.find({type_key(place.resource), state_->scope_of(place)});
    if (found == state_->watches.end()) return {};
    informer = found->second;
  }
  Observation sighting;
  sighting.known = informer->synced() && !informer->last_error();
  if (!sighting.known) return sighting;
  const kube::CachedPtr cached = informer->get(kube::object_key(place.ns, place.name));
  if (!cached) return sighting;
  const Json object = cached->decode();
  sighting.exists = true;
  sighting.resource_version = cached->resource_version();
  sighting.signature = str(object, {"metadata", "signature"});
  sighting.uid = uid_of(object);
  sighting.only_owner = str(object, {"metadata", "owner"});
  return sighting;
}

void ObjectWatch::stop() {
  std::vector<std::shared_ptr<kube::Informer>> to_stop;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopped = true;
    for (const auto& [key, watch] : state_->watches) to_stop.push_back(watch);
    state_->watches.clear();
  }
  for (const auto& informer : to_stop) informer->stop();
}

std::size_t ObjectWatch::informer_count() const {
  const std::lock_guard lock(state_->mutex);
  return state_->watches.size();
}

}  // namespace fleetadm::work
