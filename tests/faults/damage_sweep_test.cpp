// Every format, damaged at every place: whatever is wrong is noticed, and the error says where.
//
// The full sweep makes some hundred thousand damaged files. The Slow suite runs it where the environment says
// PENSTOCK_DAMAGE=all, and a seventh of it elsewhere; the quick suite takes a thin sample. With
// PENSTOCK_SWEEP_SUMMARY=file the totals of full sweeps are appended to that file, for docs/damage.md.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "base/random.h"
#include "damage.h"
#include "damage_verdict.h"
#include "sample_files.h"
#include "support/make_tar.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

// One of how many cases of each kind of damage is tried.
enum class Sweep : std::uint8_t { kFull = 1, kSparse = 7, kThin = 97 };

Sweep slow_sweep() {
  const char* given = std::getenv("PENSTOCK_DAMAGE");
  return given != nullptr && std::string_view(given) == "all" ? Sweep::kFull : Sweep::kSparse;
}

constexpr unsigned kWatchedTogether = 100;  // a thread for each case would take longer than the case

// What the cases of one format came to.
class Tally {
 public:
  Tally(std::string format, Sweep sweep, bool has_offsets = true)
      : format_(std::move(format)),
        sweep_(sweep),
        has_offsets_(has_offsets) {}

  void add(const Damage& damage, const Judgement& judgement, bool may_be_silent) {
    ++cases_;
    ++counts_[static_cast<std::size_t>(judgement.verdict)];
    const std::string what = damage.describe() + ": ";
    const bool at_sample = judgement.verdict != Verdict::kNoticedAtOpen;
    for (const Error& error : judgement.errors)
      if (has_offsets_ ? !says_where(error, at_sample) : error.where.uri.empty())
        note("no place", error.message, what + error.describe());
    if (!judgement.counts_balance) note("unbalanced", "", what);
    if (judgement.verdict == Verdict::kSilent && !may_be_silent)
      note("silent", judgement.why.substr(0, 12), what + judgement.why);
  }

  void note(const std::string& rule, const std::string& group, const std::string& example) {
    auto& [count, first] = broken_[rule + " (" + group + ")"];
    if (count++ == 0) first = example;
  }

  void finish() const {
    for (const auto& [rule, found] : broken_)
      ADD_FAILURE() << format_ << ": " << rule << ", " << found.first << " times, first: " << found.second;
    std::printf("%-28s %7zu cases: %7zu noticed at open, %6zu at a sample, %6zu harmless, %5zu silent\n",
                format_.c_str(), cases_, counts_[0], counts_[1], counts_[2], counts_[3]);
    std::fflush(stdout);
    if (const char* path = std::getenv("PENSTOCK_SWEEP_SUMMARY"); path != nullptr && sweep_ == Sweep::kFull)
      std::ofstream(path, std::ios::app)
          << "{\"format\": \"" << format_ << "\", \"cases\": " << cases_ << ", \"open\": " << counts_[0]
          << ", \"sample\": " << counts_[1] << ", \"harmless\": " << counts_[2]
          << ", \"silent\": " << counts_[3] << "}\n";
  }

 private:
  std::string format_;
  Sweep sweep_;
  bool has_offsets_;
  std::size_t cases_ = 0;
  std::array<std::size_t, 4> counts_{};
  std::map<std::string, std::pair<std::size_t, std::string>> broken_;
};

std::vector<Damage> damage_for(const SampleFile& file, const DamagePlan& plan, Sweep sweep) {
  std::vector<Damage> chosen;
  std::map<Damage::Kind, std::size_t> listed;
  for (const Damage& damage : list_damage(file.map, plan))
    if (listed[damage.kind]++ % static_cast<std::size_t>(sweep) == 0) chosen.push_back(damage);
  return chosen;
}

// A file that was written within the last moment is opened only after it, which would be most of the time of a sweep.
void date_back(const std::string& path) {
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::seconds(1));
}

OpenOptions without_index() {
  OpenOptions options;
  options.keep_index = false;
  return options;
}

