// /api, /apis, /version and /openapi/v3 (docs/reference/kubernetes-api.md#discovery).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/sandbox/api/read.h"

namespace fleetadm::sandbox {

/// Discovery documents, /version, health and OpenAPI: every path that is no resource. 404 (plain text) for others.
ApiResult<serve::HttpResponse> answer_path(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request);

/// What an ETag says of a text: its SHA-512 in upper-case hexadecimal.
std::string entity_hash(const std::string& text);

/// The documents as texts, made anew where the rows that they are of have changed. Any thread.
class OpenApiDocuments {
 public:
  struct Document {
    std::string body;
    std::string hash;  // entity_hash() of the body
  };
  /// Of one group version (OpenAPI 3).
  std::shared_ptr<const Document> version(const std::string& place, const std::vector<KindPtr>& rows);
  /// Of everything that is served (Swagger 2).
  std::shared_ptr<const Document> whole(const std::vector<KindPtr>& rows);

 private:
  struct Kept {
    std::vector<KindPtr> rows;
    std::shared_ptr<const Document> document;
  };
  std::shared_ptr<const Document> kept(const std::string& key, const std::vector<KindPtr>& rows, bool whole);
  std::mutex mutex_;
  std::map<std::string, Kept> kept_;
};

/// /openapi/v2 and /openapi/v3/…
ApiResult<serve::HttpResponse> answer_openapi(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request);

}  // namespace fleetadm::sandbox
