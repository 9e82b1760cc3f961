#include "source/records/forward_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/crc32c.h"
#include "base/text/lower_case.h"
#include "penstock/interruption.h"

#ifdef PENSTOCK_WITH_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

namespace penstock {
namespace {

// Reads large pieces where the requests are close together and small ones where they are far apart: a walk over
// small members needs few calls, and a walk over large members does not read their data.
class ObjectReader final : public ForwardReader {
 public:
  explicit ObjectReader(Object& object) : object_(object) {}

  Result<ConstBytes> at(std::uint64_t offset, std::size_t size) override {
    if (offset >= end()) return ConstBytes{};
    size = static_cast<std::size_t>(std::min<std::uint64_t>(size, end() - offset));
    if (offset < start_ || offset + size > start_ + filled_) PENSTOCK_CHECK(read(offset, size));
    ++served_;
    return ConstBytes(buffer_).subspan(static_cast<std::size_t>(offset - start_), size);
  }

  std::uint64_t end() const override { return object_.version().size; }

 private:
  // The kernel reads at least a page. Above 1 MiB, the cost of the call is negligible compared with the copy.
  static constexpr std::size_t kLeast = 4096, kMax = 1 << 20;
  // A call costs about as much as copying this many bytes.
  static constexpr std::uint64_t kCallBytes = 8192;

  Status read(std::uint64_t offset, std::size_t size) {
    PENSTOCK_CHECK(check_interruption({}));
    adapt(offset);
    std::size_t retained = 0;  // bytes that are in the buffer already and are not read again
    if (offset >= start_ && offset < start_ + filled_) {
      retained = static_cast<std::size_t>(start_ + filled_ - offset);
      std::memmove(buffer_.data(), buffer_.data() + (filled_ - retained), retained);
    }
    start_ = offset;
    filled_ = retained;
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(std::max(size, read_bytes_), end() - offset));
    if (buffer_.size() < wanted) buffer_.resize(wanted);
    if (wanted > retained)
      PENSTOCK_CHECK(object_.read_at(offset + retained, MutableBytes(buffer_).subspan(retained, wanted - retained)));
    filled_ = std::max(wanted, retained);
    return {};
  }

  void adapt(std::uint64_t offset) {
    if (served_ == 0 || offset < start_) return;
    const std::uint64_t stride = (offset - start_) / served_;  // distance between requests
    if (stride <= kCallBytes) read_bytes_ = std::min(read_bytes_ * 4, kMax);
    if (stride > kCallBytes * 2) read_bytes_ = std::max(read_bytes_ / 4, kLeast);
    served_ = 0;
  }

  Object& object_;
  std::vector<std::byte> buffer_;
  std::uint64_t start_ = 0;  // offset of the buffer in the object
  std::size_t filled_ = 0;
  std::size_t read_bytes_ = 4 * kLeast;
  std::uint64_t served_ = 0;  // requests that the last read has served
};

constexpr std::size_t kPiece = 256 << 10;

// Reads the bytes of a compressed object piece by piece.
class CompressedInput {
 public:
  CompressedInput(Object& object, std::string uri) : object_(object), uri_(std::move(uri)) {}

  // The bytes that are not consumed yet; empty only at the end of the object.
  Result<ConstBytes> pending() {
    if (used_ == piece_.size() && next_ < object_.version().size) {
      PENSTOCK_CHECK(check_interruption(uri_));
      piece_.resize(
          static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, object_.version().size - next_)));
      used_ = piece_.size();
      PENSTOCK_CHECK(object_.read_at(next_, piece_));
      next_ += piece_.size();
      used_ = 0;
    }
    return ConstBytes(piece_).subspan(used_);
  }
  void consume(std::size_t size) { used_ += size; }

  std::unexpected<Error> error(ErrorCode code, std::string message) const {
    const std::uint64_t offset = next_ - (piece_.size() - used_);
    // Nothing behind the damage can be trusted, so the error covers the remainder.
    const std::uint64_t rest = object_.version().size - offset;
    return fail(code, std::move(message),
                {uri_, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(rest), -1});
  }

 private:
  Object& object_;
  std::string uri_;
  std::vector<std::byte> piece_;
  std::size_t used_ = 0;
  std::uint64_t next_ = 0;  // offset of the end of the piece
};

// Keeps a window of the decompressed stream. The window grows only if the stream has filled it.
class DecompressingReader : public ForwardReader {
 public:
  explicit DecompressingReader(std::string uri) : uri_(std::move(uri)) {}

