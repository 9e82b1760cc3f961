#include "source/files/npy_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/random.h"
#include "source/array_layout.h"
#include "source/extent.h"
#include "source/files/npy_file.h"
#include "source/packed/packed_arrays.h"
#include "source/packed/read_portable_index.h"
#include "source/source_storage.h"

namespace penstock {
namespace {

constexpr std::uint64_t kUnitBytes = 1 << 20;  // neighbouring samples of this size are read together

class NpySource final : public Source {
 public:
  NpySource(std::shared_ptr<const Store> store, std::string uri, std::string path, ObjectVersion version,
            const NpyHeader& header, std::optional<PortableIndex> index)
      : store_(std::move(store)),
        uri_(std::move(uri)),
        path_(std::move(path)),
        version_(version),
        offset_(header.data_offset),
        size_(static_cast<std::uint64_t>(header.array.shape.front())),
        packed_(std::move(index)) {
    layout_.spec = {header.array.dtype, {header.array.shape.begin() + 1, header.array.shape.end()}};
    layout_.swap_bytes = header.big_endian;
    sample_bytes_ = layout_.spec.bytes();
    storage_.stores = {store_};
    storage_.stored_bytes = version_.size;
    storage_.unit_samples = std::max<std::uint64_t>(1, kUnitBytes / std::max<std::uint64_t>(sample_bytes_, 1));
  }

  std::uint64_t size() const override { return size_; }
  const std::vector<FieldInfo>& fields() const override { return fields_; }
  std::string kind() const override { return "npy array"; }
  std::string uri() const override { return uri_; }
  std::string key(std::uint64_t sample) const override {
    return packed_ ? std::string(packed_->key(sample)) : std::to_string(sample);
  }
  std::uint64_t stored_bytes_of(std::uint64_t) const override { return sample_bytes_; }
  Result<Extent> extent(std::uint64_t sample, std::size_t) const override {
    return Extent{path_, offset_ + sample * sample_bytes_, sample_bytes_, version_.modified_ns, version_.size,
                  true,  -1,                                store_.get(),
                  packed_ ? std::optional(packed_->checksums[sample]) : std::nullopt};
  }
  const ArrayLayout* array_layout(std::size_t) const override { return &layout_; }
  std::uint64_t fingerprint() const override {
    std::uint64_t hash = mix64(version_.size);
    for (const std::int64_t extent : layout_.spec.shape)
      hash = mix64(hash ^ static_cast<std::uint64_t>(extent));
    return mix64(hash ^ static_cast<std::uint64_t>(layout_.spec.dtype));
  }
  const SourceStorage& storage() const override { return storage_; }

 private:
  std::shared_ptr<const Store> store_;
  std::string uri_, path_;
  ObjectVersion version_;
  std::uint64_t offset_, size_, sample_bytes_ = 0;
  std::optional<PortableIndex> packed_;  // the index beside the file
  ArrayLayout layout_;
  SourceStorage storage_;
  std::vector<FieldInfo> fields_ = {{"array", FieldKind::kArray, FieldForm::kElements}};
};

}  // namespace

Result<SourcePtr> make_npy_source(std::shared_ptr<const Store> store, const std::string& uri,
                                  const std::string& path) {
  const auto file = open_npy_file(*store, uri, path);
  if (!file) return std::unexpected(file.error());
  const NpyHeader& header = file->header;
  const auto refuse = [&](ErrorCode code, const char* message) {
    return fail(code, message, {uri, 0, static_cast<std::int64_t>(header.data_offset), -1});
  };
  if (header.array.shape.empty())
    return refuse(ErrorCode::kShapeMismatch, "a single number; samples are entries of the first axis");
  if (header.fortran_order)
    return refuse(ErrorCode::kUnsupported,
                  "Fortran order scatters each sample over the file; save it with "
                  "numpy.ascontiguousarray");
  if (header.array.shape.front() == 0) return refuse(ErrorCode::kNotFound, "the array has no samples");
  auto index = read_portable_index(*store, path, file->version);
  if (!index) return std::unexpected(std::move(index).error());
  if (*index) PENSTOCK_CHECK(check_rows(**index, header, portable_index_of(path)));
  return std::make_shared<NpySource>(std::move(store), uri, path, file->version, header, std::move(*index));
}

}  // namespace penstock
