// Checks of option values whose messages say what is wanted, and that leave --help readable
// (CLI11's own print their range into the option's name).
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
