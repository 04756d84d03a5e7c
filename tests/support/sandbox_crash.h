// A sandbox's process killed under load, again and again: what was acknowledged has to be there, and a watch that goes on where
// it stopped has to see every change, or be told (410) that it cannot.
#pragma once

#include <string>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::testkit {

struct CrashOutcome {
  int rounds = 0;
  int acknowledged = 0;              // writes
  int events = 0;                    // that the watch saw
  int told_gone = 0;                 // times that the watch was answered 410 and listed again
  std::vector<std::string> lost;     // acknowledged writes that were not there after a restart
  std::vector<std::string> skipped;  // changes that the watch passed over, or events of what never was
};

/// `rounds` times: writers and a watch, SIGKILL after a random time of at most `longest_ms`, start again, compare.
Result<CrashOutcome> crash_sandbox(const std::string& binary, int rounds, int longest_ms);

}  // namespace fleetadm::testkit
