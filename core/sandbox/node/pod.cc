#include "core/sandbox/node/pod.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include "kubeclient/base/log.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::sandbox {
namespace fs = std::filesystem;

namespace {

constexpr auto kConfigRetry = std::chrono::seconds(2);

// Names of the Secrets (ConfigMaps) that the pod's volumes show.
std::set<std::string> volume_sources(const Json& pod, std::string_view member, std::string_view name_member) {
  std::set<std::string> names;
  auto add = [&](const Json& source) {
    const Json* body = find(source, {member});
    if (body == nullptr) return;
    names.insert(str(*body, {"name"}, str(*body, {name_member})));
  };
  for (const Json& volume : list_at(pod, {"spec", "volumes"})) {
    add(volume);
    for (const Json& source : list_at(volume, {"projected", "sources"})) add(source);
  }
  return names;
}

/// A pipe for a container that reads its stdin; what it reads from is the answer.
OwnedFd give_input(const Json& container, ContainerPlace& place) {
  std::array<int, 2> ends{-1, -1};
  if (!flag(container, {"stdin"}) || pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  OwnedFd writing(ends[1]);
  serve::set_nonblocking(writing.get());
  place.input = std::make_shared<ContainerInput>(std::move(writing), flag(container, {"stdinOnce"}));
  return OwnedFd(ends[0]);
}

int known_restarts(const Json& pod, std::string_view member, const std::string& name, bool& ran_before) {
  for (const Json& status : list_at(pod, {"status", member})) {
    if (str(status, {"name"}) != name) continue;
    ran_before = !str(status, {"containerID"}).empty();
    return static_cast<int>(num(status, {"restartCount"}));
  }
  return 0;
}

}  // namespace

Pod::Pod(const PodHost& host, const Json& pod)
    : host_(host),
      key_(kube::object_key(pod)),
      uid_(uid_of(pod)),
      folder_(host.state_folder / uid_of(pod)),
      secrets_(volume_sources(pod, "secret", "secretName")),
      config_maps_(volume_sources(pod, "configMap", "name")) {
  const auto started = parse_time(str(pod, {"status", "startTime"}));
  if (started) started_ = *started;
  auto add = [&](std::vector<Container>& to, std::string_view member, std::string_view statuses, bool init) {
    for (const Json& spec : list_at(pod, {"spec", member})) {
      Container container;
      container.spec = spec;
      container.init = init;
      container.view.name = str(spec, {"name"});
      container.view.image = str(spec, {"image"});
      container.ours = image_base(container.view.image) == "fleetadm";
      container.back_off.emplace(host.first_back_off, host.most_back_off);
      container.view.restarts = known_restarts(pod, statuses, container.view.name, container.ran_before);
      if (!init && !list_at(pod, {"spec", "initContainers"}).empty()) container.view.reason = "PodInitializing";
      has_ours_ = has_ours_ || container.ours;
      to.push_back(std::move(container));
    }
  };
  add(init_, "initContainers", "initContainerStatuses", true);
  add(containers_, "containers", "containerStatuses", false);
}

Pod::~Pod() {
  init_.clear();
  containers_.clear();
  if (host_.containers) host_.containers->ended(key_, uid_);  // finished pods keep their logs
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

template <class Each>
void Pod::each_container(const Each& each) {
  for (Container& container : init_) each(container);
  for (Container& container : containers_) each(container);
}

Pod::Step Pod::sync(const Json& pod, Instant now) {
  if (started_ == Instant{}) started_ = now;
  files_error_.reset();
  if (has_ours_) {
    std::error_code ignored;
    fs::create_directories(folder_, ignored);
    if (Status written = refresh_files(pod, now); !written) files_error_ = written.error();
  }
  for (Container& container : init_) {
    advance(container, pod, now);
    const ContainerView& view = container.view;
    if (view.phase != Phase::kEnded || !view.last || view.last->code != 0) return step(pod, now);
  }
  for (Container& container : containers_) advance(container, pod, now);
  return step(pod, now);
}

void Pod::advance(Container& container, const Json& pod, Instant now) {
  if (!can_be_pulled(container.view.image)) {
    container.view.reason = "ErrImagePull";
    container.view.message = "failed to pull image \"" + container.view.image + "\": no such host";
    return;
  }
  if (!container.ours) {
    pretend(container, pod, now);
    return;
  }
  if (container.child) {
    if (const auto how = container.child->wait(Duration::zero())) {
      ended(container, pod, *how, now);
    } else {
      run_probes(container, now);
      if (container.kill_at && now >= *container.kill_at) container.child->signal(SIGKILL);
    }
  }
  if (container.hosted) run_probes(container, now);
  if (!container.runs() && !container.view.final && now >= container.next_start) start(container, pod, now);
}

void Pod::pretend(Container& container, const Json& pod, Instant now) {
  ContainerView& view = container.view;
  view.started = started_;
  const auto sleep = sleep_of(container.spec);
  const Termination good{.code = 0, .signal = 0, .started = started_, .finished = started_ + sleep.value_or(Duration::zero())};
  const Termination bad{.code = 1, .signal = 0, .started = started_, .finished = started_};
  const Outcome outcome = outcome_of(pod);
  if (outcome == Outcome::kNever) return;
  container.wakes.reset();
  if (container.init || outcome == Outcome::kSucceed) {
    if (now < good.finished) {
      container.wakes = good.finished;
      view.phase = Phase::kRunning;
      view.ready = true;
      return;
    }
    view.ready = false;
    view.phase = Phase::kEnded;
    view.last = good;
    view.final = true;
  } else if (outcome == Outcome::kFail) {
    const bool again = str(pod, {"spec", "restartPolicy"}, "Always") == "Always";
    view.phase = again ? Phase::kWaiting : Phase::kEnded;
    view.reason = "CrashLoopBackOff";
    view.restarts = again ? 1 : 0;
    view.last = bad;
    view.final = !again;
  } else {
    view.phase = Phase::kRunning;
    view.ready = outcome == Outcome::kRun;
  }
}

void Pod::start(Container& container, const Json& pod, Instant now) {
  ContainerView& view = container.view;
  auto hold = [&](std::string reason, const Error& error) {
    view.phase = Phase::kWaiting;
    view.ready = false;
    view.reason = std::move(reason);
    view.message = error.message;
    container.next_start = now + kConfigRetry;
    log::warn("node", key_ + "/" + view.name + ": " + error.message);
  };
  if (files_error_) return hold("ContainerCreating", *files_error_);
  auto spec = command_of(container, pod);
  if (!spec) return hold("CreateContainerConfigError", spec.error());
  if (const Status runs = run(container, pod, *spec); !runs) return hold("RunContainerError", runs.error());
  container.kill_at.reset();
  if (container.ran_before) ++view.restarts;
  container.ran_before = true;
  view.phase = Phase::kRunning;
  view.message.clear();
  view.started = now;
  container.startup = Probe(find(container.spec, {"startupProbe"}));
  container.readiness = Probe(find(container.spec, {"readinessProbe"}));
  container.liveness = Probe(find(container.spec, {"livenessProbe"}));
  const std::string where = container.hosted ? "in this process" : "as process " + std::to_string(container.child->pid());
  log::info(1, "node", "started " + key_ + "/" + view.name + " " + where);
  if (container.child) host_.watch(container.child->pidfd(), key_);
  run_probes(container, now);
}

// Where the node hosts such a program, in this process; else as a process.
Status Pod::run(Container& container, const Json& pod, ChildSpec& spec) {
  const std::uint64_t written = log_size(spec.output_file);
  auto place = std::make_shared<ContainerPlace>();
  if (host_.host) {
    FLEETADM_TRY(container.hosted, host_.host(spec));
  }
  if (!container.hosted) {
    const OwnedFd input = give_input(container.spec, *place);
    spec.descriptors[0] = input.get();
    auto child = Child::start(spec);
    if (!child) return fail(child.error());
    container.child = std::move(*child);
    place->process = container.child->pid();
  }
  if (host_.containers) {
    describe_place(*place, container, pod, spec);
    host_.containers->started(key_, uid_, container.view.name, spec.output_file, written, std::move(place));
  }
  return {};
}

void Pod::describe_place(ContainerPlace& place, const Container& container, const Json& pod, const ChildSpec& spec) const {
  place.executable = spec.program;
  place.environment = spec.environment;
  place.folder = spec.folder;
  place.mounts = spec.mounts;
  place.folders = folders_of(pod, container.spec);
  place.ports = container.ports;
}

void Pod::ended(Container& container, const Json& pod, const ExitStatus& how, Instant now) {
  ContainerView& view = container.view;
  container.child.reset();
  container.hosted.reset();
  if (host_.containers) host_.containers->ended(key_, uid_, view.name);
  container.kill_at.reset();
  view.ready = false;
  view.last = Termination{.code = how.code, .signal = how.signal, .started = view.started, .finished = now};
  log::info(1, "node", key_ + "/" + view.name + " ended with code " + std::to_string(how.code));
  std::string policy = str(pod, {"spec", "restartPolicy"}, "Always");
  if (container.init && policy == "Always") policy = "OnFailure";
  if (kill_at_ || !restarts(policy, how.code)) {
    view.phase = Phase::kEnded;
    view.final = true;
    return;
  }
  const Duration wait = container.back_off->next(now - view.started);
  container.next_start = now + wait;
  view.phase = Phase::kWaiting;
  view.reason = "CrashLoopBackOff";
  view.message = "back-off " + format_duration(wait) + " restarting failed container";
}

void Pod::run_probes(Container& container, Instant now) {
  // A program of this process answers as long as the process does.
  auto attempt = [&](const Json& probe) { return container.hosted || probe_once(probe, container.spec, container.ports); };
  container.startup.run(container.view.started, now, attempt);
  if (container.startup.passed()) {
    container.readiness.run(container.view.started, now, attempt);
    container.liveness.run(container.view.started, now, attempt);
  }
  container.view.ready = container.startup.passed() && container.readiness.passed();
  if ((container.startup.failed() || container.liveness.failed()) && !container.kill_at && container.child) {
    log::warn("node", key_ + "/" + container.view.name + ": a probe failed, it will be restarted");
    container.child->terminate();
    container.kill_at = now + std::chrono::seconds(10);
  }
}

Pod::Step Pod::shut_down(const Json& pod, Instant now) {
  if (!kill_at_) {
    kill_at_ = now + std::chrono::seconds(num(pod, {"metadata", "deletionGracePeriodSeconds"}, 30));
    terminate();
  }
  bool running = false;
  each_container([&](Container& container) {
    if (container.child) {
      if (now >= *kill_at_) container.child->signal(SIGKILL);
      // SIGKILL ends a process soon, not at once.
      const Duration patience = now >= *kill_at_ ? Duration(std::chrono::seconds(2)) : Duration::zero();
      if (const auto how = container.child->wait(patience)) ended(container, pod, *how, now);
    }
    if (container.hosted) ended(container, pod, ExitStatus{}, now);
    running = running || container.child.has_value();
  });
  if (!running) {
    each_container([&](Container& container) {
      ContainerView& view = container.view;
      view.ready = false;
      view.final = true;
      if (view.phase == Phase::kEnded) return;
      if (!view.last || view.phase == Phase::kRunning) {
        view.last = Termination{.code = 0, .signal = 0, .started = started_, .finished = now};
      }
      view.phase = Phase::kEnded;
    });
  }
  Step result = step(pod, now);
  result.over = !running;
  if (running) result.again = std::min(*kill_at_, result.again.value_or(*kill_at_));
  return result;
}

Pod::Step Pod::step(const Json& pod, Instant now) const {
  std::vector<ContainerView> init;
  std::vector<ContainerView> containers;
  Step result;
  auto sooner = [&](std::optional<Instant> at) {
    if (at && (!result.again || *at < *result.again)) result.again = at;
  };
  auto look = [&](const Container& container, std::vector<ContainerView>& views) {
    views.push_back(container.view);
    sooner(container.wakes);
    if (!container.ours || container.view.final) return;
    if (!container.runs()) return sooner(std::max(container.next_start, now + std::chrono::milliseconds(1)));
    sooner(container.kill_at);
    sooner(container.startup.next());
    if (container.startup.passed()) {
      sooner(container.readiness.next());
      sooner(container.liveness.next());
    }
  };
  for (const Container& container : init_) look(container, init);
  const bool initialized = std::all_of(init.begin(), init.end(), [](const ContainerView& view) {
    return view.phase == Phase::kEnded && view.last && view.last->code == 0;
  });
  for (const Container& container : containers_) {
    if (initialized) {
      look(container, containers);
    } else {
      containers.push_back(container.view);
    }
  }
  for (const auto& [what, token] : tokens_) sooner(token.renew_at);
  if (files_error_) sooner(now + kConfigRetry);
  result.status = pod_status(pod, init, containers, host_.node, started_, now);
  return result;
}

void Pod::terminate() {
  each_container([](Container& container) {
    if (container.child) container.child->terminate();
    if (container.hosted) container.hosted->terminate();
  });
}

void Pod::wait_ended(std::chrono::steady_clock::time_point deadline) {
  each_container([&](Container& container) {
    if (container.child) container.child->wait(deadline - std::chrono::steady_clock::now());
    container.hosted.reset();
  });
}

}  // namespace fleetadm::sandbox
