#include "source/path_pattern.h"

#include <gtest/gtest.h>

#include "store/file_store.h"
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
  Result<std::vector<FolderEntry>> list(const std::string&, const ListOptions&) const override {
    return fail(ErrorCode::kUnsupported, "cannot list");
  }
};

TEST(PathPattern, wildcard_characters_mean_themselves_where_a_store_cannot_list) {
  EXPECT_EQ(*expand_pattern(Unlisted(), "https://h/{1..2}?a=*"), (Names{"https://h/1?a=*", "https://h/2?a=*"}));
}

TEST(SlowPathPattern, a_pattern_for_too_many_paths_is_refused) {
  EXPECT_EQ(expand_pattern(MemoryStore(), "{1..9999}{1..9999}").error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace penstock
