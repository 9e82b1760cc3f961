#include "sample/chunk_assembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "transform/op.h"

namespace penstock {
namespace {

// The elements that a piece touches: from the first to the last byte, in the order of the chunk.
struct Stretch {
  std::size_t first_byte, bytes;
};

Stretch stretch_of_piece(const ChunkedArray& array, const ChunkPiece& piece) {
  const Shape strides = array.chunk_strides(piece.chunk.number);
  const std::size_t item = size_of(array.spec().dtype);
  std::int64_t first = 0, last = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    first += piece.from[d] * strides[d];
    last += (piece.from[d] + (piece.count[d] - 1) * piece.box->step[d]) * strides[d];
  }
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last - first) + item};
}

}  // namespace

ChunkAssembler::ChunkAssembler(const Source& source, ScratchBudget& budget, StageClock& clock,
                               const SharedReads& shared)
    : source_(source),
      scratch_(budget.chunks != nullptr ? *budget.chunks : budget, this),
      clock_(clock),
      lookahead_(shared.lookahead),
      cache_(shared.cache),
      cached_value_allocator_(cached_value_allocator(scratch_)),
      codecs_(scratch_, kScratchCodec) {}

std::span<const ChunkPiece> ChunkAssembler::pieces_of(const Need& need) const {
  return std::span(pieces_).subspan(need.first_piece, need.pieces);
}

void ChunkAssembler::find_needs(const SampleBoxes& boxes) {
  boxes_ = &boxes;
  pieces_.clear();
  needs_.clear();
  chunks_.clear();
  cut_boxes(source_.storage().arrays, boxes.boxes, pieces_);
  std::ranges::stable_sort(pieces_, {}, &ChunkPiece::chunk);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (needs_.empty() || needs_.back().chunk != pieces_[i].chunk) {
      needs_.push_back({pieces_[i].chunk, i, 0, false, false});
      chunks_.push_back(pieces_[i].chunk);
    }
    ++needs_.back().pieces;
  }
}

// Chunks that are there, or that nobody works on, first; those that another worker decodes when
// there is nothing else left to do.
Status ChunkAssembler::fill(std::uint64_t position, const SampleBoxes& boxes) {
  find_needs(boxes);
  std::size_t left = needs_.size();
  while (left > 0) {
    const std::uint64_t seen = lookahead_ ? lookahead_->decoded_chunks().changes() : 0;
    const std::size_t before = left;
    for (Need& need : needs_) {
      if (need.is_done) continue;
      const auto done = try_need(position, need);
      end_chunk();
      if (!done) return std::unexpected(done.error());
      need.is_done = *done;
      if (*done) --left;
    }
    if (left == before) lookahead_->decoded_chunks().wait_for_change(seen);
  }
  return {};
}

// Another worker may want the memory to decode a chunk that this one waits for.
void ChunkAssembler::end_chunk() {
  held_.reset();
  kept_.reset();
  codecs_.end_sample();
  scratch_.end_sample();
}

// Of plain chunks, and of codecs that have parts (Blosc), the part that the sample touches can be had alone.
// The encoded bytes of the latter have to be read all the same, which counts as decoding some of them.
ChunkNeed ChunkAssembler::describe(const Need& need) const {
  const ChunkedArray& array = *source_.storage().arrays[need.chunk.array];
  ChunkNeed out;
  out.bytes = array.chunk_bytes(need.chunk.number);
  if (!direct_place(need).empty()) {
    out.is_direct = true;
    out.bytes_alone = out.bytes;
  } else if (need.pieces == 1 && (array.is_plain() || array.decodes_parts())) {
    const std::size_t part = stretch_of_piece(array, pieces_of(need).front()).bytes;
    if (array.is_plain())
      out.bytes_alone = part;
    else if (part <= out.bytes / kPartOfChunk)
      out.bytes_alone = part + out.bytes / kPartOfChunk;
  }
  return out;
}

