#include "sample_files.h"

#include <zlib.h>
#ifdef PENSTOCK_WITH_ZSTD
#include <zstd.h>
#endif

#include <cstring>
#include <optional>
#include <utility>

#include "base/crc32c.h"
#include "support/encode_images.h"
#include "support/make_npy.h"
#include "support/make_shard.h"
#include "support/make_tar.h"
#include "support/make_tfrecord.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

FileMap blank_map(std::size_t size) { return {std::vector<bool>(size), std::vector<bool>(size)}; }

void mark(FileMap& map, std::size_t begin, std::size_t end, bool is_dense = true) {
  for (std::size_t at = begin; at < end; ++at) {
    map.is_header[at] = true;
    map.is_dense[at] = is_dense;
  }
}

Picture picture_of(int sample) { return make_picture(8, 8, 3, static_cast<std::uint64_t>(sample) + 1); }

std::vector<float> numbers_of(int sample) {
  std::vector<float> numbers(24);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(sample) + static_cast<float>(i) * 0.37f;
  return numbers;
}

std::string caption_of(int sample) {
  return "picture number " + std::to_string(sample) + (sample % 2 == 0 ? " of a gate" : " of a weir");
}

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// An .npz with one stored array, as np.savez writes it but for the wide sizes.
std::string make_npz(const std::string& name, const std::string& content) {
  const auto header = [&](std::string signature) {
    put<std::uint16_t>(signature, 20);
    put<std::uint32_t>(signature, 0);  // no flags, stored
    put<std::uint32_t>(signature, 0);  // no time
    put(signature, static_cast<std::uint32_t>(
                       crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size())));
    put(signature, static_cast<std::uint32_t>(content.size()));
    put(signature, static_cast<std::uint32_t>(content.size()));
    put(signature, static_cast<std::uint16_t>(name.size()));
    put<std::uint16_t>(signature, 0);
    return signature;
  };
  const std::string body = header("PK\x03\x04") + name + content;
  std::string directory = header(std::string("PK\x01\x02\x14\x00", 6));
  directory += std::string(2 + 2 + 2 + 4 + 4, '\0') + name;
  std::string end = "PK\x05\x06" + std::string(4, '\0');
  put<std::uint16_t>(end, 1);
  put<std::uint16_t>(end, 1);
  put(end, static_cast<std::uint32_t>(directory.size()));
  put(end, static_cast<std::uint32_t>(body.size()));
  put<std::uint16_t>(end, 0);
  return body + directory + end;
}

}  // namespace

SampleFile make_tar_file() {
  TarArchive tar;
  SampleFile file{"samples.tar", {}, {}, {}, {}, {}, {}, {}};
  std::vector<std::pair<std::size_t, bool>> headers;
  for (int sample = 0; sample < kSamples; ++sample) {
    const std::string key = "sample" + std::to_string(1000 + sample);
    const auto add = [&](const std::string& ending, const std::string& data) {
      // Headers look alike: every bit of a middle and the last sample's is enough.
      headers.emplace_back(tar.size(), sample == kSamples / 2 || sample + 1 == kSamples);
      const std::size_t begin = tar.size() + kTarBlock;
      tar.add_file(key + "." + ending, data);
      file.members.push_back({begin, begin + data.size(), ending});
    };
    const auto numbers = numbers_of(sample);
    add("jpg", text_of(encode_jpeg(picture_of(sample))));
    add("png", text_of(encode_png(picture_of(sample + 100))));
    add("cls", std::to_string(100 + sample));
    add("json", "{\"caption\": \"" + caption_of(sample) +
                    "\", \"size\": [8, 8], \"id\": " + std::to_string(sample) + "}");
    add("npy", text_of(make_npy<float>("<f4", {4, 6}, numbers)));
    add("npz", make_npz("weights.npy", text_of(make_npy<float>("<f4", {6, 4}, numbers))));
  }
  const std::size_t end = tar.size();
  file.bytes = tar.finish();
  file.map = blank_map(file.bytes.size());
  for (const auto& [at, is_dense] : headers) mark(file.map, at, at + kTarBlock, is_dense);
  mark(file.map, end, file.bytes.size(), false);
  return file;
}

SampleFile make_tfrecord_file() {
  std::string all;
  SampleFile file{"samples.tfrecord", {}, {}, {}, {}, {}, {}, {}};
  for (int sample = 0; sample < kSamples; ++sample) {
    all +=
        tfrecord_frame(example_message({{"image", bytes_feature({text_of(encode_png(picture_of(sample)))})},
                                        {"label", integer_feature({sample})},
                                        {"numbers", float_feature(numbers_of(sample))},
                                        {"text", bytes_feature({caption_of(sample)})}}));
    file.record_ends.push_back(all.size());
  }
  file.bytes = bytes_of(all);
  file.map = blank_map(all.size());
  std::size_t begin = 0;
  for (const std::size_t end : file.record_ends) {
    mark(file.map, begin, begin + 12);
    mark(file.map, end - 4, end);
    begin = end;
  }
  return file;
}

