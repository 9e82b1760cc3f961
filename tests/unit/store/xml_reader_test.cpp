#include "store/xml_reader.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

// "<a>x</a>" becomes "+a x -a".
std::string pieces(std::string_view xml) {
  XmlReader reader(xml);
  std::string out;
  while (true) {
    const auto piece = reader.next();
    if (!piece) return piece.error().code == ErrorCode::kCorrupt ? "corrupt" : "other error";
    if (piece->kind == XmlReader::Kind::kEnd) return out;
    if (!out.empty()) out += ' ';
    if (piece->kind == XmlReader::Kind::kOpen) out += "+" + std::string(piece->name);
    if (piece->kind == XmlReader::Kind::kClose) out += "-" + std::string(piece->name);
    if (piece->kind == XmlReader::Kind::kText) out += piece->text;
  }
}

TEST(XmlReader, reads_elements_and_text) {
  EXPECT_EQ(pieces("<?xml version=\"1.0\"?>\n<a x='>' y=\"/\"><b>1 &lt; 2</b><c/><d />\n</a> "),
            "+a +b 1 < 2 -b +c -c +d -d \n -a");
  EXPECT_EQ(pieces("<s:a xmlns:s=\"u\"><s:b></s:b></s:a>"), "+a +b -b -a") << "without prefixes";
  EXPECT_EQ(pieces("<a><!-- <b> --><![CDATA[<x>&]]></a>"), "+a <x>& -a");
  EXPECT_EQ(pieces("\xEF\xBB\xBF<a/>"), "+a -a");
  EXPECT_EQ(pieces("<a>&amp;&gt;&quot;&apos;&#65;&#x20AC;&#x1F600;</a>"), "+a &>\"'A\xE2\x82\xAC\xF0\x9F\x98\x80 -a");
}

TEST(XmlReader, refuses_everything_else) {
  for (const char* xml :
       {"", "  ", "text", "<a>", "<a", "<a></b>", "</a>", "<a/><b/>", "<a/>x", "<a>&nope;</a>", "<a>&#0;</a>",
        "<a>&#xD800;</a>", "<a>&#x110000;</a>", "<a>&amp</a>", "<!DOCTYPE a [<!ENTITY b 'x'>]><a>&b;</a>", "<a><!--</a>",
        "<a><![CDATA[x</a>", "<![CDATA[x]]>", "<a <b/></a>", "<>x</>", "<a></a x>", "<?x"})
    EXPECT_EQ(pieces(xml), "corrupt") << xml;
  std::string deep;
  for (std::size_t i = 0; i < XmlReader::kMaxDepth; ++i) deep += "<a>";
  EXPECT_EQ(pieces(deep + "<a>"), "corrupt");
  for (std::size_t i = 0; i < XmlReader::kMaxDepth; ++i) deep += "</a>";
  EXPECT_NE(pieces(deep), "corrupt");
}

TEST(XmlReader, finds_the_text_at_a_path) {
  const char* xml = "<Error><Code>NoSuchKey</Code><a><Code>x</Code></a></Error>";
  EXPECT_EQ(xml_text_at(xml, "Error/Code"), "NoSuchKey");
  EXPECT_EQ(xml_text_at(xml, "Error/a/Code"), "x");
  EXPECT_EQ(xml_text_at(xml, "Error/b"), "");
  EXPECT_EQ(xml_text_at("<html><p>proxy", "Error/Code"), "");
  EXPECT_EQ(xml_text_at("<Error><Code>Slow", "Error/Code"), "") << "broken off";
}

}  // namespace
}  // namespace penstock
