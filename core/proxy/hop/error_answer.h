// What a client gets where a hop has failed.
#pragma once

#include "core/serve/http/message.h"
#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

/// A Kubernetes Status object. Its code is the error's, or where that has none, what the category means to a proxy: 504 for
/// kTimeout, 502 for what broke on the way.
serve::HttpResponse error_answer(const Error& error);

}  // namespace fleetadm::proxy
