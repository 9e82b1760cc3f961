#include "source/manifest/row_object.h"

#include <gtest/gtest.h>

#include "base/text/public_uri.h"
#include "store/object_key.h"

namespace penstock {
namespace {

TEST(RowObjects, of_files_stay_within_the_root) {
  const RowObjects rows("/data/set");
  EXPECT_EQ(*rows.key("a/b.jpg"), "/data/set/a/b.jpg");
  EXPECT_EQ(*rows.key("a/../b.jpg"), "/data/set/b.jpg");
  EXPECT_EQ(*rows.key("/data/set/b.jpg"), "/data/set/b.jpg");
  EXPECT_EQ(*rows.key("what?.jpg"), "/data/set/what?.jpg");
  for (const char* cell : {"../x", "/etc/passwd", "/data/settings/x", "a/../../x", "http://a.example/x"})
    EXPECT_EQ(rows.key(cell).error().code, ErrorCode::kNoAccess) << cell;
}

TEST(RowObjects, of_a_server_stay_within_the_root_in_every_spelling) {
  const RowObjects rows("http://a.example/set");
  EXPECT_EQ(*rows.key("a/b.jpg"), "http://a.example/set/a/b.jpg");
  EXPECT_EQ(*rows.key("./a/../b.jpg"), "http://a.example/set/b.jpg");
  EXPECT_EQ(*rows.key("http://a.example/set/b.jpg"), "http://a.example/set/b.jpg");
  for (const char* cell :
       {"../x", "/x", "%2e%2e/x", "a/%2E%2e/..%2fx", "%252e%252e/x", "http://a.example/settings/x",
        "http://a.example/set/../x", "http://a.example/set/%2e%2e/x", "http://b.example/set/x", "ftp://a.example/set/x",
        "//b.example/x", "..\\x"})
    EXPECT_EQ(rows.key(cell).error().code, ErrorCode::kNoAccess) << cell;
}

TEST(RowObjects, with_a_signature_are_asked_for_with_it_and_named_without) {
  const RowObjects rows("http://a.example/set");
  for (const std::string path : {"b//c.jpg", "http://a.example/set/b//c.jpg"}) {
    EXPECT_EQ(*rows.key(path + "?sig=se//../cret&v=1#top"), "http://a.example/set/b//c.jpg?sig=se//../cret&v=1");
    EXPECT_EQ(rows.path(path + "?sig=x.png"), path);
    EXPECT_EQ(rows.shown(path + "?sig=secret"), path);
    EXPECT_EQ(rows.name(path + "?sig=one"), rows.name(path + "?sig=two"));
    EXPECT_NE(rows.name(path + "?v=1"), rows.name(path + "?v=2"));
    EXPECT_EQ(rows.name(path), path) << "as in earlier versions: kept states stay valid";
  }
  EXPECT_EQ(*rows.key("http://u:secret@a.example/set/x"), "http://u:secret@a.example/set/x");
  for (const char* cell : {"http://u:secret@b.example/x?sig=secret", "../x?sig=secret", "http://u:secret@a.example/x"})
    EXPECT_EQ(rows.key(cell).error().message.find("secret"), std::string::npos) << rows.key(cell).error().message;
  EXPECT_EQ(RowObjects("/data").key("http://u:secret@b.example/x?sig=secret").error().message.find("secret"),
            std::string::npos);
}

TEST(RowObjects, below_a_root_whose_query_selects_content) {
  const std::string root = object_key("http://a.example/set?version=2");
  const RowObjects rows(root);
  EXPECT_EQ(*rows.key("x.jpg"), root + "/x.jpg");
  EXPECT_EQ(*rows.key("http://a.example/set/x.jpg"), root + "/x.jpg");
  EXPECT_EQ(rows.key("../x").error().message.find("~"), std::string::npos);
}

}  // namespace
}  // namespace penstock
