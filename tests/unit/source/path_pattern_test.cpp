#include "source/path_pattern.h"

#include <gtest/gtest.h>

#include "store/file/file_store.h"
#include "store/memory_store.h"
#include "support/fault_store.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

using Names = std::vector<std::string>;

std::shared_ptr<MemoryStore> store_of(const Names& keys) {
  auto store = std::make_shared<MemoryStore>();
  for (const std::string& key : keys) store->put(key, {});
  return store;
}

TEST(PathPattern, braces_and_ranges_expand_as_in_a_shell) {
  const MemoryStore store;
  EXPECT_EQ(*expand_pattern(store, "x{a,b}y{1..3}"), (Names{"xay1", "xay2", "xay3", "xby1", "xby2", "xby3"}));
  EXPECT_EQ(*expand_pattern(store, "{008..011}"), (Names{"008", "009", "010", "011"}));
  EXPECT_EQ(*expand_pattern(store, "a{b"), (Names{"a{b"}));
  EXPECT_EQ(*expand_pattern(store, "{3..1}"), (Names{"3..1"}));
  EXPECT_EQ(*expand_pattern(store, "{a,a}"), (Names{"a"}));
  EXPECT_TRUE(is_pattern("a{1..2}"));
  EXPECT_FALSE(is_pattern("plain/path"));
}

TEST(PathPattern, wildcards_match_what_any_store_lists) {
  const auto store = store_of({"d/a1.tar", "d/a2.tar", "d/b1.tar", "d/.a3.tar", "d/a4.tar/x", "e/a1.tar"});
  EXPECT_EQ(*expand_pattern(*store, "d/a?.tar"), (Names{"d/a1.tar", "d/a2.tar", "d/a4.tar"}));
  EXPECT_EQ(*expand_pattern(*store, "d/[!a]*"), (Names{"d/b1.tar"}));
  EXPECT_EQ(*expand_pattern(*store, "d/.*.tar"), (Names{"d/.a3.tar"})) << "hidden names want a dot";
  EXPECT_EQ(*expand_pattern(*store, "d/*/x"), (Names{"d/a4.tar/x"})) << "files have nothing below them";
  EXPECT_EQ(*expand_pattern(*store, "d/a*/"), (Names{"d/a4.tar/"}));
  EXPECT_EQ(*expand_pattern(*store, "{e,d}/a1*"), (Names{"d/a1.tar", "e/a1.tar"}));
  EXPECT_EQ(*expand_in_order(*store, "{e,d}/a1*"), (Names{"e/a1.tar", "d/a1.tar"}));
  for (const char* pattern : {"d/c*", "nowhere/*", "d/*/y"})
    EXPECT_EQ(expand_pattern(*store, pattern).error().code, ErrorCode::kNotFound) << pattern;
}

TEST(PathPattern, two_stars_match_any_number_of_folders) {
  for (const std::size_t page : {1u, 1000u}) {
    MemoryStore store(page);
    for (const char* key : {"d/a.tar", "d/b/a.tar", "d/b/c/a.tar", "d/b/c/x.txt", "d/.hidden/a.tar", "d/b/.a.tar",
                            "d/b-1/a.tar", "e/a.tar", "d/b/c/z.zarr/0.0"})
      store.put(key, {});
    const auto expand = [&](const std::string& pattern) {
      const auto found = expand_pattern(store, pattern);
      return found ? *found : Names{found.error().describe()};
    };
    EXPECT_EQ(expand("d/**/*.tar"), (Names{"d/a.tar", "d/b-1/a.tar", "d/b/a.tar", "d/b/c/a.tar"}));
    EXPECT_EQ(expand("d/**/c/*"), (Names{"d/b/c/a.tar", "d/b/c/x.txt", "d/b/c/z.zarr"}));
    EXPECT_EQ(expand("d/**/*.zarr"), (Names{"d/b/c/z.zarr"})) << "folders match too";
    EXPECT_EQ(expand("d/**/*.zarr/"), (Names{"d/b/c/z.zarr/"}));
    EXPECT_EQ(expand("d/b/**"), (Names{"d/b/a.tar", "d/b/c/a.tar", "d/b/c/x.txt", "d/b/c/z.zarr/0.0"}));
    EXPECT_EQ(expand("{d,e}/**/**/a.tar"), (Names{"d/a.tar", "d/b-1/a.tar", "d/b/a.tar", "d/b/c/a.tar", "e/a.tar"}));
    EXPECT_EQ(expand("d/**/.a.tar"), (Names{"d/b/.a.tar"})) << "hidden names want a dot";
    EXPECT_EQ(expand("{e,d/b-1}/**/a.tar"), (Names{"d/b-1/a.tar", "e/a.tar"}));
    EXPECT_EQ(expand("d/b**/a.tar"), (Names{"d/b-1/a.tar", "d/b/a.tar"})) << "within a name they are one star";
    for (const char* pattern : {"d/**/*.jpg", "nowhere/**/a.tar"})
      EXPECT_EQ(expand_pattern(store, pattern).error().code, ErrorCode::kNotFound) << pattern;
  }
  const TemporaryFolder folder;
  for (const char* name : {"x/1.npy", "x/y/2.npy", "x/y/.z/3.npy", "4.npy"}) folder.write(name, {});
  const std::string root = folder.path();
  EXPECT_EQ(*expand_pattern(FileStore(), root + "/**/*.npy"),
            (Names{root + "/4.npy", root + "/x/1.npy", root + "/x/y/2.npy"}));
}

