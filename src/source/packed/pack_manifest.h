// The manifest of a packed data set, "penstock-pack.json": the last file that packing writes. A folder that has it is
// complete. It lists all files with their sizes and checksums.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/result.h"
#include "source/packed/pack_description.h"

namespace penstock {

struct PackManifest {
  static constexpr std::string_view kName = "penstock-pack.json";

  struct File {
    std::string name;  // relative to the folder of the manifest
    std::uint64_t bytes = 0;
    std::uint32_t checksum = 0;  // CRC32C
    std::string index;
    std::uint64_t index_bytes = 0;
    std::uint32_t index_checksum = 0;
    bool operator==(const File&) const = default;
  };
  // One shard is one file, but for .npy, where each field has a file.
  struct Shard {
    std::uint64_t first_sample = 0, samples = 0;
    std::vector<File> files;
    bool operator==(const Shard&) const = default;
  };

  PackDescription description;
  std::vector<Shard> shards;

  std::string to_text() const;
  // The text is not trusted; it has a checksum, and every name must be one of a file right beside the manifest. Errors
  // name `uri`.
  static Result<PackManifest> parse(std::string_view text, const std::string& uri);
};

}  // namespace penstock
