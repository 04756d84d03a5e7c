// The manifests that fleetadm installs, embedded in the binary from templates/*.yaml at build time, deflated.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::templates {

/// All embedded manifests under a folder, by path ("crds/…yaml"), sorted.
std::vector<std::string_view> list(std::string_view folder);
/// The text of one file; empty where there is none (a defect: tests read every name that code uses).
std::string_view text(std::string_view path);

/// What is known about the API types of Kubernetes (templates/sandbox/types.facts): one message a line.
std::string_view api_types();

/// The objects of a file with `${name}` in string values replaced after parsing, so that a value can never become syntax.
/// A string that is exactly "${name}" may become any JSON value. An unknown name is kInternal.
Result<std::vector<Json>> render(std::string_view path, const std::map<std::string, Json>& values);

}  // namespace fleetadm::templates
