#include "source/volume/tiff_volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

#include "base/checked_math.h"
#include "decode/tiff/tiff.h"
#include "decode/tiff/tiff_axes.h"
#include "penstock/interruption.h"
#include "source/array_box.h"

namespace penstock {
namespace {

constexpr std::uint64_t kStretchBytes = 256 << 10;  // the size of one efficient disk read or request
constexpr std::uint64_t kMaxSegments = std::uint64_t{1} << 25;
constexpr std::uint64_t kMaxVolumeBytes = std::uint64_t{1} << 62;
constexpr std::size_t kMaxOpeners = 16;

struct File {
  std::string key;
  ObjectVersion version;
  std::uint64_t first_page = 0;
};

struct Contents {
  TiffLayout layout;
  std::vector<File> files;
  std::vector<TiffAxis> axes;  // the axes that the pages make up, in C order; at least one
  std::uint64_t pages = 0;
  std::vector<TiffSegment> segments;  // page by page
};

class TiffVolume final : public ChunkedArray {
 public:
  TiffVolume(std::shared_ptr<const Store> store, std::string uri, Contents contents, TiffDecoder decoder)
      : ChunkedArray(std::move(uri), spec_of(contents), chunk_of(contents)),
        store_(std::move(store)),
        contents_(std::move(contents)),
        decoder_(std::move(decoder)) {}

  Shape chunk_strides(std::uint64_t chunk) const override {
    const TiffLayout& layout = contents_.layout;
    const auto row = static_cast<std::int64_t>(layout.row_bytes());
    const auto element = static_cast<std::int64_t>(size_of(layout.dtype));
    // A chunk lies in one page, so it has one entry along each axis of the pages.
    Shape strides(contents_.axes.size(), row * rows_of(chunk));
    strides.push_back(row);
    strides.push_back(element * layout.samples);
    if (layout.samples > 1) strides.push_back(element);
    return strides;
  }
  std::size_t chunk_bytes(std::uint64_t chunk) const override {
    return contents_.layout.row_bytes() * rows_of(chunk);
  }
  bool swap_bytes() const override { return decoder_.swap_bytes(); }
  bool is_plain() const override { return contents_.layout.compression == TiffCompression::kNone; }

