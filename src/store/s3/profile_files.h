// The files in which the tools of AWS keep settings and keys: ~/.aws/config and ~/.aws/credentials.
// Pure functions but for the files and the environment (AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE); thread-safe.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace penstock {

using Profile = std::map<std::string, std::string>;

// The settings of a profile from both files; those of the credentials file count more. Empty: there is none.
Profile read_profile(const std::string& name);

// The settings of one section. Lines that belong to a nested setting, and lines that make no sense, are left out.
Profile parse_profile(std::string_view text, std::string_view section);

// AWS_PROFILE or "default".
std::string usual_profile();

}  // namespace penstock
