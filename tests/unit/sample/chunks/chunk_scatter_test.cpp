#include "sample/chunks/chunk_scatter.h"

#include <gtest/gtest.h>

#include "support/chunked_letters.h"

namespace penstock {
namespace {

// The boxes of one sample, and the pieces that chunks give to it.
struct Cut {
  Cut(const ChunkedLetters& letters_, std::uint64_t sample)
      : letters(letters_),
        boxes(letters.boxes_of(sample, memory)) {}

  std::vector<ChunkPiece> pieces(const ChunkId& chunk) const {
    std::vector<ChunkPiece> out;
    cut_boxes_at(letters.source->stored.arrays, boxes.boxes, chunk, out);
    return out;
  }
  std::uint64_t copy(const ChunkId& chunk, std::string_view decoded) {
    return *scatter.copy(boxes, pieces(chunk), bytes_of(decoded), 0);
  }

  const ChunkedLetters& letters;
  std::string memory;
  SampleBoxes boxes;
  ChunkScatter scatter{letters.source->stored.arrays};
};

TEST(ChunkScatter, copies_the_pieces_of_each_chunk_to_their_places) {
  ChunkedLetters letters;
  letters.add_sample(1, 2);
  Cut sample(letters, 0);
  EXPECT_EQ(sample.copy(ChunkedLetters::kTopLeft, "abcghi"), 1u);
  EXPECT_EQ(sample.memory, "i?????");
  EXPECT_EQ(sample.copy(ChunkedLetters::kTopRight, "defjkl"), 2u);
  EXPECT_EQ(sample.memory, "ijk???");
  sample.copy(ChunkedLetters::kBottomLeft, "mnostu");
  sample.copy(ChunkedLetters::kBottomRight, "pqrvwx");
  EXPECT_EQ(sample.memory, "ijkopq");
}

TEST(ChunkScatter, a_sample_that_is_flipped_is_written_from_its_end) {
  ChunkedLetters letters;
  letters.add_sample(0, 0);
  Cut sample(letters, 0);
  sample.boxes.targets[0].memory += 2;
  sample.boxes.targets[0].stride[1] = -1;
  sample.copy(ChunkedLetters::kTopLeft, "abcghi");
  EXPECT_EQ(sample.memory, "cbaihg");
}

TEST(ChunkScatter, a_box_that_is_taken_backwards_is_turned_round) {
  ChunkedLetters letters;
  letters.add_sample(0, 0);
  letters.source->chunked[0][0].to = 2;
  letters.source->chunked[0][0].to_stride[1] = -1;
  Cut sample(letters, 0);
  sample.copy(ChunkedLetters::kTopLeft, "abcghi");
  EXPECT_EQ(sample.memory, "cbaihg");
}

TEST(ChunkScatter, a_part_of_a_chunk_serves_the_piece_that_it_was_read_for) {
  ChunkedLetters letters(ChunkedLetters::Stored::kPlain, 0, {1, 2});
  letters.add_sample(1, 1);
  Cut sample(letters, 0);
  const auto pieces = sample.pieces(ChunkedLetters::kTopLeft);
  ASSERT_EQ(pieces.size(), 1u);
  const auto stretch = sample.scatter.stretch_of(pieces.front());
  EXPECT_EQ(stretch.first_byte, 4u);
  EXPECT_EQ(stretch.bytes, 2u);
  ASSERT_TRUE(sample.scatter.copy(sample.boxes, pieces, bytes_of("hi"), stretch.first_byte));
  EXPECT_EQ(sample.memory, "hi");
}

TEST(ChunkScatter, a_chunk_is_decoded_in_the_slot_only_where_it_lies_there_as_it_is_decoded) {
  ChunkedLetters letters;
  letters.add_sample(0, 0);
  letters.add_sample(0, 1);
  Cut whole(letters, 0), part(letters, 1);
  const auto pieces = whole.pieces(ChunkedLetters::kTopLeft);
  const auto target = whole.scatter.direct_target(whole.boxes, pieces);
  EXPECT_EQ(target.data(), reinterpret_cast<std::byte*>(whole.memory.data()));
  EXPECT_EQ(target.size(), 6u);
  EXPECT_TRUE(part.scatter.direct_target(part.boxes, part.pieces(ChunkedLetters::kTopLeft)).empty());
  whole.boxes.targets[0].dtype = DType::kInt8;
  EXPECT_TRUE(whole.scatter.direct_target(whole.boxes, pieces).empty()) << "it would be converted";
  whole.boxes.targets[0].dtype = DType::kUInt8;
  const float scale = 1, bias = 0;
  whole.boxes.targets[0].affine = {&scale, &bias, -1};
  EXPECT_TRUE(whole.scatter.direct_target(whole.boxes, pieces).empty()) << "it would be normalised";
  whole.boxes.targets[0].affine = {};
  whole.boxes.targets[0].stride = {6, 1};
  EXPECT_TRUE(whole.scatter.direct_target(whole.boxes, pieces).empty()) << "other letters lie between its rows";
}

}  // namespace
}  // namespace penstock
