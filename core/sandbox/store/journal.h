// What keeps a cluster's objects over restarts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::sandbox {

struct JournalRow {
  std::string resource;
  std::string ns;
  std::string name;
  std::int64_t revision = 0;
  std::string body;
  bool removed = false;
};

class Journal {
 public:
  virtual ~Journal() = default;
  /// Every object, and the last revision that was given out.
  virtual Result<std::int64_t> load(const std::function<void(JournalRow)>& each) = 0;
  /// All rows or none; committed when it answers.
  virtual Status commit(const std::vector<JournalRow>& rows) = 0;
};

/// One SQLite file (WAL), made where it is missing (mode 0600). kConflict where another process holds it.
Result<std::unique_ptr<Journal>> open_sqlite_journal(const std::string& file);

}  // namespace fleetadm::sandbox
