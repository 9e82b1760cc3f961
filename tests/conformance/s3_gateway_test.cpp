// Writes by the S3 store on a real server, which tests/cluster/test_s3_ceph.py starts and whose contents it then reads
// with boto3. Skipped where PENSTOCK_TEST_S3 ("http://host:port/bucket") is not set.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/s3_reading.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

class S3Gateway : public testing::Test {
 protected:
  void SetUp() override {
    const char* const place = std::getenv("PENSTOCK_TEST_S3");
    if (place == nullptr) GTEST_SKIP() << "no server";
    const std::string text = place;
    root_ = "s3:/" + text.substr(text.rfind('/')) + "/parts/";
    S3Options options;
    options.endpoint = text.substr(0, text.rfind('/'));
    auto store = make_s3_store(root_, options);
    ASSERT_TRUE(store) << store.error().describe();
    store_ = *store;
  }
  Status write(const std::string& name, std::string_view text, bool commits = true) {
    auto writer = store_->create(root_ + name);
    if (!writer) return std::unexpected(writer.error());
    for (std::size_t at = 0; at < text.size(); at += 3'000'001)
      PENSTOCK_CHECK((*writer)->write(bytes_of(text.substr(at, 3'000'001))));
    return commits ? (*writer)->commit() : Status();
  }

  std::string root_;
  std::shared_ptr<const Store> store_;
};

TEST_F(S3Gateway, takes_a_large_object_in_parts) {
  const std::string text = counted_text(40'000'001);
  const auto written = write("large.bin", text);
  ASSERT_TRUE(written) << written.error().describe();
  const auto read = read_all(*store_, root_ + "large.bin", text.size());
  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_TRUE(*read == bytes_of(text));
  ASSERT_TRUE(write("abandoned.bin", text, false));
  EXPECT_EQ(store_->stat(root_ + "abandoned.bin").error().code, ErrorCode::kNotFound);
}

TEST_F(S3Gateway, takes_odd_keys) {
  const std::vector<std::string> odd = {"plain", "a b+c", "100%41", "what?x=1#y", "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80",
                                        "a&b=c;d,e:f@g!h$i'j(k)l*m", "quote\"s", "tilde~_-.", "back\\slash",
                                        "<xml>&amp;", "deep/er/x", "..hidden", "[x]{y}"};
  for (const std::string& key : odd) {
    const auto written = write("odd/" + key, key);
    ASSERT_TRUE(written) << written.error().describe();
    const auto read = read_all(*store_, root_ + "odd/" + key, 1000);
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_TRUE(*read == bytes_of(key)) << key;
  }
  const auto listed = store_->list(root_ + "odd", {.wants_version = [](std::string_view) { return true; },
                                                   .is_recursive = true});
  ASSERT_TRUE(listed) << listed.error().describe();
  EXPECT_EQ(listed->size(), odd.size());
  for (const FolderEntry& entry : *listed) {
    EXPECT_NE(std::ranges::find(odd, entry.name), odd.end()) << entry.name;
    EXPECT_TRUE(entry.version->is_exactly(*store_->stat(root_ + "odd/" + entry.name))) << entry.name;
  }
}

}  // namespace
}  // namespace penstock
