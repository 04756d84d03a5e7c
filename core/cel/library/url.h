// URLs as Go's net/url reads and writes them, which is what Kubernetes' CEL library shows of them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::cel {

class Url {
 public:
  /// An absolute URL or a path from the root, as in a request line (url.ParseRequestURI), its fragment then split off. kInvalid
  /// with the reason as Go words it.
  static Result<Url> parse_request(std::string_view text);
  /// Whether parse_request() would accept it; else the error.
  static Status check_request(std::string_view text);

  const std::string& scheme() const { return scheme_; }
  const std::string& host() const { return host_; }  // with the port
  std::string hostname() const;
  std::string port() const;
  std::string escaped_path() const;
  std::map<std::string, std::vector<std::string>> query() const;
  std::string to_string() const;

 private:
  static Result<Url> parse(std::string_view text, bool request);
  Status read_authority(std::string_view authority);
  Status read_path(std::string_view path);

  std::string scheme_;
  std::string opaque_;
  std::string user_;  // escaped, as to_string() writes it
  bool has_user_ = false;
  std::string host_;
  std::string path_;
  std::string raw_path_;
  std::string query_;
  bool ends_in_question_mark_ = false;
  bool no_authority_ = false;
  std::string fragment_;
  std::string raw_fragment_;
};

}  // namespace fleetadm::cel
