// The first byte chooses a chain, the next two how many elements a chunk has; the rest is encoded.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/crc32c.h"
#include "decode/codec/codec_chain.h"

namespace {

using namespace penstock;

struct Choice {
  std::vector<Codec> codecs;
  DType dtype;
};

constexpr StoredType kF8{DType::kFloat64}, kF4{DType::kFloat32}, kF2{DType::kFloat16}, kI4{DType::kInt32},
    kI2{DType::kInt16}, kU1{DType::kUInt8}, kBigI4{DType::kInt32, true}, kBigI2{DType::kInt16, true};

// make_corpus.py counts on the order.
const std::vector<Choice>& choices() {
  static const std::vector<Choice> all = {
      {{BloscCodec{}}, DType::kFloat32},
      {{GzipCodec{}}, DType::kInt32},
      {{ZlibCodec{}}, DType::kInt32},
      {{ZstdCodec{}}, DType::kInt32},
      {{Lz4Codec{}}, DType::kInt32},
      {{Crc32cCodec{}}, DType::kInt32},
      {{ZstdCodec{}, Crc32cCodec{}}, DType::kInt32},
      {{BloscCodec{}, ZstdCodec{}, Crc32cCodec{}}, DType::kInt32},
      {{ZlibCodec{}, Lz4Codec{}, GzipCodec{}}, DType::kInt32},
      {{ShuffleCodec{4}, ZlibCodec{}}, DType::kInt32},
      {{FixedScaleOffsetCodec{0, 4, kF8, kI4}, DeltaCodec{kI4, kI2}, BloscCodec{}}, DType::kFloat64},
      {{DeltaCodec{kF8, kF8}, ShuffleCodec{8}, ZlibCodec{}}, DType::kFloat64},
      {{BytesCodec{true}, DeltaCodec{kI4, kI4}}, DType::kInt32},
      {{DeltaCodec{kI4, kI2}, BytesCodec{true}, ZlibCodec{}}, DType::kInt32},
      {{QuantizeCodec{kF2, kF8}}, DType::kFloat16},
      {{DeltaCodec{kBigI4, kBigI2}, FixedScaleOffsetCodec{1.5, 0, kI2, kF4}, Lz4Codec{}}, DType::kInt32},
      {{FixedScaleOffsetCodec{1e300, 1e-300, kU1, kF8}, DeltaCodec{kF8, kF2}}, DType::kUInt8},
      {{ShuffleCodec{5}, ZstdCodec{}, ShuffleCodec{3}, BloscCodec{}}, DType::kUInt8},
      {{TransposeCodec{{0}}, BytesCodec{true}}, DType::kInt32},
  };
  return all;
}

void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void decode(const CodecChain& chain, ConstBytes encoded, std::size_t seed) {
  constexpr std::uint64_t kBudget = 16 << 20;
  Ledger ledger(kBudget);
  ScratchBudget budget(ledger, kBudget, 0);
  Scratch scratch(budget);
  CodecWorker worker(scratch, 0);
  std::vector<std::byte> whole(chain.decoded_bytes(), std::byte{0xA5}), again(whole);
  std::ranges::fill(again, std::byte{0x5A});
  const bool decoded = chain.decode(encoded, whole, worker).has_value();
  promise(chain.decode(encoded, again, worker).has_value() == decoded, "the same answer twice");
  // What differs was never written: memory of whoever was here before.
  promise(!decoded || whole == again, "the same elements twice");
  if (!chain.decodes_parts() || whole.empty()) return;
  for (std::size_t i = 1; i < 5; ++i) {
    const std::size_t first = seed * i % whole.size(), size = (seed / 3 + i) % (whole.size() - first + 1);
    std::vector<std::byte> part(size);
    const bool has_part = chain.decode_part(encoded, first, part, worker).has_value();
    promise(has_part || !decoded, "a part of what can be decoded");
    promise(
        !decoded || std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first)),
        "a part is a slice");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const Choice& choice = choices()[data[0] % choices().size()];
  const std::size_t count = data[1] | data[2] << 8;
  const auto chain = CodecChain::make(choice.codecs, {choice.dtype, {static_cast<std::int64_t>(count)}});
  if (!chain) return 0;
  const ConstBytes encoded = as_bytes(data + 3, size - 3);
  decode(*chain, std::vector<std::byte>(encoded.begin(), encoded.end()), count + size);
  if (!std::holds_alternative<Crc32cCodec>(choice.codecs.back())) return 0;
  // A checksum is rarely right by chance: what a wrong one hides is tried here.
  std::vector<std::byte> summed(encoded.begin(), encoded.end());
  const std::uint32_t sum = crc32c(summed);
  const ConstBytes sum_bytes = as_bytes(&sum, sizeof(sum));
  summed.insert(summed.end(), sum_bytes.begin(), sum_bytes.end());
  decode(*chain, summed, count + size);
  return 0;
}