Result<bool> ChunkAssembler::try_need(std::uint64_t position, Need& need) {
  const ChunkedArray& array = *source_.storage().arrays[need.chunk.array];
  where_ = {array.uri(), -1, -1, -1};
  if (cache_ != nullptr && cache_->keeps_decoded_chunks() && !need.looked_up) {
    if (lookahead_ != nullptr) {
      const auto kind = lookahead_->decoded_chunks().take(lookahead_->use_at(position), need.chunk);
      if (kind == ChunkClaim::Kind::kBusy) return false;
      if (kind == ChunkClaim::Kind::kThere) return true;
    }
    need.looked_up = true;
    const auto used = use_kept(need);
    if (!used || *used) return used;
  }
  if (lookahead_ == nullptr) {
    PENSTOCK_CHECK(use_alone(need));
    return true;
  }
  DecodedChunkCache& decoded_chunks = lookahead_->decoded_chunks();
  const ChunkNeed wanted = describe(need);
  auto claim = decoded_chunks.claim(lookahead_->use_at(position), need.chunk, wanted);
  while (claim && claim->kind == ChunkClaim::Kind::kHandOn) {
    hand_on(claim->chunk, claim->bytes);
    decoded_chunks.evict(claim->chunk);
    claim = decoded_chunks.claim(lookahead_->use_at(position), need.chunk, wanted);
  }
  if (!claim) return std::unexpected(std::move(claim).error());
  switch (claim->kind) {
    case ChunkClaim::Kind::kBusy:
    case ChunkClaim::Kind::kHandOn: return false;
    case ChunkClaim::Kind::kThere:
      lookahead_->counters().reused.fetch_add(1, std::memory_order_relaxed);
      return true;
    case ChunkClaim::Kind::kAlone: PENSTOCK_CHECK(use_alone(need)); return true;
    case ChunkClaim::Kind::kReady:
      lookahead_->counters().reused.fetch_add(1, std::memory_order_relaxed);
      break;
    case ChunkClaim::Kind::kDecode: {
      const Clock::time_point began = Clock::now();
      if (auto made = decode_shared(need.chunk, claim->bytes); !made) {
        Error error = std::move(made).error();
        if (error.where.uri.empty()) error.where = where_;
        decoded_chunks.fail(need.chunk, error);
        return std::unexpected(std::move(error));
      }
      const std::uint64_t cost_ns = cost_since(began);
      decoded_chunks.publish(need.chunk, version_);
      if (!is_missing_) keep_copy(need.chunk, claim->bytes, cost_ns);
      break;
    }
  }
  const Status copied = scatter_all(need, claim->bytes, 0);
  decoded_chunks.release(need.chunk);
  if (!copied) return std::unexpected(copied.error());
  return true;
}

Result<ConstBytes> ChunkAssembler::read(const ChunkedArray& array, const ObjectRead& wanted) {
  where_ = {wanted.key, static_cast<std::int64_t>(wanted.range.offset),
            wanted.range.length == ByteRange::kToTheEnd ? -1 : static_cast<std::int64_t>(wanted.range.length),
            -1};
  ReadAhead* ahead = lookahead_ ? lookahead_->ahead() : nullptr;
  if (ahead != nullptr)
    if (auto taken = ahead->take(wanted)) {
      if (!*taken) return std::unexpected(std::move(*taken).error());
      held_ = std::move((*taken)->memory);
      where_.length = static_cast<std::int64_t>((*taken)->bytes.size());
      version_ = (*taken)->version;
      clock_.mark(Stage::kRead, (*taken)->bytes.size());
      return (*taken)->bytes;
    }
  const Store::Room room = [&](std::size_t bytes) -> Result<MutableBytes> {
    const auto memory = scratch_.get(kScratchEncoded, std::max<std::size_t>(bytes, 1));
    if (!memory) return std::unexpected(memory.error());
    return memory->first(bytes);
  };
  const auto got =
      ahead != nullptr ? ahead->read(array.store(), wanted, room) : array.store().read(wanted, room);
  if (!got) return std::unexpected(got.error());
  where_.length = static_cast<std::int64_t>(got->bytes.size());
  version_ = got->version;
  clock_.mark(Stage::kRead, got->bytes.size());
  return ConstBytes(got->bytes);
}

