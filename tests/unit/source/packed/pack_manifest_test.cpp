#include "source/packed/pack_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/sample_pack.h"

namespace penstock {
namespace {

using testing::HasSubstr;

Error error_of(const std::string& text) {
  const auto manifest = PackManifest::parse(text, "penstock-pack.json");
  return manifest ? Error{ErrorCode::kStopped, "it was accepted", {}} : manifest.error();
}

// The text of a manifest that was changed before its checksum was made.
std::string changed(void (*change)(PackManifest&)) {
  PackManifest manifest = sample_manifest();
  change(manifest);
  return manifest.to_text();
}

TEST(PackManifest, what_was_written_is_read) {
  const PackManifest written = sample_manifest();
  const auto read = PackManifest::parse(written.to_text(), "penstock-pack.json");
  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_EQ(read->shards, written.shards);
  EXPECT_EQ(read->description.to_text(), written.description.to_text());
  EXPECT_EQ(read->description.fields, written.description.fields);
  EXPECT_EQ(read->description.classes, written.description.classes);
  EXPECT_EQ(read->description.source_fingerprint, written.description.source_fingerprint);
}

TEST(PackManifest, a_changed_letter_is_noticed) {
  const std::string good = sample_manifest().to_text();
  for (std::size_t at = 0; at < good.size(); ++at) {
    // White space between the parts of JSON means nothing.
    if (good[at] == ' ' || good[at] == '\n') continue;
    std::string bad = good;
    bad[at] = bad[at] == 'x' ? 'y' : 'x';
    ASSERT_EQ(error_of(bad).code, ErrorCode::kCorrupt) << "at " << at << ": " << bad.substr(at, 20);
    ASSERT_EQ(error_of(bad).where.uri, "penstock-pack.json");
  }
}

TEST(PackManifest, a_truncated_manifest_is_noticed) {
  const std::string good = sample_manifest().to_text();
  for (std::size_t size = 0; size + 2 < good.size(); ++size)
    ASSERT_EQ(error_of(good.substr(0, size)).code, ErrorCode::kCorrupt) << size;
}

TEST(PackManifest, a_missing_shard_and_one_that_is_there_twice_are_noticed) {
  EXPECT_THAT(error_of(changed([](PackManifest& m) { m.shards.pop_back(); })).message, HasSubstr("2 samples in 1 shards"));
  EXPECT_THAT(error_of(changed([](PackManifest& m) { m.shards.push_back(m.shards.front()); })).message,
              HasSubstr("shard 2 does not follow"));
  EXPECT_THAT(error_of(changed([](PackManifest& m) { std::swap(m.shards[0], m.shards[1]); })).message,
              HasSubstr("shard 0 does not follow"));
}

TEST(PackManifest, names_cannot_lead_out_of_the_folder) {
  EXPECT_THAT(error_of(changed([](PackManifest& m) { m.shards[0].files[0].name = "../secret.tar"; })).message,
              HasSubstr("no file beside the manifest"));
  EXPECT_THAT(error_of(changed([](PackManifest& m) { m.shards[0].files[0].index = "/etc/passwd"; })).message,
              HasSubstr("no file beside the manifest"));
}

TEST(PackManifest, two_fields_of_one_name_are_refused) {
  EXPECT_THAT(error_of(changed([](PackManifest& m) { m.description.fields[1].name = "image"; })).message,
              HasSubstr("described twice"));
}

TEST(PackManifest, a_shape_that_no_memory_holds_is_refused) {
  EXPECT_THAT(error_of(changed([](PackManifest& m) {
                m.description.fields[2].elements->shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
              })).message,
              HasSubstr("too large"));
}

}  // namespace
}  // namespace penstock