  Result<ConstBytes> at(std::uint64_t offset, std::size_t size) final {
    if (offset < start_) return fail(ErrorCode::kInvalidArgument, "a compressed stream is only read forward");
    while (!ended_ && !failure_ && !holds(offset, size)) {
      PENSTOCK_CHECK(check_interruption(uri_));
      make_space(offset);
      const auto produced = produce(MutableBytes(window_).subspan(filled_));
      if (!produced) {
        failure_ = produced.error();
        break;
      }
      update_checksum(ConstBytes(window_).subspan(filled_, *produced));
      filled_ += *produced;
      if (*produced == 0) finish();
    }
    if (failure_ && !holds(offset, size)) return std::unexpected(*failure_);
    const auto from = static_cast<std::size_t>(std::min<std::uint64_t>(offset - start_, filled_));
    return ConstBytes(window_).subspan(from, std::min(size, filled_ - from));
  }

  std::uint64_t end() const final { return start_ + filled_; }
  std::vector<std::uint32_t> checksums() const final { return sums_; }
  void expect(std::span<const std::uint32_t> sums) final { expected_ = sums; }

 protected:
  // Decompresses the next bytes into `out`, which must not be empty. Returns 0 only at the end, after verifying
  // it.
  virtual Result<std::size_t> produce(MutableBytes out) = 0;

 private:
  bool holds(std::uint64_t offset, std::size_t size) const {
    const std::uint64_t trusted = expected_.empty() ? end() : compared_;
    return offset <= trusted && size <= trusted - offset;
  }

  void make_space(std::uint64_t offset) {
    const auto dropped = static_cast<std::size_t>(std::min<std::uint64_t>(offset - start_, filled_));
    filled_ -= dropped;
    if (dropped > 0) std::memmove(window_.data(), window_.data() + dropped, filled_);
    start_ += dropped;
    if (filled_ == window_.size()) window_.resize(std::max(kPiece, window_.size() * 2));
  }

  void update_checksum(ConstBytes bytes) {
    while (!bytes.empty()) {
      const std::size_t size = std::min(bytes.size(), kChecksummed - summed_);
      sum_ = crc32c(bytes.first(size), sum_);
      summed_ += size;
      bytes = bytes.subspan(size);
      if (summed_ == kChecksummed) compare();
    }
  }

  void compare() {
    if (!expected_.empty() && (sums_.size() >= expected_.size() || expected_[sums_.size()] != sum_) &&
        !failure_)
      failure_ = Error{ErrorCode::kCorrupt,
                       "the compressed shard holds other bytes than when it was indexed",
                       {uri_, static_cast<std::int64_t>(compared_), static_cast<std::int64_t>(summed_), -1},
                       false};
    if (!failure_) compared_ += summed_;
    sums_.push_back(sum_);
    sum_ = 0;
    summed_ = 0;
  }

  void finish() {
    if (summed_ > 0) compare();
    ended_ = !failure_;
    if (ended_ && !expected_.empty() && sums_.size() != expected_.size())
      failure_ = Error{ErrorCode::kTruncated,
                       "the compressed shard ends sooner than when it was indexed",
                       {uri_, static_cast<std::int64_t>(compared_), 0, -1},
                       false};
  }

  std::string uri_;
  std::vector<std::byte> window_;
  std::uint64_t start_ = 0;
  std::size_t filled_ = 0;
  bool ended_ = false;
  std::optional<Error> failure_;
  std::span<const std::uint32_t> expected_;
  std::vector<std::uint32_t> sums_;
  std::uint32_t sum_ = 0;  // checksum of the piece that is not complete yet
  std::size_t summed_ = 0;  // size of that piece so far
  std::uint64_t compared_ = 0;  // total size of the complete pieces
};

class GzipReader final : public DecompressingReader {
 public:
  GzipReader(Object& object, std::string uri)
      : DecompressingReader(uri),
        input_(object, std::move(uri)),
        ready_(inflateInit2(&stream_, kGzipOnly) == Z_OK) {}
  GzipReader(const GzipReader&) = delete;
  ~GzipReader() override {
    if (ready_) inflateEnd(&stream_);
  }

 private:
  static constexpr int kGzipOnly = 15 + 16;  // the largest window; rejects raw and zlib streams
  static constexpr auto kMagic = std::byte{0x1f};

  Result<std::size_t> produce(MutableBytes out) override {
    if (!ready_) return fail(ErrorCode::kNoMemory, "no memory for zlib");
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), 1 << 30));
    const uInt capacity = stream_.avail_out;
    while (stream_.avail_out == capacity) {
      const auto pending = input_.pending();
      if (!pending) return std::unexpected(pending.error());
      if (pending->empty() && between_members_) return 0;
      if (between_members_ && pending->front() != kMagic)
        return input_.error(ErrorCode::kCorrupt, "data after the end of the gzip stream");
      // Consecutive gzip members are one stream, as for gzip itself; pigz and bgzip write such files.
      if (between_members_) inflateReset(&stream_);
      between_members_ = false;
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(pending->data()));
      stream_.avail_in = static_cast<uInt>(pending->size());
      const int code = inflate(&stream_, Z_NO_FLUSH);
      const bool starved = pending->empty() && stream_.avail_out == capacity && code != Z_STREAM_END;
      input_.consume(pending->size() - stream_.avail_in);
      if (code == Z_MEM_ERROR) return input_.error(ErrorCode::kNoMemory, "no memory for zlib");
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return input_.error(ErrorCode::kCorrupt, fmt::format("damaged gzip stream ({})",
                                                             stream_.msg != nullptr ? stream_.msg : "zlib"));
      if (starved) return input_.error(ErrorCode::kTruncated, "the gzip stream is cut short");
      between_members_ = code == Z_STREAM_END;
    }
    return capacity - stream_.avail_out;
  }

  CompressedInput input_;
  z_stream stream_{};
  bool ready_;
  bool between_members_ = false;
};

