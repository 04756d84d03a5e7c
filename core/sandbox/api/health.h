// /healthz, /livez and /readyz, whole and check by check (docs/reference/kubernetes-api.md#discovery).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/serve/http/message.h"
#include "core/serve/request_info.h"

namespace fleetadm::sandbox {

bool is_health_path(std::string_view first);
/// `parts`: of the path, at least one. ?verbose lists the checks, ?exclude= leaves one out; plain-text 404 of a check that there
/// is not.
serve::HttpResponse answer_health(const std::vector<std::string>& parts, const serve::Query& query);

}  // namespace fleetadm::sandbox
