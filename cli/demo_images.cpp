#include "demo_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/first_error.h"
#include "base/random.h"
#include "demo_painter.h"

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kRecipe = 1;  // increment it when the painter changes
constexpr const char* kMarker = ".penstock-demo.json";

std::size_t label_of(std::uint64_t index) { return static_cast<std::size_t>(index % kDemoClasses); }

fs::path path_of(const DemoImages& images, std::uint64_t index) {
  return fs::path(images.folder) / demo_class_name(label_of(index)) / fmt::format("{:05}.jpg", index);
}

// The size of all images; -1 if one is missing.
std::int64_t bytes_of(const DemoImages& images) {
  std::int64_t sum = 0;
  for (std::uint64_t i = 0; i < images.count; ++i) {
    std::error_code error;
    sum += static_cast<std::int64_t>(fs::file_size(path_of(images, i), error));
    if (error) return -1;
  }
  return sum;
}

// The contents of the marker file. `bytes` is -1 until the folder is complete.
nlohmann::json marker_of(const DemoImages& images, std::int64_t bytes) {
  return {{"recipe", kRecipe}, {"images", images.count}, {"seed", images.seed}, {"bytes", bytes}};
}

Status write_marker(const DemoImages& images, std::int64_t bytes) {
  const fs::path path = fs::path(images.folder) / kMarker;
  std::ofstream file(path);
  file << marker_of(images, bytes).dump() << "\n";
  file.flush();
  if (!file)
    return fail(ErrorCode::kIo, "cannot write there; choose another place with --folder",
                {images.folder, -1, -1, -1});
  return {};
}

// Makes empty class folders and a marker that says "not complete".
Status prepare_folder(const DemoImages& images) {
  std::error_code error;
  fs::create_directories(images.folder, error);
  if (error)
    return fail(ErrorCode::kIo,
                fmt::format("cannot make the folder ({}); choose another with --folder", error.message()),
                {images.folder, -1, -1, -1});
  if (!fs::is_empty(images.folder, error) && !fs::exists(fs::path(images.folder) / kMarker, error))
    return fail(ErrorCode::kInvalidArgument,
                "the folder holds files that are not the demo's; choose an empty one with --folder",
                {images.folder, -1, -1, -1});
  PENSTOCK_CHECK(write_marker(images, -1));
  for (std::size_t label = 0; label < kDemoClasses; ++label) {
    const fs::path folder = fs::path(images.folder) / demo_class_name(label);
    fs::remove_all(folder, error);
    if (!error && label < images.count) fs::create_directory(folder, error);
    if (error)
      return fail(ErrorCode::kIo, fmt::format("cannot make the folder ({})", error.message()),
                  {folder.string(), -1, -1, -1});
  }
  return {};
}

Status make_one(const DemoImages& images, std::uint64_t index) {
  const Picture picture = paint_demo_picture(images.seed, index, label_of(index));
  const int quality = 90 + static_cast<int>(mix64(images.seed ^ index) % 6);
  return write_jpeg(picture, quality, path_of(images, index).string());
}

}  // namespace

bool is_complete(const DemoImages& images) {
  std::ifstream file(fs::path(images.folder) / kMarker);
  if (!file) return false;
  const std::int64_t bytes = bytes_of(images);
  return bytes >= 0 && nlohmann::json::parse(file, nullptr, false) == marker_of(images, bytes);
}

Status make_demo_images(const DemoImages& images, unsigned threads,
                        const std::function<void(std::uint64_t done)>& progress) {
  PENSTOCK_CHECK(prepare_folder(images));
  std::atomic<std::uint64_t> next = 0, done = 0;
  FirstError error;
  {
    std::vector<std::jthread> painters;
    for (unsigned i = 0; i < std::max(1u, threads); ++i)
      painters.emplace_back([&] {
        for (std::uint64_t index = next++; index < images.count; index = next++) {
          if (auto status = make_one(images, index); !status) {
            error.report(std::move(status).error());
            next = images.count;
            return;
          }
          ++done;
        }
      });
    while (next < images.count) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      progress(done);
    }
  }
  PENSTOCK_CHECK(error.status());
  return write_marker(images, bytes_of(images));
}

}  // namespace penstock::cli
