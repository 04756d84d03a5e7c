#include "core/addon/rules/decorations.h"

#include "core/addon/rules/render.h"
#include "core/cel/pattern.h"

namespace fleetadm::addon {
namespace {

std::string with_dashes(std::string text, std::string_view letters) {
  for (char& c : text) {
    if (letters.find(c) != std::string_view::npos) c = '-';
  }
  return text;
}

/// The list at a path, for writing; what is no list becomes one.
Json& list_for(Json& value, Path path) {
  Json& list = at_or_make(value, path);
  if (!list.is_array()) list = Json::array();
  return list;
}

class Decorator {
 public:
  Decorator(Json& workload, std::string_view addon, const TemplateValues& values, std::size_t& spent)
      : pods_(at_or_make(workload, {"spec", "template", "spec"})),
        containers_(at_or_make(pods_, {"containers"})),
        addon_(addon),
        values_(values),
        spent_(spent) {}

  /// There was more to do than a rendering may take: what is done is not complete.
  bool is_exhausted() const { return spent_ > kMaxRenderedBytes; }

  /// Also where a container has a variable of the name: the last one counts.
  void environment() {
    for (const auto& [name, value] : values_.environment) add_variable(name, value);
  }

  Status credentials(const Json& registration) {
    for (const Json& entry : registration) {
      const std::string type = str(entry, {"type"});
      if (type == "KubeClient") {
        mount("hub-kubeconfig", "/managed/hub-kubeconfig",
              {{"secret", {{"secretName", std::string(addon_) + "-hub-kubeconfig"}}}});
      } else if (type == "CustomSigner") {
        const Json* custom = find(entry, {"customSigner"});
        if (custom == nullptr || !custom->is_object()) return fail(Category::kInvalid, "custom signer is nil");
        const std::string signer = str(*custom, {"signerName"});
        const std::string path = with_dashes(signer, "/");
        mount("cert-" + with_dashes(signer, "/."), "/managed/" + path,
              {{"secret", {{"secretName", std::string(addon_) + "-" + path + "-client-cert"}}}});
      }
    }
    return {};
  }

  void node_placement() {
    if (values_.node_placement == nullptr) return;
    const Json* selector = find(*values_.node_placement, {"nodeSelector"});
    if (selector == nullptr || selector->is_null()) return;
    pods_["nodeSelector"] = *selector;
    pods_["tolerations"] = list_at(*values_.node_placement, {"tolerations"});
  }

  void images() {
    if (values_.mirrors.empty()) return;
    for (Json& container : containers_) {
      const std::string image = str(container, {"image"});
      if (!spend(values_.mirrors.size() * (kStep + image.size()))) return;
      container["image"] = mirrored_image(image, values_.mirrors);
      if (!spend(str(container, {"image"}).size())) return;
    }
  }

  void proxy() {
    const ProxySettings& proxy = values_.proxy;
    if (proxy.http.empty() && proxy.https.empty() && proxy.no_proxy.empty()) return;
    const std::pair<const char*, const std::string*> variables[] = {{"HTTP_PROXY", &proxy.http},   {"http_proxy", &proxy.http},
                                                                    {"HTTPS_PROXY", &proxy.https}, {"https_proxy", &proxy.https},
                                                                    {"NO_PROXY", &proxy.no_proxy}, {"no_proxy", &proxy.no_proxy}};
    for (const auto& [name, value] : variables) {
      if (!value->empty()) add_variable(name, *value);
    }
    if (proxy.ca_bundle.empty()) return;
    add_variable("CA_BUNDLE_FILE_PATH", "/managed/proxy-ca/" + std::string(kProxyCaKey));
    mount("proxy-ca-bundle", "/managed/proxy-ca", {{"configMap", {{"name", proxy_ca_name(addon_)}}}});
  }

  void resources(std::string_view plural, const std::string& name) {
    for (const ResourceRule& rule : values_.resources) {
      const std::size_t size = dump_json(rule.resources).size();
      for (Json& container : containers_) {
        const std::string id = std::string(plural) + ":" + name + ":" + str(container, {"name"});
        if (!spend(kStep + id.size())) return;
        if (!cel::matches(*rule.pattern, id)) continue;
        if (!spend(size)) return;
        container["resources"] = rule.resources;
      }
    }
  }