#ifdef PENSTOCK_WITH_ZSTD
class ZstdReader final : public DecompressingReader {
 public:
  ZstdReader(Object& object, std::string uri)
      : DecompressingReader(uri),
        input_(object, std::move(uri)),
        context_(ZSTD_createDCtx()) {
    if (context_) ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMaxWindowLogOfFrame);
  }

 private:
  // 8 MiB, enough for level 19; limited because many shards are open at once
  static constexpr int kMaxWindowLogOfFrame = 23;

  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  Result<std::size_t> produce(MutableBytes out) override {
    if (!context_) return fail(ErrorCode::kNoMemory, "no memory for zstd");
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (output.pos == 0) {
      const auto pending = input_.pending();
      if (!pending) return std::unexpected(pending.error());
      if (pending->empty() && between_frames_) return 0;
      ZSTD_inBuffer input{pending->data(), pending->size(), 0};
      const std::size_t left = ZSTD_decompressStream(context_.get(), &output, &input);
      input_.consume(input.pos);
      if (ZSTD_isError(left) != 0) return error(left);
      between_frames_ = left == 0;
      if (pending->empty() && output.pos == 0 && !between_frames_)
        return input_.error(ErrorCode::kTruncated, "the zstd stream is cut short");
    }
    return output.pos;
  }

  std::unexpected<Error> error(std::size_t result) const {
    switch (ZSTD_getErrorCode(result)) {
      case ZSTD_error_frameParameter_windowTooLarge:
        return input_.error(
            ErrorCode::kTooLarge,
            fmt::format(
                "the zstd stream wants a window of more than {} MiB; compress it without --long and --ultra",
                (1 << kMaxWindowLogOfFrame) >> 20));
      case ZSTD_error_memory_allocation: return input_.error(ErrorCode::kNoMemory, "no memory for zstd");
      default:
        return input_.error(ErrorCode::kCorrupt,
                            fmt::format("damaged zstd stream ({})", ZSTD_getErrorName(result)));
    }
  }

  CompressedInput input_;
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  bool between_frames_ = false;  // an object without a complete frame is truncated
};
#else
class ZstdReader final : public ForwardReader {
 public:
  ZstdReader(Object&, std::string uri) : uri_(std::move(uri)) {}
  Result<ConstBytes> at(std::uint64_t, std::size_t) override {
    return fail(ErrorCode::kUnsupported, "this build of Penstock does not read zstd", {uri_, -1, -1, -1});
  }
  std::uint64_t end() const override { return 0; }

 private:
  std::string uri_;
};
#endif

}  // namespace

Compression compression_of_name(std::string_view name) {
  const std::string lower = lower_case(name);
  for (const std::string_view ending : {".gz", ".tgz", ".gzip"})
    if (lower.ends_with(ending)) return Compression::kGzip;
  for (const std::string_view ending : {".zst", ".tzst", ".zstd"})
    if (lower.ends_with(ending)) return Compression::kZstd;
  return Compression::kNone;
}

std::uint64_t memory_of_reader(Compression compression) {
  constexpr std::uint64_t kMiB = 1 << 20;
  switch (compression) {
    case Compression::kNone: return 2 * kMiB;
    case Compression::kGzip: return 3 * kMiB;
    case Compression::kZstd: return 12 * kMiB;  // including a window of 8 MiB
  }
  return 12 * kMiB;
}

std::unique_ptr<ForwardReader> make_object_reader(Object& object) {
  return std::make_unique<ObjectReader>(object);
}

std::unique_ptr<ForwardReader> make_gzip_reader(Object& object, std::string uri) {
  return std::make_unique<GzipReader>(object, std::move(uri));
}

std::unique_ptr<ForwardReader> make_zstd_reader(Object& object, std::string uri) {
  return std::make_unique<ZstdReader>(object, std::move(uri));
}

std::unique_ptr<ForwardReader> make_forward_reader(Object& object, std::string uri, Compression compression) {
  switch (compression) {
    case Compression::kGzip: return make_gzip_reader(object, std::move(uri));
    case Compression::kZstd: return make_zstd_reader(object, std::move(uri));
    case Compression::kNone: break;
  }
  return make_object_reader(object);
}

}  // namespace penstock
