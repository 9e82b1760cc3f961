// The first byte says whether the rest is a TFRecord file as it is, or the data of records that get
// their frames here: past the checksums is where bugs would be.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "source/records/tfrecord_scan.h"

namespace {

using namespace penstock;

class WholeFile final : public ForwardReader {
 public:
  explicit WholeFile(ConstBytes file) : file_(file) {}
  Result<ConstBytes> at(std::uint64_t offset, std::size_t size) override {
    if (offset >= file_.size()) return ConstBytes{};
    const ConstBytes rest = file_.subspan(offset);
    return rest.first(std::min(size, rest.size()));
  }
  std::uint64_t end() const override { return file_.size(); }

 private:
  ConstBytes file_;
};

void promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// Puts the right checksum behind each length that is within the file, and behind each data.
void mend(std::vector<std::byte>& file) {
  const auto mask = [&](std::size_t at, std::size_t size) {
    const std::uint32_t crc = crc32c(ConstBytes(file).subspan(at, size));
    const std::uint32_t masked = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
    std::memcpy(file.data() + at + size, &masked, sizeof(masked));
  };
  for (std::size_t at = 0; file.size() - at >= kTFRecordHeader;) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data() + at, sizeof(length));
    mask(at, sizeof(length));
    const std::size_t rest = file.size() - at - kTFRecordHeader;
    if (rest < kTFRecordFooter || length > rest - kTFRecordFooter) return;
    mask(at + kTFRecordHeader, length);
    at += kTFRecordHeader + length + kTFRecordFooter;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ConstBytes raw = as_bytes(data + 1, size - 1);
  std::vector<std::byte> file(raw.begin(), raw.end());
  const bool mended = data[0] % 2 == 1;
  if (mended) mend(file);
  WholeFile reader(file);
  std::uint64_t end = 0;
  const auto status =
      scan_tfrecord(reader, "fuzz", [&](std::uint64_t offset, std::uint64_t length) -> Status {
        promise(
            offset == end && length >= kTFRecordHeader + kTFRecordFooter && length <= file.size() - offset,
            "frames follow one another within the file");
        end = offset + length;
        const auto record = open_tfrecord(ConstBytes(file).subspan(offset, length));
        promise(!mended || record.has_value(), "a mended record opens");
        promise(!record || record->size() == length - kTFRecordHeader - kTFRecordFooter, "a record's size");
        return {};
      });
  promise(!status || end == file.size(), "a file that scans is made of whole frames");
  (void)open_tfrecord(file);
  return 0;
}
