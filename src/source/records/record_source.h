// What tar and TFRecord sources have in common: samples in shards, found through a RecordIndex.
#pragma once

#include <functional>

#include "base/memory/opening_memory.h"
#include "penstock/source.h"
#include "source/index/shard_index.h"

namespace penstock {

class RecordSource : public Source {
 public:
  RecordSource(std::shared_ptr<const Store> store, std::string uri, OpenedIndex opened);

  std::uint64_t size() const override { return index_.size(); }
  const std::vector<FieldInfo>& fields() const override { return fields_; }
  std::string uri() const override { return uri_; }
  std::uint64_t fingerprint() const override { return index_.fingerprint(); }
  std::uint64_t stored_bytes() const override { return index_.stored_bytes(); }
  std::uint64_t stored_bytes_of(std::uint64_t sample) const override;
  std::shared_ptr<const StorageUnits> units() const override;
  const std::vector<StreamBlock>& blocks() const override { return blocks_; }
  const std::vector<Stream>& streams() const override { return streams_; }
  bool index_was_saved() const override { return was_kept_; }
  const Store& store() const override { return *store_; }

 protected:
  Extent extent_of(std::uint64_t sample, const RecordIndex::Member& member) const;
  // The bytes of an extent, for looking at a few samples when the source is opened.
  struct ReadBytes {
    OpeningReservation reservation;  // of the bytes
    std::vector<std::byte> bytes;
  };
  Result<ReadBytes> read(const Extent& extent) const;
  // Of several, in their order; where requests take long, some are under way together. `look` gets
  // what it may use during the call.
  void read_each(const std::vector<Extent>& extents,
                 const std::function<void(std::size_t number, Result<ConstBytes>)>& look) const;

  const RecordIndex index_;
  std::vector<FieldInfo> fields_;

 private:
  void cut_into_blocks();

  std::shared_ptr<const Store> store_;
  std::string uri_;
  bool was_kept_ = false;
  bool compressed_ = false;
  std::vector<StreamBlock> blocks_;
  std::vector<std::uint64_t> block_ends_;  // the sample after each block's last
  std::vector<Stream> streams_;
};

}  // namespace penstock
