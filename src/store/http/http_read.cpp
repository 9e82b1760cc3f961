#include "store/http/http_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "base/checked_math.h"

namespace penstock {

HttpRequest::HttpRequest(HttpRead& read_, Asked asked_, std::uint64_t position_)
    : read(read_),
      asked(asked_),
      position(position_),
      url(read_.url),
      from_inner(network_of_host(read_.url.host) != Network::kPublic) {}

Where HttpRead::where() const {
  Where where{without_secrets(wanted.key), -1, -1, -1};
  const auto signed_of = [](std::uint64_t value) {
    return static_cast<std::int64_t>(
        std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
  };
  if (kind != Kind::kBytes) return where;
  if (offset || !wanted.range.from_end) where.offset = signed_of(offset.value_or(wanted.range.offset));
  if (length)
    where.length = signed_of(*length);
  else if (wanted.range.length != ByteRange::kToTheEnd)
    where.length = signed_of(wanted.range.length);
  return where;
}

Error HttpRead::error(ErrorCode code, std::string message) const {
  return Error{code, std::move(message), where(), false};
}

Status HttpRead::resolve() {
  if (kind != Kind::kBytes) return {};
  const ByteRange& range = wanted.range;
  version = wanted.version;
  if (version) {
    if (range.from_end) {
      length = std::min(range.length, version->size);
      offset = version->size - *length;
    } else {
      offset = range.offset;
      length = range.length == ByteRange::kToTheEnd ? version->size - std::min(range.offset, version->size)
                                                    : range.length;
    }
    if (*offset > version->size || *length > version->size - *offset)
      return std::unexpected(error(ErrorCode::kTruncated,
                                   fmt::format("object ends at {} bytes, {} bytes from {} on were asked for",
                                               version->size, *length, *offset)));
  } else if (!range.from_end && range.length != ByteRange::kToTheEnd) {
    offset = range.offset;
    length = range.length;
    const auto end = checked_add(*offset, *length);
    if (!end || *end > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return std::unexpected(error(ErrorCode::kTruncated, "no object is that long"));
  }
  if (length && *length > wanted.max_bytes)
    return std::unexpected(error(ErrorCode::kTooLarge,
                                 fmt::format("{} bytes, at most {} expected", *length, wanted.max_bytes)));
  return {};
}

void HttpRead::plan(std::size_t free_slots) {
  requests.clear();
  Asked asked;
  asked.max_bytes = wanted.max_bytes;
  asked.version = version;
  asked.wants_reasons = wants_reasons;
  if (is_exchange()) {
    asked.method = Asked::Method::kExchange;
    requests.push_back(std::make_unique<HttpRequest>(*this, asked, 0));
    requests_left = 1;
    return;
  }
  // A range of no bytes cannot be requested, but a HEAD request tells whether it lies within the object.
  if (kind == Kind::kVersion || (length && *length == 0 && !(version && version->size == 0)) ||
      (wanted.range.from_end && wanted.range.length == 0)) {
    asked.method = Asked::Method::kHead;
    requests.push_back(std::make_unique<HttpRequest>(*this, asked, 0));
  } else if (length && wanted.urgent_requests > 1) {
    add_parts(*offset, 0, *length, wanted.urgent_requests, kLeastUrgentPart);
  } else if (length && *length >= kLarge) {
    add_parts(*offset, 0, *length, free_slots, kLeastPart);
  } else if (version && *length == version->size) {
    requests.push_back(std::make_unique<HttpRequest>(*this, asked, 0));  // the whole object needs no range
  } else if (wanted.range.is_whole() && allocate &&
             (wanted.max_bytes > kLarge ||
              (wanted.urgent_requests > 1 && wanted.likely_bytes > kLeastUrgentPart))) {
    add_pieces();
  } else {
    asked.range = length ? ByteRange{*offset, *length, false} : wanted.range;
    requests.push_back(std::make_unique<HttpRequest>(*this, asked, 0));
  }
  requests_left = requests.size();
}

// The object may be large, and then the rest should not wait for the first bytes. An urgent read requests all bytes
// that probably exist at once.
void HttpRead::add_pieces() {
  const std::uint64_t count = wanted.likely_bytes > 0 ? std::max<std::size_t>(wanted.urgent_requests, 1) : 1;
  piece_bytes_ = count > 1 ? std::max(kLeastUrgentPart, wanted.likely_bytes / count) : kLarge;
  for (std::uint64_t i = 0; i < count && i * piece_bytes_ < wanted.max_bytes; ++i) {
    Asked asked;
    asked.range = {i * piece_bytes_, piece_bytes_, false};
    asked.is_piece = true;
    asked.max_bytes = wanted.max_bytes;
    requests.push_back(std::make_unique<HttpRequest>(*this, asked, i * piece_bytes_));
  }
}

void HttpRead::settle_pieces(std::size_t free_slots) {
  has_open_pieces = false;
  for (const auto& request : requests) {
    if (first_brings_all_ || request->position >= *length) {
      request->is_void = request->position > 0;
      continue;
    }
    // If it must be read again, it is an ordinary part.
    request->asked = {};
    request->asked.range = {request->position, std::min(piece_bytes_, *length - request->position), false};
    request->asked.max_bytes = request->asked.range.length;
    request->asked.version = version;
  }
  const std::size_t before = requests.size();
  if (const std::uint64_t end = before * piece_bytes_; !first_brings_all_ && *length > end)
    add_parts(end, end, *length - end, std::max(free_slots, wanted.urgent_requests),
              is_urgent() ? kLeastUrgentPart : kLeastPart);
  requests_left += requests.size() - before;
}

void HttpRead::add_parts(std::uint64_t from, std::uint64_t position, std::uint64_t size, std::size_t slots,
                         std::uint64_t least) {
  slots = std::max<std::size_t>(slots, 1);
  // All slots are busy for the same number of rounds.
  const std::uint64_t rounds = (size + slots * kMaxPart - 1) / (slots * kMaxPart);
  const std::uint64_t part = std::max(least, (size + rounds * slots - 1) / (rounds * slots));
  for (std::uint64_t begin = 0; begin < size; begin += part) {
    Asked asked;
    asked.range = {from + begin, std::min(part, size - begin), false};
    asked.max_bytes = asked.range.length;
    asked.version = version;
    requests.push_back(std::make_unique<HttpRequest>(*this, asked, position + begin));
  }
}

Status HttpRead::accept(const HttpRequest& request, const Verdict& verdict) {
  if (request.asked.method != Asked::Method::kGet) {
    version = verdict.version;
    if (kind == Kind::kVersion) return {};
    // For a read of no bytes, only the offset must be checked.
    offset = wanted.range.from_end ? version->size : wanted.range.offset;
    length = 0;
    const bool is_to_the_end = wanted.range.length == ByteRange::kToTheEnd || wanted.range.from_end;
    const std::uint64_t end = wanted.range.from_end && wanted.range.length > 0 ? 0 : *offset;
    if (is_to_the_end && wanted.range.length > 0 && version->size > end)
      return std::unexpected(error(ErrorCode::kChanged, "object grew while it was read"));
    if (*offset > version->size)
      return std::unexpected(
          error(ErrorCode::kTruncated,
                fmt::format("object ends at {} bytes, byte {} was asked for", version->size, *offset)));
    first_brings_all_ = true;
    has_open_pieces = requests.size() > 1;
    return allocate_memory(0);
  }
  // All parts of a read must come from one version. (A read of one request may start again with another version.)
  if (requests.size() > 1 && version && *version != verdict.version)
    return std::unexpected(error(ErrorCode::kChanged, "object changed while it was read"));
  if (request.asked.is_piece) {
    // An answer without a length is the whole object, which is valid only for the first piece.
    offset = 0;
    length = verdict.length ? std::optional(verdict.version.size) : std::nullopt;
    first_brings_all_ = request.position == 0 && (!length || *verdict.length == *length);
    has_open_pieces = requests.size() > 1 || !first_brings_all_;
  } else if (requests.size() == 1) {
    offset = verdict.offset;
    length = verdict.length;
  }
  version = verdict.version;
  return allocate_memory(length.value_or(wanted.max_bytes));
}

Status HttpRead::allocate_memory(std::uint64_t size) {
  if (has_memory_ && memory_bytes_ == size) return {};
  has_memory_ = true;
  memory_bytes_ = size;
  if (!allocate) {
    std::uint64_t given = 0;
    for (const MutableBytes part : memory) given += part.size();
    if (given == size) return {};
    return std::unexpected(error(ErrorCode::kCorrupt, "answer has another size than what was asked for"));
  }
  try {
    auto given = allocate(size);
    if (!given) return std::unexpected(std::move(given).error());
    if (given->size() < size)
      return std::unexpected(
          error(ErrorCode::kNoMemory, fmt::format("memory for {} of {} bytes", given->size(), size)));
    memory = {given->first(size)};
    return {};
  } catch (const std::bad_alloc&) {
    return std::unexpected(error(ErrorCode::kNoMemory, fmt::format("no memory for {} bytes", size)));
  }
}

bool HttpRead::write(std::uint64_t position, ConstBytes bytes) {
  for (const MutableBytes part : memory) {
    if (bytes.empty()) break;
    if (position >= part.size()) {
      position -= part.size();
      continue;
    }
    const std::size_t size = std::min<std::size_t>(bytes.size(), part.size() - position);
    std::memcpy(part.data() + position, bytes.data(), size);
    bytes = bytes.subspan(size);
    position = 0;
  }
  return bytes.empty();
}

ObjectBytes HttpRead::result() const {
  ObjectBytes out;
  if (is_exchange()) return out;
  if (kind == Kind::kBytes && memory.size() == 1) out.bytes = memory.front().first(*length);
  out.offset = offset.value_or(0);
  out.version = *version;
  return out;
}

}  // namespace penstock
