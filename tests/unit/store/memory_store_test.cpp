#include "store/memory_store.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Names = std::vector<std::string>;

Names names_of(const Result<Listing>& listing) {
  Names names;
  if (!listing) return {listing.error().describe()};
  for (const FolderEntry& entry : *listing) names.push_back(entry.name + (entry.is_folder ? "/" : ""));
  return names;
}

TEST(MemoryStore, objects_that_mark_a_folder_make_it_and_are_not_listed) {
  for (const std::size_t page : {1u, 2u, 1000u}) {
    MemoryStore store(page);
    for (const char* key : {"mem://b/", "mem://b/d/", "mem://b/d/empty/", "mem://b/d/x", "mem://b/d//y"}) store.put(key, {});
    EXPECT_EQ(names_of(store.list("mem://b")), Names{"d/"});
    EXPECT_EQ(names_of(store.list("mem://b/d")), (Names{"empty/", "x"}));
    EXPECT_EQ(names_of(store.list("mem://b/d/empty/")), Names{});
    EXPECT_EQ(names_of(store.list("mem://b", {.is_recursive = true})), Names{"d/x"});
    EXPECT_EQ(*store.kind_of("mem://b/d/empty"), KeyKind::kFolder);
  }
}

TEST(MemoryStore, an_object_and_a_folder_may_have_one_key) {
  MemoryStore store(1);
  for (const char* key : {"d/a", "d/a/x", "d/a-1"}) store.put(key, {});
  EXPECT_EQ(names_of(store.list("d")), (Names{"a", "a/", "a-1"}));
  EXPECT_EQ(*store.kind_of("d/a"), KeyKind::kObject);
  EXPECT_EQ(names_of(store.list("d/a")), Names{"x"});
}

TEST(MemoryStore, every_size_of_page_gives_the_same_list) {
  MemoryStore whole;
  std::vector<MemoryStore> paged;
  for (std::size_t page = 1; page < 8; ++page) paged.emplace_back(page);
  for (int i = 0; i < 50; ++i) {
    const std::string key = "d/" + std::string(i % 3 == 0 ? "a/" : i % 3 == 1 ? "a-b/c/" : "") + std::to_string(i);
    whole.put(key, {});
    for (MemoryStore& store : paged) store.put(key, {});
  }
  for (const bool is_recursive : {false, true})
    for (const MemoryStore& store : paged)
      EXPECT_EQ(names_of(store.list("d", {.is_recursive = is_recursive})),
                names_of(whole.list("d", {.is_recursive = is_recursive})));
}

TEST(MemoryStore, an_object_that_appears_while_pages_are_read_is_no_fault) {
  MemoryStore store(2);
  for (const char* key : {"d/b", "d/d", "d/f"}) store.put(key, {});
  Names names;
  ASSERT_TRUE(store.list_pages("d", {}, [&](const Listing& page) -> Result<bool> {
    for (const FolderEntry& entry : page) names.push_back(entry.name);
    store.put("d/a", {});
    store.put("d/g", {});
    return true;
  }));
  EXPECT_EQ(names, (Names{"b", "d", "f", "g"}));
}

}  // namespace
}  // namespace penstock
