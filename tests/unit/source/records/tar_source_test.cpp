#include "source/records/tar_source.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "source/array_layout.h"
#include "source/extent.h"
#include "store/file/file_store.h"
#include "store/memory_store.h"
#include "support/make_tar.h"

namespace penstock {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

Result<SourcePtr> open_files(const Files& files, OpenOptions options = {}) {
  TarArchive tar;
  for (const auto& [name, data] : files) tar.add_file(name, data);
  auto store = std::make_shared<MemoryStore>();
  store->put("a.tar", tar.finish());
  options.keep_index = false;
  return open_tar(std::move(store), {"a.tar", "a.tar", "tar", {"a.tar"}}, options);
}

std::string field_list(const Source& source) {
  std::string out;
  for (const FieldInfo& field : source.fields())
    out += field.name + ":" + std::string(name_of(field.kind)) + (field.is_everywhere ? "" : "?") + " ";
  return out;
}

TEST(TarSource, has_the_samples_that_an_index_of_dali_lists) {
  const std::string folder = std::string(PENSTOCK_GOLDEN_DIR) + "/records/";
  OpenOptions options;
  options.keep_index = false;
  const auto source = open_tar(std::make_shared<FileStore>(),
                               {"samples.tar", "samples.tar", "tar", {folder + "samples.tar"}}, options);
  ASSERT_TRUE(source) << source.error().describe();
  std::ifstream index(folder + "samples.tar.idx");
  std::string line, version;
  std::uint64_t count = 0;
  index >> version >> count;
  std::getline(index, line);
  ASSERT_EQ((*source)->size(), count);
  for (std::uint64_t sample = 0; sample < count; ++sample) {
    ASSERT_TRUE(std::getline(index, line));
    std::istringstream members(line);
    std::string extension, name;
    std::uint64_t offset = 0, size = 0;
    while (members >> extension >> offset >> size >> name) {
      std::size_t field = 0;
      while ((*source)->fields()[field].name != extension) ++field;
      const auto extent = (*source)->extent(sample, field);
      ASSERT_TRUE(extent);
      EXPECT_EQ(extent->offset, offset) << name;
      EXPECT_EQ(extent->length, size) << name;
      EXPECT_EQ((*source)->key(sample) + "." + extension, name);
    }
  }
}

TEST(TarSource, groups_by_key_and_knows_fields_by_their_endings) {
  const auto source = open_files({{"d/1.cls", "3"},
                                  {"d/1.JPG", "x"},
                                  {"d/1.seg.png", "x"},
                                  {"d/2.cls", "4"},
                                  {"d/2.jpg", "x"},
                                  {"d/2.seg.png", "x"},
                                  {"d/2.pkl", "x"}});
  ASSERT_TRUE(source) << source.error().describe();
  EXPECT_EQ((*source)->size(), 2u);
  EXPECT_EQ((*source)->key(1), "d/2");
  EXPECT_EQ(field_list(**source), "jpg:image seg.png:mask cls:integer pkl:bytes? ");
  const auto missing = (*source)->extent(0, 3);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().where.sample, 0);
}

TEST(TarSource, leaves_out_what_belongs_to_no_sample) {
  const auto source = open_files({{"README", "x"},
                                  {".hidden.txt", "x"},
                                  {"d/.a.txt", "x"},
                                  {"__meta__", "x"},
                                  {"1.txt", "x"},
                                  {"2.", "x"}});
  ASSERT_TRUE(source) << source.error().describe();
  EXPECT_EQ((*source)->size(), 1u);
  EXPECT_EQ(open_files({{"README", "x"}}).error().code, ErrorCode::kNotFound);
}

TEST(TarSource, pictures_of_several_formats_are_one_field_unless_a_sample_has_two) {
  EXPECT_EQ(field_list(**open_files({{"1.jpg", "x"}, {"1.cls", "1"}, {"2.png", "x"}, {"2.cls", "1"}})),
            "image:image cls:integer ");
  EXPECT_EQ(field_list(**open_files({{"1.jpg", "x"}, {"1.png", "1"}, {"2.png", "x"}, {"2.jpg", "1"}})),
            "jpg:image png:image ");
  EXPECT_EQ(field_list(**open_files({{"1.jpg", "x"}, {"1.cls", "1"}, {"2.cls", "1"}})),
            "jpg:image? cls:integer ");
}

TEST(TarSource, the_user_s_word_about_a_field_goes_first) {
  OpenOptions options;
  options.field_kinds = {{"x.png", "mask"}, {"bin", "float32[2,3]"}, {"cls", "text"}};
  const auto source = open_files({{"1.x.png", "x"}, {"1.bin", "x"}, {"1.cls", "1"}}, options);
  ASSERT_TRUE(source) << source.error().describe();
  EXPECT_EQ(field_list(**source), "x.png:mask bin:array cls:text ");
  EXPECT_EQ((*source)->array_layout(1)->spec, (ArraySpec{DType::kFloat32, {2, 3}}));
  options.field_kinds = {{"clss", "text"}};
  EXPECT_NE(open_files({{"1.cls", "1"}}, options).error().message.find("did you mean \"cls\""),
            std::string::npos);
  options.field_kinds = {{"cls", "picture"}};
  EXPECT_EQ(open_files({{"1.cls", "1"}}, options).error().code, ErrorCode::kInvalidArgument);
}

TEST(TarSource, members_that_do_not_stand_together_and_duplicates_are_errors_with_their_place) {
  const auto interleaved = open_files({{"1.txt", "x"}, {"2.txt", "x"}, {"1.cls", "1"}, {"2.cls", "1"}});
  ASSERT_FALSE(interleaved);
  EXPECT_EQ(interleaved.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(interleaved.error().where.uri, "a.tar");
  EXPECT_EQ(interleaved.error().where.offset, 4 * 512);
  const auto twice = open_files({{"1.txt", "x"}, {"1.txt", "y"}});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().where.offset, 2 * 512);
}

}  // namespace
}  // namespace penstock
