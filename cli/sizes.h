// Parses and formats byte sizes, with the same units as memory= in Python.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::cli {

// Parses "8GiB", "500 MB" or "1048576". Returns nothing if the text is not a size, or is zero.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

std::string format_bytes(double bytes);  // "94.3 KiB"
inline std::string format_bytes(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

// Adds an option that takes a size. `target` must outlive the parse.
CLI::Option* add_size_option(CLI::App& app, const std::string& name, std::uint64_t& target,
                             const std::string& description);

}  // namespace penstock::cli
