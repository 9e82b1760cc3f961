// The chunks of tests/golden/codecs, and a worker to decode them with.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "decode/codec/codec_chain.h"

namespace penstock {

using Bytes = std::vector<std::byte>;

struct GoldenChunk {
  std::string name;
  std::vector<Codec> codecs;
  ArraySpec spec;
  Bytes encoded, decoded;
};

// "<i4", as NumPy spells it.
inline StoredType stored_type(const std::string& text) {
  const std::map<std::string, DType> names = {
      {"u1", DType::kUInt8},   {"i1", DType::kInt8},    {"u2", DType::kUInt16}, {"i2", DType::kInt16},
      {"u4", DType::kUInt32},  {"i4", DType::kInt32},   {"u8", DType::kUInt64}, {"i8", DType::kInt64},
      {"f2", DType::kFloat16}, {"f4", DType::kFloat32}, {"f8", DType::kFloat64}};
  return {names.at(text.substr(1)), text[0] == '>'};
}

inline Codec codec_of(const std::string& words) {
  std::istringstream in(words);
  std::string id, decoded, encoded;
  in >> id;
  if (id == "gzip") return GzipCodec{};
  if (id == "zlib") return ZlibCodec{};
  if (id == "zstd") return ZstdCodec{};
  if (id == "lz4") return Lz4Codec{};
  if (id == "blosc") return BloscCodec{};
  if (id == "crc32c") return Crc32cCodec{};
  if (id == "shuffle") {
    ShuffleCodec codec;
    in >> codec.element_bytes;
    return codec;
  }
  in >> decoded >> encoded;
  if (id == "bytes") return BytesCodec{decoded == ">"};
  if (id == "delta") return DeltaCodec{stored_type(decoded), stored_type(encoded)};
  if (id == "quantize") return QuantizeCodec{stored_type(decoded), stored_type(encoded)};
  EXPECT_EQ(id, "fixedscaleoffset");
  FixedScaleOffsetCodec codec{.decoded = stored_type(decoded), .encoded = stored_type(encoded)};
  in >> codec.offset >> codec.scale;
  return codec;
}

inline std::vector<GoldenChunk> golden_chunks() {
  const std::string folder = std::string(PENSTOCK_GOLDEN_DIR) + "/codecs/";
  std::ifstream in(folder + "cases.bin", std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(in)), {});
  const auto bytes_at = [&](const nlohmann::json& place) {
    const auto* begin = reinterpret_cast<const std::byte*>(content.data()) + place[0].get<std::size_t>();
    return Bytes(begin, begin + place[1].get<std::size_t>());
  };
  std::vector<GoldenChunk> chunks;
  for (const auto& one : nlohmann::json::parse(std::ifstream(folder + "cases.json"))) {
    GoldenChunk chunk;
    chunk.name = one["name"];
    for (const std::string words : one["codecs"]) chunk.codecs.push_back(codec_of(words));
    chunk.spec = {dtype_named(one["dtype"].get<std::string>()).value(), one["shape"].get<Shape>()};
    chunk.encoded = bytes_at(one["encoded"]);
    chunk.decoded = bytes_at(one["decoded"]);
    chunks.push_back(std::move(chunk));
  }
  EXPECT_FALSE(chunks.empty());
  return chunks;
}

// A thread's memory with a budget of its own.
struct CodecBench {
  explicit CodecBench(std::uint64_t budget_bytes = 64 << 20)
      : ledger(budget_bytes),
        budget(ledger, budget_bytes, 0),
        scratch(budget),
        worker(scratch, 3) {}

  Result<Bytes> decode(const CodecChain& chain, ConstBytes encoded) {
    Bytes out(chain.decoded_bytes());
    const auto status = chain.decode(encoded, out, worker);
    end_sample();
    if (!status) return std::unexpected(status.error());
    return out;
  }
  Result<Bytes> decode_part(const CodecChain& chain, ConstBytes encoded, std::size_t first,
                            std::size_t size) {
    Bytes out(size);
    const auto status = chain.decode_part(encoded, first, out, worker);
    end_sample();
    if (!status) return std::unexpected(status.error());
    return out;
  }
  void end_sample() {
    scratch.end_sample();
    worker.end_sample();
  }

  Ledger ledger;
  ScratchBudget budget;
  Scratch scratch;
  CodecWorker worker;
};

// A build may lack a library: then the chain is refused, and there is nothing to test.
inline bool not_built(const Result<CodecChain>& chain) {
  return !chain && chain.error().code == ErrorCode::kUnsupported &&
         chain.error().message.starts_with("this build reads no ");
}

inline ArraySpec bytes_spec(std::size_t count) { return {DType::kUInt8, {static_cast<std::int64_t>(count)}}; }

template <typename T>
void put(Bytes& out, T value) {
  const ConstBytes bytes = as_bytes(&value, sizeof(value));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace penstock
