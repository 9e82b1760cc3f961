#include "source/mds/shard_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#ifdef PENSTOCK_WITH_XXHASH
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif
#ifdef PENSTOCK_WITH_CRYPTO
#include <openssl/evp.h>
#endif

namespace penstock {
namespace {

#ifdef PENSTOCK_WITH_XXHASH
class Xxh32 final : public ShardHash {
 public:
  Xxh32() { XXH32_reset(&state_, 0); }
  void update(ConstBytes bytes) override { XXH32_update(&state_, bytes.data(), bytes.size()); }
  std::string digest() override { return fmt::format("{:08x}", XXH32_digest(&state_)); }

 private:
  XXH32_state_t state_;
};

class Xxh64 final : public ShardHash {
 public:
  Xxh64() { XXH64_reset(&state_, 0); }
  void update(ConstBytes bytes) override { XXH64_update(&state_, bytes.data(), bytes.size()); }
  std::string digest() override { return fmt::format("{:016x}", XXH64_digest(&state_)); }

 private:
  XXH64_state_t state_;
};

class Xxh3 final : public ShardHash {
 public:
  explicit Xxh3(bool is_128) : is_128_(is_128) { XXH3_128bits_reset(&state_); }
  void update(ConstBytes bytes) override { XXH3_128bits_update(&state_, bytes.data(), bytes.size()); }
  std::string digest() override {
    if (!is_128_) return fmt::format("{:016x}", XXH3_64bits_digest(&state_));
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  const bool is_128_;
  XXH3_state_t state_;
};
#endif

#ifdef PENSTOCK_WITH_CRYPTO
class CryptoHash final : public ShardHash {
 public:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  using Context = std::unique_ptr<EVP_MD_CTX, Free>;

  explicit CryptoHash(Context context) : context_(std::move(context)) {}
  void update(ConstBytes bytes) override { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  std::string digest() override {
    std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
    unsigned size = 0;
    EVP_DigestFinal_ex(context_.get(), raw.data(), &size);
    std::string text;
    for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", raw[i]);
    return text;
  }

 private:
  Context context_;
};

// Python's names differ from those of OpenSSL in some places.
std::unique_ptr<ShardHash> make_crypto_hash(std::string_view algorithm) {
  std::string name(algorithm);
  if (name == "blake2b") name = "blake2b512";
  if (name == "blake2s") name = "blake2s256";
  std::ranges::replace(name, '_', '-');
  const EVP_MD* const kind = EVP_get_digestbyname(name.c_str());
  if (kind == nullptr) return nullptr;
  CryptoHash::Context context(EVP_MD_CTX_new());
  if (!context || EVP_DigestInit_ex(context.get(), kind, nullptr) != 1) return nullptr;
  return std::make_unique<CryptoHash>(std::move(context));
}
#endif

// The hashes that are faster than all others, in this order.
constexpr std::array<std::string_view, 8> kFastHashes = {"xxh3_64", "xxh3_128", "xxh128", "xxh64", "xxh32", "sha1", "sha256", "md5"};

}  // namespace

std::unique_ptr<ShardHash> make_shard_hash([[maybe_unused]] std::string_view algorithm) {
#ifdef PENSTOCK_WITH_XXHASH
  if (algorithm == "xxh32") return std::make_unique<Xxh32>();
  if (algorithm == "xxh64") return std::make_unique<Xxh64>();
  if (algorithm == "xxh3_64") return std::make_unique<Xxh3>(false);
  if (algorithm == "xxh3_128" || algorithm == "xxh128") return std::make_unique<Xxh3>(true);
#endif
#ifdef PENSTOCK_WITH_CRYPTO
  return make_crypto_hash(algorithm);
#else
  return nullptr;
#endif
}

const MdsHash* fastest_known(const std::vector<MdsHash>& hashes) {
  const MdsHash* best = nullptr;
  auto best_rank = kFastHashes.end() + 1;
  for (const MdsHash& hash : hashes) {
    const auto rank = std::ranges::find(kFastHashes, hash.algorithm);
    if (rank >= best_rank || !make_shard_hash(hash.algorithm)) continue;
    best = &hash;
    best_rank = rank;
  }
  return best;
}

}  // namespace penstock
