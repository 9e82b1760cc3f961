#include "source/records/ahead_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "source/records/started_read.h"

namespace penstock {
namespace {

// An object that is read ahead in pieces, of which several are in flight, while the caller examines earlier ones.
//
// Requesting one header after another from a remote store costs a round trip each. Several connections transfer
// the data between two headers faster than that, so only stretches that take longer than a round trip are skipped.
class AheadObject final : public Object {
 public:
  AheadObject(const Store& store, std::string key, const ObjectVersion& version, std::uint64_t max_bytes,
              std::stop_token stop)
      : Object(version),
        store_(store),
        key_(std::move(key)),
        max_bytes_(std::max(max_bytes, kLeast)),
        stop_(std::move(stop)) {}

  Result<ObjectVersion> version_now() const override { return store_.stat(key_); }

  using Object::read_at;

  Status read_at(std::uint64_t offset, std::span<const MutableBytes> parts) override {
    std::uint64_t wanted = 0;
    for (const MutableBytes part : parts) wanted += part.size();
    if (offset > version().size || wanted > version().size - offset)
      return fail(ErrorCode::kTruncated,
                  fmt::format("object ends at {} bytes, {} bytes from {} on were asked for", version().size,
                              wanted, offset),
                  {key_, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(wanted), -1});
    const bool skips = offset >= read_to_ && offset - read_to_ >= kWorthSkipping;
    if (skips) ahead_bytes_ = kLeast;
    for (MutableBytes part : parts)
      while (!part.empty()) {
        const auto bytes = bytes_at(offset, !skips);
        if (!bytes) return std::unexpected(bytes.error());
        const std::size_t size = std::min(part.size(), bytes->size());
        std::memcpy(part.data(), bytes->data(), size);
        part = part.subspan(size);
        offset += size;
      }
    read_to_ = offset;
    return {};
  }

 private:
  static constexpr std::uint64_t kMiB = 1 << 20;
  // The size of the first piece where a walk begins or skips to, which shows whether the rest is needed.
  static constexpr std::uint64_t kLeast = kMiB / 16;
  // Long enough to use a connection efficiently, and short enough to use several connections.
  static constexpr std::uint64_t kLongPiece = 2 * kMiB;
  static constexpr std::uint64_t kFirst = 8 * kMiB, kWorthSkipping = 4 * kMiB;

  struct Piece {
    Piece(const AheadObject& of, std::uint64_t offset_, std::uint64_t size_)
        : offset(offset_),
          size(size_),
          read(of.store_, {of.key_, {offset, size, false}, size, of.version()}, of.stop_) {}

    std::uint64_t offset, size;
    StartedRead read;
  };

  // The bytes from `offset` to the end of its piece.
  Result<ConstBytes> bytes_at(std::uint64_t offset, bool reads_on) {
    drop_until(offset);
    if (pieces_.empty() || offset < pieces_.front().offset) {
      drop_until(version().size);
      next_ = offset;
    }
    // The caller would have to wait, so reading further ahead would have helped.
    if (reads_on && (pieces_.empty() || !pieces_.front().read.is_ready()))
      ahead_bytes_ = std::min(std::max(kFirst, ahead_bytes_ * 4), max_bytes_);
    start_pieces();
    const auto bytes = pieces_.front().read.wait();
    if (!bytes) return bytes;
    return bytes->subspan(static_cast<std::size_t>(offset - pieces_.front().offset));
  }

  void start_pieces() {
    while (next_ < version().size) {
      const std::uint64_t size = std::min(pieces_.empty() ? kLeast : kLongPiece, version().size - next_);
      if (!pieces_.empty() && held_bytes_ + size > ahead_bytes_) return;
      pieces_.emplace_back(*this, next_, size);
      next_ += size;
      held_bytes_ += size;
    }
  }

  void drop_until(std::uint64_t offset) {
    while (!pieces_.empty() && pieces_.front().offset + pieces_.front().size <= offset) {
      held_bytes_ -= pieces_.front().size;
      pieces_.pop_front();
    }
  }

  const Store& store_;
  const std::string key_;
  const std::uint64_t max_bytes_;
  const std::stop_token stop_;
  std::uint64_t ahead_bytes_ = kLeast;  // how much is currently read ahead
  std::deque<Piece> pieces_;  // consecutive
  std::uint64_t held_bytes_ = 0;  // the sum of the sizes of `pieces_`
  std::uint64_t next_ = 0;  // offset of the next piece
  std::uint64_t read_to_ = 0;
};

}  // namespace

std::unique_ptr<Object> make_ahead_object(const Store& store, const std::string& key,
                                          const ObjectVersion& version, std::uint64_t ahead_bytes,
                                          std::stop_token stop) {
  return std::make_unique<AheadObject>(store, key, version, ahead_bytes, std::move(stop));
}

Result<std::unique_ptr<Object>> open_ahead(const Store& store, const std::string& key,
                                           std::uint64_t ahead_bytes) {
  if (store.traits().has_cheap_random_access) return store.open(key);
  const auto version = store.stat(key);
  if (!version) return std::unexpected(version.error());
  return make_ahead_object(store, key, *version, ahead_bytes, {});
}

}  // namespace penstock