SampleContents contents_of(const std::string& path, const OpenOptions& options) {
  const Judgement whole = judge(path, options, 1, {});
  EXPECT_TRUE(whole.errors.empty()) << whole.errors.front().describe();
  EXPECT_EQ(whole.delivered.size(), static_cast<std::size_t>(kSamples));
  return whole.delivered;
}

using MayBeSilent = std::function<bool(const Damage&)>;
using OnCase = std::function<void(const Damage&, const Judgement&)>;

bool never(const Damage&) { return false; }

// Damages the file itself, looked at without an index.
void sweep_file(const SampleFile& file, const std::string& format, const DamagePlan& plan, Sweep sweep,
                const MayBeSilent& may_be_silent, const OnCase& on_case = {}) {
  const TemporaryFolder folder;
  write_pictures(folder);
  const OpenOptions options = without_index();
  if (!file.other_name.empty()) folder.write(file.other_name, file.other_bytes);
  const auto write = [&](const std::vector<std::byte>& bytes) {
    const std::string path = folder.write(file.name, bytes);
    date_back(path);
    return file.folder.empty() ? path : folder / file.folder;
  };
  const SampleContents expected = contents_of(write(file.bytes), options);
  Tally tally(format, sweep, plan.has_offsets);
  unsigned turn = 0;
  std::optional<Watchdog> watchdog;
  for (const Damage& damage : damage_for(file, plan, sweep)) {
    if (turn % kWatchedTogether == 0) watchdog.emplace(format + ", from " + damage.describe());
    const std::string path = write(damage.apply(file.bytes));
    const Judgement judgement = judge(path, options, 1 + turn++ % 2, expected);
    tally.add(damage, judgement, may_be_silent(damage));
    if (on_case) on_case(damage, judgement);
  }
  tally.finish();
}

// ---- the formats

void sweep_tar(Sweep sweep) {
  const SampleFile file = make_tar_file();
  struct Caught {
    std::size_t flips = 0, noticed = 0, harmless = 0;
  };
  std::map<std::string, Caught> by_ending;
  const auto count_flip = [&](const Damage& damage, const Judgement& judgement) {
    if (damage.kind != Damage::Kind::kPayloadFlip) return;
    const auto member = std::ranges::find_if(
        file.members, [&](const auto& m) { return damage.at >= m.begin && damage.at < m.end; });
    Caught& caught = by_ending[member == file.members.end() ? "padding" : member->ending];
    ++caught.flips;
    caught.noticed += judgement.verdict <= Verdict::kNoticedAtSample ? 1 : 0;
    caught.harmless += judgement.verdict == Verdict::kHarmless ? 1 : 0;
  };
  // What members hold has no checksum of the archive's; and where zeros run into the marker at the end
  // there is an archive that ends earlier, which only an index could tell.
  const auto may_be_silent = [&](const Damage& damage) {
    const bool reaches_end =
        damage.kind == Damage::Kind::kZeroPage && damage.at + damage.page >= file.members.back().end;
    return reaches_end || (damage.kind != Damage::Kind::kCut && !damage.touches(file.map.is_header));
  };
  sweep_file(file, "tar", {.bit_every = 31, .flip_every = 32}, sweep, may_be_silent, count_flip);
  for (const auto& [ending, caught] : by_ending) {
    std::printf("  flips in %-8s %5zu: %5zu noticed by the member's codec, %5zu harmless, %5zu delivered\n",
                ending.c_str(), caught.flips, caught.noticed, caught.harmless,
                caught.flips - caught.noticed - caught.harmless);
    // Both carry a CRC.
    if (ending == "png" || ending == "npz") {
      EXPECT_EQ(caught.flips, caught.noticed + caught.harmless) << ending;
    }
  }
}

void sweep_compressed(const SampleFile& file, const std::string& format, Sweep sweep) {
  if (file.bytes.empty()) GTEST_SKIP() << "this build reads no zstd";
  sweep_file(file, format, {.cut_every = 7, .flip_every = 4}, sweep, never);
}

