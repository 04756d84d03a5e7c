// Takes a gzip stream piece by piece.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace fleetadm::kube {

class Gunzip {
 public:
  /// False: no more is wanted.
  using Take = std::function<bool(std::string_view)>;
  enum class State { kGoesOn, kUnwanted, kBroken };

  Gunzip();
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  /// Hands on what `bytes` hold, at most 64 KiB at a time. After anything but kGoesOn it is over.
  State feed(std::string_view bytes, const Take& take);
  /// Whether what came was whole.
  bool ended() const;

 private:
  struct Zlib;
  std::unique_ptr<Zlib> zlib_;
};

}  // namespace fleetadm::kube
