// How long an answer may be that is taken as a whole.
#pragma once

#include <cstddef>
#include <string_view>

namespace fleetadm::kube {

inline constexpr std::size_t kMaxAnswer = std::size_t{64} * 1024 * 1024;
/// The reason of the error (kInvalid) where it is longer.
inline constexpr std::string_view kAnswerTooLong = "AnswerTooLong";

}  // namespace fleetadm::kube
