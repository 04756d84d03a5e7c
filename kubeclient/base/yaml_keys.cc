#include "kubeclient/base/yaml_keys.h"

#include <memory>
#include <set>
#include <yaml.h>

namespace fleetadm {
namespace {

constexpr std::size_t kDeepest = 1000;

/// A mapping or sequence that is being read.
struct OpenNode {
  bool mapping = false;
  bool at_key = true;
  std::set<std::string, std::less<>> keys;
};

struct ParserCloser {
  void operator()(yaml_parser_t* parser) const { yaml_parser_delete(parser); }
};

class KeyScan {
 public:
  KeyScan(std::vector<DuplicateKey>& found, std::size_t most) : found_(found), most_(most) {}

  /// False: the search is over.
  bool take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_SCALAR_EVENT: return scalar(event);
      case YAML_ALIAS_EVENT: value_done(); return true;
      case YAML_MAPPING_START_EVENT:
      case YAML_SEQUENCE_START_EVENT:
        open_.push_back({event.type == YAML_MAPPING_START_EVENT, true, {}});
        return open_.size() <= kDeepest;
      case YAML_MAPPING_END_EVENT:
      case YAML_SEQUENCE_END_EVENT:
        if (open_.empty()) return false;
        open_.pop_back();
        value_done();
        return true;
      case YAML_DOCUMENT_END_EVENT:
      case YAML_STREAM_END_EVENT: return false;
      default: return true;
    }
  }

 private:
  bool scalar(const yaml_event_t& event) {
    if (open_.empty() || !open_.back().mapping || !open_.back().at_key) {
      value_done();
      return true;
    }
    std::string key(reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length);
    if (!open_.back().keys.insert(key).second) found_.push_back({std::move(key), static_cast<int>(event.start_mark.line) + 1});
    open_.back().at_key = false;
    return found_.size() < most_;
  }
  /// A node came to its end: of a mapping the next one is a key after a value, and the other way round.
  void value_done() {
    if (!open_.empty() && open_.back().mapping) open_.back().at_key = !open_.back().at_key;
  }

  std::vector<DuplicateKey>& found_;
  std::size_t most_;
  std::vector<OpenNode> open_;
};

}  // namespace

std::vector<DuplicateKey> duplicate_yaml_keys(std::string_view text, std::size_t most) {
  std::vector<DuplicateKey> found;
  yaml_parser_t raw{};
  if (yaml_parser_initialize(&raw) != 1) return found;
  const std::unique_ptr<yaml_parser_t, ParserCloser> parser(&raw);
  yaml_parser_set_input_string(parser.get(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
  KeyScan scan(found, most);
  bool more = true;
  while (more) {
    yaml_event_t event{};
    if (yaml_parser_parse(parser.get(), &event) != 1) break;
    more = scan.take(event);
    yaml_event_delete(&event);
  }
  return found;
}

}  // namespace fleetadm
