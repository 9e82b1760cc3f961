#include "source/records/tfrecord_scan.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "store/memory_store.h"
#include "support/golden_record.h"
#include "support/make_tfrecord.h"

namespace penstock {
namespace {

struct Frame {
  std::uint64_t offset = 0, length = 0;
  bool operator==(const Frame&) const = default;
};

// A file in memory that notes what was asked of it.
class NotingReader final : public ForwardReader {
 public:
  explicit NotingReader(std::string_view file) : file_(file) {}

  Result<ConstBytes> at(std::uint64_t offset, std::size_t size) override {
    EXPECT_GE(offset, last_offset) << "readers only go forward";
    last_offset = offset;
    asked_bytes += size;
    ++calls;
    if (offset >= file_.size()) return ConstBytes{};
    const auto part = file_.substr(offset, size);
    kept_.assign(part.begin(), part.end());
    return as_bytes(kept_.data(), kept_.size());
  }

  std::uint64_t end() const override { return file_.size(); }

  std::uint64_t last_offset = 0, asked_bytes = 0, calls = 0;

 private:
  std::string_view file_;
  std::vector<char> kept_;  // a fresh copy each time, so that use of an old one shows under ASan
};

Result<std::vector<Frame>> scan(std::string_view file, const Limits& limits = {}) {
  NotingReader reader(file);
  std::vector<Frame> frames;
  const auto status = scan_tfrecord(
      reader, "a.tfrecord",
      [&](std::uint64_t offset, std::uint64_t length) -> Status {
        frames.push_back({offset, length});
        return {};
      },
      limits);
  if (!status) return std::unexpected(status.error());
  return frames;
}

Result<std::string> open_frame(std::string_view frame) {
  const auto data = open_tfrecord(as_bytes(frame.data(), frame.size()));
  if (!data) return std::unexpected(data.error());
  return std::string(reinterpret_cast<const char*>(data->data()), data->size());
}

// What all records hold, or the first error of scanning and opening.
Result<std::vector<std::string>> read_all_records(std::string_view file) {
  const auto frames = scan(file);
  if (!frames) return std::unexpected(frames.error());
  std::vector<std::string> records;
  for (const Frame& frame : *frames) {
    const auto data = open_frame(file.substr(frame.offset, frame.length));
    if (!data) return std::unexpected(data.error());
    records.push_back(*data);
  }
  return records;
}

TEST(TFRecordScan, what_tensorflow_wrote_is_read) {
  const auto records = read_all_records(golden_record("plain.tfrecord"));
  ASSERT_TRUE(records) << records.error().describe();
  const std::size_t sizes[] = {0, 1, 11, 12, 16, 255};
  ASSERT_EQ(records->size(), std::size(sizes));
  for (std::size_t i = 0; i < records->size(); ++i) {
    const std::string& record = (*records)[i];
    ASSERT_EQ(record.size(), sizes[i]);
    for (std::size_t k = 0; k < record.size(); ++k)
      EXPECT_EQ(static_cast<std::uint8_t>(record[k]), (sizes[i] + k) % 256);
  }
  EXPECT_EQ(read_all_records(golden_record("example.tfrecord"))->size(), 4u);
  EXPECT_EQ(read_all_records(golden_record("sequence.tfrecord"))->size(), 2u);
}

TEST(TFRecordScan, our_own_test_frames_are_those_of_tensorflow) {
  std::string file;
  for (const std::size_t size : {0, 1, 11, 12, 16, 255}) {
    std::string data;
    for (std::size_t i = 0; i < size; ++i) data += static_cast<char>((size + i) % 256);
    file += tfrecord_frame(data);
  }
  EXPECT_EQ(file, golden_record("plain.tfrecord"));
}

TEST(TFRecordScan, an_empty_file_has_no_records) {
  EXPECT_EQ(golden_record("empty.tfrecord"), "");
  const auto frames = scan("");
  ASSERT_TRUE(frames);
  EXPECT_TRUE(frames->empty());
}

TEST(TFRecordScan, frames_follow_one_another) {
  const auto frames = scan(tfrecord_frame("abc") + tfrecord_frame("") + tfrecord_frame("defgh"));
  ASSERT_TRUE(frames);
  EXPECT_EQ(*frames, (std::vector<Frame>{{0, 19}, {19, 16}, {35, 21}}));
}

TEST(TFRecordScan, data_is_skipped_and_not_read) {
  const std::string file =
      tfrecord_frame(std::string(100'000, 'x')) + tfrecord_frame(std::string(50'000, 'y'));
  NotingReader reader(file);
  ASSERT_TRUE(scan_tfrecord(reader, "a", [](auto, auto) -> Status { return {}; }));
  EXPECT_EQ(reader.calls, 3u);
  EXPECT_LE(reader.asked_bytes, 3 * (kTFRecordHeader + kTFRecordFooter));
}

TEST(TFRecordScan, a_file_in_a_store_is_scanned) {
  const std::string file = tfrecord_frame("abc") + tfrecord_frame("de");
  const ConstBytes bytes = as_bytes(file.data(), file.size());
  MemoryStore store;
  store.put("a", {bytes.begin(), bytes.end()});
  const auto object = store.open("a");
  ASSERT_TRUE(object);
  const auto reader = make_object_reader(**object);
  std::uint64_t end = 0;
  ASSERT_TRUE(scan_tfrecord(*reader, "a", [&](std::uint64_t offset, std::uint64_t length) -> Status {
    EXPECT_EQ(offset, end);
    end = offset + length;
    return {};
  }));
  EXPECT_EQ(end, file.size());
}

TEST(TFRecordScan, every_cut_is_noticed_unless_between_records) {
  const std::string file = golden_record("plain.tfrecord");
  const auto frames = scan(file);
  ASSERT_TRUE(frames);
  std::size_t boundaries = 0;
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto cut = scan(std::string_view(file).substr(0, size));
    const bool boundary = std::ranges::any_of(*frames, [&](const Frame& f) { return f.offset == size; });
    boundaries += boundary;
    ASSERT_EQ(cut.has_value(), boundary) << size;
    if (boundary) continue;
    EXPECT_EQ(cut.error().code, ErrorCode::kTruncated) << size;
    EXPECT_EQ(cut.error().where.uri, "a.tfrecord");
    // The record that is cut, not some other.
    const auto hit =
        std::ranges::find_if(*frames, [&](const Frame& f) { return f.offset + f.length > size; });
    EXPECT_EQ(cut.error().where.offset, static_cast<std::int64_t>(hit->offset)) << size;
  }
  EXPECT_EQ(boundaries, frames->size());
}

TEST(TFRecordScan, every_flipped_bit_is_noticed) {
  for (const char* name : {"plain.tfrecord", "example.tfrecord", "sequence.tfrecord"}) {
    std::string file = golden_record(name);
    ASSERT_TRUE(read_all_records(file)) << name;
    for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
      file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << bit % 8));
      ASSERT_FALSE(read_all_records(file)) << name << " bit " << bit;
      file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << bit % 8));
    }
  }
}

