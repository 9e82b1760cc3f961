// Turns the values of a sample into the bytes of a format: one class per format.
//
// Framing runs on many threads at once; the threads that write shards only join what it made. A framer belongs to one
// thread. It is made by FormatOfPack and borrows it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pack/prepared_sample.h"
#include "source/packed/pack_description.h"

namespace penstock {

class SampleFramer {
 public:
  virtual ~SampleFramer() = default;

  // `name` is that of the sample in the files, where the format has names; `key` is that of the source.
  virtual Status begin(std::string_view name, std::string_view key, PreparedSample& out) = 0;
  virtual Status add(const PackedValue& value, PreparedSample& out) = 0;
  virtual Status end(PreparedSample& out) = 0;
};

// What the run must know about a format. Immutable and thread-safe.
class FormatOfPack {
 public:
  virtual ~FormatOfPack() = default;

  // The files of a shard, without the number: {"", ".tar"} for "shard-000000.tar".
  struct FileName {
    std::string before, after;
  };
  virtual std::vector<FileName> files() const = 0;
  // Extra bytes of a file before the first and after the last sample; depends on the number of samples alone.
  virtual std::vector<std::byte> head_of(std::size_t file, std::uint64_t samples) const = 0;
  virtual std::vector<std::byte> tail_of(std::size_t file) const = 0;
  // A rough number of bytes that a sample takes in addition to its stored bytes. It decides the division into shards.
  virtual std::uint64_t overhead_bytes() const = 0;
  // Whether all samples of a shard need names that are different.
  virtual bool names_samples() const = 0;
  virtual std::unique_ptr<SampleFramer> make_framer() const = 0;
};

// `description` is complete, stored_as included, and is borrowed.
std::unique_ptr<FormatOfPack> make_tar_format(const PackDescription& description);
std::unique_ptr<FormatOfPack> make_tfrecord_format(const PackDescription& description);
std::unique_ptr<FormatOfPack> make_npy_format(const PackDescription& description);

// Appends the value as a file: an array gets the header of .npy, an integer is written in decimal.
Status append_as_file(const PackedValue& value, FieldKind kind, PackBuffer& out);

}  // namespace penstock