TEST(PathPattern, a_name_that_exists_is_no_pattern) {
  const auto store = store_of({"d/a[1].tar", "d/a1.tar", "d/{x}/y"});
  EXPECT_FALSE(*names_several(*store, "d/a[1].tar"));
  EXPECT_FALSE(*names_several(*store, "d/{x}"));
  EXPECT_FALSE(*names_several(*store, "d/a1.tar"));
  EXPECT_TRUE(*names_several(*store, "d/a*.tar"));
  EXPECT_TRUE(*names_several(*store, "d/a{1..2}.tar"));
  const FaultStore faulty(store, {1, false, Fault::kEio, StoreCall::kStat});
  EXPECT_EQ(names_several(faulty, "d/a*").error().code, ErrorCode::kIo);
}

TEST(PathPattern, wildcards_match_files_relative_and_absolute) {
  const TemporaryFolder folder;
  for (const char* name : {"x/1.npy", "x/10.npy", "x/2.npy", "y[1]/1.npy", "y*/1.npy"}) folder.write(name, {});
  const FileStore files;
  const std::string root = folder.path();
  EXPECT_EQ(*expand_pattern(files, root + "/x/*.npy"),
            (Names{root + "/x/1.npy", root + "/x/10.npy", root + "/x/2.npy"}));
  EXPECT_EQ(*expand_pattern(files, root + "//*/1.n?y"),
            (Names{root + "//x/1.npy", root + "//y*/1.npy", root + "//y[1]/1.npy"}));
  EXPECT_EQ(*expand_pattern(files, root + "/y\\*/?.npy"), (Names{root + "/y*/1.npy"})) << "escaped";
  EXPECT_EQ(expand_pattern(files, "*/no_such_file_here").error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(expand_pattern(files, "/*"));
  EXPECT_TRUE(expand_pattern(files, "/*")->front().starts_with('/'));
}

TEST(PathPattern, a_name_behind_a_wildcard_that_cannot_be_looked_at_is_an_error_too) {
  const auto store = store_of({"d/a/1", "d/b/1"});
  for (const std::uint64_t failing : {1u, 2u}) {
    const FaultStore faulty(store, {failing, false, Fault::kEio, StoreCall::kStat});
    EXPECT_EQ(expand_pattern(faulty, "d/*/1").error().code, ErrorCode::kIo) << failing;
  }
}

TEST(PathPattern, a_listing_that_fails_is_an_error_and_not_a_shorter_list) {
  const auto store = store_of({"d/a/1", "d/b/1"});
  for (const std::uint64_t failing : {1u, 2u, 3u}) {
    const FaultStore faulty(store, {failing, false, Fault::kEio, StoreCall::kList});
    EXPECT_EQ(expand_pattern(faulty, "d/*/*").error().code, ErrorCode::kIo) << failing;
  }
}

// A store like HTTP.
class Unlisted final : public Store {
 public:
  StoreTraits traits() const override { return {}; }
  Result<std::unique_ptr<Object>> open(const std::string&) const override { return fail(ErrorCode::kIo, "not asked"); }
  Result<ObjectVersion> stat(const std::string&) const override { return fail(ErrorCode::kIo, "not asked"); }
  Status list_pages(const std::string&, const ListOptions&, const TakePage&) const override {
    return fail(ErrorCode::kUnsupported, "cannot list");
  }
};

TEST(PathPattern, wildcard_characters_mean_themselves_where_a_store_cannot_list) {
  EXPECT_EQ(*expand_pattern(Unlisted(), "https://h/{1..2}?a=*"), (Names{"https://h/1?a=*", "https://h/2?a=*"}));
  EXPECT_FALSE(*names_several(Unlisted(), "https://h/**/x?a=*"));
  EXPECT_TRUE(*names_several(Unlisted(), "https://h/{1..2}"));
}

TEST(SlowPathPattern, a_pattern_for_too_many_paths_is_refused) {
  EXPECT_EQ(expand_pattern(MemoryStore(), "{1..9999}{1..9999}").error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace penstock
