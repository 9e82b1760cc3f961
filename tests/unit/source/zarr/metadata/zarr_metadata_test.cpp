#include "source/zarr/metadata/zarr_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/zarr_store.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Error error_of(const Result<ZarrArray>& array) {
  return array ? Error{ErrorCode::kStopped, "no error", {}, false} : array.error();
}

std::string grid_of(const std::string& chunk_shape) {
  return R"({"name": "regular", "configuration": {"chunk_shape": )" + chunk_shape + "}}";
}

TEST(ZarrMetadata, types_of_version_2) {
  struct Row {
    const char* name;
    DType dtype;
    bool swapped;
  };
  for (const Row& row : std::initializer_list<Row>{{"|b1", DType::kBool, false},
                                                   {"|i1", DType::kInt8, false},
                                                   {"|u1", DType::kUInt8, false},
                                                   {">u1", DType::kUInt8, false},
                                                   {"<i2", DType::kInt16, false},
                                                   {">u2", DType::kUInt16, true},
                                                   {"<u4", DType::kUInt32, false},
                                                   {">i8", DType::kInt64, true},
                                                   {"<f2", DType::kFloat16, false},
                                                   {">f4", DType::kFloat32, true},
                                                   {"<f8", DType::kFloat64, false},
                                                   {">c8", DType::kComplex64, true},
                                                   {"<c16", DType::kComplex128, false}}) {
    const auto array = open_v2({{"dtype", "\"" + std::string(row.name) + "\""}});
    ASSERT_TRUE(array) << array.error().describe();
    EXPECT_EQ(array->data->spec().dtype, row.dtype) << row.name;
    EXPECT_EQ(array->data->swap_bytes(), row.swapped) << row.name;
    EXPECT_FALSE(array->time_unit);
  }
}