  Result<ChunkLocation> location(std::uint64_t chunk) const override {
    const TiffSegment& segment = contents_.segments[chunk];
    const File& file = file_of(chunk);
    // The padding of an uncompressed strip is not read.
    const std::uint64_t bytes = is_plain() ? chunk_bytes(chunk) : segment.bytes;
    return ChunkLocation{{file.key, {segment.offset, bytes}, bytes, file.version}, segment.bytes == 0};
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

  std::string axes() const override {
    std::string letters;
    for (const TiffAxis& axis : contents_.axes) letters += axis.name;
    return letters + (contents_.layout.samples > 1 ? "YXS" : "YX");
  }
  std::string compression() const override {
    switch (contents_.layout.compression) {
      case TiffCompression::kNone: return "uncompressed";
      case TiffCompression::kLzw: return "LZW";
      case TiffCompression::kPackBits: return "PackBits";
      case TiffCompression::kZstd: return "zstd";
      default: return "deflate";
    }
  }

 private:
  static Shape shape_of(const Contents& contents, std::int64_t height, std::int64_t width, bool is_chunk) {
    Shape shape;
    for (const TiffAxis& axis : contents.axes)
      shape.push_back(is_chunk ? 1 : static_cast<std::int64_t>(axis.size));
    shape.push_back(height);
    shape.push_back(width);
    if (contents.layout.samples > 1) shape.push_back(contents.layout.samples);
    return shape;
  }
  static ArraySpec spec_of(const Contents& contents) {
    return {contents.layout.dtype,
            shape_of(contents, contents.layout.height, contents.layout.width, false)};
  }
  static Shape chunk_of(const Contents& contents) {
    return shape_of(contents, contents.layout.segment_rows, contents.layout.segment_width, true);
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
  Result<TiffPageAxes> axes = TiffPageAxes{};
};

Result<OpenedFile> open_file(const Store& store, const std::string& key, const std::string& name) {
  auto object = store.open(key);
  if (!object) return std::unexpected(std::move(object).error());
  auto directories = read_tiff_directories(**object, name);
  if (!directories) return std::unexpected(std::move(directories).error());
  auto axes = read_tiff_axes(*directories, name);
  directories->description = {};
  return OpenedFile{(*object)->version(), std::move(*directories), std::move(axes)};
}

constexpr const char* kAxesHint =
    "say how the pages are to be read, as in axes=\"ZYX\" for one stack or axes={\"Z\": 30, \"C\": 2}";

std::unexpected<Error> bad_axes(ErrorCode code, std::string message, const std::string& uri) {
  return fail(code, std::move(message), {uri, -1, -1, -1});
}

// The axes that the user gave. Missing sizes come from the metadata; a single missing size may also follow from
// the number of pages.
Result<std::vector<TiffAxis>> given_axes(const std::vector<PageAxis>& given, const TiffPageAxes& known,
                                         std::uint64_t pages, const std::string& uri) {
  std::vector<TiffAxis> axes;
  for (const PageAxis& axis : given) axes.push_back({axis.name, static_cast<std::uint64_t>(axis.size)});
  const auto has_no_size = [](const TiffAxis& axis) { return axis.size == 0; };
  if (std::ranges::count_if(axes, has_no_size) > 1)
    for (TiffAxis& axis : axes)
      if (const auto same = std::ranges::find(known.axes, axis.name, &TiffAxis::name);
          axis.size == 0 && same != known.axes.end())
        axis.size = same->size;
  TiffPageAxes wanted{axes, "axes=", "", false};
  if (const auto open = std::ranges::count_if(axes, has_no_size); open > 1) {
    return bad_axes(ErrorCode::kInvalidArgument,
                    fmt::format("axes=: the {} pages do not say how long the axes are; give sizes, as in "
                                "axes={{\"Z\": 30, \"C\": 2}}",
                                pages),
                    uri);
  } else if (open == 1) {
    TiffAxis& unknown = *std::ranges::find_if(wanted.axes, has_no_size);
    unknown.size = 1;
    const std::uint64_t others = wanted.pages();
    unknown.size = others <= pages ? std::max<std::uint64_t>(pages / others, 1) : 1;
  }
  if (wanted.pages() != pages)
    return bad_axes(ErrorCode::kInvalidArgument,
                    fmt::format("axes= says {} = {} pages, the file has {}", wanted.describe(),
                                wanted.pages(), pages),
                    uri);
  return std::move(wanted.axes);
}

// The axes in the metadata of each file, or a single axis of all pages if there is no metadata.
Result<std::vector<TiffAxis>> stored_axes(const std::vector<OpenedFile>& files, std::uint64_t pages,
                                          const std::vector<std::string>& keys) {
  const std::vector<TiffAxis> one_stack = {{'Z', pages}};
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files[i].axes) return std::unexpected(files[i].axes.error());
    const TiffPageAxes& axes = *files[i].axes;
    const std::uint64_t here = files[i].directories.pages;
    if (!axes.problem.empty())
      return bad_axes(ErrorCode::kUnsupported, fmt::format("{}; {}", axes.problem, kAxesHint), keys[i]);
    if (axes.axes.empty() || axes.pages() == here) continue;
    // The files are the planes of one set, one plane per file, in the order of their names.
    if (axes.several_files && axes.axes.size() == 1 && axes.pages() == pages) return one_stack;
    return bad_axes(ErrorCode::kCorrupt,
                    fmt::format("{} says {} = {} pages, the file has {}{}; {}", axes.told_by, axes.describe(),
                                axes.pages(), here,
                                axes.several_files ? " (the others are in other files)" : "", kAxesHint),
                    keys[i]);
  }
  const TiffPageAxes& first = *files.front().axes;
  if (files.size() == 1) return first.axes.empty() ? one_stack : first.axes;
  const bool is_stack = first.axes.empty() || (first.axes.size() == 1 && first.axes.front().name != 'C');
  for (std::size_t i = 1; i < files.size(); ++i) {
    const std::vector<TiffAxis>& other = files[i].axes->axes;
    const bool is_stack_too = other.empty() || (other.size() == 1 && other.front().name != 'C');
    if (is_stack ? !is_stack_too : other != first.axes)
      return bad_axes(ErrorCode::kShapeMismatch,
                      fmt::format("its pages are {}, those of {} are {}; {}",
                                  other.empty() ? "one stack" : files[i].axes->describe(), keys.front(),
                                  first.axes.empty() ? "one stack" : first.describe(), kAxesHint),
                      keys[i]);
  }
  if (is_stack) return one_stack;
  std::vector<TiffAxis> axes = {{'Q', files.size()}};
  axes.insert(axes.end(), first.axes.begin(), first.axes.end());
  return axes;
}

// Opening a file takes a few consecutive reads, so many files are opened concurrently if the store is slow.
std::vector<Result<OpenedFile>> open_plane_files(const Store& store, const std::string& uri,
                                           const std::vector<std::string>& keys) {
  std::vector<Result<OpenedFile>> opened(keys.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto work = [&, interruption = Interruption::current()](bool is_helper) {
    std::optional<Interruption::Scope> scope;
    if (is_helper) scope.emplace(interruption);
    for (std::size_t i = next++; i < keys.size() && !failed; i = next++) {
      if (const Status goes_on = check_interruption(keys[i]); !goes_on) {
        opened[i] = std::unexpected(goes_on.error());
        failed = true;
        return;
      }
      opened[i] = open_file(store, keys[i], keys.size() == 1 ? uri : keys[i]);
      if (!opened[i]) failed = true;
    }
  };
  std::vector<std::jthread> helpers;
  const std::size_t openers = std::min({store.reads_ahead(), keys.size(), kMaxOpeners});
  for (std::size_t i = 1; i < openers; ++i) helpers.emplace_back(work, true);
  work(false);
  helpers.clear();
  return opened;
}

// Whether the segments are contiguous in the file and all present.
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

// Replaces the strips of a contiguous page by stretches of a better size.
void split_contiguous_pages(Contents& contents) {
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

Result<Contents> put_together(std::vector<Result<OpenedFile>> results, const std::vector<std::string>& keys,
                              const std::string& uri, const std::vector<PageAxis>& given) {
  std::vector<OpenedFile> opened;
  for (auto& file : results) {
    if (!file) return std::unexpected(std::move(file).error());
    opened.push_back(std::move(*file));
  }
  Contents contents;
  contents.layout = opened.front().directories.layout;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    TiffDirectories& directories = opened[i].directories;
    if (directories.layout != contents.layout)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("the pages differ in size, type or layout from those of {}", keys.front()),
                  {keys[i], -1, -1, -1});
    if (contents.segments.size() + directories.segments.size() > kMaxSegments)
      return fail(ErrorCode::kTooLarge, fmt::format("more than {} strips or tiles", kMaxSegments),
                  {keys[i], -1, -1, -1});
    contents.files.push_back({keys[i], opened[i].version, contents.pages});
    contents.pages += directories.pages;
    if (i == 0)
      contents.segments = std::move(directories.segments);
    else
      contents.segments.insert(contents.segments.end(), directories.segments.begin(),
                               directories.segments.end());
    directories.segments = {};
  }
  // The size of one page is known to fit, so this product does not overflow.
  if (contents.layout.page_row_bytes() * contents.layout.height > kMaxVolumeBytes / contents.pages)
    return fail(ErrorCode::kTooLarge, "the TIFF pages are too large", {keys.front(), -1, -1, -1});
  const TiffPageAxes& known = opened.front().axes ? *opened.front().axes : TiffPageAxes{};
  auto axes = given.empty() ? stored_axes(opened, contents.pages, keys.size() == 1 ? std::vector{uri} : keys)
                            : given_axes(given, known, contents.pages, uri);
  if (!axes) return std::unexpected(std::move(axes).error());
  contents.axes = std::move(*axes);
  if (contents.axes.size() + 3 > kMaxAxes)
    return bad_axes(ErrorCode::kUnsupported,
                    fmt::format("{} axes of pages; at most {} are read", contents.axes.size(), kMaxAxes - 3),
                    uri);
  if (strips_stand_together(contents)) split_contiguous_pages(contents);
  return contents;
}

}  // namespace

Result<ChunkedArrayPtr> open_tiff_volume(std::shared_ptr<const Store> store, const std::string& uri,
                                         std::vector<std::string> keys, const std::vector<PageAxis>& axes) {
  if (keys.empty()) return fail(ErrorCode::kNotFound, "no TIFF files", {uri, -1, -1, -1});
  auto contents = put_together(open_plane_files(*store, uri, keys), keys, uri, axes);
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
