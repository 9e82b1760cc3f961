// The sizes that headers give, and extended headers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tar_scan_run.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// --- Sizes -----------------------------------------------------------------------------------------

Bytes with_raw_size(const std::string& field, std::string_view data) {
  TarArchive tar;
  TarHeader header{"file"};
  header.raw_size = field;
  tar.add(header, data);
  return tar.finish();
}

TEST(TarScan, sizes_are_read_however_they_are_padded) {
  for (const std::string& field :
       {std::string("00000000005\0", 12), std::string("          5\0", 12), std::string("5           "),
        std::string("000000000005"), std::string("5\0\0\0\0\0\0\0\0\0\0\0", 12),
        std::string("         5 \0", 12), std::string("\x80\0\0\0\0\0\0\0\0\0\0\5", 12)}) {
    const Scan got = scan(with_raw_size(field, "12345"));
    ASSERT_TRUE(got.summary) << field << got.summary.error().describe();
    EXPECT_EQ(got.files.at(0).size, 5) << field;
  }
  EXPECT_EQ(scan(with_raw_size(std::string(12, '\0'), "")).files.at(0).size, 0);
  EXPECT_EQ(scan(with_raw_size(std::string(12, ' '), "")).files.at(0).size, 0);
}

TEST(TarScan, binary_sizes_are_read) {
  TarArchive tar;
  TarHeader header{"file", 70'000};
  header.size_as = TarNumber::kBase256;
  tar.add(header, std::string(70'000, 'x'));
  tar.add_file("next", "");
  const Scan got = scan(tar.finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.files.at(0).size, 70'000);
  EXPECT_EQ(got.files.at(1).header_offset, 512 + 70'144);
}

TEST(TarScan, sizes_that_are_no_numbers_are_refused) {
  for (const std::string& field :
       {std::string("00000000009\0", 12), std::string("0x000000005\0", 12), std::string("-0000000005\0", 12),
        std::string("5 5         "), std::string("\0\0\0\0\0\0\0\0\0\0\0005", 12),
        std::string("12345abc\0\0\0\0", 12)})
    EXPECT_EQ(error_of(with_raw_size(field, "12345")).code, ErrorCode::kCorrupt) << field;
}

TEST(TarScan, negative_sizes_are_refused) {
  EXPECT_EQ(error_of(with_raw_size(std::string(12, '\xff'), "")).code, ErrorCode::kCorrupt);
  EXPECT_EQ(error_of(with_raw_size("\xC0" + std::string(11, '\0'), "")).code, ErrorCode::kCorrupt);
}

TEST(TarScan, huge_sizes_are_refused) {
  // 2^62 + 1, all ones, and one that is nothing but zeros in its lowest 64 bits.
  EXPECT_EQ(error_of(with_raw_size(std::string("\x80\0\0\0\x40\0\0\0\0\0\0\1", 12), "")).code,
            ErrorCode::kTooLarge);
  EXPECT_EQ(error_of(with_raw_size("\xBF" + std::string(11, '\xff'), "")).code, ErrorCode::kTooLarge);
  EXPECT_EQ(error_of(with_raw_size(std::string("\x80\0\0\1\0\0\0\0\0\0\0\0", 12), "")).code,
            ErrorCode::kTooLarge);
  EXPECT_EQ(error_of(with_raw_size(std::string("\x81\0\0\0\0\0\0\0\0\0\0\0", 12), "")).code,
            ErrorCode::kTooLarge);
  const Error cut = error_of(with_raw_size("777777777777", "12345"));
  EXPECT_EQ(cut.code, ErrorCode::kTruncated);
  EXPECT_THAT(cut.message, HasSubstr("inside 'file'"));
}

TEST(TarScan, a_pax_size_replaces_that_of_the_header) {
  TarArchive tar;
  tar.add_pax(pax_record("size", "600"));
  TarHeader header{"file"};
  header.raw_size = "no number   ";
  tar.add(header, std::string(600, 'x'));
  tar.add_pax(pax_record("size", ""));
  tar.add_file("next", "22");
  const Scan got = scan(tar.finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.files.at(0).size, 600);
  EXPECT_EQ(got.files.at(1).size, 2);
}

TEST(TarScan, pax_sizes_that_make_no_sense_are_refused) {
  for (const auto& [size, code] : std::map<std::string, ErrorCode>{
           {"-1", ErrorCode::kCorrupt},
           {"1x", ErrorCode::kCorrupt},
           {" 1", ErrorCode::kCorrupt},
           {"1.5", ErrorCode::kCorrupt},
           {"4611686018427387905", ErrorCode::kTooLarge},
           {"4611686018427387904", ErrorCode::kTooLarge},  // with the header beyond the limit
           {"18446744073709551615", ErrorCode::kTooLarge},
           {"99999999999999999999999", ErrorCode::kTooLarge}}) {
    TarArchive tar;
    tar.add_pax(pax_record("size", size));
    tar.add_file("file", "x");
    EXPECT_EQ(error_of(tar.finish()).code, code) << size;
  }
}

// --- Extended headers ------------------------------------------------------------------------------

TEST(TarScan, long_names_are_read_up_to_the_limit) {
  TarArchive tar;
  const std::string name(65'535, 'n');
  tar.add_long_name(name);
  tar.add_file("cut", "x");
  EXPECT_EQ(scan(tar.finish()).names(), std::vector<std::string>{name});
}

TEST(TarScan, extended_headers_beyond_the_limit_are_refused_before_they_are_read) {
  for (const auto& [type, size] : {std::pair<char, std::uint64_t>{'L', 65'537},
                                   {'L', 1 << 30},
                                   {'K', 1 << 30},
                                   {'x', (1 << 20) + 1},
                                   {'x', 1 << 30},
                                   {'g', 1 << 30}}) {
    TarArchive tar;
    tar.add_file("first", "x");
    tar.add({"././@LongLink", size, type});
    tar.add_file("second", "x");
    const Error error = error_of(tar.finish());
    EXPECT_EQ(error.code, ErrorCode::kTooLarge) << type << size;
    EXPECT_EQ(error.where.offset, 1024);
  }
}

TEST(TarScan, empty_long_names_are_refused) {
  for (const char type : {'L', 'K'}) {
    TarArchive tar;
    tar.add({"././@LongLink", 0, type});
    tar.add_file("file", "x");
    EXPECT_EQ(error_of(tar.finish()).code, ErrorCode::kCorrupt);
    TarArchive nul;
    nul.add_long_name("", type);
    nul.add_file("file", "x");
    EXPECT_EQ(error_of(nul.finish()).code, ErrorCode::kCorrupt);
  }
}

TEST(TarScan, malformed_pax_records_are_named_with_their_offset) {
  const std::string good = pax_record("mtime", "1");
  for (const std::string& bad :
       {std::string("x"), std::string("9999 a=b\n"), std::string("0 a=b\n"), std::string("5 a=b\n"),
        std::string("8 a=bc\n"), std::string("-8 a=bc\n"), std::string("7 abcd\n"), std::string("6 =b \n"),
        std::string("2 \n"), std::string("1\n"), std::string("99999999999999999999999 a=b\n"),
        std::string("6\ta=b\n"), std::string(5, '\0'), std::string(" 6 a=b\n")}) {
    for (const char type : {'x', 'g'}) {
      TarArchive tar;
      tar.add_pax(good + bad, type);
      tar.add_file("file", "x");
      const Error error = error_of(tar.finish());
      EXPECT_EQ(error.code, ErrorCode::kCorrupt) << bad;
      EXPECT_EQ(error.where.offset, static_cast<std::int64_t>(512 + good.size())) << bad;
    }
  }
}

TEST(TarScan, pax_records_that_do_not_matter_are_passed_over) {
  TarArchive tar;
  tar.add_pax(pax_record("comment", "0123456789abcdef"), 'g');
  tar.add_pax(pax_record("path", "not for all"), 'g');
  tar.add_pax("");
  tar.add_file("a", "x");
  tar.add_pax(pax_record("SCHILY.xattr.user.x", std::string("\0\n=\xff", 4)) + pax_record("path", "") +
              pax_record("linkpath", "l"));
  tar.add_pax(pax_record("comment", "between"), 'g');
  tar.add_file("b", "x");
  const Scan got = scan(tar.finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(got.files[0].header_offset, 2048) << "global headers belong to no member";
}

TEST(TarScan, one_size_for_all_members_is_refused) {
  TarArchive tar;
  tar.add_pax(pax_record("size", "5"), 'g');
  tar.add_file("a", "12345");
  EXPECT_EQ(error_of(tar.finish()).code, ErrorCode::kUnsupported);
}

TEST(TarScan, sparse_members_are_refused) {
  TarArchive old;
  old.add({"sparse", 0, 'S'});
  EXPECT_EQ(error_of(old.finish()).code, ErrorCode::kUnsupported);
  for (const char type : {'x', 'g'}) {
    TarArchive pax;
    pax.add_pax(pax_record("GNU.sparse.major", "1"), type);
    pax.add_file("GNUSparseFile.0/sparse", "x");
    EXPECT_EQ(error_of(pax.finish()).code, ErrorCode::kUnsupported);
  }
}

TEST(TarScan, unknown_types_are_named) {
  for (const auto& [type, text] : std::map<char, std::string>{{'Q', "'Q'"}, {'V', "'V'"}, {'\7', "0x07"}}) {
    TarArchive tar;
    tar.add_file("first", "x");
    tar.add({"odd", 0, type});
    const Error error = error_of(tar.finish());
    EXPECT_EQ(error.code, ErrorCode::kUnsupported);
    EXPECT_THAT(error.message, HasSubstr(text));
    EXPECT_EQ(error.where.offset, 1024);
  }
}

TEST(TarScan, contradicting_extended_headers_are_refused) {
  const std::string name(200, 'n');
  TarArchive names, paxes, both, turned;
  names.add_long_name(name), names.add_long_name(name);
  paxes.add_pax(pax_record("path", name)), paxes.add_pax(pax_record("size", "1"));
  both.add_long_name(name), both.add_pax(pax_record("path", name));
  turned.add_pax(pax_record("path", name)), turned.add_long_name(name);
  for (TarArchive* tar : {&names, &paxes, &both, &turned}) {
    tar->add_file("file", "x");
    EXPECT_EQ(error_of(tar->finish()).code, ErrorCode::kCorrupt);
  }
}

TEST(TarScan, an_extended_header_without_its_member_is_refused) {
  TarArchive tar;
  tar.add_file("file", "x");
  tar.add_long_name("name");
  EXPECT_EQ(error_of(tar.finish()).code, ErrorCode::kCorrupt);
  const Error cut = error_of(tar.unfinished());
  EXPECT_EQ(cut.code, ErrorCode::kTruncated);
  EXPECT_THAT(cut.message, HasSubstr("without its member"));
}

}  // namespace
}  // namespace penstock