TEST(ZarrMetadata, types_of_version_3_are_named_as_ours) {
  for (const char* name : {"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                           "float16", "bfloat16", "float32", "float64", "complex64", "complex128"}) {
    const std::string fill = std::string(name) == "bool" ? "false" : "0";
    const auto array = open_v3({{"data_type", "\"" + std::string(name) + "\""}, {"fill_value", fill}});
    ASSERT_TRUE(array) << array.error().describe();
    EXPECT_EQ(name_of(array->data->spec().dtype), name);
  }
  EXPECT_TRUE(open_v3({{"data_type", R"({"name": "int32"})"}}));
}

TEST(ZarrMetadata, dates_are_integers_with_a_unit) {
  for (const auto& [dtype, unit] :
       Members{{"<M8[ns]", "ns"}, {">m8[10s]", "10s"}, {"<M8[D]", "D"}, {"<M8", "generic"}}) {
    const auto array = open_v2({{"dtype", "\"" + dtype + "\""}, {"fill_value", "-9223372036854775808"}});
    ASSERT_TRUE(array) << array.error().describe();
    EXPECT_EQ(array->data->spec().dtype, DType::kInt64);
    EXPECT_EQ(array->time_unit, unit);
  }
  const auto dates = open_v3(
      {{"data_type", R"({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}})"}});
  ASSERT_TRUE(dates) << dates.error().describe();
  EXPECT_EQ(dates->time_unit, "s");
  const auto spans = open_v3(
      {{"data_type", R"({"name": "numpy.timedelta64", "configuration": {"unit": "ms", "scale_factor": 25}})"},
       {"fill_value", "\"NaT\""}});
  ASSERT_TRUE(spans) << spans.error().describe();
  EXPECT_EQ(spans->time_unit, "25ms");
  EXPECT_FALSE(open_v3({{"data_type", R"({"name": "numpy.datetime64", "configuration": {"unit": "x"}})"}}));
}

TEST(ZarrMetadata, other_types_are_refused_by_name) {
  for (const char* dtype : {"|S5", "<U5", "|V4", "|O", "<f16", "|i4", "i", "", "<M8[x]", "<M8[", "M8]"}) {
    const Error error = error_of(open_v2({{"dtype", "\"" + std::string(dtype) + "\""}}));
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << dtype;
    EXPECT_THAT(error.message, HasSubstr(dtype));
    EXPECT_EQ(error.where.uri, "z/.zarray");
  }
  const Error structured = error_of(open_v2({{"dtype", R"([["a", "<i4"]])"}}));
  EXPECT_EQ(structured.code, ErrorCode::kUnsupported);
  EXPECT_THAT(structured.message, HasSubstr("structured"));
  for (const char* type : {"string", "r16", "int4", "float8_e5m2", "variable_length_utf8"}) {
    const Error error = error_of(open_v3({{"data_type", "\"" + std::string(type) + "\""}}));
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << type;
    EXPECT_THAT(error.message, HasSubstr(type));
    EXPECT_EQ(error.where.uri, "z/zarr.json");
  }
  const Error fixed = error_of(
      open_v3({{"data_type", R"({"name": "fixed_length_utf32", "configuration": {"length_bytes": 20}})"}}));
  EXPECT_THAT(fixed.message, HasSubstr("fixed_length_utf32"));
}

TEST(ZarrMetadata, keys_of_chunks) {
  const auto key = [](const Result<ZarrArray>& array, std::uint64_t chunk = 5) {
    return array ? array->data->location(chunk)->read.key : array.error().describe();
  };
  EXPECT_EQ(key(open_v2()), "z/1.2");
  EXPECT_EQ(key(open_v2({{"dimension_separator", "\"/\""}})), "z/1/2");
  EXPECT_EQ(key(open_v2({{"dimension_separator", "null"}})), "z/1.2");
  EXPECT_EQ(key(open_v2({{"shape", "[]"}, {"chunks", "[]"}}), 0), "z/0");
  EXPECT_EQ(key(open_v3()), "z/c/1/2");
  EXPECT_EQ(key(open_v3({{"chunk_key_encoding", "\"default\""}})), "z/c/1/2");
  EXPECT_EQ(
      key(open_v3({{"chunk_key_encoding", R"({"name": "default", "configuration": {"separator": "."}})"}})),
      "z/c.1.2");
  EXPECT_EQ(key(open_v3({{"chunk_key_encoding", R"({"name": "v2"})"}})), "z/1.2");
  EXPECT_EQ(key(open_v3({{"chunk_key_encoding", R"({"name": "v2", "configuration": {"separator": "/"}})"}})),
            "z/1/2");
  EXPECT_EQ(key(open_v3({{"shape", "[]"}, {"chunk_grid", grid_of("[]")}}), 0), "z/c");
  EXPECT_EQ(
      key(open_v3({{"shape", "[]"}, {"chunk_grid", grid_of("[]")}, {"chunk_key_encoding", "\"v2\""}}), 0),
      "z/0");
  EXPECT_FALSE(open_v2({{"dimension_separator", "\"-\""}}));
  EXPECT_THAT(error_of(open_v3({{"chunk_key_encoding", "\"hashed\""}})).message, HasSubstr("hashed"));
}

TEST(ZarrMetadata, arrays_without_dimensions_or_elements) {
  const auto scalar = open_v3({{"shape", "[]"}, {"chunk_grid", grid_of("[]")}});
  ASSERT_TRUE(scalar) << scalar.error().describe();
  EXPECT_EQ(scalar->data->chunks(), 1u);
  EXPECT_EQ(scalar->data->chunk_bytes(0), 4u);
  EXPECT_TRUE(scalar->data->chunk_strides(0).empty());
  const auto empty = open_v2({{"shape", "[0, 7]"}});
  ASSERT_TRUE(empty) << empty.error().describe();
  EXPECT_EQ(empty->data->chunks(), 0u);
  EXPECT_EQ(empty->stored_bytes, 0u);
  const auto nothing = open_v2({{"shape", "[0, 7]"}, {"chunks", "[0, 3]"}});  // zarr-python 3 can write that
  ASSERT_TRUE(nothing) << nothing.error().describe();
  EXPECT_EQ(nothing->data->grid(), (Shape{0, 3}));
}

TEST(ZarrMetadata, order_f_is_seen_through) {
  const auto array = open_v2({{"order", "\"F\""}});
  ASSERT_TRUE(array) << array.error().describe();
  EXPECT_EQ(array->data->chunk_strides(0), (Shape{4, 16}));
  EXPECT_TRUE(array->data->is_plain());
  const auto transposed =
      open_v3({{"shape", "[10, 7, 5]"},
               {"chunk_grid", grid_of("[2, 3, 5]")},
               {"codecs", R"([{"name": "transpose", "configuration": {"order": [2, 0, 1]}},
                                                  {"name": "bytes", "configuration": {"endian": "big"}}])"}});
  ASSERT_TRUE(transposed) << transposed.error().describe();
  EXPECT_EQ(transposed->data->chunk_strides(0), (Shape{12, 4, 24}));
  EXPECT_TRUE(transposed->data->swap_bytes());
}

TEST(ZarrMetadata, what_writers_write_is_read) {
  // zarr-python 2.18
  EXPECT_TRUE(open_node({{"z/.zarray", R"({"chunks": [2], "compressor": {"acceleration": 1, "id": "lz4"},
      "dtype": "<f8", "fill_value": 0.0, "filters": [{"astype": "<i2", "dtype": "<f8", "id": "fixedscaleoffset",
      "offset": 1, "scale": 10}, {"astype": "|i1", "dtype": "<i2", "id": "delta"}, {"elementsize": 2, "id": "shuffle"}],
      "order": "C", "shape": [3], "zarr_format": 2})"}})
                  ->array(""));
  EXPECT_TRUE(
      open_node({{"z/.zarray", R"({"chunks": [2], "compressor": {"id": "zlib", "level": 1}, "dtype": "<f8",
      "fill_value": "NaN", "filters": [{"astype": "<f4", "digits": 3, "dtype": "<f8", "id": "quantize"}],
      "order": "C", "shape": [3], "zarr_format": 2})"}})
          ->array(""));
  EXPECT_TRUE(open_node({{"z/.zarray", R"({"chunks": [2, 2], "compressor": {"blocksize": 0, "clevel": 5,
      "cname": "lz4", "id": "blosc", "shuffle": 1}, "dtype": "<f4", "fill_value": "NaN", "filters": null,
      "order": "C", "shape": [3, 4], "zarr_format": 2})"}})
                  ->array(""));
  // tensorstore 0.1
  EXPECT_TRUE(
      open_node({{"z/.zarray", R"({"chunks":[3,3],"compressor":{"blocksize":0,"clevel":5,"cname":"lz4",
      "id":"blosc","shuffle":-1},"dimension_separator":".","dtype":">f4","fill_value":"NaN","filters":null,
      "order":"C","shape":[10,10],"zarr_format":2})"}})
          ->array(""));
  const auto sharded = open_node({{"z/zarr.json", R"({"chunk_grid":{"configuration":{"chunk_shape":[4,4]},
      "name":"regular"},"chunk_key_encoding":{"configuration":{"separator":"."},"name":"default"},"codecs":[
      {"configuration":{"order":[1,0]},"name":"transpose"},{"configuration":{"chunk_shape":[2,4],"codecs":[
      {"configuration":{"endian":"little"},"name":"bytes"}],"index_codecs":[{"configuration":{"endian":"little"},
      "name":"bytes"},{"name":"crc32c"}]},"name":"sharding_indexed"}],"data_type":"float32",
      "fill_value":"0x7fc00001","node_type":"array","shape":[10,10],"zarr_format":3})"}})
                           ->array("");
  ASSERT_TRUE(sharded) << sharded.error().describe();
  EXPECT_EQ(sharded->data->chunk_shape(), (Shape{4, 2}));
  EXPECT_EQ(sharded->data->chunk_strides(0), (Shape{4, 16}));
  // zarr-python 3.1
  const auto v3 = open_node({{"z/zarr.json", R"({"shape": [8, 4], "data_type": "int32", "chunk_grid": {"name":
      "regular", "configuration": {"chunk_shape": [2, 2]}}, "chunk_key_encoding": {"name": "default",
      "configuration": {"separator": "/"}}, "fill_value": 0, "codecs": [{"name": "numcodecs.delta", "configuration":
      {"dtype": "i4"}}, {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "numcodecs.shuffle",
      "configuration": {"elementsize": 4}}, {"name": "numcodecs.zlib", "configuration": {"level": 1}}],
      "attributes": {"x": NaN, "y": [-Infinity, "NaN \" Infinity"]}, "dimension_names": ["y", "x"], "zarr_format": 3,
      "node_type": "array", "storage_transformers": []})"}})
                      ->array("");
  ASSERT_TRUE(v3) << v3.error().describe();
  EXPECT_EQ(v3->attributes.dump(), R"({"x":"NaN","y":["-Infinity","NaN \" Infinity"]})");
  EXPECT_THAT(v3->dimensions, ElementsAre("y", "x"));
}

TEST(ZarrMetadata, the_fill_value_of_version_2_is_told_where_it_is_a_number) {
  EXPECT_EQ(open_v2({{"fill_value", "-7"}})->fill_value, -7.0);
  EXPECT_EQ(open_v2({{"dtype", "\">f2\""}, {"fill_value", "1.5"}})->fill_value, 1.5);
  EXPECT_EQ(open_v2({{"dtype", "\"bfloat16\""}, {"fill_value", "-2.5"}})->fill_value, -2.5);
  EXPECT_EQ(open_v2({{"dtype", "\"<u8\""}, {"fill_value", "18446744073709551615"}})->fill_value, 0x1p64);
  EXPECT_TRUE(std::isnan(*open_v2({{"dtype", "\"<f4\""}, {"fill_value", "\"NaN\""}})->fill_value));
  EXPECT_FALSE(open_v2({{"fill_value", "null"}})->fill_value);
  EXPECT_FALSE(open_v2({{"fill_value", ""}})->fill_value);
  EXPECT_FALSE(open_v2({{"dtype", "\"<c8\""}, {"fill_value", "[1, 2]"}})->fill_value);
  EXPECT_FALSE(open_v3({{"fill_value", "3"}})->fill_value) << "there it is no mark of what is missing";
}

TEST(ZarrMetadata, names_of_dimensions) {
  EXPECT_THAT(open_v2({}, R"({"_ARRAY_DIMENSIONS": ["a", "b"]})")->dimensions, ElementsAre("a", "b"));
  EXPECT_TRUE(open_v2({}, R"({"_ARRAY_DIMENSIONS": ["a"]})")->dimensions.empty());
  EXPECT_TRUE(open_v2({}, R"({"_ARRAY_DIMENSIONS": 3})")->dimensions.empty());
  EXPECT_TRUE(open_v3()->dimensions.empty());
  EXPECT_TRUE(open_v3({{"dimension_names", "[null, null]"}})->dimensions.empty());
  EXPECT_EQ(error_of(open_v3({{"dimension_names", "[\"a\"]"}})).code, ErrorCode::kCorrupt);
  EXPECT_EQ(error_of(open_v3({{"dimension_names", "[\"a\", 1]"}})).code, ErrorCode::kCorrupt);
}

TEST(ZarrMetadata, unknown_members_of_version_3_are_ignored_only_if_they_may_be) {
  EXPECT_TRUE(open_v3({{"other", R"({"must_understand": false})"}}));
  for (const char* value : {"1", "null", "{}", R"({"must_understand": true})", R"({"must_understand": 0})"}) {
    const Error error = error_of(open_v3({{"other", value}}));
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << value;
    EXPECT_THAT(error.message, HasSubstr("other"));
  }
  EXPECT_TRUE(open_v2({{"other", "1"}})) << "version 2 has no such rule";
  EXPECT_TRUE(open_v3({{"storage_transformers", "[]"}}));
  EXPECT_THAT(error_of(open_v3({{"storage_transformers", R"([{"name": "shift"}])"}})).message,
              HasSubstr("shift"));
}

TEST(ZarrMetadata, shapes_that_make_no_sense_are_errors) {
  const auto v2 = [](const char* shape, const char* chunks) {
    return error_of(open_v2({{"shape", shape}, {"chunks", chunks}})).code;
  };
  EXPECT_EQ(v2("[10, 7]", "[0, 3]"), ErrorCode::kCorrupt);
  EXPECT_EQ(v2("[10, 7]", "[-4, 3]"), ErrorCode::kCorrupt);
  EXPECT_EQ(v2("[-1, 7]", "[4, 3]"), ErrorCode::kCorrupt);
  EXPECT_EQ(v2("[10, 7]", "[4]"), ErrorCode::kCorrupt);
  EXPECT_EQ(v2("[10.0, 7]", "[4, 3]"), ErrorCode::kCorrupt);
  EXPECT_EQ(v2("[\"10\", 7]", "[4, 3]"), ErrorCode::kCorrupt);
  EXPECT_EQ(v2("[null, 7]", "[4, 3]"), ErrorCode::kCorrupt);
  EXPECT_EQ(v2("10", "[4, 3]"), ErrorCode::kCorrupt);
  EXPECT_EQ(v2("[1,1,1,1,1,1,1,1,1]", "[1,1,1,1,1,1,1,1,1]"), ErrorCode::kUnsupported);
  EXPECT_EQ(v2("[18446744073709551615, 7]", "[4, 3]"), ErrorCode::kTooLarge);
  EXPECT_EQ(v2("[9223372036854775807, 1]", "[4, 3]"), ErrorCode::kTooLarge);
  EXPECT_EQ(v2("[4294967296, 4294967296]", "[4, 3]"), ErrorCode::kTooLarge);
  EXPECT_EQ(v2("[0, 4294967296, 4294967296]", "[1, 4, 3]"), ErrorCode::kTooLarge);
  EXPECT_EQ(v2("[10, 7]", "[65536, 65536]"), ErrorCode::kTooLarge);
  EXPECT_EQ(v2("[10, 7]", "[9223372036854775807, 9223372036854775807]"), ErrorCode::kTooLarge);
  EXPECT_EQ(v2("[1e400, 7]", "[4, 3]"), ErrorCode::kCorrupt);
  EXPECT_EQ(v2("[10, 7]", "[536870912, 1]"), ErrorCode::kStopped) << "just within the limit";
  const auto exact = open_v2({{"shape", "[9007199254740993, 1]"}});
  ASSERT_TRUE(exact) << exact.error().describe();
  EXPECT_EQ(exact->data->spec().shape[0], 9007199254740993) << "a double would not know it";
}

TEST(ZarrMetadata, members_that_are_missing_or_wrong_are_errors_that_name_the_object) {
  for (const char* member : {"zarr_format", "shape", "chunks", "dtype", "order"})
    for (const char* text : {"", "7", "{}", "\"x\"", "[[]]"}) {
      const Error error = error_of(open_v2({{member, text}}));
      EXPECT_NE(error.code, ErrorCode::kStopped) << member << " " << text;
      EXPECT_EQ(error.where.uri, "z/.zarray");
    }
  for (const char* member : {"zarr_format", "node_type", "shape", "data_type", "chunk_grid",
                             "chunk_key_encoding", "fill_value", "codecs"})
    for (const char* text : {"", "null", "{}", "\"x\"", "[[]]", R"({"name": "x"})"}) {
      const Error error = error_of(open_v3({{member, text}}));
      EXPECT_NE(error.code, ErrorCode::kStopped) << member << " " << text;
      EXPECT_EQ(error.where.uri, "z/zarr.json");
    }
  EXPECT_THAT(error_of(open_v3({{"chunk_grid", R"({"name": "rectilinear"})"}})).message,
              HasSubstr("rectilinear"));
  EXPECT_FALSE(open_v3({{"attributes", "3"}}));
}

TEST(ZarrMetadata, codecs_that_make_no_sense_together_are_damage) {
  const Error error = error_of(open_v2({{"filters", R"([{"id": "shuffle", "elementsize": 5}])"}}));
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_EQ(error.where.uri, "z");
}

TEST(ZarrMetadata, hostile_json_is_an_error) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string& text :
       {deep, "{\"a\":" + deep + "}", std::string("{\"shape\": [1], \"shape\": [2]}"),
        std::string("{\"a\": \"\xff\"}"), std::string("{} {}"), std::string("nul"), std::string("NaN"),
        std::string("{\"a\": -}"), std::string("\0{}", 3), std::string("{\"a\": NaNa}")})
    for (const char* name : {"z/.zarray", "z/zarr.json", "z/.zmetadata", "z/.zgroup"}) {
      const auto node = open_node({{name, text}});
      ASSERT_FALSE(node) << name << " " << text.substr(0, 40);
      EXPECT_EQ(node.error().where.uri, name);
    }
}

}  // namespace
}  // namespace penstock