// Without an index nobody can know that a file of whole records was longer.
void sweep_tfrecord(Sweep sweep) {
  const SampleFile file = make_tfrecord_file();
  sweep_file(file, "TFRecord", {.cut_every = 1, .flip_every = 2}, sweep, [&](const Damage& damage) {
    return damage.kind == Damage::Kind::kCut &&
           std::ranges::find(file.record_ends, damage.at) != file.record_ends.end();
  });
}

// Neither carries a checksum, so letters that change are other letters, and whole rows can be missing.
void sweep_text(const SampleFile& file, const std::string& format, Sweep sweep) {
  sweep_file(file, format, {.cut_every = 1, .flip_every = 1}, sweep, [](const Damage&) { return true; });
}

void sweep_npy(Sweep sweep) {
  const SampleFile file = make_npy_file();
  sweep_file(file, "npy", {.cut_every = 1, .flip_every = 8}, sweep, [&](const Damage& damage) {
    // '<f4' and '>f4' are one bit apart, and nothing else in the file says which it was.
    const bool byte_order = file.bytes[damage.at] == std::byte{'<'};
    return damage.kind != Damage::Kind::kCut && (byte_order || !damage.touches(file.map.is_header));
  });
}

void sweep_zarr_shard(Sweep sweep) {
  sweep_file(make_zarr_shard_file(), "Zarr shard", {.cut_every = 1, .flip_every = 2}, sweep, never);
}

// Another number or name is as good a number or name; nothing in the store tells which it was.
void sweep_zarr_metadata(Sweep sweep) {
  sweep_file(make_zarr_metadata_file(), "Zarr metadata", {.cut_every = 1, .has_offsets = false}, sweep,
             [](const Damage& damage) { return damage.kind != Damage::Kind::kCut; });
}

// ---- kept indexes

std::string only_file_in(const std::string& folder) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_TRUE(found.empty()) << "more than one index";
    found = entry.path().string();
  }
  return found;
}

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto* raw = reinterpret_cast<const std::byte*>(text.data());
  return {raw, raw + text.size()};
}

void write_file(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  date_back(path);
}

// Damages the index that was kept of whole data: it is made anew, with one warning.
void sweep_index(const std::string& data, const std::string& format, const TemporaryFolder& folder,
                 Sweep sweep) {
  OpenOptions options;
  options.cache_dir = folder / "cache";
  const SampleContents expected = contents_of(data, options);
  const std::string path = only_file_in(options.cache_dir + "/index");
  SampleFile index{path, read_file(path), {}, {}, {}, {}, {}, {}};
  index.map = {std::vector<bool>(index.bytes.size(), true), std::vector<bool>(index.bytes.size(), false)};
  Tally tally(format, sweep);
  unsigned turn = 0;
  std::optional<Watchdog> watchdog;
  for (const Damage& damage : damage_for(index, {.cut_every = 1, .bit_every = 3}, sweep)) {
    if (turn % kWatchedTogether == 0) watchdog.emplace(format + ", from " + damage.describe());
    const auto damaged = damage.apply(index.bytes);
    write_file(path, damaged);
    Judgement judgement = judge(data, options, 1 + turn++ % 2, expected);
    if (judgement.verdict != Verdict::kHarmless) tally.note("not rebuilt", judgement.why, damage.describe());
    if (damaged != index.bytes && judgement.warnings.size() != 1)
      tally.note("warnings", std::to_string(judgement.warnings.size()), damage.describe());
    if (read_file(path) != index.bytes) tally.note("other index", "", damage.describe());
    if (judgement.verdict == Verdict::kHarmless && !judgement.warnings.empty())
      judgement.verdict = Verdict::kNoticedAtOpen;
    tally.add(damage, judgement, false);
  }
  tally.finish();
}

void sweep_record_index(const SampleFile& file, const std::string& format, Sweep sweep) {
  const TemporaryFolder folder;
  sweep_index(folder.write(file.name, file.bytes), format, folder, sweep);
}

