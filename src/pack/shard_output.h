// Writes the files of one shard, and the index of each when the shard is complete.
//
// The samples come one after another. Nothing is visible before finish(): then first the files are committed, and after
// them their indexes, so an index says that its file is complete. A shard that is destroyed before leaves nothing.
// Belongs to one thread; everything that it is made with is borrowed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pack/prepared_sample.h"
#include "pack/formats/format_of_pack.h"
#include "source/packed/pack_manifest.h"
#include "source/packed/portable_index.h"
#include "store/store.h"

namespace penstock {

// A folder of packed files.
struct PackFolder {
  std::shared_ptr<const Store> store;
  std::string key;   // without a slash at its end
  std::string name;  // of the files: "shard"

  std::string file_name(const FormatOfPack::FileName& file, std::uint64_t shard) const;
  std::string path(const std::string& file) const { return key + "/" + file; }
};

class ShardOutput {
 public:
  struct Place {
    std::uint64_t shard = 0, first_sample = 0, samples = 0;
  };
  static Result<std::unique_ptr<ShardOutput>> begin(const PackFolder& folder, const FormatOfPack& format,
                                                    const std::string& description, const Place& place);

  // `key` is that of the source.
  Status add(std::string_view key, const PreparedSample& sample);
  // Returns what the manifest says about the shard.
  Result<PackManifest::Shard> finish();

  std::uint64_t bytes() const;

 private:
  struct File {
    std::unique_ptr<ObjectWriter> writer;
    PortableIndex index;
    std::uint64_t bytes = 0;
    std::uint32_t checksum = 0;
  };

  ShardOutput(const PackFolder& folder, const FormatOfPack& format, const Place& place)
      : folder_(folder),
        format_(format),
        place_(place) {}

  static Status write(File& file, ConstBytes bytes);
  static std::uint16_t number_of_name(PortableIndex& index, const PreparedMember& member);

  const PackFolder& folder_;
  const FormatOfPack& format_;
  const Place place_;
  std::vector<File> files_;
};

// What the manifest says about a shard whose files and indexes are all there and fit this data set; empty if the shard is
// not complete. Fails with kInvalidArgument if they belong to another data set.
Result<std::optional<PackManifest::Shard>> find_finished(const PackFolder& folder, const FormatOfPack& format,
                                                         const std::string& description,
                                                         const ShardOutput::Place& place);

}  // namespace penstock
