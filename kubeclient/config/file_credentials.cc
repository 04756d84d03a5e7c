#include <mutex>
#include <optional>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/log.h"
#include "kubeclient/config/credentials.h"
#include "kubeclient/config/files.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::kube {
namespace {

constexpr Duration kLookAgain = std::chrono::seconds(1);

// A credential that is not there is a login that fails, not an object that was not found.
Result<std::string> read_credential(const std::string& path) {
  auto text = read_file(path);
  if (text || text.error().category != Category::kNotFound) return text;
  Error error = text.error();
  error.category = Category::kAuth;
  error.hint = "the kubeconfig or the pod names this file for its credentials: make it again, or name another";
  return fail(std::move(error));
}

class FileSource final : public CredentialSource {
 public:
  FileSource(FileCredentials files, std::shared_ptr<Clock> clock) : files_(std::move(files)), clock_(std::move(clock)) {}

  Result<Credentials> current() override {
    const std::lock_guard lock(mutex_);
    const Instant now = clock_->now();
    if (last_ && now >= looked_ && now - looked_ < kLookAgain) return *last_;
    return look(now);
  }

  bool refresh() override {
    const std::lock_guard lock(mutex_);
    const auto before = last_;
    const auto after = look(clock_->now());
    return after && (!before || before->token != after->token || before->client_certificate != after->client_certificate);
  }

 private:
  Result<Credentials> look(Instant now) {
    auto fresh = read();
    looked_ = now;
    if (!fresh) {
      if (!last_) return fresh;
      log::info(1, "credentials", fresh.error().message + "; the last good ones stay in use");
      return *last_;
    }
    last_ = *fresh;
    return fresh;
  }

  Result<Credentials> read() const {
    Credentials out = files_.fixed;
    if (!files_.certificate_file.empty()) {
      FLEETADM_TRY(out.client_certificate, read_credential(files_.certificate_file));
    }
    if (!files_.key_file.empty()) {
      FLEETADM_TRY(out.client_key, read_credential(files_.key_file));
    }
    const bool pair_from_files = !files_.certificate_file.empty() || !files_.key_file.empty();
    if (pair_from_files && !pki::key_matches(out.client_certificate, out.client_key)) {
      return fail(Category::kAuth, "the client certificate in " +
                                       (files_.certificate_file.empty() ? "memory" : files_.certificate_file) +
                                       " does not belong to its key");
    }
    if (!files_.token_file.empty()) {
      FLEETADM_TRY(const std::string text, read_credential(files_.token_file));
      out.token = std::string(trimmed(text));
      if (out.token.empty()) return fail(Category::kAuth, "the token file " + files_.token_file + " is empty");
    }
    return out;
  }

  const FileCredentials files_;
  const std::shared_ptr<Clock> clock_;
  std::mutex mutex_;
  std::optional<Credentials> last_;
  Instant looked_{};
};

}  // namespace

std::shared_ptr<CredentialSource> file_credentials(FileCredentials files, std::shared_ptr<Clock> clock) {
  return std::make_shared<FileSource>(std::move(files), std::move(clock));
}

}  // namespace fleetadm::kube