void sweep_folder_index(Sweep sweep) {
  const TemporaryFolder folder;
  write_pictures(folder);
  sweep_index(folder / "pictures", "kept index of a folder", folder, sweep);
}

// Data that rots where it lies: neither its size nor its time tells, and the index is from before.
void sweep_rot(const SampleFile& file, const std::string& format, const DamagePlan& plan, Sweep sweep,
               const MayBeSilent& may_be_silent) {
  if (file.bytes.empty()) GTEST_SKIP() << "this build reads no zstd";
  const TemporaryFolder folder;
  OpenOptions options;
  options.cache_dir = folder / "cache";
  const std::string path = folder.write(file.name, file.bytes);
  struct stat before{};
  ASSERT_EQ(stat(path.c_str(), &before), 0);
  const std::array<timespec, 2> times = {before.st_atim, before.st_mtim};
  const SampleContents expected = contents_of(path, options);
  Tally tally(format, sweep);
  unsigned turn = 0;
  std::optional<Watchdog> watchdog;
  DamagePlan in_place = plan;
  in_place.cuts = false;
  for (const Damage& damage : damage_for(file, in_place, sweep)) {
    if (turn % kWatchedTogether == 0) watchdog.emplace(format + ", from " + damage.describe());
    write_file(path, damage.apply(file.bytes));
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
    tally.add(damage, judge(path, options, 1 + turn++ % 2, expected), may_be_silent(damage));
  }
  tally.finish();
}

// ---- thin, sparse and full

TEST(DamageSweep, tar) { sweep_tar(Sweep::kThin); }
TEST(DamageSweep, tar_gz) { sweep_compressed(gzipped(make_tar_file()), "tar.gz", Sweep::kThin); }
TEST(DamageSweep, tar_zst) { sweep_compressed(zstd_compressed(make_tar_file()), "tar.zst", Sweep::kThin); }
TEST(DamageSweep, tfrecord) { sweep_tfrecord(Sweep::kThin); }
TEST(DamageSweep, tfrecord_gz) {
  sweep_compressed(gzipped(make_tfrecord_file()), "TFRecord.gz", Sweep::kThin);
}
TEST(DamageSweep, csv) { sweep_text(make_csv_file(), "CSV", Sweep::kThin); }
TEST(DamageSweep, json_lines) { sweep_text(make_json_lines_file(), "JSON lines", Sweep::kThin); }
TEST(DamageSweep, npy) { sweep_npy(Sweep::kThin); }
TEST(DamageSweep, zarr_shard) { sweep_zarr_shard(Sweep::kThin); }
TEST(DamageSweep, zarr_metadata) { sweep_zarr_metadata(Sweep::kThin); }
TEST(DamageSweep, kept_index_of_tar) {
  sweep_record_index(make_tar_file(), "kept index of tar", Sweep::kThin);
}
TEST(DamageSweep, kept_index_of_a_folder) { sweep_folder_index(Sweep::kThin); }
TEST(DamageSweep, tfrecord_that_rots_under_its_index) {
  sweep_rot(make_tfrecord_file(), "TFRecord, rot", {.flip_every = 2}, Sweep::kThin, never);
}

