// Archives that other programs write, plain and compressed.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "support/temporary_folder.h"
#include "tar_scan_run.h"

namespace penstock {
namespace {

const std::string kDeep = std::string(40, 'd') + "/" + std::string(50, 'e') + "/";

std::map<std::string, std::string> usual_files(bool deep) {
  std::map<std::string, std::string> files;
  for (const std::size_t size : {0, 1, 511, 512, 513, 5000, 70'000})
    files["f" + std::to_string(size) + ".bin"] = std::string(size, static_cast<char>('a' + size % 26));
  if (deep) files[kDeep + "deep name.jpg"] = "deep";
  return files;
}

bool has_program(const std::string& name) { return succeeds(name + " --version"); }

void expect_files(const Bytes& archive, const std::map<std::string, std::string>& wanted) {
  const Scan got = scan(archive);
  ASSERT_TRUE(got.summary) << got.summary.error().describe();
  std::map<std::string, std::string> found;
  for (const Found& file : got.files) {
    const std::string name = file.name.starts_with("./") ? file.name.substr(2) : file.name;
    EXPECT_TRUE(found.emplace(name, data_of(archive, file)).second) << name;
  }
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(got.summary->files, wanted.size());
}

void expect_reads_archives_of(const std::string& program, const std::vector<std::string>& formats) {
  if (!has_program(program)) GTEST_SKIP() << "no " << program;
  for (const std::string& format : formats) {
    SCOPED_TRACE(program + " " + format);
    const bool is_v7 = format == "v7";
    const TemporaryFolder folder;
    auto files = usual_files(!is_v7);
    if (format != "ustar" && !is_v7) {
      files[kDeep + std::string(200, 'n') + ".jpg"] = "a name beyond ustar's";
      files["snowman \xE2\x98\x83.txt"] = "not ASCII";
    }
    for (const auto& [name, text] : files) {
      const auto raw = as_bytes(text.data(), text.size());
      folder.write("in/" + name, {raw.begin(), raw.end()});
    }
    ASSERT_TRUE(succeeds("cd " + folder.path() + "/in && ln -s f1.bin zlink && ln f1.bin zhard && " +
                         (is_v7 ? "true" : "mkfifo zpipe")));
    ASSERT_TRUE(succeeds(program + " --format=" + format + " -cf " + (folder / "out.tar") + " -C " +
                         (folder / "in") + " ."));
    const Bytes archive = bytes_of_file(folder / "out.tar");
    // Which of two hard links is the file depends on the order of the folder.
    const Scan got = scan(archive);
    ASSERT_TRUE(got.summary) << got.summary.error().describe();
    for (const auto& name : got.names())
      if (name == "./zhard") files.insert({"zhard", "b"}), files.erase("f1.bin");
    expect_files(archive, files);
    EXPECT_EQ(got.summary->links, 2);
    EXPECT_EQ(got.summary->others, is_v7 ? 0 : 1);
  }
}

TEST(TarScan, reads_archives_of_gnu_tar) {
  expect_reads_archives_of("tar", {"v7", "ustar", "gnu", "oldgnu", "pax"});
}

TEST(TarScan, reads_archives_of_bsdtar) { expect_reads_archives_of("bsdtar", {"ustar", "gnutar", "pax"}); }

constexpr std::string_view kPythonScript = R"(
import io, sys, tarfile
path, kind, deep = sys.argv[1:]
tar = tarfile.open(path, "w", format=getattr(tarfile, kind + "_FORMAT"))
def add(name, data, **more):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(data))
for i in range(50):
    add("%05d.jpg" % i, b"x" * (i * 37))
    add("%05d.cls" % i, b"7")
add("folder", b"", type=tarfile.DIRTYPE)
add("link", b"", type=tarfile.SYMTYPE, linkname="l" * 90)
add(deep + "name", b"deep")
if kind != "USTAR":
    add("n" * 3000, b"long")
    add("link2", b"", type=tarfile.SYMTYPE, linkname="l" * 900)
tar.close()
)";

TEST(TarScan, reads_archives_of_python) {
  if (!has_program("python3")) GTEST_SKIP() << "no python3";
  const TemporaryFolder folder;
  const auto script = as_bytes(kPythonScript.data(), kPythonScript.size());
  const std::string make = "python3 " + folder.write("make.py", {script.begin(), script.end()});
  for (const std::string format : {"USTAR", "GNU", "PAX"}) {
    SCOPED_TRACE(format);
    ASSERT_TRUE(succeeds(make + " " + (folder / "out.tar") + " " + format + " " + kDeep));
    std::map<std::string, std::string> wanted{{kDeep + "name", "deep"}};
    for (int i = 0; i < 50; ++i) {
      const std::string key = (i < 10 ? "0000" : "000") + std::to_string(i);
      wanted[key + ".jpg"] = std::string(static_cast<std::size_t>(i) * 37, 'x');
      wanted[key + ".cls"] = "7";
    }
    if (format != "USTAR") wanted[std::string(3000, 'n')] = "long";
    expect_files(bytes_of_file(folder / "out.tar"), wanted);
  }
}

TEST(TarScan, a_sparse_file_of_gnu_tar_is_refused) {
  if (!has_program("tar")) GTEST_SKIP() << "no tar";
  for (const std::string format : {"gnu", "pax"}) {
    const TemporaryFolder folder;
    ASSERT_TRUE(succeeds("cd " + folder.path() + " && truncate -s 1M hole && tar -S --format=" + format +
                         " -cf out.tar hole"));
    EXPECT_EQ(error_of(bytes_of_file(folder / "out.tar")).code, ErrorCode::kUnsupported) << format;
  }
}

TEST(TarScan, a_compressed_archive_has_the_members_of_the_plain_one) {
  const TemporaryFolder folder;
  const Bytes whole = all_kinds(300).finish();
  const std::string path = folder.write("shard.tar", whole);
  const Scan wanted = scan(whole);
  for (const auto& [program, ending, compression] :
       {std::tuple{"gzip", ".gz", Compression::kGzip}, {"zstd", ".zst", Compression::kZstd}}) {
    if (!succeeds(std::string(program) + " -k " + path)) continue;
    MemoryStore store;
    store.put("shard.tar", bytes_of_file(path + ending));
    const auto object = *store.open("shard.tar");
    const auto reader = make_forward_reader(*object, "shard", compression);
    std::vector<Found> files;
    const auto got = scan_tar(*reader, "shard", [&files](const TarMember& member) -> Status {
      files.push_back({std::string(member.name), member.header_offset, member.data_offset, member.size});
      return {};
    });
    if (!got && got.error().code == ErrorCode::kUnsupported) continue;  // a build without zstd
    ASSERT_TRUE(got) << got.error().describe();
    EXPECT_EQ(files, wanted.files);
  }
}

}  // namespace
}  // namespace penstock
