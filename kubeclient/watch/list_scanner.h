// Takes a list object apart while it arrives: each element of the top-level "items" is handed over as its own JSON text, the
// rest is kept as the envelope. So a list of any length costs the memory of one item, and no long parse holds the I/O thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::kube {

class ListScanner {
 public:
  using OnItem = std::function<Status(std::string_view text)>;
  explicit ListScanner(OnItem on_item) : on_item_(std::move(on_item)) {}

  /// kInvalid for what cannot be a list, and whatever `on_item` fails with. After an error the scanner is spent.
  Status feed(std::string_view chunk);
  /// The envelope, `items` empty. kInvalid when the text ended early, or without "items".
  Result<Json> finish();

 private:
  Status take(char c);

  OnItem on_item_;
  std::string envelope_;
  std::string item_;
  std::string word_;  // the last string of depth 1: the current member's name
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool expect_value_ = false;  // depth 1, behind a colon
  bool in_items_ = false;
};

}  // namespace fleetadm::kube
