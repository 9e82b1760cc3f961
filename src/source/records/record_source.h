// The common part of tar and TFRecord sources: samples in shards, which are located through a RecordIndex.
#pragma once

#include <functional>

#include "base/memory/opening_memory.h"
#include "penstock/source.h"
#include "source/extent.h"
#include "source/index/shard_index.h"
#include "source/opened_record.h"
#include "source/source_storage.h"

namespace penstock {

class RecordSource : public Source {
 public:
  // `verify`: whether bytes are compared with the checksums of an index beside the shard.
  RecordSource(std::shared_ptr<const Store> store, std::string uri, OpenedIndex opened, bool verify);

  std::uint64_t size() const override { return index_.size(); }
  const std::vector<FieldInfo>& fields() const override { return fields_; }
  std::string uri() const override { return uri_; }
  std::uint64_t fingerprint() const override { return index_.fingerprint(); }
  const SourceStorage& storage() const override { return storage_; }
  std::uint64_t stored_bytes_of(std::uint64_t sample) const override;

 protected:
  // The extent of member `number` of the sample.
  Extent extent_of(std::uint64_t sample, std::uint64_t number) const;
  // Reads the bytes of an extent, to examine a few samples when the source is opened.
  struct ReadBytes {
    OpeningReservation reservation;  // for the bytes
    std::vector<std::byte> bytes;
  };
  Result<ReadBytes> read(const Extent& extent) const;
  // Reads several extents in their order; from a slow store, several at the same time. `look` may use the bytes
  // only during the call.
  void read_each(const std::vector<Extent>& extents,
                 const std::function<void(std::size_t number, Result<ConstBytes>)>& look) const;

  // By default, samples are shuffled in windows of units, because reading one sample reads more of its unit.
  void share_units() { storage_.shares_units = true; }

  const RecordIndex index_;
  const std::shared_ptr<const PackedShards> packed_;  // nullptr: names and kinds follow from the shards themselves
  std::vector<FieldInfo> fields_;

 private:
  void cut_into_units();

  std::shared_ptr<const Store> store_;
  std::string uri_;
  const bool verify_index_;
  bool compressed_ = false;
  SourceStorage storage_;
  std::vector<std::uint64_t> block_ends_;  // per block, the sample after its last one
};

}  // namespace penstock
