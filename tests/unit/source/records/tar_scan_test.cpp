#include "source/records/tar_scan.h"

#include <gtest/gtest.h>

#include "support/fault_store.h"
#include "tar_scan_run.h"

namespace penstock {
namespace {

TEST(TarScan, finds_name_offsets_and_size_of_each_file) {
  TarArchive tar;
  tar.add_file("a.jpg", std::string(700, 'x'));
  tar.add_file("a.cls", "7");
  const Scan got = scan(tar.finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.files, (std::vector<Found>{{"a.jpg", 0, 512, 700}, {"a.cls", 1536, 2048, 1}}));
}

TEST(TarScan, an_archive_without_members_is_fine) {
  const Scan got = scan(TarArchive().finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.summary->files, 0);
}

TEST(TarScan, extended_headers_belong_to_their_member) {
  TarArchive tar;
  tar.add_file("a", "1");
  const std::size_t long_at = tar.size();
  tar.add_long_name(std::string(600, 'l'), 'K');
  tar.add_long_name(std::string(300, 'n'));
  tar.add_file("cut", "22");
  const std::size_t pax_at = tar.size();
  tar.add_pax(pax_record("mtime", "1.5") + pax_record("path", "pax/name"));
  tar.add_file("cut", "333");
  const std::size_t plain_at = tar.size();
  tar.add_file("plain", "4444");
  const Scan got = scan(tar.finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.files, (std::vector<Found>{{"a", 0, 512, 1},
                                           {std::string(300, 'n'), long_at, long_at + 512 * 6, 2},
                                           {"pax/name", pax_at, pax_at + 512 * 3, 3},
                                           {"plain", plain_at, plain_at + 512, 4}}));
}

TEST(TarScan, the_prefix_is_read_where_the_format_has_one) {
  TarArchive tar;
  TarHeader header{"name"};
  header.prefix = "some/folder";
  tar.add(header);
  header.format = TarFormat::kGnu;
  tar.add(header);
  header.format = TarFormat::kV7;
  tar.add(header);
  header.format = TarFormat::kUstar;
  header.prefix = std::string(155, 'p');
  header.name = std::string(100, 'n');
  tar.add(header);
  EXPECT_EQ(scan(tar.finish()).names(),
            (std::vector<std::string>{"some/folder/name", "name", "name",
                                      std::string(155, 'p') + "/" + std::string(100, 'n')}));
}

TEST(TarScan, times_behind_the_prefix_of_star_are_no_name) {
  TarHeader header{"name"};
  header.prefix = std::string(131, 'p') + "00000000000 00000000000 ";
  std::string block = tar_header(header);
  block.replace(508, 4, std::string("tar\0", 4));
  TarArchive tar;
  tar.add_raw(with_tar_checksum(block));
  EXPECT_EQ(scan(tar.finish()).names(), std::vector<std::string>{std::string(131, 'p') + "/name"});
}

TEST(TarScan, names_are_only_names) {
  TarArchive tar;
  const std::vector<std::string> names{"../../etc/passwd", "/absolute", "twice", "twice", "a\nb", "\xff\xfe"};
  for (const auto& name : names) tar.add_file(name, "x");
  tar.add_pax(pax_record("path", std::string("with\0nul", 8)));
  tar.add_file("x", "x");
  auto wanted = names;
  wanted.push_back(std::string("with\0nul", 8));
  EXPECT_EQ(scan(tar.finish()).names(), wanted);
}

TEST(TarScan, links_devices_and_folders_are_left_out_with_their_extended_headers) {
  TarArchive tar;
  for (const char type : {'1', '2', '3', '4', '5', '6'}) {
    tar.add_long_name(std::string(200, type));
    TarHeader header{"left out", 0, type};
    header.link = "elsewhere";
    tar.add(header);
  }
  tar.add_file("kept", "x");
  const Scan got = scan(tar.finish());
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  EXPECT_EQ(got.names(), std::vector<std::string>{"kept"});
  EXPECT_EQ(got.summary->links, 2);
  EXPECT_EQ(got.summary->others, 3);
}

TEST(TarScan, the_size_of_a_link_is_not_that_of_data) {
  TarArchive tar;
  tar.add_raw(tar_header({"link", 700, '1'}));
  tar.add_raw(tar_header({"folder", 700, '5'}));
  tar.add_file("kept", "x");
  EXPECT_EQ(scan(tar.finish()).names(), std::vector<std::string>{"kept"});
}

TEST(TarScan, old_and_contiguous_files_are_files_and_old_folders_are_not) {
  TarArchive tar(TarFormat::kV7);
  for (const auto& [name, type] :
       {std::pair{"old", '\0'}, {"folder/", '\0'}, {"contiguous", '7'}, {"file with slash/", '0'}}) {
    TarHeader header{name, 0, type};
    header.format = TarFormat::kV7;
    tar.add(header);
  }
  EXPECT_EQ(scan(tar.finish()).names(), (std::vector<std::string>{"old", "contiguous", "file with slash/"}));
}

TEST(TarScan, an_error_of_the_caller_ends_the_scan) {
  MemoryStore store;
  store.put("shard.tar", files_of_many_sizes(10).finish());
  const auto object = *store.open("shard.tar");
  const auto reader = make_object_reader(*object);
  int calls = 0;
  const auto got = scan_tar(*reader, "shard.tar", [&calls](const TarMember&) -> Status {
    if (++calls == 3) return fail(ErrorCode::kCallback, "enough");
    return {};
  });
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().message, "enough");
  EXPECT_EQ(calls, 3);
}

TEST(TarScan, every_failure_of_the_store_ends_the_scan) {
  auto memory = std::make_shared<MemoryStore>();
  memory->put("shard.tar", files_of_many_sizes(40).finish());
  const FaultStore whole(memory, {});
  ASSERT_TRUE(scan(whole).summary);
  ASSERT_GT(whole.operations(), 2);
  for (std::uint64_t operation = 1; operation <= whole.operations(); ++operation) {
    const Scan got = scan(FaultStore(memory, {operation, false, Fault::kEio}));
    ASSERT_FALSE(got.summary) << operation;
    EXPECT_EQ(got.summary.error().code, ErrorCode::kIo);
  }
}

}  // namespace
}  // namespace penstock
