// Byte sizes as people write and read them: the same words as memory= in Python.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::cli {

// "8GiB", "500 MB", "1048576"; nothing where it is no size or zero.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

std::string format_bytes(double bytes);  // "94.3 KiB"
inline std::string format_bytes(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

// An option that takes a size. `target` must outlive the parse.
CLI::Option* add_size_option(CLI::App& app, const std::string& name, std::uint64_t& target,
                             const std::string& description);

}  // namespace penstock::cli
