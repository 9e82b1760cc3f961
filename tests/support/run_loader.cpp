#include "support/run_loader.h"

#include <cstdlib>
#include <cstring>
#include <numeric>

#include "source/files/npy_source.h"
#include "support/encode_images.h"
#include "support/make_npy.h"

namespace penstock {

std::shared_ptr<const MemoryStore> store_of_numbers(std::uint64_t count) {
  std::vector<std::int64_t> values(count);
  std::iota(values.begin(), values.end(), std::int64_t{0});
  auto store = std::make_shared<MemoryStore>();
  store->put("numbers.npy", make_npy("<i8", {static_cast<std::int64_t>(count)}, values));
  return store;
}

SourcePtr source_of_numbers(std::uint64_t count) {
  auto source = make_npy_source(store_of_numbers(count), "numbers.npy", "numbers.npy");
  if (!source) std::abort();
  return *source;
}

Result<SourcePtr> folder_source(std::shared_ptr<const Store> store, const Store& clean,
                                const std::string& kind) {
  auto index = scan_folder(clean, "data", kind, {});
  if (!index) return std::unexpected(index.error());
  return make_folder_source(std::move(store), std::move(*index), {"data", "data", "", "", {}});
}

std::shared_ptr<MemoryStore> store_of_pictures(int count, int width, int height) {
  auto store = std::make_shared<MemoryStore>();
  for (int i = 0; i < count; ++i) {
    const Picture picture = make_picture(width, height, 3, static_cast<std::uint64_t>(i) + 1);
    const std::string stem = std::string("data/") + (i % 2 ? "b/" : "a/") + std::to_string(i);
    if (i % 3 == 0)
      store->put(stem + ".jpg", encode_jpeg(picture));
    else
      store->put(stem + ".png", encode_png(picture));
  }
  return store;
}

std::shared_ptr<MemoryStore> store_of_arrays(int count) {
  auto store = std::make_shared<MemoryStore>();
  for (int i = 0; i < count; ++i)
    store->put(std::string("data/") + (i % 2 ? "b/" : "a/") + std::to_string(i) + ".npy",
               make_npy<float>("<f4", {3, 2}, std::vector<float>(6, static_cast<float>(i))));
  return store;
}

EpochRun run_epoch(Loader& loader, std::uint64_t most) {
  EpochRun run;
  auto epoch = loader.start_epoch();
  if (!epoch) {
    run.error = epoch.error();
    return run;
  }
  for (std::uint64_t taken = 0; taken < most; ++taken) {
    auto batch = (*epoch)->next();
    if (!batch) {
      run.error = batch.error();
      break;
    }
    if (!*batch) break;
    for (const BatchField& field : (*batch)->fields) {
      if (field.name == "key") run.keys.push_back(field.texts);
      if (field.name == "array" && field.spec.dtype == DType::kInt64) {
        const auto* values = static_cast<const std::int64_t*>(field.data);
        run.numbers.emplace_back(values, values + (*batch)->size);
      }
    }
    const BatchField& first = (*batch)->fields.front();
    if (first.data != nullptr) {
      const auto* raw = static_cast<const std::byte*>(first.data);
      run.bytes.emplace_back(raw, raw + first.spec.bytes());
    }
  }
  run.stats = loader.stats();
  return run;
}

}  // namespace penstock