// Others may wait for this chunk: whatever happens, it comes to an end.
Status ChunkAssembler::decode_shared(const ChunkId& chunk, MutableBytes out) {
  try {
    return decode_into(chunk, out);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kNoMemory, "the system has no memory left");
  }
}

Result<ChunkPlace> ChunkAssembler::place_of(const ChunkId& chunk) const {
  const ChunkedArray& array = *source_.storage().arrays[chunk.array];
  if (lookahead_ != nullptr && lookahead_->ahead() != nullptr)
    PENSTOCK_CHECK(lookahead_->ahead()->bring_indexes(array, chunk.number));
  return array.place(chunk.number);
}

// An index that does not fit its shard any more is read again by the next who needs it.
std::unexpected<Error> ChunkAssembler::not_read(const ChunkId& chunk, Error error) const {
  if (error.code == ErrorCode::kChanged) source_.storage().arrays[chunk.array]->forget_index(chunk.number);
  return std::unexpected(std::move(error));
}

std::unexpected<Error> ChunkAssembler::not_decoded(const ChunkId& chunk, Error error) const {
  const ChunkedArray& array = *source_.storage().arrays[chunk.array];
  if (error.where.uri.empty()) {
    const std::int64_t inside = std::max<std::int64_t>(error.where.offset, 0);
    error.where = where_;
    error.where.offset += inside;
    if (error.where.length >= inside) error.where.length -= inside;
  }
  // Remembered for other samples, which do not know what was read.
  if (error.where.length < 0 && error.where.uri == where_.uri && error.where.offset == where_.offset)
    error.where.length = where_.length;
  if (!error.message.starts_with("chunk "))
    error.message = fmt::format("chunk {}: {}", describe_chunk(array, chunk.number), error.message);
  return std::unexpected(std::move(error));
}

// The whole chunk, wherever it comes from.
Status ChunkAssembler::decode_into(const ChunkId& chunk, MutableBytes out) {
  const ChunkedArray& array = *source_.storage().arrays[chunk.array];
  const auto place = place_of(chunk);
  if (!place) return std::unexpected(place.error());
  bool is_missing = place->is_missing;
  if (!is_missing) {
    const auto encoded = find_or_read(chunk, place->read);
    if (!encoded && encoded.error().code != ErrorCode::kNotFound) return not_read(chunk, encoded.error());
    is_missing = !encoded;
    if (encoded)
      if (auto decoded = array.decode(chunk.number, *encoded, out, codecs_); !decoded)
        return not_decoded(chunk, std::move(decoded).error());
  }
  is_missing_ = is_missing;
  if (is_missing) PENSTOCK_CHECK(array.fill_missing(chunk.number, out));
  clock_.mark(Stage::kDecode, out.size());
  count_decoded(chunk, out.size());
  return {};
}

