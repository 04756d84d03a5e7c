// `image push` to Debian's docker-registry, with TLS and a password: what arrives can be pulled, and whatever goes wrong, nothing
// is half-published.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <unistd.h>

#include "core/image/digest.h"
#include "core/sandbox/node/child.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/equipment.h"
#include "tests/support/faulty_relay.h"
#include "tests/support/fleet.h"
#include "tests/support/https.h"
#include "tests/support/kube_servers.h"
#include "tests/support/shell.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::registry_suite {
namespace {

using testkit::Ran;

// htpasswd -B of the password below; a hash of it takes long to make, so it was made once.
constexpr const char* kUsers = "me:$2y$05$abcdefghijklmnopqrstuuLK7U1u6pVRmL7L1BBM2aS35PSZnDXlK\n";
constexpr const char* kPassword = "s3cret";
constexpr std::size_t kMiddle = 300'000;  // bytes of a connection: beyond the handshake, within the layers

class RegistryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto folder = testkit::equipment("FLEETADM_REGISTRY_BIN", "tests/registry/registry.sh", {"docker-registry"}, "");
    if (folder) programs_ = *folder;
    shared_ = std::make_unique<testkit::TemporaryFolder>("registry");
    // Its debug symbols would be most of what is compressed and sent.
    const char* built = std::getenv("FLEETADM_BINARY");
    binary_ = shared_->path().string() + "/fleetadm";
    const std::string strip = "strip -o '" + binary_ + "' '" + (built == nullptr ? "" : built) + "'";
    stripped_ = std::system(strip.c_str()) == 0;
  }
  static void TearDownTestSuite() { shared_.reset(); }

  void SetUp() override {
    ASSERT_TRUE(stripped_) << "FLEETADM_BINARY is not a program";
    ASSERT_FALSE(programs_.empty()) << "docker-registry is missing: run tests/registry/registry.sh";
    const auto ca = pki::make_ca("registry-ca", std::chrono::hours(24));
    const auto serving = pki::issue(*ca, {.subject = {"registry", {}, {}}, .ip_addresses = {"127.0.0.1"}, .server = true});
    ca_ = ca->certificate;
    ca_file_ = folder_.write("ca.crt", ca_);
    folder_.write("tls.crt", serving->certificate);
    folder_.write("tls.key", serving->key);
    folder_.write("users", kUsers);
    login_file_ = login("me", kPassword);
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// A config.json of docker's, for whatever the registry is called.
  std::string login(const std::string& user, const std::string& password) {
    const std::string helper = folder_.write(
        "docker-credential-suite", "#!/bin/sh\necho '{\"Username\":\"" + user + "\",\"Secret\":\"" + password + "\"}'\n");
    std::filesystem::permissions(helper, std::filesystem::perms::owner_all);
    return folder_.write("docker.json", R"({"credsStore":"suite"})");
  }

  /// Starts the registry; `before`: shell commands that run first, in a mount namespace of their own.
  void start(const std::string& before = {}) {
    std::filesystem::create_directory(path("data"));
    const std::string program = programs_ + "/docker-registry serve " + path("config.yml");
    // Another program may take the free port before the registry does.
    for (int tries = 0; tries < 5; ++tries) {
      port_ = testkit::free_port();
      folder_.write("config.yml", "version: 0.1\nlog: {level: info}\nstorage: {filesystem: {rootdirectory: " + path("data") +
                                      "}}\nhttp: {addr: \"127.0.0.1:" + std::to_string(port_) +
                                      "\", tls: {certificate: " + path("tls.crt") + ", key: " + path("tls.key") +
                                      "}}\nauth: {htpasswd: {realm: suite, path: " + path("users") + "}}\n");
      sandbox::ChildSpec spec;
      spec.program = before.empty() ? "/bin/sh" : "/usr/bin/unshare";
      if (!before.empty() && ::geteuid() != 0) spec.args = {"--map-root-user"};
      if (!before.empty()) spec.args.insert(spec.args.end(), {"--mount", "/bin/sh"});
      spec.args.insert(spec.args.end(), {"-c", before + " exec " + program});
      spec.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
      spec.output_file = path("registry.log");
      auto child = sandbox::Child::start(spec);
      ASSERT_TRUE(child) << child.error().message;
      registry_ = std::make_unique<sandbox::Child>(std::move(*child));
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (std::chrono::steady_clock::now() < deadline && registry_->running()) {
        if (get("/v2/").status == 200) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
    FAIL() << testkit::read_file(path("registry.log"));
  }

  testkit::HttpsAnswer get(const std::string& target, const std::string& accept = "*/*") const {
    testkit::HttpsRequest request;
    request.url = "https://127.0.0.1:" + std::to_string(port_) + target;
    request.ca = ca_;
    request.timeout_seconds = 60;
    request.headers = {"Authorization: Basic " + base64_encode(std::string("me:") + kPassword), "Accept: " + accept};
    return testkit::https(request);
  }
  testkit::HttpsAnswer manifest(const std::string& name) const {
    return get("/v2/team/fleetadm/manifests/" + name, "application/vnd.oci.image.manifest.v1+json");
  }

  Ran push(int port, const std::string& flags = {}) const {
    const std::string line = "PATH='" + folder_.path().string() + "':/usr/bin:/bin '" + binary_ +
                             "' image push 127.0.0.1:" + std::to_string(port) +
                             "/team/fleetadm:v1 -o json --ca-certificates none --auth-file '" + login_file_ + "' " +
                             (flags.empty() ? "--ca-file '" + ca_file_ + "'" : flags);
    Ran ran = testkit::run_shell(line, path("stderr"));
    EXPECT_EQ(ran.err.find(kPassword), std::string::npos);
    return ran;
  }

  static void expect_said(const Ran& ran, const std::string& text) {
    EXPECT_NE(ran.err.find(text), std::string::npos) << ran.code << " " << ran.err;
  }

  static inline std::string programs_;
  static inline std::string binary_;
  static inline bool stripped_ = false;
  static inline std::unique_ptr<testkit::TemporaryFolder> shared_;
  testkit::TemporaryFolder folder_{"registry"};
  std::string ca_;
  std::string ca_file_;
  std::string login_file_;
  int port_ = 0;
  std::unique_ptr<sandbox::Child> registry_;
};

TEST_F(RegistryTest, WhatWasPushedCanBePulledAndIsNotSentTwice) {
  start();
  const Ran ran = push(port_);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto report = parse_json(ran.out);
  ASSERT_TRUE(report) << ran.out;
  const std::string digest = str(*report, {"digest"});
  EXPECT_EQ(num(*report, {"blobsSent"}), 3);
  EXPECT_EQ(str(*report, {"reference"}), "127.0.0.1:" + std::to_string(port_) + "/team/fleetadm@" + digest);

  // Pulled by another client, by tag and by digest.
  for (const std::string& name : {std::string("v1"), digest}) EXPECT_EQ(image::digest_of(manifest(name).body), digest) << name;
  const auto pulled = parse_json(manifest("v1").body);
  ASSERT_TRUE(pulled);
  Json blobs = list_at(*pulled, {"layers"});
  blobs.push_back(object_at(*pulled, {"config"}));
  ASSERT_EQ(blobs.size(), 3U);
  for (const Json& blob : blobs) {
    const testkit::HttpsAnswer answer = get("/v2/team/fleetadm/blobs/" + str(blob, {"digest"}));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(image::digest_of(answer.body), str(blob, {"digest"}));
    EXPECT_EQ(static_cast<std::int64_t>(answer.body.size()), num(blob, {"size"}));
  }

  const Ran again = push(port_);
  ASSERT_EQ(again.code, 0) << again.err;
  const auto nothing = parse_json(again.out);
  ASSERT_TRUE(nothing) << again.out;
  EXPECT_EQ(str(*nothing, {"digest"}), digest);
  EXPECT_EQ(num(*nothing, {"blobsSent"}), 0);
  EXPECT_EQ(num(*nothing, {"blobsPresent"}), 3);
  EXPECT_EQ(num(*nothing, {"bytesSent"}), 0);
}

TEST_F(RegistryTest, ContainerdPullsWhatWasPushed) {
  if (::geteuid() != 0) {
    ASSERT_FALSE(testkit::in_ci()) << "containerd needs root";
    GTEST_SKIP() << "containerd needs root";
  }
  const auto runtime = testkit::equipment("FLEETADM_CONTAINER_RUNTIME", "tests/kubelet/runtime.sh", {"containerd", "ctr"}, "");
  ASSERT_TRUE(runtime) << runtime.error().message;
  start();
  const Ran pushed = push(port_);
  ASSERT_EQ(pushed.code, 0) << pushed.err;
  const std::string digest = str(*parse_json(pushed.out), {"digest"});
  const std::string registry = "127.0.0.1:" + std::to_string(port_);
  folder_.write("containerd.toml", "version = 2\nroot = \"" + path("containerd") + "\"\nstate = \"" + path("run") +
                                       "\"\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = \"" +
                                       path("containerd.sock") + "\"\n");
  // As nodes are told of a registry with a CA of its own.
  std::filesystem::create_directories(path("certs.d/" + registry));
  folder_.write("certs.d/" + registry + "/hosts.toml", "server = \"https://" + registry + "\"\n[host.\"https://" + registry +
                                                           "\"]\n  capabilities = [\"pull\", \"resolve\"]\n  ca = \"" + ca_file_ +
                                                           "\"\n");
  sandbox::ChildSpec spec;
  spec.program = *runtime + "/containerd";
  spec.args = {"--config", path("containerd.toml")};
  spec.environment = {"PATH=" + *runtime + ":/usr/sbin:/usr/bin:/sbin:/bin"};
  spec.output_file = path("containerd.log");
  auto containerd = sandbox::Child::start(spec);
  ASSERT_TRUE(containerd) << containerd.error().message;
  const auto ctr = [&](const std::string& words) {
    return testkit::run_shell("'" + *runtime + "/ctr' --address '" + path("containerd.sock") + "' " + words, path("ctr.err"));
  };
  ASSERT_TRUE(testkit::eventually([&] { return ctr("version").code == 0; })) << testkit::read_file(path("containerd.log"));
  const std::string pull = "images pull --snapshotter native --hosts-dir '" + path("certs.d") + "' ";
  EXPECT_NE(ctr(pull + registry + "/team/fleetadm:v1").code, 0) << "without a login";
  for (const std::string& name : {registry + "/team/fleetadm:v1", registry + "/team/fleetadm@" + digest}) {
    const Ran pulled = ctr(pull + "--user me:" + kPassword + " " + name);
    EXPECT_EQ(pulled.code, 0) << pulled.both();
    const Ran there = ctr("images ls name==" + name);
    EXPECT_NE(there.out.find(digest), std::string::npos) << there.both();
  }
}

TEST_F(RegistryTest, WhoIsNotKnownGetsNothingIn) {
  start();
  login_file_ = login("me", "wrong");
  const Ran wrong = push(port_);
  EXPECT_EQ(wrong.code, 4);
  expect_said(wrong, "refused the user name or the password");

  login_file_ = folder_.write("none.json", "{}");
  const Ran none = push(port_);
  EXPECT_EQ(none.code, 4);
  expect_said(none, "wants a login, and none is known");
  EXPECT_EQ(get("/v2/team/fleetadm/tags/list").status, 404);
}

TEST_F(RegistryTest, ARegistryOfAnotherCaIsToldNothing) {
  start();
  const std::string other = folder_.write("other.crt", pki::make_ca("another", std::chrono::hours(1))->certificate);
  const Ran ran = push(port_, "--ca-file " + other);
  EXPECT_EQ(ran.code, 1);
  expect_said(ran, "is not signed by a trusted certificate authority");
  expect_said(ran, "--ca-file");
  EXPECT_EQ(testkit::read_file(path("registry.log")).find("team/fleetadm"), std::string::npos);
}

TEST_F(RegistryTest, AConnectionThatBreaksInABlobIsMadeAnew) {
  start();
  testkit::FaultyRelay relay(port_);
  relay.cut_after(kMiddle, 1);
  const Ran ran = push(relay.port());
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_said(ran, "next try in");
  const auto report = parse_json(ran.out);
  ASSERT_TRUE(report) << ran.out;
  EXPECT_EQ(image::digest_of(manifest("v1").body), str(*report, {"digest"}));
}

TEST_F(RegistryTest, AWayThatAlwaysBreaksPublishesNothing) {
  start();
  testkit::FaultyRelay relay(port_);
  relay.cut_after(kMiddle, 1000);
  const Ran ran = push(relay.port());
  EXPECT_EQ(ran.code, 1);
  expect_said(ran, "was not uploaded");
  EXPECT_NE(manifest("v1").status, 200);
  EXPECT_EQ(get("/v2/team/fleetadm/tags/list").status, 404);
}

TEST_F(RegistryTest, AFullDiskPublishesNothing) {
  start("mount -t tmpfs -o size=512k none " + path("data") + " &&");
  const Ran ran = push(port_);
  EXPECT_EQ(ran.code, 1);
  expect_said(ran, "was not uploaded: the registry 127.0.0.1:" + std::to_string(port_) + " answered 500");
  EXPECT_NE(manifest("v1").status, 200);
  EXPECT_EQ(get("/v2/team/fleetadm/tags/list").status, 404);
}

}  // namespace
}  // namespace fleetadm::registry_suite
