#include "source/volume/npy_volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "source/files/npy_file.h"

namespace penstock {
namespace {

constexpr std::int64_t kChunkBytes = 256 << 10;  // the size of one efficient disk read or request

// The axes, ordered from the fastest to the slowest.
std::vector<std::size_t> axes_by_speed(const NpyHeader& header) {
  std::vector<std::size_t> axes(header.array.shape.size());
  for (std::size_t d = 0; d < axes.size(); ++d) axes[d] = header.fortran_order ? d : axes.size() - 1 - d;
  return axes;
}

// A chunk has as many complete fast axes as fit, and as many entries of the next axis as fit.
Shape contiguous_chunk(const NpyHeader& header) {
  Shape chunk(header.array.shape.size(), 1);
  auto bytes = static_cast<std::int64_t>(size_of(header.array.dtype));
  for (const std::size_t axis : axes_by_speed(header)) {
    const std::int64_t fits = std::max<std::int64_t>(1, kChunkBytes / bytes);
    chunk[axis] = std::min(header.array.shape[axis], fits);
    if (chunk[axis] < header.array.shape[axis]) break;
    bytes *= chunk[axis];
  }
  return chunk;
}

class NpyVolume final : public ChunkedArray {
 public:
  NpyVolume(std::shared_ptr<const Store> store, std::string uri, std::string key, ObjectVersion version,
            const NpyHeader& header)
      : ChunkedArray(std::move(uri), header.array, contiguous_chunk(header)),
        store_(std::move(store)),
        key_(std::move(key)),
        version_(version),
        data_offset_(header.data_offset),
        big_endian_(header.big_endian),
        axes_(axes_by_speed(header)),
        file_strides_(dense_strides(header.array.shape)) {}

  Shape chunk_strides(std::uint64_t chunk) const override { return dense_strides(box_of(chunk).size); }
  std::size_t chunk_bytes(std::uint64_t chunk) const override {
    return element_count(box_of(chunk).size) * size_of(spec().dtype);
  }
  bool swap_bytes() const override { return big_endian_; }
  bool is_plain() const override { return true; }

  Result<ChunkLocation> location(std::uint64_t chunk) const override {
    const Box box = box_of(chunk);
    std::uint64_t offset = data_offset_;
    for (std::size_t d = 0; d < box.origin.size(); ++d)
      offset += static_cast<std::uint64_t>(box.origin[d] * file_strides_[d]);
    const std::uint64_t bytes = element_count(box.size) * size_of(spec().dtype);
    return ChunkLocation{{key_, {offset, bytes}, bytes, version_}};
  }

  Status decode(std::uint64_t chunk, ConstBytes encoded, MutableBytes out, CodecWorker&) const override {
    return copy_part(chunk, encoded, 0, chunk_bytes(chunk), out);
  }
  bool decodes_parts() const override { return true; }
  Status decode_part(std::uint64_t chunk, ConstBytes encoded, std::size_t first_byte, MutableBytes out,
                     CodecWorker&) const override {
    return copy_part(chunk, encoded, first_byte, out.size(), out);
  }

  Status fill_missing(std::uint64_t chunk, MutableBytes) const override {
    return fail(ErrorCode::kNotFound, fmt::format("chunk {} is gone", describe_chunk(*this, chunk)),
                {uri(), -1, -1, -1});
  }
  const Store& store() const override { return *store_; }

 private:
  struct Box {
    Shape origin, size;
  };

  // The extents of a chunk, cut at the end of the array.
  Box box_of(std::uint64_t chunk) const {
    Box box{Shape(grid().size()), Shape(grid().size())};
    for (std::size_t d = grid().size(); d-- > 0;) {
      const auto along = static_cast<std::uint64_t>(grid()[d]);
      box.origin[d] = static_cast<std::int64_t>(chunk % along) * chunk_shape()[d];
      box.size[d] = std::min(chunk_shape()[d], spec().shape[d] - box.origin[d]);
      chunk /= along;
    }
    return box;
  }

  Shape dense_strides(const Shape& shape) const {
    Shape strides(shape.size());
    auto bytes = static_cast<std::int64_t>(size_of(spec().dtype));
    for (const std::size_t axis : axes_) {
      strides[axis] = bytes;
      bytes *= shape[axis];
    }
    return strides;
  }

  Status copy_part(std::uint64_t chunk, ConstBytes encoded, std::size_t first, std::size_t count,
                   MutableBytes out) const {
    const std::size_t bytes = chunk_bytes(chunk);
    if (encoded.size() != bytes || out.size() != count || first > bytes || count > bytes - first)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("chunk {} has {} bytes, given were {}", describe_chunk(*this, chunk), bytes,
                              encoded.size()),
                  {uri(), -1, -1, -1});
    if (count > 0) std::memcpy(out.data(), encoded.data() + first, count);
    return {};
  }

  std::shared_ptr<const Store> store_;
  std::string key_;
  ObjectVersion version_;
  std::uint64_t data_offset_;
  bool big_endian_;
  std::vector<std::size_t> axes_;  // from the fastest to the slowest
  Shape file_strides_;
};

}  // namespace

Result<ChunkedArrayPtr> open_npy_volume(std::shared_ptr<const Store> store, const std::string& uri,
                                        const std::string& key) {
  const auto file = open_npy_file(*store, uri, key);
  if (!file) return std::unexpected(file.error());
  const NpyHeader& header = file->header;
  const auto refuse = [&](ErrorCode code, const char* message) {
    return fail(code, message, {uri, 0, static_cast<std::int64_t>(header.data_offset), -1});
  };
  if (header.array.shape.empty()) return refuse(ErrorCode::kShapeMismatch, "a single number has no patches");
  if (header.data_bytes() == 0) return refuse(ErrorCode::kNotFound, "the array has no elements");
  return std::make_shared<NpyVolume>(std::move(store), uri, key, file->version, header);
}

}  // namespace penstock