TEST(SlowDamageSweep, tar) { sweep_tar(slow_sweep()); }
TEST(SlowDamageSweep, tar_gz) { sweep_compressed(gzipped(make_tar_file()), "tar.gz", slow_sweep()); }
TEST(SlowDamageSweep, tar_zst) {
  sweep_compressed(zstd_compressed(make_tar_file()), "tar.zst", slow_sweep());
}
TEST(SlowDamageSweep, tfrecord) { sweep_tfrecord(slow_sweep()); }
TEST(SlowDamageSweep, tfrecord_gz) {
  sweep_compressed(gzipped(make_tfrecord_file()), "TFRecord.gz", slow_sweep());
}
TEST(SlowDamageSweep, csv) { sweep_text(make_csv_file(), "CSV", slow_sweep()); }
TEST(SlowDamageSweep, json_lines) { sweep_text(make_json_lines_file(), "JSON lines", slow_sweep()); }
TEST(SlowDamageSweep, npy) { sweep_npy(slow_sweep()); }
TEST(SlowDamageSweep, zarr_shard) { sweep_zarr_shard(slow_sweep()); }
TEST(SlowDamageSweep, zarr_metadata) { sweep_zarr_metadata(slow_sweep()); }
TEST(SlowDamageSweep, kept_index_of_tar) {
  sweep_record_index(make_tar_file(), "kept index of tar", slow_sweep());
}
TEST(SlowDamageSweep, kept_index_of_tfrecord) {
  sweep_record_index(make_tfrecord_file(), "kept index of TFRecord", slow_sweep());
}
TEST(SlowDamageSweep, kept_index_of_a_folder) { sweep_folder_index(slow_sweep()); }
TEST(SlowDamageSweep, tfrecord_that_rots_under_its_index) {
  sweep_rot(make_tfrecord_file(), "TFRecord, rot", {.flip_every = 2}, slow_sweep(), never);
}
TEST(SlowDamageSweep, tar_gz_that_rots_under_its_index) {
  sweep_rot(gzipped(make_tar_file()), "tar.gz, rot", {.flip_every = 16}, slow_sweep(), never);
}
TEST(SlowDamageSweep, tar_zst_that_rots_under_its_index) {
  sweep_rot(zstd_compressed(make_tar_file()), "tar.zst, rot", {.flip_every = 16}, slow_sweep(), never);
}
TEST(SlowDamageSweep, tfrecord_gz_that_rots_under_its_index) {
  sweep_rot(gzipped(make_tfrecord_file()), "TFRecord.gz, rot", {.flip_every = 4}, slow_sweep(), never);
}

// Several blocks long: samples are delivered before the stream's own checksum comes, so that only the
// checksums in the kept index can tell.
SampleFile make_long_tar_file() {
  TarArchive tar;
  Draws draws(5, 0, 0);
  for (int sample = 0; sample < kSamples; ++sample) {
    std::string noise(500'000, '\0');
    for (char& byte : noise) byte = static_cast<char>(draws.below(256));
    tar.add_file("sample" + std::to_string(1000 + sample) + ".bin", noise);
  }
  SampleFile file{"samples.tar", tar.finish(), {}, {}, {}};
  file.map = {std::vector<bool>(file.bytes.size()), std::vector<bool>(file.bytes.size())};
  return file;
}

TEST(SlowDamageSweep, long_tar_gz_that_rots_under_its_index) {
  sweep_rot(gzipped(make_long_tar_file()), "tar.gz of 10 MB, rot", {.flip_every = 500'009, .pages = false},
            Sweep::kFull, never);
}
TEST(SlowDamageSweep, long_tar_zst_that_rots_under_its_index) {
  sweep_rot(zstd_compressed(make_long_tar_file()), "tar.zst of 10 MB, rot",
            {.flip_every = 500'009, .pages = false}, Sweep::kFull, never);
}

// ---- single cases

TEST(DamageSweep, a_tfrecord_cut_between_records_is_noticed_by_its_index_and_again_the_next_time) {
  const SampleFile file = make_tfrecord_file();
  for (const std::size_t end : file.record_ends) {
    if (end == file.bytes.size()) continue;
    const TemporaryFolder folder;
    OpenOptions options;
    options.cache_dir = folder / "cache";
    const SampleContents expected = contents_of(folder.write(file.name, file.bytes), options);
    const std::string path = folder.write(file.name, Damage{Damage::Kind::kCut, end}.apply(file.bytes));
    for (int time = 0; time < 2; ++time) {
      const Judgement judgement = judge(path, options, 1, expected);
      ASSERT_EQ(judgement.verdict, Verdict::kNoticedAtOpen) << end << ", time " << time;
      EXPECT_TRUE(says_where(judgement.errors.front(), true)) << judgement.errors.front().describe();
      EXPECT_EQ(judgement.errors.front().where.offset, static_cast<std::int64_t>(end));
    }
  }
}

}  // namespace
}  // namespace penstock
