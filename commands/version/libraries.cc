#include "commands/version/libraries.h"

#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <curl/curl.h>
#include <gnu/libc-version.h>
#include <nghttp2/nghttp2.h>
#include <openssl/crypto.h>
#include <string>
#include <utility>
#include <yaml.h>
#include <zlib.h>

namespace fleetadm::commands {
namespace {

Json curl_features(const curl_version_info_data& info) {
  static constexpr std::pair<int, const char*> kFeatures[] = {{CURL_VERSION_ASYNCHDNS, "AsynchDNS"},
                                                              {CURL_VERSION_BROTLI, "brotli"},
                                                              {CURL_VERSION_GSSAPI, "GSS-API"},
                                                              {CURL_VERSION_HTTP2, "HTTP2"},
                                                              {CURL_VERSION_HTTPS_PROXY, "HTTPS-proxy"},
                                                              {CURL_VERSION_IDN, "IDN"},
                                                              {CURL_VERSION_IPV6, "IPv6"},
                                                              {CURL_VERSION_NTLM, "NTLM"},
                                                              {CURL_VERSION_LIBZ, "libz"},
                                                              {CURL_VERSION_SPNEGO, "SPNEGO"},
                                                              {CURL_VERSION_UNIX_SOCKETS, "UnixSockets"},
                                                              {CURL_VERSION_ZSTD, "zstd"}};
  Json features = Json::array();
  for (const auto& [bit, name] : kFeatures) {
    if ((info.features & bit) != 0) features.push_back(name);
  }
  return features;
}

/// "1_81"
std::string boost_version() {
  std::string version = BOOST_LIB_VERSION;
  for (char& one : version) {
    if (one == '_') one = '.';
  }
  return version;
}

}  // namespace

Json library_versions() {
  const auto& curl = *curl_version_info(CURLVERSION_NOW);
  Json libraries = Json::array();
  const auto add = [&](const char* name, std::string version) -> Json& {
    return libraries.emplace_back(Json{{"name", name}, {"version", std::move(version)}});
  };
  add("Boost", boost_version());
  add("CLI11", CLI11_VERSION);
  add("glibc", gnu_get_libc_version());
  add("libcurl", curl.version)["features"] = curl_features(curl);
  add("libyaml", yaml_get_version_string());
  add("nghttp2", nghttp2_version(0)->version_str);
  add("nlohmann/json", std::to_string(NLOHMANN_JSON_VERSION_MAJOR) + "." + std::to_string(NLOHMANN_JSON_VERSION_MINOR) + "." +
                           std::to_string(NLOHMANN_JSON_VERSION_PATCH));
  add("OpenSSL", OpenSSL_version(OPENSSL_VERSION_STRING));
  add("zlib", zlibVersion());
  return libraries;
}

}  // namespace fleetadm::commands
