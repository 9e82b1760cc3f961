// Archives that are cut or damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tar_scan_run.h"

namespace penstock {
namespace {

using testing::HasSubstr;

TEST(TarScan, a_signed_checksum_is_accepted) {
  const std::string block = tar_header({"na\xC3\xAFve.jpg"});
  TarArchive tar;
  tar.add_raw(with_tar_checksum(block, TarSum::kSigned));
  tar.add_raw(with_tar_checksum(block, TarSum::kUnsigned));
  EXPECT_EQ(scan(tar.finish()).names().size(), 2);
}

TEST(TarScan, a_file_that_is_no_archive_is_refused) {
  const Error error = error_of(Bytes(5000, std::byte{'x'}));
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_THAT(error.message, HasSubstr("not a tar archive"));
  EXPECT_EQ(error.where.uri, "mem://shard.tar");
}

TEST(TarScan, an_empty_file_is_truncated) {
  const Error error = error_of({});
  EXPECT_EQ(error.code, ErrorCode::kTruncated);
  EXPECT_THAT(error.message, HasSubstr("no end-of-archive marker"));
  EXPECT_EQ(error.where.offset, 0);
}

TEST(TarScan, the_marker_is_two_blocks_of_zeros) {
  TarArchive tar = files_of_many_sizes(3);
  const auto size = static_cast<std::int64_t>(tar.size());
  for (const std::size_t zeros : {0, 1, 511, 512, 513, 1023}) {
    Bytes archive = tar.unfinished();
    archive.resize(archive.size() + zeros);
    const Error error = error_of(archive);
    EXPECT_EQ(error.code, ErrorCode::kTruncated) << zeros;
    EXPECT_THAT(error.message, HasSubstr("no end-of-archive marker"));
    EXPECT_EQ(error.where.offset, size);
  }
  tar.add_raw(std::string(512, '\0'));
  tar.add_file("behind", "x");
  const Error lone = error_of(tar.finish());
  EXPECT_EQ(lone.code, ErrorCode::kCorrupt);
  EXPECT_THAT(lone.message, HasSubstr("no end-of-archive marker"));
  EXPECT_EQ(lone.where.offset, size);
}

TEST(TarScan, only_zeros_may_follow_the_marker) {
  const TarArchive tar = files_of_many_sizes(3);
  Bytes archive = tar.finish();
  archive.resize(300'001);  // no multiple of a block
  EXPECT_TRUE(scan(archive).summary);
  for (const std::size_t at : {tar.size() + 1024, tar.size() + 70'000, archive.size() - 1}) {
    Bytes damaged = archive;
    damaged[at] = std::byte{1};
    const Error error = error_of(damaged);
    EXPECT_EQ(error.code, ErrorCode::kCorrupt);
    EXPECT_THAT(error.message, HasSubstr("concatenated archives are not read"));
    EXPECT_EQ(error.where.offset, static_cast<std::int64_t>(at / 512 * 512));
  }
}

TEST(TarScan, truncated_tail_names_file_and_offset) {
  TarArchive tar = files_of_many_sizes(4);
  const std::size_t at = tar.size();
  tar.add_file("cut.jpg", std::string(5000, 'x'));
  const Error error = error_of(first_bytes(tar.finish(), at + 512 + 3000));
  EXPECT_EQ(error.code, ErrorCode::kTruncated);
  EXPECT_THAT(error.message, HasSubstr("'cut.jpg'"));
  EXPECT_EQ(error.where.uri, "mem://shard.tar");
  EXPECT_EQ(error.where.offset, static_cast<std::int64_t>(at));
  EXPECT_EQ(error.where.length, 512 + 5120);
}

TEST(TarScan, every_cut_is_noticed_but_those_that_leave_the_marker) {
  const TarArchive tar = all_kinds(20);
  const Bytes whole = tar.finish();
  const Scan wanted = scan(whole);
  ASSERT_TRUE(wanted.summary) << wanted.summary.error().describe();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Scan got = scan(first_bytes(whole, size));
    if (size >= tar.size() + 1024) {
      ASSERT_TRUE(got.summary) << size;
      ASSERT_EQ(got.files, wanted.files);
      continue;
    }
    ASSERT_FALSE(got.summary) << size;
    const Error& error = got.summary.error();
    const auto cut = static_cast<std::int64_t>(size);
    ASSERT_EQ(error.code, ErrorCode::kTruncated) << error.describe();
    ASSERT_EQ(error.where.uri, "mem://shard.tar");
    ASSERT_THAT(error.message, HasSubstr("archive ends at " + std::to_string(size)));
    ASSERT_LE(error.where.offset, cut) << error.describe();
    ASSERT_GT(error.where.offset + error.where.length, cut) << error.describe();
  }
}

TEST(TarScan, every_flipped_bit_of_every_header_is_noticed) {
  const TarArchive tar = all_kinds(2);
  const Bytes whole = tar.finish(1024);
  const Scan wanted = scan(whole);
  ASSERT_TRUE(wanted.summary) << wanted.summary.error().describe();
  int headers = 0;
  for (std::size_t at = 0; at < tar.size(); at += kTarBlock) {
    const std::string_view block = std::string_view(tar.text()).substr(at, kTarBlock);
    if (with_tar_checksum(std::string(block)) != block) continue;  // data
    ++headers;
    for (std::size_t bit = at * 8; bit < (at + kTarBlock) * 8; ++bit) {
      Bytes damaged = whole;
      damaged[bit / 8] ^= std::byte(1u << bit % 8);
      const Scan got = scan(std::move(damaged));
      const std::size_t in_header = bit / 8 - at;
      if (!got.summary) {
        ASSERT_EQ(got.summary.error().code, ErrorCode::kCorrupt);
        ASSERT_EQ(got.summary.error().where.offset, static_cast<std::int64_t>(at));
        continue;
      }
      // What pads the sum is no part of it: a leading nought or a NUL behind may become a blank.
      ASSERT_TRUE(in_header >= 148 && in_header < 156) << "bit " << bit % 8 << " of byte " << in_header;
      ASSERT_EQ(got.files, wanted.files);
    }
  }
  EXPECT_EQ(headers, 10);
}

TEST(TarScan, a_zeroed_page_over_a_header_is_noticed) {
  constexpr std::size_t kPage = 4096;
  TarArchive tar;
  for (int i = 0; i < 40; ++i) tar.add_file(name_of(i), std::string(static_cast<std::size_t>(i) * 150, 'x'));
  const Bytes whole = tar.finish();
  const Scan wanted = scan(whole);
  ASSERT_TRUE(wanted.summary) << wanted.summary.error().describe();
  int hits = 0, misses = 0;
  for (std::size_t page = 0; page + kPage < tar.size(); page += kPage) {
    Bytes damaged = whole;
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(page), kPage, std::byte{0});
    const bool hit = std::ranges::any_of(wanted.files, [page](const Found& file) {
      return file.header_offset >= page && file.header_offset < page + kPage;
    });
    const Scan got = scan(std::move(damaged));
    ASSERT_EQ(!got.summary, hit) << page;
    if (hit) {
      ++hits;
      EXPECT_EQ(got.summary.error().code, ErrorCode::kCorrupt);
    } else {
      ++misses;
      EXPECT_EQ(got.files, wanted.files);
    }
  }
  EXPECT_GT(hits, 10);
  EXPECT_GT(misses, 3);
}

TEST(TarScan, a_zeroed_header_of_the_last_file_is_noticed_by_its_data) {
  TarArchive tar = files_of_many_sizes(5);
  const std::size_t at = tar.size();
  tar.add_file("last", "x");
  Bytes damaged = tar.finish();
  std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(at), 512, std::byte{0});
  EXPECT_EQ(error_of(damaged).code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace penstock
