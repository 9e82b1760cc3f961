#include "source/tiff_volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "decode/tiff.h"

namespace penstock {
namespace {

constexpr std::uint64_t kStretchBytes = 256 << 10;  // one read of a disk or a request, no more
constexpr std::uint64_t kMostSegments = std::uint64_t{1} << 25;
constexpr std::uint64_t kMostVolumeBytes = std::uint64_t{1} << 62;
constexpr std::size_t kMostOpeners = 16;

struct File {
  std::string key;
  ObjectVersion version;
  std::uint64_t first_page = 0;
};

struct Contents {
  TiffLayout layout;
  std::vector<File> files;
  std::uint64_t pages = 0;
  std::vector<TiffSegment> segments;  // page after page
};

class TiffVolume final : public ChunkedArray {
 public:
  TiffVolume(std::shared_ptr<const Store> store, std::string uri, Contents contents, TiffDecoder decoder)
      : ChunkedArray(std::move(uri), spec_of(contents), chunk_of(contents.layout)),
        store_(std::move(store)),
        contents_(std::move(contents)),
        decoder_(std::move(decoder)) {}

  Shape chunk_strides(std::uint64_t chunk) const override {
    const TiffLayout& layout = contents_.layout;
    const auto row = static_cast<std::int64_t>(layout.row_bytes());
    const auto element = static_cast<std::int64_t>(size_of(layout.dtype));
    Shape strides = {row * rows_of(chunk), row, element * layout.samples};
    if (layout.samples > 1) strides.push_back(element);
    return strides;
  }
  std::size_t chunk_bytes(std::uint64_t chunk) const override {
    return contents_.layout.row_bytes() * rows_of(chunk);
  }
  bool swap_bytes() const override { return decoder_.swap_bytes(); }
  bool is_plain() const override { return contents_.layout.compression == TiffCompression::kNone; }

  Result<ChunkPlace> place(std::uint64_t chunk) const override {
    const TiffSegment& segment = contents_.segments[chunk];
    const File& file = file_of(chunk);
    // What pads a strip that is not compressed is not read.
    const std::uint64_t bytes = is_plain() ? chunk_bytes(chunk) : segment.bytes;
    return ChunkPlace{{file.key, {segment.offset, bytes}, bytes, file.version}, segment.bytes == 0};
  }

  Status decode(std::uint64_t chunk, ConstBytes encoded, MutableBytes out,
                CodecWorker& worker) const override {
    auto status = decoder_.decode(rows_of(chunk), encoded, out, worker);
    if (!status) return std::unexpected(at_chunk(chunk, std::move(status).error()));
    return {};
  }
  bool decodes_parts() const override { return is_plain(); }
  Status decode_part(std::uint64_t chunk, ConstBytes encoded, std::size_t first_byte, MutableBytes out,
                     CodecWorker&) const override {
    if (!is_plain() || first_byte > encoded.size() || out.size() > encoded.size() - first_byte)
      return std::unexpected(
          at_chunk(chunk, {ErrorCode::kInvalidArgument, "no such part can be decoded alone", {}, false}));
    if (!out.empty()) std::memcpy(out.data(), encoded.data() + first_byte, out.size());
    return {};
  }

  Status fill_missing(std::uint64_t chunk, MutableBytes out) const override {
    if (contents_.segments[chunk].bytes != 0)
      return std::unexpected(at_chunk(chunk, {ErrorCode::kNotFound, "it is gone", {}, false}));
    std::ranges::fill(out, std::byte{0});
    return {};
  }
  const Store& store() const override { return *store_; }

 private:
  static ArraySpec spec_of(const Contents& contents) {
    const TiffLayout& layout = contents.layout;
    Shape shape = {static_cast<std::int64_t>(contents.pages), layout.height, layout.width};
    if (layout.samples > 1) shape.push_back(layout.samples);
    return {layout.dtype, std::move(shape)};
  }
  static Shape chunk_of(const TiffLayout& layout) {
    Shape shape = {1, layout.segment_rows, layout.segment_width};
    if (layout.samples > 1) shape.push_back(layout.samples);
    return shape;
  }

  std::uint32_t rows_of(std::uint64_t chunk) const {
    return contents_.layout.rows_of(chunk % contents_.layout.segments_per_page());
  }
  const File& file_of(std::uint64_t chunk) const {
    const std::uint64_t page = chunk / contents_.layout.segments_per_page();
    return *(std::ranges::upper_bound(contents_.files, page, {}, &File::first_page) - 1);
  }
  Error at_chunk(std::uint64_t chunk, Error error) const {
    const TiffSegment& segment = contents_.segments[chunk];
    error.message = fmt::format("{} {} of the TIFF: {}", contents_.layout.tiled ? "tile" : "strip",
                                describe_chunk(*this, chunk), error.message);
    error.where = {contents_.files.size() == 1 ? uri() : file_of(chunk).key,
                   static_cast<std::int64_t>(segment.offset), static_cast<std::int64_t>(segment.bytes), -1};
    return error;
  }

