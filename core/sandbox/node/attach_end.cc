#include "core/sandbox/node/attach_end.h"

#include <algorithm>
#include <sys/inotify.h>
#include <utility>

#include "core/sandbox/node/log_body.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::size_t kMaxEvents = 16 * 1024;  // of inotify, in bytes

class AttachEnd final : public serve::ExecTarget {
 public:
  AttachEnd(std::shared_ptr<LogBody> log, const std::string& file, std::shared_ptr<ContainerInput> input)
      : log_(std::move(log)), changes_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), shared_input_(std::move(input)) {
    if (changes_) inotify_add_watch(changes_.get(), file.c_str(), IN_MODIFY);
    if (shared_input_) input_ = shared_input_->open();
  }
  ~AttachEnd() override {
    if (shared_input_) shared_input_->left();
  }
  AttachEnd(const AttachEnd&) = delete;
  AttachEnd& operator=(const AttachEnd&) = delete;

  void begin(const serve::WatchDescriptor& watch) override {
    if (!watch) return;
    if (changes_) changes_watch_ = watch(changes_.get());
    if (input_) input_watch_ = watch(input_.get());
  }

  std::size_t take_input(std::string_view bytes) override {
    if (!input_ || bytes.empty()) return bytes.size();
    std::size_t taken = 0;
    if (serve::write_some(input_.get(), bytes, taken) == serve::FdResult::kGone) return bytes.size();
    if (taken < bytes.size() && input_watch_) input_watch_->await_writable();
    return taken;
  }

  void end_input() override {
    input_watch_.reset();
    input_.close();
    if (const auto input = std::exchange(shared_input_, nullptr)) input->left();
  }

  void resize(int, int) override {}

  serve::BodyStream::More read(serve::Channel channel, std::string& into, std::size_t most) override {
    if (channel != serve::Channel::kOutput) return serve::BodyStream::More::kEnd;
    // Forgotten before the file is read: what is written after that is told anew.
    std::string events;
    while (changes_ && serve::read_some(changes_.get(), events, kMaxEvents) == serve::FdResult::kSome) events.clear();
    const auto more = log_->read(into, most);
    if (more == serve::BodyStream::More::kLater && changes_watch_) changes_watch_->await_readable();
    return more;
  }

  Json outcome() override { return serve::succeeded_status(); }

 private:
  std::shared_ptr<LogBody> log_;
  OwnedFd changes_;
  OwnedFd input_;
  std::shared_ptr<ContainerInput> shared_input_;
  std::unique_ptr<serve::DescriptorWatch> changes_watch_;
  std::unique_ptr<serve::DescriptorWatch> input_watch_;
};

}  // namespace

Result<std::unique_ptr<serve::ExecTarget>> attach_to(const std::shared_ptr<const ContainerTable>& containers,
                                                     const std::string& pod, const std::string& pod_uid,
                                                     const std::string& container, const ContainerRuns& runs,
                                                     const serve::ChannelsWanted& wanted) {
  LogPart part;
  part.file = runs.current.log;
  part.begin = std::max(runs.current.begin, log_size(runs.current.log));
  part.end_of_followed = end_of_run(containers, pod, pod_uid, container, runs.current);
  FLEETADM_TRY(auto log, LogBody::open(std::move(part)));
  auto input = wanted.input && runs.place ? runs.place->input : nullptr;
  return std::make_unique<AttachEnd>(std::move(log), runs.current.log.string(), std::move(input));
}

}  // namespace fleetadm::sandbox
