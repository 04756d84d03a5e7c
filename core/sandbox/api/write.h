// POST, PUT, PATCH and DELETE of objects (docs/reference/kubernetes-api.md).
#pragma once

#include <memory>

#include "core/sandbox/api/read.h"

namespace fleetadm::sandbox {

ApiResult<serve::HttpResponse> answer_create(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                             const KindPtr& kind);
ApiResult<serve::HttpResponse> answer_update(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                             const KindPtr& kind);
ApiResult<serve::HttpResponse> answer_patch(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                            const KindPtr& kind);
ApiResult<serve::HttpResponse> answer_delete(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                             const KindPtr& kind);
ApiResult<serve::HttpResponse> answer_delete_collection(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                                        const KindPtr& kind);
/// GET, PUT and PATCH of the scale subresource.
ApiResult<serve::HttpResponse> answer_scale(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                            const KindPtr& kind);

/// POST of a pod's binding or eviction.
ApiResult<serve::HttpResponse> answer_pod_action(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                                 const KindPtr& kind);

/// 400 where an object is nested deeper than what is stored may be.
ApiStatus check_body_depth(const Json& body);
/// The object of a request's body: JSON, YAML or protobuf; apiVersion and kind are checked against (or taken from) the row.
ApiResult<Json> read_body(const serve::HttpRequest& http, const Kind& kind, std::string_view subresource);
/// DeleteOptions of a body, in any of the three formats: 400 where a field is of another type, 415 where the format is another.
ApiResult<Json> read_delete_body(const serve::HttpRequest& http);
/// The same as values; 422 where they contradict each other.
ApiResult<DeleteOptions> delete_options_of(const Json& body);
/// dryRun, fieldManager, fieldValidation, checked. `options_kind`: "CreateOptions" and so on.
ApiResult<WriteOptions> read_write_options(const serve::ApiRequest& request, const std::string& options_kind);

/// The new state of an object by a patch document of one of the four types.
ApiResult<Json> apply_patch(const Kind& kind, const Json& old, const std::string& type, const Json& patch);

}  // namespace fleetadm::sandbox
