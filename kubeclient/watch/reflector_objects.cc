// What a list or a watch brings: into the store, and to the handlers.
#include "kubeclient/base/json_shallow.h"
#include "kubeclient/base/log.h"
#include "kubeclient/watch/reflector.h"

namespace fleetadm::kube {

template <class Call>
void Reflector::tell(const Call& call) {
  const std::scoped_lock lock(handler_mutex_);
  if (stopped_) return;
  handler_thread_ = std::this_thread::get_id();
  try {
    call();
  } catch (const std::exception& e) {
    log::error("informer", "a handler of " + resource_.qualified() + " failed: " + e.what());
  }
  handler_thread_ = std::thread::id{};
}

void Reflector::watch_line(std::string_view line) {
  auto read = parse_json_shallow(line, kMaxObjectDepth + 1);
  if (!read) {
    stream_error_ = std::make_unique<Error>(read.error().wrap("a watch event cannot be read"));
    return;
  }
  Json* const event = &read->value;
  ++events_seen_;
  const std::string type = str(*event, {"type"});
  const auto member = event->find("object");
  if (!event->is_object() || member == event->end() || !member->is_object()) {
    stream_error_ = std::make_unique<Error>(fail(Category::kInvalid, "a watch event has no object").value());
    return;
  }
  Json object = std::move(*member);
  if (type == "ERROR") {
    Request request;
    request.path = resource_.path(options_.ns);
    Response response;
    response.status = static_cast<int>(num(object, {"code"}, 500));
    response.body = dump_json(object);
    stream_error_ = std::make_unique<Error>(error_of(response, request));
    return;
  }
  // A client may ask for metadata alone; then objects come as PartialObjectMetadata.
  const std::string kind = str(object, {"kind"});
  if (type != "BOOKMARK" && kind != resource_.kind && kind != "PartialObjectMetadata") {
    log::warn("informer", "a watch of " + resource_.qualified() + " brought a " + kind + "; ignored");
    return;
  }
  const std::string version = resource_version_of(object);
  if (type == "BOOKMARK") {
    if (phase_ == Phase::kStreamingList) {
      if (annotation_of(object, "k8s.io/initial-events-end") != "true") return;
      phase_ = Phase::kWatch;
      commit(version);
    }
  } else if (phase_ == Phase::kStreamingList) {
    if (type == "DELETED") {
      if (const auto staged = staged_.find(object_key(object)); staged != staged_.end()) staged_.erase(staged);
    } else if (read->cut) {
      leave_out(object, &staged_);
    } else if (auto taken = take_object(std::move(object), staged_); !taken) {
      stream_error_ = std::make_unique<Error>(taken.error());
    }
    return;
  } else if (read->cut && type != "DELETED") {
    leave_out(object, nullptr);
  } else {
    apply(type, std::move(object));
  }
  if (!version.empty()) last_version_ = version;
}

Status Reflector::take_object(Json object, Store::Entries& into) {
  if (name_of(object).empty()) return fail(Category::kInvalid, "an object of the server's list has no name");
  std::string key = object_key(object);
  if (auto known = store_.same(key, resource_version_of(object), uid_of(object))) {
    Store::put_into(into, std::move(*known));
    return {};
  }
  if (!object.contains("apiVersion")) object["apiVersion"] = resource_.api_version();
  if (!object.contains("kind")) object["kind"] = resource_.kind;
  erase_at(object, {"metadata", "managedFields"});
  if (options_.project) options_.project(object);
  Store::put_into(into, store_.entry_of(std::move(key), std::move(object)));
  return {};
}

void Reflector::leave_out(const Json& object, Store::Entries* list) {
  const std::string key = object_key(object);
  std::optional<Store::Entry> known = store_.of(key, uid_of(object));
  const bool stays = known.has_value();
  if (list != nullptr && stays) Store::put_into(*list, std::move(*known));
  const std::string version = resource_version_of(object);
  if (std::exchange(left_out_[key], version) == version) return;
  log::warn("informer",
            resource_.qualified() + " " + key + " is nested deeper than " + std::to_string(kMaxObjectDepth) +
                " levels and is not read: " + (stays ? "its last version that was read stays in use" : "it is left out"));
}

void Reflector::apply(std::string_view type, Json object) {
  if (name_of(object).empty()) return;
  std::string key = object_key(object);
  left_out_.erase(key);
  if (type == "DELETED") {
    if (const auto before = store_.erase(key)) {
      tell([&] {
        for (const auto& handler : handlers_) handler(EventType::kDeleted, before, nullptr);
      });
    }
    return;
  }
  if (type != "ADDED" && type != "MODIFIED") return;
  erase_at(object, {"metadata", "managedFields"});
  if (options_.project) options_.project(object);
  auto entry = store_.entry_of(std::move(key), std::move(object));
  const auto after = entry.object;
  const auto before = store_.put(std::move(entry));
  tell([&] {
    for (const auto& handler : handlers_) handler(before ? EventType::kModified : EventType::kAdded, before, after);
  });
}

void Reflector::commit(std::string version) {
  const auto changes = store_.replace(std::move(staged_));
  staged_.clear();
  last_version_ = std::move(version);
  version_unavailable_ = false;
  need_list_ = false;
  watch_failures_ = 0;
  {
    const std::scoped_lock lock(state_mutex_);
    synced_ = true;
    last_error_.reset();
  }
  synced_changed_.notify_all();
  tell([&] {
    for (const auto& change : changes) {
      for (const auto& handler : handlers_) handler(change.type, change.before, change.after);
    }
    for (const auto& handler : synced_handlers_) handler();
  });
}

}  // namespace fleetadm::kube
