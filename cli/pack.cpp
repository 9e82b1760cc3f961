// penstock pack: writes a source into a few large files that any tool reads.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "checks.h"
#include "command.h"
#include "format.h"
#include "penstock/pack.h"
#include "progress_bar.h"
#include "sizes.h"
#include "source_option.h"

namespace penstock::cli {
namespace {

constexpr const char* kFooter =
    "Which sample goes into which shard follows from the order and the stored sizes alone: any number\n"
    "of threads and parts gives the same bytes, and the same command continues after an interruption.\n"
    "Beside each shard lies an index with a checksum per file, which Penstock reads and verifies; other\n"
    "tools read the shards as they are. The folder is complete once it has penstock-pack.json.\n"
    "\n"
    "Where nothing is decoded, at least 16 threads read, whatever the number of cores.\n"
    "\n"
    "tar       WebDataset: KEY.jpg, KEY.cls, ...\n"
    "tfrecord  tf.train.Example: image/encoded, image/class/label, ...\n"
    "npy       numbers alone: one array per field and shard\n"
    "zarr      numbers alone: a Zarr 3 hierarchy, sharded, in chunks as they will be read (--chunks, --level)\n"
    "\n"
    "Examples:\n"
    "  penstock pack data/train /scratch/train --shuffle-seed 0\n"
    "  penstock pack data/train /scratch/small --resize 256 --quality 90\n"
    "  penstock pack data/train /scratch/train --part 3/16   # sixteen of these, at any time, anywhere\n"
    "  penstock pack /scratch/train --finish                 # then this one, once";

struct Options {
  SourceOption source;
  std::string destination;
  std::string format = "tar";
  PackOptions pack;
  std::string part, resize, encoding, jpeg, chunks;
  std::vector<std::string> destination_headers;
  std::int64_t shuffle_seed = -1;
  int quality = 0;
  bool finish = false, json = false;
};

// Returns -1 if the text is no number of at most 32 bits.
std::int64_t parse_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::int64_t{number} : -1;
}

// The two numbers of "3/16", or of "224x320".
std::pair<std::int64_t, std::int64_t> parse_pair(std::string_view text, char separator) {
  const auto at = text.find(separator);
  if (at == std::string_view::npos) return {parse_number(text), -1};
  return {parse_number(text.substr(0, at)), parse_number(text.substr(at + 1))};
}

Status set_part(const std::string& text, PackOptions& options) {
  if (text.empty()) return {};
  const auto [part, parts] = parse_pair(text, '/');
  if (part < 0 || part >= parts)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--part {}: wants I/N, such as 0/16, and I counts from 0", text));
  options.part = static_cast<std::uint32_t>(part);
  options.parts = static_cast<std::uint32_t>(parts);
  return {};
}

// "256" or "224x320", height first.
Result<Resize> parse_resize(const std::string& text) {
  constexpr std::int64_t kMaxSide = 65'500;
  const auto [height, width] = parse_pair(text, 'x');
  const bool is_one_number = !text.contains('x');
  if (height < 1 || height > kMaxSide || width > kMaxSide || (!is_one_number && width < 1))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--resize {}: wants a size such as 256 for the shorter side, or 224x320 (height x width)", text));
  return Resize{static_cast<int>(height), is_one_number ? 0 : static_cast<int>(width)};
}

// "time=1,lat=181", or "1,181,360": one per axis
Status set_chunks(const std::string& text, PackOptions& options) {
  for (std::size_t begin = 0, axis = 0; begin < text.size(); ++axis) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view one = std::string_view(text).substr(begin, comma - begin);
    const auto equals = one.rfind('=');
    const auto extent = parse_number(equals == std::string_view::npos ? one : one.substr(equals + 1));
    if (extent < 0 || equals == 0)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("--chunks {}: wants extents such as time=1,lat=181, or one per axis: 1,181,360", text));
    options.chunks.emplace_back(equals == std::string_view::npos ? std::to_string(axis) : one.substr(0, equals), extent);
    begin = comma + 1;
  }
  return {};
}

Status set_pictures(const Options& options, const Source& source, PackOptions& pack) {
  if (options.encoding == "jpeg") pack.encoding = PackEncoding::kJpeg;
  if (options.encoding == "png") pack.encoding = PackEncoding::kPng;
  if (options.quality > 0) {
    if (pack.encoding == PackEncoding::kPng)
      return fail(ErrorCode::kInvalidArgument, "--quality is for JPEG; PNG loses nothing");
    pack.jpeg_quality = options.quality;
    // With --resize all images are encoded anyway.
    pack.encoding = PackEncoding::kJpeg;
  }
  pack.adds_restarts = options.jpeg == "restart";
  if (options.resize.empty()) return {};
  const auto resize = parse_resize(options.resize);
  if (!resize) return std::unexpected(resize.error());
  for (const FieldInfo& field : source.fields())
    if (field.kind == FieldKind::kImage || field.kind == FieldKind::kMask)
      pack.transforms.push_back({field.name, {*resize}, ""});
  if (pack.transforms.empty())
    return fail(ErrorCode::kInvalidArgument, "--resize: there are no images", {source.uri(), -1, -1, -1});
  return {};
}

