#include "pack/shard_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/crc32c.h"
#include "base/memory/opening_memory.h"
#include "penstock/interruption.h"

namespace penstock {
namespace {

std::string index_name_of(const std::string& file) { return file + std::string(PortableIndex::kEnding); }

}  // namespace

std::string PackFolder::file_name(const FormatOfPack::FileName& file, std::uint64_t shard) const {
  return fmt::format("{}{}-{:06}{}", file.before, name, shard, file.after);
}

Result<std::unique_ptr<ShardOutput>> ShardOutput::begin(const PackFolder& folder, const FormatOfPack& format,
                                                        const std::string& description, const Place& place) {
  std::unique_ptr<ShardOutput> output(new ShardOutput(folder, format, place));
  const auto names = format.files();
  for (std::size_t i = 0; i < names.size(); ++i) {
    File file;
    file.index.shard = folder.file_name(names[i], place.shard);
    file.index.shard_number = place.shard;
    file.index.first_sample = place.first_sample;
    file.index.description = description;
    auto writer = folder.store->create(folder.path(file.index.shard));
    if (!writer) return std::unexpected(std::move(writer).error());
    file.writer = std::move(*writer);
    PENSTOCK_CHECK(write(file, format.head_of(i, place.samples)));
    output->files_.push_back(std::move(file));
  }
  return output;
}

Status ShardOutput::write(File& file, ConstBytes bytes) {
  if (bytes.empty()) return {};
  file.checksum = crc32c(bytes, file.checksum);
  file.bytes += bytes.size();
  return file.writer->write(bytes);
}

std::uint16_t ShardOutput::number_of_name(PortableIndex& index, const PreparedMember& member) {
  const PortableIndex::MemberName name{member.name, member.field};
  const auto found = std::ranges::find(index.names, name);
  const auto number = static_cast<std::uint16_t>(found - index.names.begin());
  if (found == index.names.end()) index.names.push_back(name);
  return number;
}

Status ShardOutput::add(std::string_view key, const PreparedSample& sample) {
  for (File& file : files_) {
    file.index.first_members.push_back(file.index.members());
    file.index.keys += key;
    file.index.key_ends.push_back(file.index.keys.size());
  }
  const bool is_one_file = files_.size() == 1;
  for (const PreparedMember& member : sample.members) {
    File& file = files_[member.file];
    file.index.offsets.push_back(file.bytes + (is_one_file ? member.offset : 0));
    file.index.lengths.push_back(member.length);
    file.index.checksums.push_back(member.checksum);
    file.index.name_of_member.push_back(number_of_name(file.index, member));
    if (!is_one_file) PENSTOCK_CHECK(write(file, sample.bytes.bytes().subspan(member.offset, member.length)));
  }
  return is_one_file ? write(files_.front(), sample.bytes.bytes()) : Status();
}

Result<PackManifest::Shard> ShardOutput::finish() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    PENSTOCK_CHECK(write(files_[i], format_.tail_of(i)));
    PENSTOCK_CHECK(files_[i].writer->commit());
  }
  PackManifest::Shard shard{place_.first_sample, place_.samples, {}};
  for (File& file : files_) {
    file.index.shard_bytes = file.bytes;
    file.index.shard_checksum = file.checksum;
    const std::vector<std::byte> bytes = file.index.serialise();
    const std::string name = index_name_of(file.index.shard);
    auto writer = folder_.store->create(folder_.path(name));
    if (!writer) return std::unexpected(std::move(writer).error());
    PENSTOCK_CHECK((*writer)->write(bytes));
    PENSTOCK_CHECK((*writer)->commit());
    shard.files.push_back({file.index.shard, file.bytes, file.checksum, name, bytes.size(), crc32c(bytes)});
  }
  return shard;
}

std::uint64_t ShardOutput::bytes() const {
  std::uint64_t sum = 0;
  for (const File& file : files_) sum += file.bytes;
  return sum;
}

Result<std::optional<PackManifest::Shard>> find_finished(const PackFolder& folder, const FormatOfPack& format,
                                                         const std::string& description,
                                                         const ShardOutput::Place& place) {
  PackManifest::Shard shard{place.first_sample, place.samples, {}};
  for (const FormatOfPack::FileName& pattern : format.files()) {
    const std::string file = folder.file_name(pattern, place.shard), name = index_name_of(file);
    const auto bytes = read_all(*folder.store, folder.path(name), PortableIndex::kMaxBytes);
    if (!bytes && bytes.error().code == ErrorCode::kNotFound) return std::nullopt;
    if (!bytes) return std::unexpected(bytes.error());
    const auto index = PortableIndex::parse(*bytes, folder.path(name));
    if (!index) return std::nullopt;  // it is damaged, and is written anew with its shard
    const bool is_ours = index->description == description && index->shard == file && index->shard_number == place.shard &&
                         index->first_sample == place.first_sample && index->samples() == place.samples;
    if (!is_ours)
      return fail(ErrorCode::kInvalidArgument,
                  "the folder holds a data set that was packed from another source or with other options; remove it, or "
                  "pack into another folder",
                  {folder.path(name), -1, -1, -1});
    const auto version = folder.store->stat(folder.path(file));
    if (!version && version.error().code == ErrorCode::kNotFound) return std::nullopt;
    if (!version) return std::unexpected(version.error());
    if (version->size != index->shard_bytes) return std::nullopt;
    shard.files.push_back(
        {file, index->shard_bytes, index->shard_checksum, name, bytes->size(), crc32c(*bytes)});
  }
  return shard;
}

}  // namespace penstock
