// The mean brightness of each class of a folder of images: a whole program on the C++ interface.
#include <penstock/loader.h>

#include <cstdio>
#include <vector>

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: class_means FOLDER\n");
    return 2;
  }
  const auto fail = [](const penstock::Error& error) {
    std::fprintf(stderr, "class_means: %s\n", error.describe().c_str());
    return 1;
  };
  const auto source = penstock::open_source(arguments[1]);
  if (!source) return fail(source.error());
  if ((*source)->classes().empty()) {
    std::fprintf(stderr, "class_means: %s has no class folders\n", arguments[1]);
    return 1;
  }
  penstock::LoaderOptions options;
  options.batch_size = 32;
  options.transforms = {{"image", {penstock::Resize{64, 64}, penstock::Cast{penstock::DType::kFloat32}}, ""}};
  const auto loader = penstock::Loader::open(*source, options);
  if (!loader) return fail(loader.error());

  std::vector<double> sums((*source)->classes().size()), counts(sums.size());
  const auto epoch = (*loader)->start_epoch();
  if (!epoch) return fail(epoch.error());
  while (true) {
    const auto batch = (*epoch)->next();
    if (!batch) return fail(batch.error());
    if (!*batch) break;
    const auto* pixels = static_cast<const float*>((*batch)->fields[0].data);
    const auto* labels = static_cast<const std::int64_t*>((*batch)->fields[1].data);
    constexpr std::size_t kEach = 3 * 64 * 64;
    for (std::size_t i = 0; i < (*batch)->size; ++i) {
      const auto label = static_cast<std::size_t>(labels[i]);
      for (std::size_t k = 0; k < kEach; ++k) sums[label] += pixels[i * kEach + k] / kEach;
      counts[label] += 1;
    }
  }
  for (std::size_t c = 0; c < sums.size(); ++c)
    std::printf("%-20s %6.1f over %.0f images\n", (*source)->classes()[c].c_str(),
                counts[c] > 0 ? sums[c] / counts[c] : 0.0, counts[c]);
  return 0;
}
