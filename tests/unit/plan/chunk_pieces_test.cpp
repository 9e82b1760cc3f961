#include "plan/chunk_pieces.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "store/memory_store.h"

namespace penstock {
namespace {

// Only its shape matters here.
class ShapeOnly final : public ChunkedArray {
 public:
  ShapeOnly(Shape shape, Shape chunk)
      : ChunkedArray("shape", {DType::kInt32, std::move(shape)}, std::move(chunk)) {}
  Shape chunk_strides(std::uint64_t) const override { return {}; }
  std::size_t chunk_bytes(std::uint64_t) const override { return 0; }
  bool swap_bytes() const override { return false; }
  Result<ChunkLocation> location(std::uint64_t) const override { return ChunkLocation{}; }
  Status decode(std::uint64_t, ConstBytes, MutableBytes, CodecWorker&) const override { return {}; }
  Status fill_missing(std::uint64_t, MutableBytes) const override { return {}; }
  const Store& store() const override { return store_; }

 private:
  MemoryStore store_;
};

// Every element of every piece: where it comes from and where it goes.
std::map<std::int64_t, Shape> elements_of(const ShapeOnly& array, const std::vector<ChunkPiece>& pieces) {
  std::map<std::int64_t, Shape> found;
  const std::size_t rank = array.grid().size();
  for (const ChunkPiece& piece : pieces) {
    Shape chunk(rank);
    std::uint64_t number = piece.chunk.number;
    for (std::size_t d = rank; d-- > 0;) {
      chunk[d] = static_cast<std::int64_t>(number % static_cast<std::uint64_t>(array.grid()[d]));
      number /= static_cast<std::uint64_t>(array.grid()[d]);
    }
    Shape index(rank, 0);
    while (true) {
      Shape place(rank);
      std::int64_t to = piece.to;
      for (std::size_t d = 0; d < rank; ++d) {
        const std::int64_t inside = piece.from[d] + index[d] * piece.box->step[d];
        EXPECT_LT(inside, array.chunk_shape()[d]);
        place[d] = chunk[d] * array.chunk_shape()[d] + inside;
        to += index[d] * piece.box->to_stride[d];
      }
      EXPECT_TRUE(found.emplace(to, place).second) << "an element is written twice";
      std::size_t d = rank;
      while (d-- > 0) {
        if (++index[d] < piece.count[d]) break;
        index[d] = 0;
      }
      if (d == static_cast<std::size_t>(-1)) break;
    }
  }
  return found;
}

TEST(ChunkPieces, random_boxes_are_covered_once_and_in_place) {
  std::mt19937 random(7);
  const auto below = [&](std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const auto rank = static_cast<std::size_t>(1 + below(3));
    Shape shape, chunk;
    ArrayBox box;
    for (std::size_t d = 0; d < rank; ++d) {
      shape.push_back(1 + below(12));
      chunk.push_back(1 + below(7));
      box.step[d] = 1 + below(4);
      box.origin[d] = below(shape[d]);
      box.count[d] = 1 + below((shape[d] - 1 - box.origin[d]) / box.step[d] + 1);
    }
    std::int64_t stride = 1;
    for (std::size_t d = rank; d-- > 0;) {
      box.to_stride[d] = stride;
      stride *= box.count[d];
    }
    box.to = 5;
    const auto array = std::make_shared<ShapeOnly>(shape, chunk);
    const std::vector<ChunkedArrayPtr> arrays = {array};
    std::vector<ChunkPiece> pieces;
    cut_boxes(arrays, std::span(&box, 1), pieces);
    std::vector<ChunkId> chunks, of_pieces;
    list_chunks(arrays, std::span(&box, 1), chunks);
    for (const ChunkPiece& piece : pieces) of_pieces.push_back(piece.chunk);
    EXPECT_EQ(chunks, of_pieces);
    const auto found = elements_of(*array, pieces);
    ASSERT_EQ(found.size(), static_cast<std::size_t>(stride));
    for (const auto& [to, place] : found) {
      std::int64_t rest = to - box.to;
      for (std::size_t d = 0; d < rank; ++d) {
        EXPECT_EQ(place[d], box.origin[d] + rest / box.to_stride[d] * box.step[d]);
        rest %= box.to_stride[d];
      }
    }
  }
}

TEST(ChunkPieces, those_of_a_chunk_are_brought_together_and_keep_their_order) {
  std::vector<ChunkPiece> pieces(5);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].chunk.number = 4 - i / 2;
    pieces[i].to = static_cast<std::int64_t>(i);
  }
  sort_by_chunk(pieces);
  const auto order = [&] {
    std::vector<std::int64_t> to;
    for (const ChunkPiece& piece : pieces) to.push_back(piece.to);
    return to;
  };
  EXPECT_EQ(order(), (std::vector<std::int64_t>{4, 2, 3, 0, 1}));
  sort_by_chunk(pieces);
  EXPECT_EQ(order(), (std::vector<std::int64_t>{4, 2, 3, 0, 1}));
}

TEST(ChunkPieces, a_box_of_one_chunk_is_one_piece) {
  const std::vector<ChunkedArrayPtr> arrays = {std::make_shared<ShapeOnly>(Shape{10, 4}, Shape{1, 4})};
  ArrayBox box;
  box.origin = {3, 0};
  box.count = {1, 4};
  box.step = {1, 1};
  box.to_stride = {4, 1};
  std::vector<ChunkPiece> pieces;
  cut_boxes(arrays, std::span(&box, 1), pieces);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].chunk, (ChunkId{0, 3}));
}

}  // namespace
}  // namespace penstock
