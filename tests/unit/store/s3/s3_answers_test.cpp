#include "store/s3/s3_answers.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

std::string listing(const std::string& inner) { return "<ListBucketResult>" + inner + "</ListBucketResult>"; }

TEST(S3Answers, a_page_has_objects_and_folders_in_order) {
  const auto page = parse_s3_page(R"(<?xml version="1.0" encoding="UTF-8"?>
    <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name><Prefix>p%2F</Prefix>
    <KeyCount>3</KeyCount><MaxKeys>1000</MaxKeys><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
    <NextContinuationToken>1ueG&amp;cKO=</NextContinuationToken>
    <Contents><Key>p%2Fz+%2B%25.jpg</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified>
      <ETag>&quot;fba9dede5f27731c9771645a39863328&quot;</ETag><Size>434234</Size><StorageClass>STANDARD</StorageClass>
      <Owner><ID>1</ID><Key>not this</Key></Owner></Contents>
    <Contents><Key>p%2Fa</Key><ETag>fba9</ETag><Size>0</Size></Contents>
    <CommonPrefixes><Prefix>p%2Fb%2F</Prefix></CommonPrefixes></ListBucketResult>)");
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->entries.size(), 3u);
  EXPECT_EQ(page->entries[0].key, "p/a");
  EXPECT_EQ(page->entries[0].etag, "\"fba9\"") << "with quotes, as headers have it";
  EXPECT_EQ(page->entries[1].key, "p/b/");
  EXPECT_TRUE(page->entries[1].is_folder);
  EXPECT_EQ(page->entries[2].key, "p/z +%.jpg");
  EXPECT_EQ(page->entries[2].size, 434234u);
  EXPECT_EQ(page->entries[2].etag, "\"fba9dede5f27731c9771645a39863328\"");
  EXPECT_EQ(page->next, "1ueG&cKO=");
}

TEST(S3Answers, keys_are_decoded_only_where_the_server_says_that_they_are_encoded) {
  const auto page = parse_s3_page(listing("<Contents><Key>a%41+</Key><Size>1</Size></Contents>"));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->entries[0].key, "a%41+");
  EXPECT_EQ(page->next, "");
}

TEST(S3Answers, odd_pages_are_refused) {
  for (const std::string& inner :
       {std::string("<Contents><Key>a</Key></Contents>"), std::string("<Contents><Size>1</Size></Contents>"),
        std::string("<Contents><Key>a</Key><Size>-1</Size></Contents>"),
        std::string("<Contents><Key>a</Key><Size>99999999999999999999</Size></Contents>"),
        std::string("<IsTruncated>true</IsTruncated>"), std::string("<Contents>"),
        std::string("<EncodingType>url</EncodingType><Contents><Key>%4</Key><Size>1</Size></Contents>")}) {
    const auto page = parse_s3_page(listing(inner));
    ASSERT_FALSE(page) << inner;
    EXPECT_EQ(page.error().code, ErrorCode::kCorrupt);
  }
  EXPECT_FALSE(parse_s3_page("<html/>"));
  EXPECT_FALSE(parse_s3_page(""));
}

TEST(S3Answers, parts_are_named_with_their_etags) {
  const std::vector<S3Part> parts = {{1, "\"900150983cd24fb0d6963f7d28e17f72\"", ""},
                                     {2, "\"900150983cd24fb0d6963f7d28e17f72\"", "AAAAAA=="}};
  EXPECT_EQ(complete_upload_xml(parts),
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
            "<Part><PartNumber>1</PartNumber><ETag>&quot;900150983cd24fb0d6963f7d28e17f72&quot;</ETag></Part>"
            "<Part><PartNumber>2</PartNumber><ETag>&quot;900150983cd24fb0d6963f7d28e17f72&quot;</ETag>"
            "<ChecksumCRC32C>AAAAAA==</ChecksumCRC32C></Part></CompleteMultipartUpload>");
  // python: md5(md5(b"abc").digest() * 2).hexdigest() + "-2"
  EXPECT_EQ(etag_of_parts(parts), "043a916d6cfeecedf5e04f0312ba762d-2");
  EXPECT_EQ(etag_of_parts({{1, "\"not-md5\"", ""}}), "");
}

}  // namespace
}  // namespace penstock