 private:
  /// Each step costs something, and what it adds as well.
  bool spend(std::size_t bytes) {
    spent_ += bytes;
    return !is_exhausted();
  }
  static constexpr std::size_t kStep = 32;

  void add_variable(std::string_view name, const std::string& value) {
    if (!spend(containers_.size() * (kStep + name.size() + value.size()))) return;
    for (Json& container : containers_) list_for(container, {"env"}).push_back({{"name", name}, {"value", value}});
  }

  void mount(const std::string& volume, const std::string& path, Json source) {
    if (!spend((1 + containers_.size()) * (kStep + volume.size() + path.size()))) return;
    source["name"] = volume;
    list_for(pods_, {"volumes"}).push_back(std::move(source));
    for (Json& container : containers_) list_for(container, {"volumeMounts"}).push_back({{"mountPath", path}, {"name", volume}});
  }

  Json& pods_;
  Json& containers_;  // null where there are none
  std::string_view addon_;
  const TemplateValues& values_;
  std::size_t& spent_;
};

std::string_view without_last_slash(std::string_view text) {
  if (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

std::string mirrored_once(const std::string& image, const ImageMirror& registry) {
  const std::string_view source = without_last_slash(registry.source);
  const std::string mirror(without_last_slash(registry.mirror));
  if (source.empty()) {
    const std::string last = image.substr(image.rfind('/') + 1);
    return mirror.empty() ? last : mirror + "/" + last;
  }
  return image.starts_with(source) ? mirror + image.substr(source.size()) : image;
}

}  // namespace

std::string proxy_ca_name(std::string_view addon) { return std::string(addon) + "-proxy-ca"; }

std::string mirrored_image(const std::string& image, const std::vector<ImageMirror>& mirrors) {
  std::string found = image;
  for (const ImageMirror& registry : mirrors) {
    std::string changed = mirrored_once(image, registry);
    if (changed != image) found = std::move(changed);
  }
  return found;
}

Status decorate_workload(Json& workload, WorkloadKind kind, std::string_view addon, const Json& registration,
                         const TemplateValues& values, std::size_t& spent) {
  Json typed = workload;
  if (!to_typed_form(typed, kind)) return {};
  if (values.workload_error) return fail(Category::kInvalid, *values.workload_error);
  {
    Decorator decorator(typed, addon, values, spent);
    decorator.environment();
    FLEETADM_CHECK(decorator.credentials(registration));
    decorator.node_placement();
    decorator.images();
    decorator.proxy();
    decorator.resources(kind == WorkloadKind::kDeployment ? "deployments" : "daemonsets", name_of(typed));
    if (decorator.is_exhausted()) {
      return fail(Category::kInvalid,
                  "the manifests have too many containers to be decorated, up to " + str(typed, {"kind"}) + " " + name_of(typed));
    }
  }
  // What decorates comes as it was written: it takes the typed form, too.
  if (Status fits = to_typed_form(typed, kind); !fits) return fail(fits.error().wrap("the configuration"));
  workload = std::move(typed);
  return {};
}

Status move_to_namespace(Json& manifest, std::string_view ns) {
  if (ns.empty()) return {};
  if (!namespace_of(manifest).empty()) at_or_make(manifest, {"metadata", "namespace"}) = ns;
  const std::string kind = str(manifest, {"kind"});
  if (kind == "Namespace") {
    if (const Json* metadata = find(manifest, {"metadata"}); metadata == nullptr || !metadata->is_object())
      return fail(Category::kInvalid, "failed to find field metadata");
    at_or_make(manifest, {"metadata", "name"}) = ns;
  }
  if (kind != "RoleBinding" && kind != "ClusterRoleBinding") return {};
  const auto subjects = manifest.find("subjects");
  if (subjects == manifest.end()) return fail(Category::kInvalid, "failed to find field subjects");
  if (!subjects->is_array()) return {};
  for (Json& subject : *subjects) {
    if (!subject.is_object()) return fail(Category::kInvalid, "a subject is not an object");
    subject["namespace"] = ns;
  }
  return {};
}

}  // namespace fleetadm::addon
