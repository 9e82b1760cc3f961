#include "sample/chunks/chunk_assembler.h"

#include <algorithm>
#include <new>

#include "transform/op.h"

namespace penstock {

ChunkAssembler::ChunkAssembler(const Source& source, ScratchBudget& budget, StageClock& clock,
                               const SampleCache* cache)
    : source_(source),
      scatter_(source.storage().arrays),
      scratch_(budget.chunks != nullptr ? *budget.chunks : budget, this),
      clock_(clock),
      decoder_(source, scratch_, clock, cache),
      decoded_cache_(cache != nullptr && cache->keeps_decoded_chunks() ? cache : nullptr),
      allocate_cached_(cached_value_allocator(scratch_)) {}

void ChunkAssembler::turn_to(const SharedReads& shared) {
  lookahead_ = shared.lookahead;
  decoder_.turn_to(shared);
}

std::span<const ChunkPiece> ChunkAssembler::pieces_of(const Need& need) const {
  return std::span(pieces_).subspan(need.first_piece, need.pieces);
}

void ChunkAssembler::find_needs(const SampleBoxes& boxes) {
  boxes_ = &boxes;
  pieces_.clear();
  needs_.clear();
  chunks_.clear();
  cut_boxes(source_.storage().arrays, boxes.boxes, pieces_);
  sort_by_chunk(pieces_);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (needs_.empty() || needs_.back().chunk != pieces_[i].chunk) {
      needs_.push_back({pieces_[i].chunk, i, 0, false, false});
      chunks_.push_back(pieces_[i].chunk);
    }
    ++needs_.back().pieces;
  }
}

// Handles chunks first that are ready or that no other worker is decoding. Waits for the others when nothing else is
// left to do.
Status ChunkAssembler::fill(std::uint64_t position, const SampleBoxes& boxes) {
  find_needs(boxes);
  std::size_t left = needs_.size();
  while (left > 0) {
    const std::uint64_t seen = lookahead_ ? lookahead_->decoded_chunks().changes() : 0;
    const std::size_t before = left;
    for (Need& need : needs_) {
      if (need.is_done) continue;
      const auto done = try_need(position, need);
      cached_.reset();
      decoder_.end_chunk();
      if (!done) return std::unexpected(done.error());
      need.is_done = *done;
      if (*done) --left;
    }
    if (left == before) lookahead_->decoded_chunks().wait_for_change(seen);
  }
  return {};
}

// Plain chunks, and chunks of codecs with parts (Blosc), can be decoded in part. The encoded bytes of the latter must
// be read as a whole, which is counted like decoding some of them.
ChunkNeed ChunkAssembler::describe(const Need& need) const {
  const ChunkedArray& array = *source_.storage().arrays[need.chunk.array];
  ChunkNeed out;
  out.bytes = array.chunk_bytes(need.chunk.number);
  if (!scatter_.direct_target(*boxes_, pieces_of(need)).empty()) {
    out.is_direct = true;
    out.bytes_alone = out.bytes;
  } else if (need.pieces == 1 && (array.is_plain() || array.decodes_parts())) {
    const std::size_t part = scatter_.stretch_of(pieces_of(need).front()).bytes;
    if (array.is_plain())
      out.bytes_alone = part;
    else if (part <= out.bytes / kPartOfChunk)
      out.bytes_alone = part + out.bytes / kPartOfChunk;
  }
  return out;
}

Result<bool> ChunkAssembler::try_need(std::uint64_t position, Need& need) {
  decoder_.reader().aim_at(*source_.storage().arrays[need.chunk.array]);
  if (decoded_cache_ != nullptr && !need.looked_up) {
    const auto used = try_cached(position, need);
    if (!used || *used || !need.looked_up) return used;
  }
  if (lookahead_ != nullptr) return use_claim(position, need);
  PENSTOCK_CHECK(use_alone(need));
  return true;
}

// need.looked_up stays false if another worker is handing the chunk over at this moment.
Result<bool> ChunkAssembler::try_cached(std::uint64_t position, Need& need) {
  if (lookahead_ != nullptr) {
    const auto kind = lookahead_->decoded_chunks().take(lookahead_->use_at(position), need.chunk);
    if (kind == ChunkClaim::Kind::kBusy) return false;
    if (kind == ChunkClaim::Kind::kThere) return true;
  }
  need.looked_up = true;
  return use_cached(need);
}