SampleFile make_npy_file() {
  std::vector<float> all;
  for (int sample = 0; sample < kSamples; ++sample)
    for (const float number : numbers_of(sample)) all.push_back(number);
  SampleFile file{"samples.npy", make_npy<float>("<f4", {kSamples, 4, 6}, all), {}, {}, {}, {}, {}, {}};
  file.map = blank_map(file.bytes.size());
  mark(file.map, 0, file.bytes.size() - all.size() * sizeof(float));
  return file;
}

SampleFile make_zarr_shard_file() {
  std::vector<std::optional<std::vector<std::byte>>> chunks;
  for (int sample = 0; sample < kSamples; ++sample) {
    std::string chunk;
    for (const float number : numbers_of(sample)) put(chunk, number);
    put(chunk, crc32c(bytes_of(chunk)));
    chunks.emplace_back(bytes_of(chunk));
  }
  SampleFile file;
  file.folder = "samples.zarr";
  file.name = file.folder + "/c/0/0/0";
  file.bytes = make_shard(chunks);
  file.other_name = file.folder + "/zarr.json";
  file.other_bytes = bytes_of(R"({"zarr_format": 3, "node_type": "array", "shape": [20, 4, 6],
 "data_type": "float32", "fill_value": 0.5,
 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [20, 4, 6]}},
 "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
 "codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 4, 6],
  "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
  "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}],
 "dimension_names": ["time", "y", "x"], "attributes": {"units": "K"}})");
  file.map = blank_map(file.bytes.size());
  mark(file.map, file.bytes.size() - kSamples * 16 - 4, file.bytes.size());
  return file;
}

SampleFile make_zarr_metadata_file() {
  SampleFile file = make_zarr_shard_file();
  std::swap(file.name, file.other_name);
  std::swap(file.bytes, file.other_bytes);
  file.map = blank_map(file.bytes.size());
  mark(file.map, 0, file.bytes.size());
  return file;
}

SampleFile make_csv_file() {
  std::string all = "image,label,caption\n";
  for (int sample = 0; sample < kSamples; ++sample)
    all += "pictures/" + std::to_string(sample) + ".png," + std::to_string(100 + sample) + ",\"" +
           caption_of(sample) + "\"\n";
  SampleFile file{"samples.csv", bytes_of(all), blank_map(all.size()), {}, {}, {}, {}, {}};
  for (std::size_t at = 0; at < all.size(); ++at)
    if (at < all.find('\n') || std::string_view(",\"\n").contains(all[at])) mark(file.map, at, at + 1);
  return file;
}

SampleFile make_json_lines_file() {
  std::string all;
  for (int sample = 0; sample < kSamples; ++sample)
    all += "{\"image\": \"pictures/" + std::to_string(sample) +
           ".png\", \"label\": " + std::to_string(100 + sample) + ", \"caption\": \"" + caption_of(sample) +
           "\"}\n";
  SampleFile file{"samples.jsonl", bytes_of(all), blank_map(all.size()), {}, {}, {}, {}, {}};
  for (std::size_t at = 0; at < all.size(); ++at)
    if (std::string_view(",:\"{}\n").contains(all[at])) mark(file.map, at, at + 1);
  return file;
}

void write_pictures(const TemporaryFolder& folder) {
  for (int sample = 0; sample < kSamples; ++sample)
    folder.write("pictures/" + std::to_string(sample) + ".png", encode_png(picture_of(sample)));
}

SampleFile gzipped(const SampleFile& file) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::vector<std::byte> out(deflateBound(&stream, file.bytes.size()) + 32);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(file.bytes.data()));
  stream.avail_in = static_cast<uInt>(file.bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  SampleFile made{file.name + ".gz", std::move(out), {}, {}, {}, {}, {}, {}};
  made.map = blank_map(made.bytes.size());
  mark(made.map, 0, 10);
  mark(made.map, made.bytes.size() - 8, made.bytes.size());
  return made;
}

SampleFile zstd_compressed(const SampleFile& file) {
  SampleFile made{file.name + ".zst", {}, {}, {}, {}, {}, {}, {}};
#ifdef PENSTOCK_WITH_ZSTD
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  made.bytes.resize(ZSTD_compressBound(file.bytes.size()));
  made.bytes.resize(
      ZSTD_compress2(context, made.bytes.data(), made.bytes.size(), file.bytes.data(), file.bytes.size()));
  ZSTD_freeCCtx(context);
  made.map = blank_map(made.bytes.size());
  mark(made.map, 0, 18);  // magic, frame header
  mark(made.map, made.bytes.size() - 4, made.bytes.size());
#endif
  return made;
}

}  // namespace penstock