void ChunkAssembler::count_decoded(const ChunkId& chunk, std::size_t bytes) {
  if (lookahead_ == nullptr) return;
  ChunkCounters& counters = lookahead_->counters();
  if (is_missing_) {
    counters.missing.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  counters.decoded.fetch_add(1, std::memory_order_relaxed);
  counters.decoded_bytes.fetch_add(bytes, std::memory_order_relaxed);
  lookahead_->distinct().add(chunk, source_.storage().arrays[chunk.array]->chunk_bytes(chunk.number));
}

Status ChunkAssembler::use_alone(const Need& need) {
  const ChunkedArray& array = *source_.storage().arrays[need.chunk.array];
  if (cache_ != nullptr && cache_->keeps_decoded_chunks()) {
    const auto used = keep_and_use(need);
    if (!used) return std::unexpected(used.error());
    if (*used) return {};
  }
  if (const MutableBytes place = direct_place(need); !place.empty()) return decode_into(need.chunk, place);
  if (need.pieces == 1 && (array.is_plain() || array.decodes_parts())) {
    const auto place = place_of(need.chunk);
    if (!place) return std::unexpected(place.error());
    if (!place->is_missing) return use_part(need, *place);
  }
  const auto memory = scratch_.get(kScratchChunk, array.chunk_bytes(need.chunk.number));
  if (!memory) return std::unexpected(memory.error());
  const MutableBytes chunk = memory->first(array.chunk_bytes(need.chunk.number));
  PENSTOCK_CHECK(decode_into(need.chunk, chunk));
  return scatter_all(need, chunk, 0);
}

// Only the elements that the piece touches are read, or at least decoded.
Status ChunkAssembler::use_part(const Need& need, const ChunkPlace& place) {
  const ChunkedArray& array = *source_.storage().arrays[need.chunk.array];
  const Stretch stretch = stretch_of_piece(array, pieces_of(need).front());
  const auto memory = scratch_.get(kScratchChunk, stretch.bytes);
  if (!memory) return std::unexpected(memory.error());
  MutableBytes part = memory->first(stretch.bytes);
  bool is_missing = false;
  if (array.is_plain() && (lookahead_ == nullptr || lookahead_->ahead() == nullptr)) {
    ObjectRead read = place.read;
    read.range.offset += stretch.first_byte;
    read.range.length = read.max_bytes = stretch.bytes;
    where_ = {read.key, static_cast<std::int64_t>(read.range.offset),
              static_cast<std::int64_t>(stretch.bytes), -1};
    const auto got = array.store().read(
        read, [&](std::size_t bytes) -> Result<MutableBytes> { return part.first(bytes); });
    if (!got && got.error().code != ErrorCode::kNotFound) return not_read(need.chunk, got.error());
    is_missing = !got;
    clock_.mark(Stage::kRead, stretch.bytes);
  } else {
    const auto encoded = find_or_read(need.chunk, place.read);
    if (!encoded && encoded.error().code != ErrorCode::kNotFound)
      return not_read(need.chunk, encoded.error());
    is_missing = !encoded;
    if (encoded)
      if (auto decoded = array.decode_part(need.chunk.number, *encoded, stretch.first_byte, part, codecs_);
          !decoded)
        return not_decoded(need.chunk, std::move(decoded).error());
  }
  if (is_missing) {
    const auto whole = scratch_.get(kScratchChunk, array.chunk_bytes(need.chunk.number));
    if (!whole) return std::unexpected(whole.error());
    const MutableBytes chunk = whole->first(array.chunk_bytes(need.chunk.number));
    PENSTOCK_CHECK(array.fill_missing(need.chunk.number, chunk));
    part = chunk.subspan(stretch.first_byte, stretch.bytes);
  }
  clock_.mark(Stage::kDecode, stretch.bytes);
  is_missing_ = is_missing;
  count_decoded(need.chunk, stretch.bytes);
  return scatter_all(need, part, stretch.first_byte);
}

// `chunk` begins at byte `first_byte` of the decoded chunk.
Status ChunkAssembler::scatter_all(const Need& need, ConstBytes chunk, std::size_t first_byte) {
  return scatter_pieces(*boxes_, pieces_of(need), chunk, first_byte);
}

Status ChunkAssembler::scatter_pieces(const SampleBoxes& boxes, std::span<const ChunkPiece> pieces,
                                      ConstBytes chunk, std::size_t first_byte) {
  std::uint64_t bytes = 0;
  for (const ChunkPiece& piece : pieces) {
    std::size_t from = 0;
    ScatterCopy copy = copy_of(piece, boxes.target_of(piece), from);
    copy.from = chunk.data() + (from - first_byte);
    PENSTOCK_CHECK(scatter(copy));
    std::uint64_t elements = 1;
    for (int d = 0; d < copy.rank; ++d)
      elements *= static_cast<std::uint64_t>(copy.count[static_cast<std::size_t>(d)]);
    bytes += elements * size_of(copy.to_type);
  }
  clock_.mark(Stage::kCollate, bytes);
  return {};
}

ScatterCopy ChunkAssembler::copy_of(const ChunkPiece& piece, const ChunkTarget& target,
                                    std::size_t& from_byte) const {
  const ChunkedArray& array = *source_.storage().arrays[piece.chunk.array];
  const Shape strides = array.chunk_strides(piece.chunk.number);
  ScatterCopy copy;
  copy.rank = static_cast<int>(strides.size());
  copy.count = piece.count;
  copy.from_type = array.spec().dtype;
  copy.swap_bytes = array.swap_bytes();
  copy.to_type = target.dtype;
  copy.coding = piece.box->coding;
  // The element's place in the sample, axis by axis.
  ArrayBox::Axes packed{};  // strides of the sample, in elements
  std::int64_t elements = 1;
  for (auto a = static_cast<std::size_t>(target.rank); a-- > 0;) {
    packed[a] = elements;
    elements *= target.extent[a];
  }
  copy.to = target.memory;
  copy.affine = target.affine;
  copy.affine.axis = -1;
  // A box that is taken backwards is written forwards, from its end, so that Normalize sees the axis as it is.
  std::int64_t rest = piece.to;
  for (std::size_t d = 0; d < strides.size(); ++d)
    if (piece.box->to_stride[d] < 0) rest += (piece.count[d] - 1) * piece.box->to_stride[d];
  for (std::size_t a = 0; a < static_cast<std::size_t>(target.rank); ++a) {
    const std::int64_t index = rest / packed[a];
    rest %= packed[a];
    copy.to += index * target.stride[a];
    if (target.affine.scale != nullptr && target.affine.axis == static_cast<int>(a)) {
      copy.affine.scale += index;
      copy.affine.bias += index;
    }
  }
  std::int64_t from = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    from += piece.from[d] * strides[d];
    copy.from_stride[d] = piece.box->step[d] * strides[d];
    if (piece.count[d] == 1) continue;
    if (piece.box->to_stride[d] < 0) {
      from += (piece.count[d] - 1) * copy.from_stride[d];
      copy.from_stride[d] = -copy.from_stride[d];
    }
    // An axis of the box is an axis of the sample: the one of the same stride that is not trivial.
    for (std::size_t a = 0; a < static_cast<std::size_t>(target.rank); ++a)
      if (packed[a] == std::abs(piece.box->to_stride[d]) && target.extent[a] > 1) {
        copy.to_stride[d] = target.stride[a];
        if (target.affine.scale != nullptr && target.affine.axis == static_cast<int>(a))
          copy.affine.axis = static_cast<int>(d);
      }
  }
  from_byte = static_cast<std::size_t>(from);
  return copy;
}

MutableBytes ChunkAssembler::direct_place(const Need& need) const {
  if (need.pieces != 1) return {};
  const ChunkPiece& piece = pieces_of(need).front();
  const ChunkTarget& target = boxes_->target_of(piece);
  const ChunkedArray& array = *source_.storage().arrays[piece.chunk.array];
  if (array.swap_bytes() || array.spec().dtype != target.dtype || piece.box->coding != nullptr ||
      target.affine.scale != nullptr)
    return {};
  const std::size_t bytes = array.chunk_bytes(need.chunk.number);
  std::size_t from = 0;
  const ScatterCopy copy = copy_of(piece, target, from);
  std::size_t covered = size_of(target.dtype);
  for (int d = 0; d < copy.rank; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    covered *= static_cast<std::size_t>(copy.count[axis]);
    if (copy.count[axis] > 1 && copy.from_stride[axis] != copy.to_stride[axis]) return {};
  }
  if (covered != bytes) return {};
  return {copy.to, bytes};
}

}  // namespace penstock
