#include "store/azure/azure_store.h"

#include <gtest/gtest.h>

#include "store/azure/azure_answers.h"
#include "store/azure/azure_signer.h"
#include "support/azure_server.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

class AzureStores : public testing::Test {
 protected:
  Watchdog watchdog_{"Azure stores"};
};

TEST_F(AzureStores, read_blobs_by_a_key_and_by_a_token) {
  for (const std::string token : {"", "sv=2021-08-06&sp=rl&sig=abc%2Fdef%3D"}) {
    AzureServer server(5000, token);
    server.put("container/a b+c%41/\xC3\xA4.bin", counted_text(1000));
    const auto store = server.store();
    ASSERT_TRUE(store) << store.error().describe();
    const auto read = read_text(**store, {"az://container/a b+c%41/\xC3\xA4.bin", {10, 20, false}, 100, {}});
    ASSERT_TRUE(read) << read.error().describe();
    EXPECT_EQ(read->text, counted_text(1000).substr(10, 20));
    const auto listed = (*store)->list("az://container/a b+c%41", {.wants_version = [](std::string_view) { return true; }});
    ASSERT_TRUE(listed) << listed.error().describe();
    ASSERT_EQ(listed->size(), 1u);
    EXPECT_EQ(*(*listed)[0].version, *(*store)->stat("az://container/a b+c%41/\xC3\xA4.bin"));
  }
}

TEST_F(AzureStores, large_blobs_are_written_in_blocks) {
  AzureServer server;
  const auto store = server.store();
  const std::string bytes = counted_text((17 << 20) + 5);
  auto writer = (*store)->create("az://container/big");
  ASSERT_TRUE(writer) << writer.error().describe();
  for (std::size_t at = 0; at < bytes.size(); at += 1'000'003)
    ASSERT_TRUE((*writer)->write(text_as_bytes(std::string_view(bytes).substr(at, 1'000'003))));
  EXPECT_EQ(server.get("container/big"), "(none)");
  const auto committed = (*writer)->commit();
  ASSERT_TRUE(committed) << committed.error().describe();
  EXPECT_TRUE(server.get("container/big") == bytes);
  EXPECT_EQ(server.requests_of("BLOCK"), 3);
  EXPECT_EQ(server.requests_of("JOIN"), 1);
}

TEST_F(AzureStores, an_upload_that_fails_leaves_the_old_blob) {
  AzureServer server;
  server.put("container/x", "old");
  const auto store = server.store();
  for (const std::string operation : {"BLOCK", "JOIN"}) {
    auto writer = *(*store)->create("az://container/x");
    server.fail(operation, "403 Forbidden", "AuthorizationFailure", 1'000'000);
    const std::string bytes(9 << 20, 'n');
    const Status written = writer->write(text_as_bytes(bytes));
    const Status committed = written ? writer->commit() : written;
    ASSERT_FALSE(committed) << operation;
    EXPECT_EQ(committed.error().code, ErrorCode::kNoAccess);
    writer.reset();
    server.fail("", "", "", 0);
    EXPECT_EQ(server.get("container/x"), "old");
  }
}

TEST_F(AzureStores, busy_servers_are_asked_again_and_other_errors_have_a_name) {
  AzureServer server;
  server.put("container/x", "bytes");
  const auto store = server.store();
  server.fail("GET", "503 Busy", "ServerBusy", 2);
  EXPECT_TRUE(read_text(**store, {"az://container/x", {}, 100, {}}));
  const auto missing = read_text(**store, {"az://container/y", {}, 100, {}});
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  const auto container = (*store)->list("az://nowhere");
  ASSERT_FALSE(container);
  EXPECT_EQ(container.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(container.error().message.find("no such container"), std::string::npos);
  AzureOptions options = server.options();
  options.account_key = base64(text_as_bytes("another key"));
  const auto refused = (*make_azure_store("az://container", options, impatient()))->list("az://container");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNoAccess);
  EXPECT_EQ(refused.error().describe().find(options.account_key), std::string::npos);
}

TEST_F(AzureStores, refuse_malformed_names_keys_and_connections) {
  AzureOptions options;
  options.account = "account";
  for (const char* uri : {"az://", "az://UPPER/x", "az://container/x?sig=secret"}) {
    const auto store = make_azure_store(uri, options, {});
    ASSERT_FALSE(store) << uri;
    EXPECT_EQ(store.error().describe().find("secret"), std::string::npos);
  }
  options.account_key = "not base64!";
  EXPECT_FALSE(make_azure_store("az://container", options, {}));
  EXPECT_FALSE(make_azure_store("az://container", AzureOptions(), {}));
  EXPECT_FALSE(parse_azure_connection("AccountKey=x"));
  EXPECT_FALSE(parse_azure_connection("nonsense"));
}

TEST_F(AzureStores, connection_strings_name_an_account_and_its_endpoint) {
  const auto cloud = parse_azure_connection("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=a2V5;EndpointSuffix=core.example");
  ASSERT_TRUE(cloud);
  EXPECT_EQ(cloud->endpoint, "https://a.blob.core.example");
  EXPECT_EQ(cloud->account_key, "a2V5");
  EXPECT_EQ(parse_azure_connection("UseDevelopmentStorage=true")->endpoint, "http://127.0.0.1:10000/devstoreaccount1");
  EXPECT_EQ(parse_azure_connection("BlobEndpoint=https://x/;SharedAccessSignature=?sv=1&sig=2")->sas_token, "sv=1&sig=2");
}

TEST(AzureAnswers, pages_are_listings_and_nothing_else) {
  const auto page = parse_azure_page(
      "\xEF\xBB\xBF<?xml version=\"1.0\"?><EnumerationResults><Blobs><Blob><Name>b&amp;c</Name><Properties><Content-Length>5"
      "</Content-Length><Etag>0x1</Etag></Properties></Blob><BlobPrefix><Name>a/</Name></BlobPrefix><Blob><Name>d</Name>"
      "<Properties><ResourceType>directory</ResourceType><Content-Length>0</Content-Length></Properties></Blob></Blobs>"
      "<NextMarker>m</NextMarker></EnumerationResults>");
  ASSERT_TRUE(page) << page.error().describe();
  ASSERT_EQ(page->entries.size(), 2u);
  EXPECT_TRUE(page->entries[0].is_folder);
  EXPECT_EQ(page->entries[1].name, "b&c");
  EXPECT_EQ(page->entries[1].etag, "\"0x1\"");
  EXPECT_EQ(page->next, "m");
  for (const char* bad : {"", "<a/>", "<EnumerationResults><Blobs><Blob><Name>x</Name></Blob></Blobs></EnumerationResults>",
                          "<EnumerationResults><Blobs><Blob><Properties><Content-Length>5</Content-Length></Properties></Blob></Blobs>"
                          "</EnumerationResults>"})
    EXPECT_FALSE(parse_azure_page(bad)) << bad;
}

}  // namespace
}  // namespace penstock