TEST(TFRecordScan, a_bad_length_checksum_is_named_with_its_offset) {
  std::string file = tfrecord_frame("abc") + tfrecord_frame("de");
  file[19] ^= 1;
  const auto frames = scan(file);
  ASSERT_FALSE(frames);
  EXPECT_EQ(frames.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(frames.error().message.find("bad length checksum"), std::string::npos);
  EXPECT_EQ(frames.error().where.offset, 19);
  EXPECT_EQ(scan(std::string(16, '\0')).error().code, ErrorCode::kCorrupt) << "a hole in the file";
}

TEST(TFRecordScan, lengths_that_lie_with_a_valid_checksum_are_refused) {
  EXPECT_EQ(scan(tfrecord_header(5) + "abc").error().code, ErrorCode::kTruncated);
  EXPECT_EQ(scan(tfrecord_header(1 << 30) + "abc").error().code, ErrorCode::kTruncated);
  const Limits small{.encoded_bytes = 2};
  EXPECT_EQ(scan(tfrecord_frame("abc"), small).error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(scan(tfrecord_frame("ab"), small));
  const Limits none{.encoded_bytes = ~std::uint64_t{0}};
  for (const std::uint64_t length : {~std::uint64_t{0}, ~std::uint64_t{0} - 15, std::uint64_t{1} << 63}) {
    EXPECT_EQ(scan(tfrecord_header(length) + "abc").error().code, ErrorCode::kTooLarge) << length;
    EXPECT_FALSE(scan(tfrecord_header(length) + "abc", none)) << length;
    EXPECT_EQ(open_frame(tfrecord_header(length) + "abcd").error().code, ErrorCode::kTruncated) << length;
  }
}

TEST(TFRecordScan, scanning_stops_where_the_caller_says) {
  const std::string file = tfrecord_frame("abc") + tfrecord_frame("de");
  NotingReader reader(file);
  int calls = 0;
  const auto status = scan_tfrecord(reader, "a", [&](auto, auto) -> Status {
    ++calls;
    return fail(ErrorCode::kStopped, "enough");
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kStopped);
  EXPECT_EQ(calls, 1);
}

TEST(TFRecordScan, a_frame_opens_only_when_whole_and_alone) {
  const std::string frame = tfrecord_frame("hello");
  EXPECT_EQ(*open_frame(frame), "hello");
  EXPECT_EQ(*open_frame(tfrecord_frame("")), "");
  for (std::size_t size = 0; size < frame.size(); ++size)
    EXPECT_EQ(open_frame(frame.substr(0, size)).error().code, ErrorCode::kTruncated) << size;
  const auto more = open_frame(frame + "x");
  EXPECT_EQ(more.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(more.error().where.offset, static_cast<std::int64_t>(frame.size()));
  std::string changed = frame;
  changed[13] ^= 1;
  EXPECT_EQ(open_frame(changed).error().where.offset, 12);
}

}  // namespace
}  // namespace penstock
