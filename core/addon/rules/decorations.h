// What rendering adds to the manifests of a template.
#pragma once

#include <string_view>

#include "core/addon/rules/template_values.h"
#include "core/addon/rules/workload_form.h"

namespace fleetadm::addon {

/// A workload's containers (not its init containers) get the environment, volumes of credentials, images from mirrors, proxy and
/// resources of the values, its pods the node placement. `registration` is the template's. A workload that does not fit its type
/// is left as it is. `spent` is what the workloads of one rendering have cost together, in bytes and steps: kInvalid beyond
/// kMaxRenderedBytes, for containers times settings can be a great many.
Status decorate_workload(Json& workload, WorkloadKind kind, std::string_view addon, const Json& registration,
                         const TemplateValues& values, std::size_t& spent);

/// Puts a manifest of any kind into the install namespace, if there is one: its own namespace, the name of a Namespace, and the
/// subjects of bindings.
Status move_to_namespace(Json& manifest, std::string_view ns);

/// The image as the last mirror that changes it has it.
std::string mirrored_image(const std::string& image, const std::vector<ImageMirror>& mirrors);

/// The name of the ConfigMap with the CA bundle of the proxy.
std::string proxy_ca_name(std::string_view addon);
inline constexpr std::string_view kProxyCaKey = "ca-bundle.crt";

}  // namespace fleetadm::addon
