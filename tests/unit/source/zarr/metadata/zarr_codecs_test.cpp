#include "source/zarr/metadata/zarr_codecs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/zarr_store.h"

namespace penstock {
namespace {

using testing::HasSubstr;

const std::string kUri = "z/meta";
const std::string kLittle = R"({"name": "bytes", "configuration": {"endian": "little"}})";

Result<ZarrCodecs> v2(const std::string& text, const StoredType& type = {DType::kInt32, false}) {
  return read_v2_codecs(Json::parse(text), type, 2, kUri);
}
Result<ZarrCodecs> v3(const std::string& text, DType dtype = DType::kInt32) {
  const Json list = Json::parse(text);
  return read_v3_codecs(&list, dtype, 2, kUri);
}
std::string v2_with(const std::string& codec) {
  return R"({"order": "C", "filters": [], "compressor": )" + codec + "}";
}
// The places of the codecs among the alternatives of Codec.
std::vector<std::size_t> kinds(const Result<ZarrCodecs>& codecs) {
  std::vector<std::size_t> out;
  if (codecs)
    for (const Codec& codec : codecs->codecs) out.push_back(codec.index());
  return out;
}
template <typename... Kinds>
std::vector<std::size_t> these() {
  return {Codec(Kinds{}).index()...};
}

TEST(ZarrCodecs, compressors_of_version_2) {
  EXPECT_EQ(kinds(v2(v2_with("null"))), (these<BytesCodec>()));
  EXPECT_EQ(kinds(v2(R"({"order": "F"})")), (these<TransposeCodec, BytesCodec>()));
  EXPECT_EQ(kinds(v2(v2_with(R"({"id": "blosc"})"))), (these<BytesCodec, BloscCodec>()));
  EXPECT_EQ(kinds(v2(v2_with(R"({"id": "zstd"})"))), (these<BytesCodec, ZstdCodec>()));
  EXPECT_EQ(kinds(v2(v2_with(R"({"id": "lz4"})"))), (these<BytesCodec, Lz4Codec>()));
  EXPECT_EQ(kinds(v2(v2_with(R"({"id": "gzip"})"))), (these<BytesCodec, GzipCodec>()));
  EXPECT_EQ(kinds(v2(v2_with(R"({"id": "zlib"})"))), (these<BytesCodec, ZlibCodec>()));
  EXPECT_EQ(kinds(v2(v2_with(R"({"id": "crc32c"})"))), (these<BytesCodec, Crc32cCodec>()));
  EXPECT_EQ(kinds(v2(v2_with(R"({"id": "bitround", "keepbits": 3})"))), (these<BytesCodec>()));
  EXPECT_FALSE(v2(v2_with(R"({"id": "crc32c", "location": "start"})")));
}

TEST(ZarrCodecs, filters_of_version_2_follow_each_other_s_types) {
  const auto codecs = v2(R"({"order": "C", "compressor": {"id": "zlib"}, "filters": [
      {"id": "fixedscaleoffset", "offset": 1, "scale": 10, "dtype": ">f8", "astype": "<i2"},
      {"id": "delta", "dtype": "<i2", "astype": "|i1"}, {"id": "shuffle", "elementsize": 1}]})",
                         {DType::kFloat64, true});
  ASSERT_TRUE(codecs) << codecs.error().describe();
  EXPECT_EQ(kinds(codecs), (these<BytesCodec, FixedScaleOffsetCodec, DeltaCodec, ShuffleCodec, ZlibCodec>()));
  const auto& scaled = std::get<FixedScaleOffsetCodec>(codecs->codecs[1]);
  EXPECT_EQ(scaled.offset, 1);
  EXPECT_EQ(scaled.scale, 10);
  EXPECT_TRUE(scaled.decoded.big_endian);
  EXPECT_EQ(scaled.encoded.dtype, DType::kInt16);
  EXPECT_EQ(std::get<DeltaCodec>(codecs->codecs[2]).encoded.dtype, DType::kInt8);
  const auto wrong = v2(R"({"order": "C", "filters": [{"id": "delta", "dtype": ">i4"}]})");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("big-endian int32"));
  EXPECT_FALSE(v2(R"({"order": "C", "filters": [{"id": "delta", "dtype": "<i2"}]})"));
  EXPECT_FALSE(v2(R"({"order": "C", "filters": [{"id": "shuffle"}, {"id": "delta", "dtype": "<i4"}]})"));
}

