#include "store/listing.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Names = std::vector<std::string>;

Names names_of(const Listing& listing) {
  Names names;
  for (const FolderEntry& entry : listing) names.push_back(entry.name + (entry.is_folder ? "/" : ""));
  return names;
}

TEST(Listing, sorts_by_names_and_by_keys_in_which_a_folder_ends_with_a_slash) {
  Listing listing;
  for (const char* name : {"a.x", "a", "\xC3\xA4", "b", "a0"})
    ASSERT_TRUE(listing.add({name, std::string_view(name) == "a", std::nullopt}, "d"));
  ASSERT_TRUE(listing.add({"a", false, std::nullopt}, "d"));
  listing.sort_by_key();
  EXPECT_EQ(names_of(listing), (Names{"a", "a.x", "a/", "a0", "b", "\xC3\xA4"}));
  listing.sort_by_name();
  EXPECT_EQ(names_of(listing), (Names{"a", "a/", "a.x", "a0", "b", "\xC3\xA4"}));
}

TEST(Listing, reserves_memory_for_long_names_too) {
  OpeningMemory memory(1 << 20);
  const OpeningMemory::Scope scope(&memory);
  Listing listing;
  Status status;
  std::size_t added = 0;
  while (status && added < 1000) status = listing.add({std::string(10'000, 'x'), false, std::nullopt}, "d"), ++added;
  EXPECT_LT(added, 110u);
  EXPECT_GT(added, 90u);
  EXPECT_EQ(status.error().code, ErrorCode::kNoMemory);
  EXPECT_EQ(status.error().where.uri, "d");
  listing = Listing();
  EXPECT_EQ(memory.working().used(), 0u);
}

TEST(Listing, a_recursive_choice_asks_once_for_each_folder) {
  Names asked;
  ListOptions options;
  options.wants = [&](std::string_view name, bool is_folder) {
    asked.push_back(std::string(name) + (is_folder ? "/" : ""));
    return name != "b" && !name.ends_with('2');
  };
  RecursiveChoice choice(options);
  Names wanted;
  for (const char* name : {"a", "a/1", "a/2", "a/c/1", "b/1", "b/c/1", "b2/c/1", "c/1"})
    if (choice.wants(name)) wanted.emplace_back(name);
  EXPECT_EQ(wanted, (Names{"a", "a/1", "a/c/1", "c/1"}));
  EXPECT_EQ(asked, (Names{"a", "a/", "a/1", "a/2", "a/c/", "a/c/1", "b/", "b2/", "c/", "c/1"}));
  const ListOptions everything;
  EXPECT_TRUE(RecursiveChoice(everything).wants("x/y"));
}

}  // namespace
}  // namespace penstock
