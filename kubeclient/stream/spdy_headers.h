// The header blocks of SPDY/3: name and value pairs, compressed by one zlib stream a direction with the protocol's dictionary.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::kube {

using SpdyHeaders = std::vector<std::pair<std::string, std::string>>;  // names in lower case

/// The first value of a name; empty where there is none.
std::string spdy_header(const SpdyHeaders& headers, std::string_view name);

inline constexpr std::size_t kMaxSpdyHeaderBytes = 16 * 1024;  // of one block, decompressed

/// Blocks must be read in the order in which they were written, all of them. An error is final.
class SpdyHeaderReader {
 public:
  SpdyHeaderReader();
  ~SpdyHeaderReader();
  SpdyHeaderReader(SpdyHeaderReader&&) noexcept;
  SpdyHeaderReader& operator=(SpdyHeaderReader&&) noexcept;
  Result<SpdyHeaders> read(std::string_view block);

 private:
  struct Zlib;
  std::unique_ptr<Zlib> zlib_;
};

class SpdyHeaderWriter {
 public:
  SpdyHeaderWriter();
  ~SpdyHeaderWriter();
  SpdyHeaderWriter(SpdyHeaderWriter&&) noexcept;
  SpdyHeaderWriter& operator=(SpdyHeaderWriter&&) noexcept;
  std::string write(const SpdyHeaders& headers);

 private:
  struct Zlib;
  std::unique_ptr<Zlib> zlib_;
};

}  // namespace fleetadm::kube
