// What is fed with random input: the parsers and engines that read what people and other programs write. A target takes any bytes
// and answers what kind of outcome they had; an Error is a broken promise, and a crash is the driver's to notice.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::fuzz {

struct Target {
  std::string name;                     // also of its folder under tests/corpora
  std::size_t longest = 0;              // bytes of an input
  bool json = false;                    // inputs are JSON: worth changing node by node, too
  std::vector<std::string_view> words;  // that its language knows
  /// The outcome without what varies freely (numbers, quoted texts): inputs of the same outcome teach the driver nothing new.
  std::function<Result<std::string>(std::string_view input)> run;
};

const std::vector<Target>& targets();
/// Those of the sandbox, which targets() holds, too (sandbox_targets.cc).
std::vector<Target> sandbox_targets();
/// Those of add-ons (addon_targets.cc), likewise.
std::vector<Target> addon_targets();
/// Those of managed service accounts (account_targets.cc), likewise.
std::vector<Target> account_targets();
/// Those of certificate requests (certificate_targets.cc), likewise.
std::vector<Target> certificate_targets();
/// Those of konnectivity's streams (konnectivity_targets.cc), likewise.
std::vector<Target> konnectivity_targets();
/// Those of what a proxy reads of members and writes for them (proxy_targets.cc), of what it reads of clients and people
/// (gateway_targets.cc), of connections (frames_targets.cc), and of what is spoken after an upgrade (streams_targets.cc),
/// likewise.
std::vector<Target> proxy_targets();
std::vector<Target> gateway_targets();
std::vector<Target> frames_targets();
std::vector<Target> streams_targets();
/// Those of push members and of registration by a bootstrap token (push_targets.cc), likewise.
std::vector<Target> push_targets();

/// The first words of a message, without what it quotes.
std::string shape_of(std::string_view message);

}  // namespace fleetadm::fuzz