Result<bool> ChunkAssembler::use_claim(std::uint64_t position, const Need& need) {
  DecodedChunkCache& decoded_chunks = lookahead_->decoded_chunks();
  const ChunkNeed wanted = describe(need);
  auto claim = decoded_chunks.claim(lookahead_->use_at(position), need.chunk, wanted);
  while (claim && claim->kind == ChunkClaim::Kind::kHandOn) {
    hand_to_others(claim->chunk, claim->bytes);
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
        if (error.where.uri.empty()) error.where = where();
        decoded_chunks.fail(need.chunk, error);
        return std::unexpected(std::move(error));
      }
      const std::uint64_t cost_ns = cost_since(began);
      decoded_chunks.publish(need.chunk, decoder_.reader().version());
      if (!decoder_.was_missing()) add_to_cache(need.chunk, claim->bytes, cost_ns);
      break;
    }
  }
  const Status copied = scatter(need, claim->bytes, 0);
  decoded_chunks.release(need.chunk);
  if (!copied) return std::unexpected(copied.error());
  return true;
}

// Other workers may wait for this chunk, so it must be published or failed even if decoding throws an exception.
Status ChunkAssembler::decode_shared(const ChunkId& chunk, MutableBytes out) {
  try {
    return decoder_.decode(chunk, out);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kNoMemory, "the system has no memory left");
  }
}

Status ChunkAssembler::use_alone(const Need& need) {
  const ChunkedArray& array = *source_.storage().arrays[need.chunk.array];
  if (decoded_cache_ != nullptr) {
    const auto used = decode_into_cache(need);
    if (!used) return std::unexpected(used.error());
    if (*used) return {};
  }
  if (const MutableBytes target = scatter_.direct_target(*boxes_, pieces_of(need)); !target.empty())
    return decoder_.decode(need.chunk, target);
  if (need.pieces == 1 && (array.is_plain() || array.decodes_parts())) {
    const ChunkScatter::Stretch stretch = scatter_.stretch_of(pieces_of(need).front());
    const auto part = decoder_.decode_part(need.chunk, stretch.first_byte, stretch.bytes);
    if (!part) return std::unexpected(part.error());
    return scatter(need, *part, stretch.first_byte);
  }
  const auto memory = scratch_.get(kScratchChunk, array.chunk_bytes(need.chunk.number));
  if (!memory) return std::unexpected(memory.error());
  const MutableBytes chunk = memory->first(array.chunk_bytes(need.chunk.number));
  PENSTOCK_CHECK(decoder_.decode(need.chunk, chunk));
  return scatter(need, chunk, 0);
}

// `chunk` has the bytes of the decoded chunk from `first_byte` on.
Status ChunkAssembler::scatter(const Need& need, ConstBytes chunk, std::size_t first_byte) {
  const auto bytes = scatter_.copy(*boxes_, pieces_of(need), chunk, first_byte);
  if (!bytes) return std::unexpected(bytes.error());
  clock_.mark(Stage::kCollate, *bytes);
  return {};
}

// ---- the cache that lasts between epochs. It holds whole chunks. If it held only the parts that some samples need,
// the chunk would have to be read and decoded for the other samples nevertheless.

Result<bool> ChunkAssembler::use_cached(const Need& need) {
  if (!decoded_cache_->has(need.chunk)) {
    clock_.cache().misses.add(1);
    return false;
  }
  const SampleCache::Subject subject = decoded_cache_->subject(need.chunk);
  ReadAhead* const ahead = lookahead_ != nullptr ? lookahead_->ahead() : nullptr;
  const auto found = decoded_cache_->find(subject, allocate_cached_, clock_.cache(), ahead);
  if (!found) return false;
  const ChunkedArray& array = *source_.storage().arrays[need.chunk.array];
  if (found->bytes.size() != array.chunk_bytes(need.chunk.number)) {
    decoded_cache_->withdraw(subject);
    return false;
  }
  cached_ = found->held;
  clock_.mark(Stage::kRead, found->bytes.size());
  PENSTOCK_CHECK(scatter(need, found->bytes, 0));
  return true;
}

