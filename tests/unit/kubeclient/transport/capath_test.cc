// Field bug of a library: Debian's libcurl trusts the certificates in /etc/ssl/certs beside the CA it was given. The test puts a
// foreign CA there (in a mount namespace of its own, in a child process), shows that libcurl's default falls for it, and that the
// transport does not.
#include <array>
#include <cstdlib>
#include <curl/curl.h>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kubeclient/config/rest_config.h"
#include "kubeclient/transport/transport.h"
#include "tests/support/tls_server.h"

namespace fleetadm::kube {
namespace {

using testkit::TlsRequest;
using testkit::TlsServer;
using testkit::TlsWrite;

constexpr const char* kSystemFolder = "/etc/ssl/certs";
constexpr int kNoNamespaces = 77;

void write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
}

/// "<hash>.0", as OpenSSL looks certificates up in a folder.
std::string hashed_name(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                          &BIO_free_all);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr),
                                                                &X509_free);
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%08lx.0", X509_subject_name_hash(certificate.get()));
  return name.data();
}

bool make_namespace() {
  const auto uid = ::getuid();
  const auto gid = ::getgid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
    write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
  }
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", kSystemFolder, "tmpfs", 0, nullptr) == 0;
}

/// What libcurl does by itself when it is given a CA and nothing is said of CAPATH.
CURLcode plain_curl(const std::string& url, std::string& ca) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(), &curl_easy_cleanup);
  curl_blob blob{ca.data(), ca.size(), CURL_BLOB_COPY};
  curl_easy_setopt(easy.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_CAINFO_BLOB, &blob);
  curl_easy_setopt(easy.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT, 10L);
  curl_easy_setopt(
      easy.get(), CURLOPT_WRITEFUNCTION, +[](char*, std::size_t size, std::size_t count, void*) { return size * count; });
  return curl_easy_perform(easy.get());
}

TEST(CapathTest, ACertificateOfTheSystemFolderIsNotTrusted) {
  ::fflush(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!make_namespace()) ::_exit(kNoNamespaces);
    ::setenv("FLEETADM_TEST_SYSTEM_FOLDER_IS_OURS", "1", 1);
    ::execl("/proc/self/exe", "capath", "--gtest_filter=CapathInnerTest.*", "--gtest_also_run_disabled_tests", nullptr);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoNamespaces) GTEST_SKIP() << "mount namespaces are not allowed here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Runs in the child of the test above alone.
TEST(CapathInnerTest, DISABLED_TheTransportRefusesWhatPlainCurlAccepts) {
  ASSERT_NE(std::getenv("FLEETADM_TEST_SYSTEM_FOLDER_IS_OURS"), nullptr);
  auto ours = *pki::make_ca("ours", std::chrono::hours(1));
  const auto foreign = *pki::make_ca("foreign", std::chrono::hours(1));
  pki::LeafOptions leaf;
  leaf.subject.common_name = "server";
  leaf.ip_addresses = {"127.0.0.1"};
  leaf.server = true;
  const TlsServer server(*pki::issue(foreign, leaf),
                         [](const TlsRequest&, const TlsWrite& write) { return write(TlsServer::response(200, "{}")); });
  write_file(std::string(kSystemFolder) + "/" + hashed_name(foreign.certificate), foreign.certificate);
  write_file(std::string(kSystemFolder) + "/ca-certificates.crt", ours.certificate);

  // Without this the test below would prove nothing (a libcurl without a default CAPATH refuses by itself, which is fine too).
  const auto* version = curl_version_info(CURLVERSION_NOW);
  const bool has_default = version->age >= CURLVERSION_SEVENTH && version->capath != nullptr;
  EXPECT_EQ(plain_curl(server.url(), ours.certificate), has_default ? CURLE_OK : CURLE_PEER_FAILED_VERIFICATION);

  RestConfig config;
  config.server = server.url();
  config.ca_data = ours.certificate;
  Request request;
  request.path = "/api";
  auto answer = make_transport(config)->call(request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, "UnknownAuthority");
  config.ca_data.clear();  // the system's bundle is one file; the folder beside it stays out
  answer = make_transport(config)->call(request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, "UnknownAuthority");
}

}  // namespace
}  // namespace fleetadm::kube