TEST(ZarrCodecs, other_codecs_are_refused_by_name) {
  for (const char* id :
       {"vlen-utf8", "json2", "msgpack2", "bz2", "lzma", "zfpy", "packbits", "astype", "numcodecs.zstd"}) {
    const auto codecs = v2(v2_with(R"({"id": ")" + std::string(id) + "\"}"));
    ASSERT_FALSE(codecs) << id;
    EXPECT_EQ(codecs.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(codecs.error().message, HasSubstr(id));
    EXPECT_EQ(codecs.error().where.uri, kUri);
  }
  const auto pickle = v2(R"({"order": "C", "filters": [{"id": "pickle", "protocol": 5}]})");
  ASSERT_FALSE(pickle);
  EXPECT_THAT(pickle.error().message, HasSubstr("pickle is refused"));
  for (const char* name : {"zlib", "delta", "vlen-utf8", "numcodecs.bz2", "numcodecs.", "packbits"}) {
    const auto codecs = v3("[" + kLittle + R"(, {"name": ")" + name + "\"}]");
    ASSERT_FALSE(codecs) << name;
    EXPECT_EQ(codecs.error().code, ErrorCode::kUnsupported);
  }
  EXPECT_THAT(v3("[" + kLittle + R"(, {"name": "numcodecs.pcodec"}])").error().message, HasSubstr("pcodec"));
}

TEST(ZarrCodecs, codecs_that_say_too_little_are_errors) {
  for (const char* codec :
       {"3", "[]", "{}", R"({"id": 3})", R"({"id": "shuffle", "elementsize": 0})",
        R"({"id": "shuffle", "elementsize": 4294967297})", R"({"id": "fixedscaleoffset"})",
        R"({"id": "fixedscaleoffset", "offset": 0, "scale": 0})",
        R"({"id": "fixedscaleoffset", "offset": "a", "scale": 1})", R"({"id": "delta", "dtype": "<U3"})",
        R"({"id": "delta", "dtype": 3})"})
    EXPECT_FALSE(v2(v2_with(codec))) << codec;
  EXPECT_FALSE(v2(R"({"order": "C", "filters": {}})"));
  EXPECT_FALSE(v2(R"({"order": "A"})"));
  EXPECT_FALSE(v2("{}"));
}

TEST(ZarrCodecs, codecs_of_version_3) {
  EXPECT_EQ(kinds(v3("[" + kLittle + "]")), (these<BytesCodec>()));
  EXPECT_EQ(kinds(v3(R"([{"name": "bytes"}, "gzip", "zstd", "crc32c"])", DType::kInt8)),
            (these<BytesCodec, GzipCodec, ZstdCodec, Crc32cCodec>()));
  EXPECT_EQ(
      kinds(v3("[" + kLittle + R"(, {"name": "numcodecs.blosc", "configuration": {}}, "numcodecs.lz4",
                     "numcodecs.zlib", "numcodecs.gzip", "numcodecs.zstd", "blosc", "numcodecs.shuffle"])")),
      (these<BytesCodec, BloscCodec, Lz4Codec, ZlibCodec, GzipCodec, ZstdCodec, BloscCodec, ShuffleCodec>()));
  EXPECT_EQ(kinds(v3(R"([{"name": "transpose", "configuration": {"order": "F"}}, )" + kLittle + "]")),
            (these<TransposeCodec, BytesCodec>()));
}

