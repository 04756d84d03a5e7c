// A folder of its own, variables that are put back, and credentials to write into kubeconfigs.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <sys/stat.h>

#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::kube {

class ConfigFixture : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "fleetadm-config-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    for (const char* name :
         {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "POD_NAMESPACE", "FLEETADM_SERVICEACCOUNT_DIR"}) {
      set(name, nullptr);
    }
    set("HOME", folder_.c_str());
  }
  void TearDown() override {
    for (const auto& [name, value] : saved_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
    std::filesystem::remove_all(folder_);
  }

  void set(const char* name, const char* value) {
    const char* old = std::getenv(name);
    saved_.emplace(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    if (value == nullptr) {
      ::unsetenv(name);
    } else {
      ::setenv(name, value, 1);
    }
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& content, unsigned mode = 0600) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << content;
    ::chmod(path(name).c_str(), mode);
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }
  static const pki::KeyPair& ca() {
    static const pki::KeyPair kCa = *pki::make_ca("test-ca", std::chrono::hours(1));
    return kCa;
  }
  static pki::KeyPair client(const std::string& name) {
    pki::LeafOptions options;
    options.subject.common_name = name;
    options.client = true;
    return *pki::issue(ca(), options);
  }
  /// A kubeconfig with one context "c": the given lines inside `cluster:` and `user:` (flow style).
  static std::string config(const std::string& cluster, const std::string& user) {
    return "clusters: [{name: k, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user +
           "}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\ncurrent-context: c\n";
  }
  static Result<RestConfig> resolve(const std::string& yaml, const ConfigOverrides& overrides = {}) {
    const auto loaded = Kubeconfig::from_text(yaml);
    if (!loaded) return tl::unexpected(loaded.error());
    return loaded->resolve(overrides);
  }

  std::string folder_;

 private:
  std::map<std::string, std::optional<std::string>> saved_;
};

}  // namespace fleetadm::kube
