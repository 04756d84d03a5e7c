// GET: objects, lists, watches (docs/reference/kubernetes-api.md#lists-and-watches, docs/reference/kubernetes-api.md#tables).
#pragma once

#include <memory>
#include <stop_token>

#include "core/sandbox/engine/engine.h"
#include "core/sandbox/model/negotiate.h"
#include "core/serve/http/message.h"
#include "core/serve/request_info.h"
#include "kubeclient/base/query_selectors.h"

namespace fleetadm::sandbox {

class OpenApiDocuments;  // api/discovery.h

/// Everything that answers of one cluster share; streams keep it alive.
struct ApiState {
  std::unique_ptr<Store> store;
  KindTable kinds;
  std::unique_ptr<Engine> engine;
  std::shared_ptr<OpenApiDocuments> openapi;
  std::stop_source ending;  // calls to webhooks end with it
};

ApiResult<serve::HttpResponse> answer_get(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                          const KindPtr& kind);
ApiResult<serve::HttpResponse> answer_list(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                           const KindPtr& kind);
ApiResult<serve::HttpResponse> answer_watch(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                            const KindPtr& kind);

/// Objects of a request that deletecollection deletes, and the options of list and watch, checked.
struct Selection {
  std::string ns;
  LabelSelector labels;
  FieldSelector fields;
  bool matches(const Engine& engine, const Kind& kind, const std::string& ns, const std::string& name,
               const Stored& object) const;
  /// An object that was converted: its labels may be others than those that are stored.
  bool matches(const std::string& ns, const std::string& name, const Json& object) const;
  /// More than a namespace is asked for.
  bool selects() const { return !labels.empty() || !fields.empty(); }
};
ApiResult<Selection> read_selection(const serve::ApiRequest& request, const Kind& kind);

/// 504 for a revision that is still to come. Whoever has a revision has it from an answer, and what is answered is readable: such
/// a revision is another server's, and waiting for it would only hold a worker.
ApiStatus reach(const Store& store, std::int64_t revision);

/// One object in the representation that is wanted.
ApiResult<Json> present(const Kind& kind, Json object, const Wanted& wanted, const std::string& include_object, Instant now);
/// The conversions that objects, lists and watches offer.
const std::vector<std::string>& object_conversions();
const std::vector<std::string>& list_conversions();

}  // namespace fleetadm::sandbox
