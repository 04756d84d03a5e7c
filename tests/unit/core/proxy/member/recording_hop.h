// A hop that keeps what it is sent, and answers what a test says.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/proxy/hop/hop.h"

namespace fleetadm::proxy {

class RecordingHop final : public Hop {
 public:
  void send(serve::HttpRequest request, Done done) override {
    requests.push_back(std::move(request));
    if (error) return done(fail(*error));
    done(answer);
  }

  std::vector<serve::HttpRequest> requests;
  serve::HttpResponse answer;
  std::optional<Error> error;
};

}  // namespace fleetadm::proxy
