// Who pushes to a registry, as docker's and podman's login commands have noted it.
#pragma once

#include <stop_token>
#include <string>

#include "kubeclient/base/result.h"

namespace fleetadm::image {

struct Login {
  std::string username;
  std::string password;
  std::string identity_token;  // to be exchanged for a token of the registry's; instead of a password

  bool empty() const { return username.empty() && password.empty() && identity_token.empty(); }
};

struct LoginSource {
  std::string config_file;  // docker's config.json; one that is not there knows no login
  bool required = false;    // it was named, and has to be there
  std::string search_path;  // $PATH, for docker-credential-NAME
  std::stop_token stop = {};
};

/// The login for a registry ("registry.example.com:5000"): from the helper that the file names for it, else from the file, else
/// from the helper for all registries. Empty where there is none. No message holds a secret.
Result<Login> find_login(const std::string& registry, const LoginSource& source);

}  // namespace fleetadm::image
