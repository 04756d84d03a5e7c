// What is wrong with names, label keys and label values, in the words of Kubernetes' validation (facts of the wire: clients show
// them). Pure; empty where nothing is wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fleetadm {

bool is_label_value(std::string_view text);
bool is_qualified_name(std::string_view text);  // of labels and annotations: [subdomain/]name
bool is_dns_label(std::string_view text);       // RFC 1123, as the next
bool is_dns_subdomain(std::string_view text);

std::vector<std::string> qualified_name_problems(std::string_view key, std::string_view what = "a qualified name");
std::vector<std::string> label_key_problems(std::string_view key);
std::vector<std::string> label_value_problems(std::string_view value);
/// RFC 1123, lower case.
std::vector<std::string> dns_label_problems(std::string_view name);
std::vector<std::string> dns_subdomain_problems(std::string_view name);
/// RFC 1035: a label that begins with a letter.
std::vector<std::string> service_name_problems(std::string_view name);
/// Of names that are a part of a path and nothing else.
std::vector<std::string> path_segment_problems(std::string_view name);

}  // namespace fleetadm