Result<PackReport> pack_source(Options& options) {
  options.pack.format = *pack_format_named(options.format);
  options.pack.headers = options.destination_headers;
  if (options.shuffle_seed >= 0) options.pack.shuffle_seed = static_cast<std::uint64_t>(options.shuffle_seed);
  PENSTOCK_CHECK(set_part(options.part, options.pack));
  PENSTOCK_CHECK(set_chunks(options.chunks, options.pack));
  const auto source = open(options.source, Index::kKept);
  if (!source) return std::unexpected(source.error());
  PENSTOCK_CHECK(set_pictures(options, **source, options.pack));
  ProgressBar bar("packing", (*source)->size(), "samples");
  options.pack.progress = [&](const PackProgress& progress) {
    bar.show(progress.samples);
    return true;
  };
  return pack(*source, options.destination, options.pack);
}

void print_json(const Options& options, const PackReport& report) {
  const nlohmann::ordered_json json = {
      {"destination", options.finish ? options.source.uri : options.destination},
      {"samples", report.samples},
      {"shards", report.shards},
      {"shards_skipped", report.shards_skipped},
      {"bytes", report.bytes},
      {"seconds", report.seconds},
      {"threads", report.threads},
      {"manifest", report.manifest.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(report.manifest)}};
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_screen(const Options& options, const PackReport& report) {
  const std::string skipped =
      report.shards_skipped > 0 ? fmt::format("; {} were there already", with_commas(report.shards_skipped)) : "";
  if (options.finish) {
    fmt::print("{}: {} samples in {} shards\n", report.manifest, with_commas(report.samples),
               with_commas(report.shards_skipped));
    return;
  }
  fmt::print("{}: {} samples\n", options.destination, with_commas(report.samples));
  fmt::print("  shards     {} written{}\n", with_commas(report.shards), skipped);
  fmt::print("  written    {} in {}, {}/s with {}\n", format_bytes(report.bytes), format_seconds(report.seconds),
             format_bytes(report.seconds > 0 ? static_cast<double>(report.bytes) / report.seconds : 0.0),
             report.threads == 1 ? "1 thread" : fmt::format("{} threads", report.threads));
  if (report.manifest.empty())
    fmt::print("  to do      penstock pack {} --finish, when all parts are done\n", options.destination);
  else
    fmt::print("  manifest   {}\n", report.manifest);
}

Status run(Options& options) {
  std::vector<std::string>& others = options.source.more_stores;
  if (options.finish ? !others.empty() : others.empty())
    return fail(ErrorCode::kInvalidArgument, options.finish ? "--finish takes the folder alone: penstock pack FOLDER --finish"
                                                            : "where to? penstock pack SOURCE DESTINATION");
  if (!options.finish) {
    options.destination = others.back();
    others.pop_back();
  }
  const auto report =
      options.finish ? finish_pack(options.source.given_uri, options.source.headers) : pack_source(options);
  if (!report) return std::unexpected(report.error());
  options.json ? print_json(options, *report) : print_screen(options, *report);
  return {};
}

}  // namespace

Command add_pack(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("pack", "Writes a source into a few large files that any tool reads");
  add_source_option(*command, options->source);
  // The positional arguments are those of a source, and the last of them is the destination.
  command->get_option("STORE")->description("The last one is the folder to write (a path, or a URL of a store that can write); "
                                            "before it, more Zarr stores");
  command->add_option("--format", options->format, "tar, tfrecord, npy or zarr")
      ->type_name("NAME")
      ->check(one_of({"tar", "tfrecord", "npy", "zarr"}))
      ->capture_default_str();
  add_size_option(*command, "--shard-size", options->pack.shard_bytes, "A shard ends before it exceeds this; default: 256MiB");
  command->add_option("--name", options->pack.name, "Of the shards: NAME-000000.tar")->type_name("NAME")->capture_default_str();
  command->add_option("--fields", options->pack.fields, "Only these; default: all")->type_name("NAME")->delimiter(',');
  command->add_option("--shuffle-seed", options->shuffle_seed, "Permute all samples first, by this seed")
      ->type_name("N")
      ->check(whole_number(0, INT64_MAX));
  command->add_option("--resize", options->resize, "Resize images: the shorter side, or HEIGHTxWIDTH")->type_name("SIZE");
  command->add_option("--quality", options->quality, "Encode all images as JPEG of this quality")
      ->type_name("1-100")
      ->check(whole_number(1, 100));
  command->add_option("--encode", options->encoding, "jpeg or png: encode all images so; default: those that --resize changes, as jpeg")
      ->type_name("NAME")
      ->check(one_of({"jpeg", "png"}));
  command->add_option("--jpeg", options->jpeg, "restart: rewrite JPEGs without loss, so that crops decode faster")
      ->type_name("restart")
      ->check(one_of({"restart"}));
  command->add_option("--chunks", options->chunks, "For zarr: time=1,lat=181 or 1,181,360; default: one sample")
      ->type_name("EXTENTS");
  command->add_option("--level", options->pack.level, "For zarr: of zstd")->type_name("N")->check(CLI::Range(-7, 22));
  command->add_option("--part", options->part, "Write one part of N, counted from 0; --finish joins them")->type_name("I/N");
  command->add_flag("--finish", options->finish, "Check that all parts are there, and write the manifest");
  command->add_option("--destination-header", options->destination_headers, "For a destination with a URL: 'Name: value'")
      ->type_name("LINE");
  add_threads_option(*command, options->pack.threads);
  add_size_option(*command, "--memory", options->pack.memory_bytes, "What it may use; default: a quarter of the free memory");
  command->add_flag("--json", options->json, "Print one JSON object instead of the screen");
  command->footer(kFooter);
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