TEST(ZarrCodecs, the_last_elements_of_version_3_are_stored_as_the_codec_bytes_says) {
  const auto codecs = v3(R"([{"name": "numcodecs.fixedscaleoffset", "configuration": {"offset": 0, "scale": 1,
      "dtype": "f8", "astype": "i4"}}, {"name": "numcodecs.delta", "configuration": {"dtype": "int32"}},
      {"name": "bytes", "configuration": {"endian": "big"}}])",
                         DType::kFloat64);
  ASSERT_TRUE(codecs) << codecs.error().describe();
  EXPECT_FALSE(std::get<FixedScaleOffsetCodec>(codecs->codecs[0]).encoded.big_endian);
  EXPECT_FALSE(std::get<DeltaCodec>(codecs->codecs[1]).decoded.big_endian);
  EXPECT_TRUE(std::get<DeltaCodec>(codecs->codecs[1]).encoded.big_endian);
}

TEST(ZarrCodecs, codecs_of_version_3_stand_in_order) {
  for (const std::string& list :
       {std::string("[]"), std::string(R"(["gzip"])"), "[" + kLittle + "," + kLittle + "]",
        std::string(R"(["gzip", )") + kLittle + "]",
        "[" + kLittle + R"(, {"name": "transpose", "configuration": {"order": [1, 0]}}])",
        "[" + kLittle + R"(, {"name": "numcodecs.delta"}])", std::string("{}"), std::string("[null]"),
        std::string("[3]"), std::string(R"([{"name": "bytes"}])"),
        std::string(R"([{"name": "bytes", "configuration": {"endian": "middle"}}])"),
        std::string(R"([{"name": "bytes", "configuration": 3}])")}) {
    const auto codecs = v3(list);
    ASSERT_FALSE(codecs) << list;
    EXPECT_EQ(codecs.error().code, ErrorCode::kCorrupt) << list;
  }
  for (const char* order : {"[0]", "[0, 0]", "[0, 2]", "[-1, 0]", "[0, 1, 2]", "\"Z\"", "null", "[0, 1.0]"})
    EXPECT_FALSE(v3(R"([{"name": "transpose", "configuration": {"order": )" + std::string(order) + "}}, " +
                    kLittle + "]"))
        << order;
}

TEST(ZarrCodecs, sharding_that_cannot_be_read_in_parts_is_refused) {
  const auto sharding = [](const std::string& members) {
    return R"({"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 2], "codecs": [)" + kLittle +
           "]" + members + "}}";
  };
  const std::string index = R"(, "index_codecs": [)" + kLittle + R"(, "crc32c"])";
  ASSERT_TRUE(v3("[" + sharding(index) + "]"));
  const auto compressed = v3("[" + sharding(index) + R"(, "zstd"])");
  ASSERT_FALSE(compressed);
  EXPECT_EQ(compressed.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(compressed.error().message, HasSubstr("zstd after sharding_indexed"));
  const auto filtered = v3(R"([{"name": "numcodecs.delta"}, )" + sharding(index) + "]");
  ASSERT_FALSE(filtered);
  EXPECT_EQ(filtered.error().code, ErrorCode::kUnsupported);
  for (const char* codecs : {R"(["crc32c"])", R"([])", R"(["zstd"])"}) {
    const auto other = v3("[" + sharding(R"(, "index_codecs": )" + std::string(codecs)) + "]");
    ASSERT_FALSE(other) << codecs;
    EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
  }
  EXPECT_FALSE(v3("[" + sharding("") + "]"));
  EXPECT_FALSE(v3("[" + sharding(index + R"(, "index_location": "middle")") + "]"));
  EXPECT_FALSE(v3("[" + sharding(R"(, "index_codecs": [{"name": "bytes"}])") + "]"));
}

TEST(ZarrCodecs, shards_nest_so_far) {
  std::string codec = kLittle;
  for (int depth = 1; depth <= 6; ++depth) {
    codec = R"({"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 2], "codecs": [)" + codec +
            R"(], "index_codecs": [)" + kLittle + "]}}";
    EXPECT_EQ(v3("[" + codec + "]").has_value(), depth <= 4) << depth;
  }
}

}  // namespace
}  // namespace penstock
