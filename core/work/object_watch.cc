#include "core/work/object_watch.h"

#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "kubeclient/pki/pki.h"
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

/// Keeps identity and signature only.
void project(Json& object) {
  Json metadata = Json::object();
  metadata["name"] = name_of(object);
  if (std::string ns = namespace_of(object); !ns.empty()) metadata["namespace"] = std::move(ns);
  metadata["uid"] = uid_of(object);
  metadata["resourceVersion"] = resource_version_of(object);
  metadata["signature"] = signature_of(object);
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
  return pki::sha256_hex(dump_json(subject)).substr(0, 16);
}

kube::Client metadata_client(const kube::Client& client) {
  return {std::make_shared<MetadataTransport>(client.transport()), std::make_shared<kube::WriteGate>(client.gate()),
          client.cluster_name()};
}

struct ObjectWatch::State : std::enable_shared_from_this<State> {
  explicit State(const kube::Client& client) : metadata(metadata_client(client)) {}

  kube::Client metadata;
  std::function<void(const std::string&)> wake;
  mutable std::mutex mutex;
  bool stopped = false;
  std::map<std::string, std::vector<Place>> places_of;                                     // work → places
  std::map<std::string, std::set<std::string>> works_at;                                   // place key → works
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
      const auto found = works_at.find(type + " " + object->key());
      if (found == works_at.end()) return;
      works.assign(found->second.begin(), found->second.end());
    }
    for (const std::string& work : works) wake(work);
  }

  /// What must be watched → watches; the informers to start and to stop are handed out, for both may call back.
  void reconcile(std::vector<std::shared_ptr<kube::Informer>>& to_start, std::vector<std::shared_ptr<kube::Informer>>& to_stop) {
    std::map<std::string, std::set<std::string>> wanted;
    std::map<std::string, kube::Resource> types;
    for (const auto& [work, places] : places_of) {
      for (const Place& place : places) {
        wanted[type_key(place.resource)].insert(place.resource.namespaced ? place.ns : std::string{});
        types.emplace(type_key(place.resource), place.resource);
      }
    }
    std::set<std::pair<std::string, std::string>> keys;
    for (const auto& [type, namespaces] : wanted) {
      const bool is_wide = watches.contains({type, std::string{}});
      if (namespaces.size() > kMaxNamespaces || (is_wide && namespaces.size() > kMaxNamespaces / 2)) {
        keys.emplace(type, std::string{});
      } else {
        for (const std::string& ns : namespaces) keys.emplace(type, ns);
      }
    }
    for (auto it = watches.begin(); it != watches.end();) {
      if (keys.contains(it->first)) {
        ++it;
      } else {
        to_stop.push_back(it->second);
        it = watches.erase(it);
      }
    }
    for (const auto& key : keys) {
      if (watches.contains(key)) continue;
      to_start.push_back(watches[key] = make_informer(types.at(key.first), key.second));
    }
  }

  std::shared_ptr<kube::Informer> make_informer(const kube::Resource& resource, const std::string& ns) {
    kube::InformerOptions options;
    options.ns = ns;
    options.project = project;
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
  std::vector<std::shared_ptr<kube::Informer>> to_start;
  std::vector<std::shared_ptr<kube::Informer>> to_stop;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopped) return;
    std::set<std::string> keys;
    for (const Place& place : places) keys.insert(place.key());
    std::set<std::string> before;
    if (const auto known = state_->places_of.find(work); known != state_->places_of.end()) {
      for (const Place& place : known->second) before.insert(place.key());
    }
    if (keys == before) return;
    for (const std::string& key : before) {
      if (keys.contains(key)) continue;
      auto& works = state_->works_at[key];
      works.erase(work);
      if (works.empty()) state_->works_at.erase(key);
    }
    for (const std::string& key : keys) state_->works_at[key].insert(work);
    if (places.empty()) {
      state_->places_of.erase(work);
    } else {
      state_->places_of[work] = places;
    }
    state_->reconcile(to_start, to_stop);
  }
  for (const auto& informer : to_start) informer->start();
  for (const auto& informer : to_stop) informer->stop();
}

ObjectWatch::Sighting ObjectWatch::look(const Place& place) const {
  std::shared_ptr<kube::Informer> informer;
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->watches.find({type_key(place.resource), state_->scope_of(place)});
    if (found == state_->watches.end()) return {};
    informer = found->second;
  }
  Sighting sighting;
  sighting.known = informer->synced() && !informer->last_error();
  if (!sighting.known) return sighting;
  const kube::CachedPtr cached = informer->get(kube::object_key(place.ns, place.name));
  if (!cached) return sighting;
  const Json object = cached->decode();
  sighting.exists = true;
  sighting.resource_version = cached->resource_version();
  sighting.signature = str(object, {"metadata", "signature"});
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
