#include <algorithm>
#include <vector>
#include <yaml.h>

#include "kubeclient/base/utf8.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/base/yaml_scalars.h"

namespace fleetadm {
namespace {

int append(void* data, unsigned char* buffer, std::size_t size) {
  static_cast<std::string*>(data)->append(reinterpret_cast<const char*>(buffer), size);
  return 1;
}

class Emitter {
 public:
  Emitter() {
    good_ = yaml_emitter_initialize(&emitter_) == 1;
    if (!good_) return;
    yaml_emitter_set_output(&emitter_, append, &out_);
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_width(&emitter_, 80);
  }
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;
  ~Emitter() {
    if (good_) yaml_emitter_delete(&emitter_);
  }

  std::string write(const Json& value) {
    yaml_event_t event;
    if (!good_) return {};
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    emit(event);
    yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1);
    emit(event);
    write_node(value);
    yaml_document_end_event_initialize(&event, 1);
    emit(event);
    yaml_stream_end_event_initialize(&event);
    emit(event);
    yaml_emitter_flush(&emitter_);
    // libyaml closes a document that ends in an open block scalar; kubectl does not.
    if (out_.ends_with("\n...\n")) out_.resize(out_.size() - 4);
    return std::move(out_);
  }

 private:
  // After one failed event the emitter takes none; its output so far stays.
  void emit(yaml_event_t& event) { yaml_emitter_emit(&emitter_, &event); }

  void write_scalar(std::string_view text, yaml_scalar_style_t style) {
    yaml_event_t event;
    const auto* data = reinterpret_cast<const yaml_char_t*>(text.data());
    if (yaml_scalar_event_initialize(&event, nullptr, nullptr, data, static_cast<int>(text.size()), 1, 1, style) == 1)
      emit(event);
  }

  void write_string(const std::string& text) {
    yaml_scalar_style_t style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    if (text.find("\xE2\x80\xA8") != std::string::npos || text.find("\xE2\x80\xA9") != std::string::npos) {
      // Unicode's own line separators: libyaml would fold the text at them and not read it back as it was.
    } else if (text.find('\n') != std::string::npos) {
      style = YAML_LITERAL_SCALAR_STYLE;
    } else if (yaml::plain_is_string(text)) {
      style = YAML_PLAIN_SCALAR_STYLE;
    }
    write_scalar(text, style);
  }

  void write_node(const Json& value) {
    yaml_event_t event;
    switch (value.type()) {
      case Json::value_t::object: {
        yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_MAPPING_STYLE);
        emit(event);
        std::vector<Json::const_iterator> members;
        for (auto it = value.begin(); it != value.end(); ++it) members.push_back(it);
        std::sort(members.begin(), members.end(),
                  [](const auto& left, const auto& right) { return yaml::key_less(left.key(), right.key()); });
        for (const auto& member : members) {
          write_string(valid_utf8(member.key()));
          write_node(*member);
        }
        yaml_mapping_end_event_initialize(&event);
        emit(event);
        break;
      }
      case Json::value_t::array:
        yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_SEQUENCE_STYLE);
        emit(event);
        for (const Json& item : value) write_node(item);
        yaml_sequence_end_event_initialize(&event);
        emit(event);
        break;
      case Json::value_t::string: write_string(valid_utf8(value.get_ref<const std::string&>())); break;
      case Json::value_t::number_float: write_scalar(yaml::format_float(value.get<double>()), YAML_PLAIN_SCALAR_STYLE); break;
      default: write_scalar(dump_json(value), YAML_PLAIN_SCALAR_STYLE);
    }
  }

  yaml_emitter_t emitter_{};
  bool good_ = false;
  std::string out_;
};

}  // namespace

std::string dump_yaml(const Json& value) { return Emitter().write(value); }

}  // namespace fleetadm
