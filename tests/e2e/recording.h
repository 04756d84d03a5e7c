// What other programs wrote in the life of a member (tests/data/README.md), beside what ours write for the same steps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/fleet.h"

namespace fleetadm::testkit {

struct RecordedWrite {
  std::string side;  // "member" or "hub"
  std::string step;
  std::string who;
  std::string what;  // "create /api/v1/namespaces"
  int code = 0;
  Json created;  // on a member; null otherwise
};

/// Of some steps on one side in a file of tests/data, leases left out; empty where it cannot be read, which fails the test.
std::vector<RecordedWrite> recorded(std::string_view file, const std::string& side, const std::vector<std::string>& steps);
/// Of Karmada's programs.
std::vector<RecordedWrite> karmada_wrote(const std::string& side, const std::vector<std::string>& steps);
/// The objects that `karmadactl` and the agent made on a member in these steps, without what the control plane sends as works.
std::vector<Json> karmada_made(const std::vector<std::string>& steps);
/// Where a live object of a recorded one is.
std::string path_of_recorded(const Json& object);
/// Of a recorded or a live object: what a reader of Karmada's form goes by. Marks of ours, uids and owners are left out.
Json karmada_form(const Json& object);

/// What was written on a server since a position and is neither of its own controllers or nodes nor of this test: refused writes
/// too, and without what stores nothing (reviews, tokens) and leases.
std::vector<std::string> written_by_programs(const KubeServer& server, std::uintmax_t from);
/// Those of them that were refused.
std::vector<std::string> refused_of(const std::vector<std::string>& writes);
/// Waits until nothing is written any more on any of these servers, which fails the test after half a minute.
void settle(const std::vector<const KubeServer*>& servers);

}  // namespace fleetadm::testkit
