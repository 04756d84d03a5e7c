#include "core/agent/bootstrap_source.h"

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/data_only.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::agent {

void drop_secret_content(Json& secret) {
  for (const char* member : {"data", "stringData"}) erase_at(secret, {member});
  erase_at(secret, {"metadata", "annotations"});
}

BootstrapSource::BootstrapSource(kube::Client spoke, std::string ns, std::string secret, std::string file)
    : spoke_(std::move(spoke)), ns_(std::move(ns)), secret_(std::move(secret)), file_(std::move(file)) {}

std::string BootstrapSource::name() const { return is_file() ? file_ : "secret " + ns_ + "/" + secret_; }

Result<std::optional<std::string>> BootstrapSource::text() const {
  if (is_file()) {
    kube::ConfigOverrides overrides;
    overrides.kubeconfig = file_;
    overrides.interactive = false;
    FLEETADM_TRY(const kube::Kubeconfig loaded, kube::Kubeconfig::load(overrides));
    FLEETADM_TRY(const Json flat, loaded.flatten(loaded.current_context()));
    return dump_yaml(flat);
  }
  FLEETADM_TRY(const std::optional<Json> secret, spoke_.find(kube::resources::secrets(), ns_, secret_));
  if (!secret) return std::nullopt;
  FLEETADM_TRY(std::string decoded, base64_decode(str(*secret, {"data", registration::agent::kKubeconfigKey})));
  if (decoded.empty()) return fail(Category::kInvalid, "it has no key \"kubeconfig\"");
  return decoded;
}

Result<Bootstrap> BootstrapSource::parse(std::string text) const {
  if (!is_file()) FLEETADM_CHECK(kube::check_holds_data_only(text));
  Bootstrap bootstrap;
  bootstrap.text = std::move(text);
  FLEETADM_TRY(bootstrap.endpoint, registration::agent::endpoint_of(bootstrap.text));
  FLEETADM_TRY(const kube::Kubeconfig parsed, kube::Kubeconfig::from_text(bootstrap.text, name()));
  kube::ConfigOverrides overrides;
  overrides.interactive = false;
  FLEETADM_TRY(bootstrap.config, parsed.resolve(overrides));
  return bootstrap;
}

Result<std::optional<Bootstrap>> BootstrapSource::read() {
  const auto named = [this](const Error& error) { return fail(error.wrap("bootstrap kubeconfig (" + name() + ")")); };
  Result<std::optional<std::string>> found = text();
  if (!found) return named(found.error());
  if (!*found) return std::nullopt;
  if (!last_ || last_->text != **found) {
    Result<Bootstrap> parsed = parse(std::move(**found));
    if (!parsed) return named(parsed.error());
    last_ = std::move(*parsed);
  }
  return last_;
}

}  // namespace fleetadm::agent
