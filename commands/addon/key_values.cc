#include "commands/addon/key_values.h"

#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

Result<KeyValues> key_values(const std::vector<std::string>& words, const std::string& what) {
  KeyValues out;
  for (const std::string& word : words) {
    const std::size_t equal = word.find('=');
    if (equal == std::string::npos) return fail(Category::kUsage, "\"" + word + "\" is not a " + what, "write KEY=VALUE");
    const std::string key = word.substr(0, equal);
    if (!is_qualified_name(key)) return fail(Category::kUsage, "\"" + key + "\" is not a valid " + what + " key");
    if (!out.emplace(key, word.substr(equal + 1)).second)
      return fail(Category::kUsage, what + " \"" + key + "\" is given twice", "give each " + what + " once");
  }
  return out;
}

}  // namespace

Result<KeyValues> labels_of_words(const std::vector<std::string>& words) {
  FLEETADM_TRY(KeyValues labels, key_values(words, "label"));
  for (const auto& [key, value] : labels) {
    if (!is_label_value(value)) return fail(Category::kUsage, "\"" + value + "\" is not a valid label value");
  }
  return labels;
}

Result<KeyValues> annotations_of_words(const std::vector<std::string>& words) { return key_values(words, "annotation"); }

}  // namespace fleetadm::commands