  std::shared_ptr<const Store> store_;
  Contents contents_;
  TiffDecoder decoder_;
};

struct OpenedFile {
  ObjectVersion version;
  TiffDirectories directories;
};

Result<OpenedFile> open_file(const Store& store, const std::string& key, const std::string& name) {
  auto object = store.open(key);
  if (!object) return std::unexpected(std::move(object).error());
  auto directories = read_tiff_directories(**object, name);
  if (!directories) return std::unexpected(std::move(directories).error());
  return OpenedFile{(*object)->version(), std::move(*directories)};
}

// A file is a few reads one after another: where the store answers late, many files wait together.
std::vector<Result<OpenedFile>> open_files(const Store& store, const std::string& uri,
                                           const std::vector<std::string>& keys) {
  std::vector<Result<OpenedFile>> opened(keys.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    for (std::size_t i = next++; i < keys.size() && !failed; i = next++) {
      opened[i] = open_file(store, keys[i], keys.size() == 1 ? uri : keys[i]);
      if (!opened[i]) failed = true;
    }
  };
  std::vector<std::jthread> helpers;
  const std::size_t openers = std::min({store.reads_ahead(), keys.size(), kMostOpeners});
  for (std::size_t i = 1; i < openers; ++i) helpers.emplace_back(work);
  work();
  helpers.clear();
  return opened;
}

// One after another in the file, and all of them there.
bool strips_stand_together(const Contents& contents) {
  const TiffLayout& layout = contents.layout;
  if (layout.compression != TiffCompression::kNone || layout.tiled) return false;
  const std::uint64_t per_page = layout.segments_per_page();
  for (std::size_t i = 0; i < contents.segments.size(); ++i) {
    const TiffSegment& strip = contents.segments[i];
    if (strip.bytes == 0) return false;
    if (i % per_page == 0) continue;
    const TiffSegment& before = contents.segments[i - 1];
    if (strip.offset != before.offset + layout.row_bytes() * layout.segment_rows) return false;
  }
  return true;
}

// Pages that lie in one piece have no use for their strips.
void cut_anew(Contents& contents) {
  TiffLayout& layout = contents.layout;
  const std::uint64_t per_page = layout.segments_per_page();
  std::vector<std::uint64_t> pages(contents.pages);
  for (std::size_t i = 0; i < pages.size(); ++i) pages[i] = contents.segments[i * per_page].offset;
  layout.segment_rows = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(kStretchBytes / layout.row_bytes(), 1, layout.height));
  const std::uint64_t stretches = layout.segments_per_page();
  contents.segments.clear();
  contents.segments.reserve(pages.size() * stretches);
  for (const std::uint64_t page : pages)
    for (std::uint64_t i = 0; i < stretches; ++i)
      contents.segments.push_back(
          {page + i * layout.segment_rows * layout.row_bytes(), layout.rows_of(i) * layout.row_bytes()});
}

Result<Contents> put_together(std::vector<Result<OpenedFile>> opened, const std::vector<std::string>& keys) {
  for (auto& file : opened)
    if (!file) return std::unexpected(std::move(file).error());
  Contents contents;
  contents.layout = opened.front()->directories.layout;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    TiffDirectories& directories = opened[i]->directories;
    if (directories.layout != contents.layout)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("the pages differ in size, type or layout from those of {}", keys.front()),
                  {keys[i], -1, -1, -1});
    if (contents.segments.size() + directories.segments.size() > kMostSegments)
      return fail(ErrorCode::kTooLarge, fmt::format("more than {} strips or tiles", kMostSegments),
                  {keys[i], -1, -1, -1});
    contents.files.push_back({keys[i], opened[i]->version, contents.pages});
    contents.pages += directories.pages;
    if (i == 0)
      contents.segments = std::move(directories.segments);
    else
      contents.segments.insert(contents.segments.end(), directories.segments.begin(),
                               directories.segments.end());
    directories.segments = {};
  }
  // A page fits this many bytes; so do they all.
  if (contents.layout.page_row_bytes() * contents.layout.height > kMostVolumeBytes / contents.pages)
    return fail(ErrorCode::kTooLarge, "the TIFF pages are too large", {keys.front(), -1, -1, -1});
  if (strips_stand_together(contents)) cut_anew(contents);
  return contents;
}

}  // namespace

Result<ChunkedArrayPtr> open_tiff_volume(std::shared_ptr<const Store> store, const std::string& uri,
                                         std::vector<std::string> keys) {
  if (keys.empty()) return fail(ErrorCode::kNotFound, "no TIFF files", {uri, -1, -1, -1});
  auto contents = put_together(open_files(*store, uri, keys), keys);
  if (!contents) return std::unexpected(std::move(contents).error());
  auto decoder = TiffDecoder::make(contents->layout);
  if (!decoder) {
    Error error = std::move(decoder).error();
    error.where = {uri, -1, -1, -1};
    return std::unexpected(std::move(error));
  }
  return std::make_shared<TiffVolume>(std::move(store), uri, std::move(*contents), std::move(*decoder));
}

}  // namespace penstock
