// Checks of option values. Their messages say what is expected, and they keep --help readable, whereas
// CLI11's own checks print their range into the name of the option.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::cli {

CLI::Validator whole_number(std::uint64_t from, std::uint64_t to);
CLI::Validator seconds_up_to(double most);
CLI::Validator one_of(std::vector<std::string> names);

}  // namespace penstock::cli