// Decodes the chunk into the memory of its cache entry and copies the elements from there.
Result<bool> ChunkAssembler::decode_into_cache(const Need& need) {
  const SampleCache::Subject subject = decoded_cache_->subject(need.chunk);
  bool is_used = false;
  const auto make = [&](MutableBytes bytes, EntryHead& head) -> Status {
    const Clock::time_point began = Clock::now();
    PENSTOCK_CHECK(decoder_.decode(need.chunk, bytes));
    head.cost_ns = cost_since(began);
    set_version(head, decoder_.reader().version());
    PENSTOCK_CHECK(scatter(need, bytes, 0));
    is_used = true;
    // A chunk that is not stored is not cached, because making it costs as little as finding it.
    return decoder_.was_missing() ? fail(ErrorCode::kNotFound, "missing") : Status{};
  };
  const ChunkedArray& array = *source_.storage().arrays[need.chunk.array];
  const auto added =
      decoded_cache_->add(subject, {}, array.chunk_bytes(need.chunk.number), make, allocate_cached_);
  if (is_used || (!added && added.error().code == ErrorCode::kNoMemory)) return is_used;
  return added;
}

void ChunkAssembler::add_to_cache(const ChunkId& chunk, ConstBytes decoded, std::uint64_t cost_ns) {
  if (decoded_cache_ == nullptr) return;
  const SampleCache::Subject subject = decoded_cache_->subject(chunk);
  const auto copy = [&](MutableBytes bytes, EntryHead& head) -> Status {
    std::ranges::copy(decoded, bytes.begin());
    head.cost_ns = cost_ns;
    return {};
  };
  // The chunk is decoded, whether or not the cache admits it.
  (void)decoded_cache_->add(subject, decoder_.reader().version(), decoded.size(), copy, allocate_cached_);
}

Result<UnitCost> ChunkAssembler::measure_first(std::uint64_t sample, std::span<const std::size_t> fields) {
  for (const ChunkId& chunk : chunks_of(source_, fields, sample)) {
    auto cost = decoder_.measure(chunk);
    if (!cost && cost.error().code == ErrorCode::kNotFound) continue;
    return cost;
  }
  return fail(ErrorCode::kNotFound, "no chunk of the sample is stored");
}

// ---- other samples in the making

void ChunkAssembler::hand_to_others(const ChunkId& chunk, ConstBytes bytes) {
  DecodedChunkCache& decoded_chunks = lookahead_->decoded_chunks();
  for (const SampleUse& use : decoded_chunks.waiting_for(chunk)) {
    OpenSamplePtr open = decoded_chunks.begin_handing(use, chunk);
    if (!open && open_other_) open = decoded_chunks.begin_handing(use, chunk, open_other_(use));
    if (!open) continue;
    other_pieces_.clear();
    cut_boxes_at(source_.storage().arrays, open->boxes.boxes, chunk, other_pieces_);
    const auto copied = scatter_.copy(open->boxes, other_pieces_, bytes, 0);
    if (copied) clock_.mark(Stage::kCollate, *copied);
    decoded_chunks.end_handing(use, chunk, copied.has_value());
  }
}

// Memory for decoding is idle most of the time. While no worker needs it, it is lent to the decoded chunk cache.
void ChunkAssembler::give_back(std::uint64_t bytes) {
  if (lookahead_ == nullptr) return;
  DecodedChunkCache& decoded_chunks = lookahead_->decoded_chunks();
  ChunkClaim claim = decoded_chunks.reduce_loan(bytes);
  while (claim.kind == ChunkClaim::Kind::kHandOn) {
    hand_to_others(claim.chunk, claim.bytes);
    decoded_chunks.evict(claim.chunk);
    claim = decoded_chunks.reduce_loan(0);
  }
}

void ChunkAssembler::borrow() {
  if (lookahead_ != nullptr) lookahead_->decoded_chunks().restore_loan();
}

}  // namespace penstock
