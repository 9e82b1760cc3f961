#include "pack/zarr/shard_writer.h"

#include <cstring>

#include "base/crc32c.h"

namespace penstock {
namespace {

constexpr std::size_t kIndexEntryBytes = 16;  // offset and length

}  // namespace

ShardWriter::ShardWriter(std::unique_ptr<ObjectWriter> writer, std::uint64_t chunks, std::uint64_t last)
    : last_(last),
      writer_(std::move(writer)),
      index_(chunks * kIndexEntryBytes, std::byte{0xff}) {}  // all ones: there is no such chunk

Status ShardWriter::add(std::uint64_t chunk, ConstBytes encoded) {
  const MutexLock lock(mutex_);
  while (next_ != chunk && !has_failed_) turned_.wait(mutex_);
  if (has_failed_) return {};
  Status written;
  if (!encoded.empty()) {
    const std::uint64_t entry[2] = {bytes_, encoded.size()};
    std::memcpy(index_.data() + chunk * kIndexEntryBytes, entry, sizeof entry);
    written = append(encoded);
  }
  ++next_;
  if (written && next_ == last_) written = finish();
  has_failed_ = !written;
  turned_.notify_all();
  return written;
}

void ShardWriter::give_up() {
  const MutexLock lock(mutex_);
  has_failed_ = true;
  turned_.notify_all();
}

std::uint64_t ShardWriter::bytes() {
  const MutexLock lock(mutex_);
  return bytes_;
}

Status ShardWriter::append(ConstBytes bytes) {
  bytes_ += bytes.size();
  return writer_->write(bytes);
}

Status ShardWriter::finish() {
  const std::uint32_t checksum = crc32c(index_);
  PENSTOCK_CHECK(append(index_));
  PENSTOCK_CHECK(append(as_bytes(&checksum, sizeof checksum)));
  return writer_->commit();
}

}  // namespace penstock
