#include "kubeclient/transport/wire.h"

namespace fleetadm::kube {
namespace {

constexpr std::size_t kMaxHeaderBytes = std::size_t{256} * 1024;
constexpr std::size_t kFieldOverhead = 64;

}  // namespace

bool AnswerHeaders::add(std::string name, std::string_view value) {
  bytes_ += name.size() + value.size() + kFieldOverhead;
  if (bytes_ > kMaxHeaderBytes) return false;
  auto& slot = fields_[std::move(name)];
  if (!slot.empty()) slot += ", ";
  slot += value;
  return true;
}

void AnswerHeaders::clear() {
  fields_.clear();
  bytes_ = 0;
}

std::map<std::string, std::string> AnswerHeaders::take() {
  bytes_ = 0;
  return std::exchange(fields_, {});
}

}  // namespace fleetadm::kube
