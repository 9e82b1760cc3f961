// TFRecord shards: each sample is one tf.train.Example in a frame with the CRCs of TFRecord.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/crc32c.h"
#include "decode/text.h"
#include "pack/formats/format_of_pack.h"
#include "source/packed/portable_index.h"
#include "source/records/tfrecord_scan.h"

namespace penstock {
namespace {

constexpr std::uint64_t kFrameOverhead = 64;  // per feature: its name, tags and lengths

// Tags of protobuf: the number of the field and the type of its wire form.
constexpr std::byte kFeaturesOfExample{0x0A}, kEntryOfFeatures{0x0A}, kKeyOfEntry{0x0A}, kValueOfEntry{0x12};
constexpr std::byte kBytesList{0x0A}, kFloatList{0x12}, kInt64List{0x1A}, kValuesOfList{0x0A};

struct Varint {
  explicit Varint(std::uint64_t value) {
    do {
      bytes[size++] = static_cast<std::byte>((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
      value >>= 7;
    } while (value != 0);
  }
  ConstBytes span() const { return ConstBytes(bytes).first(size); }

  std::array<std::byte, 10> bytes{};
  std::size_t size = 0;
};

std::uint64_t varint_size(std::uint64_t value) { return Varint(value).size; }

std::uint64_t head_size(std::uint64_t length) { return 1 + varint_size(length); }

// Makes the bytes from `at` on an entry of the map of features, by putting its head before them. `list` is the kind of
// list: a list of numbers has them packed into one field, and a list of bytes has one value.
Status wrap_feature(PackBuffer& out, std::uint64_t at, std::string_view name, std::byte list) {
  const std::uint64_t body = out.size() - at;
  const std::uint64_t values = head_size(body) + body;
  const std::uint64_t feature = head_size(values) + values;
  const std::uint64_t entry = head_size(name.size()) + name.size() + head_size(feature) + feature;
  std::vector<std::byte> head;
  const auto put_head = [&](std::byte tag, std::uint64_t length) {
    const Varint varint(length);
    head.push_back(tag);
    head.insert(head.end(), varint.bytes.begin(), varint.bytes.begin() + static_cast<std::ptrdiff_t>(varint.size));
  };
  put_head(kEntryOfFeatures, entry);
  put_head(kKeyOfEntry, name.size());
  const ConstBytes name_bytes = as_bytes(name.data(), name.size());
  head.insert(head.end(), name_bytes.begin(), name_bytes.end());
  put_head(kValueOfEntry, feature);
  put_head(list, values);
  put_head(kValuesOfList, body);
  if (const auto room = out.append(head.size()); !room) return std::unexpected(room.error());
  std::byte* const begin = out.bytes().data() + at;
  std::memmove(begin + head.size(), begin, body);
  std::ranges::copy(head, begin);
  return {};
}

Status put_text(PackBuffer& out, std::string_view name, std::string_view text) {
  const std::uint64_t at = out.size();
  PENSTOCK_CHECK(out.append(as_bytes(text.data(), text.size())));
  return wrap_feature(out, at, name, kBytesList);
}

// Replaces the int64 numbers from `at` on by their varints.
Status pack_integers(PackBuffer& out, std::uint64_t at) {
  const std::uint64_t end = out.size();
  for (std::uint64_t from = at; from < end; from += sizeof(std::int64_t)) {
    std::int64_t number = 0;
    std::memcpy(&number, out.bytes().data() + from, sizeof number);
    PENSTOCK_CHECK(out.append(Varint(static_cast<std::uint64_t>(number)).span()));
  }
  const std::uint64_t packed = out.size() - end;
  std::memmove(out.bytes().data() + at, out.bytes().data() + end, packed);
  out.resize_down(at + packed);
  return {};
}

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

class TFRecordFramer final : public SampleFramer {
 public:
  TFRecordFramer(const PackDescription& description, std::string key_feature)
      : description_(description),
        key_feature_(std::move(key_feature)) {}

  Status begin(std::string_view, std::string_view key, PreparedSample& out) override {
    // The frame's header comes when the length is known.
    if (const auto room = out.bytes.append(kTFRecordHeader + kMostHead); !room) return std::unexpected(room.error());
    if (key_feature_.empty() || !check_utf8(as_bytes(key.data(), key.size()))) return {};
    return put_text(out.bytes, key_feature_, key);
  }

  Status add(const PackedValue& value, PreparedSample& out) override {
    const PackedField& field = description_.fields[value.field];
    const std::uint64_t at = out.bytes.size();
    const bool is_number = field.kind == FieldKind::kInteger || field.is_list;
    if (!is_number) {
      PENSTOCK_CHECK(append_as_file(value, field.kind, out.bytes));
      PENSTOCK_CHECK(wrap_feature(out.bytes, at, field.stored_as, kBytesList));
      return add_format(value, field, out);
    }
    PENSTOCK_CHECK(value.append(out.bytes));
    if (value.elements != nullptr && value.elements->dtype == DType::kFloat32)
      return wrap_feature(out.bytes, at, field.stored_as, kFloatList);
    if (value.elements != nullptr && value.elements->dtype != DType::kInt64)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("field \"{}\" is {} here, and another type in the first sample", field.name,
                              name_of(value.elements->dtype)));
    if (value.elements == nullptr) {  // a file with the number in decimal
      const auto number = parse_integer(std::as_const(out.bytes).bytes().subspan(at));
      if (!number) return std::unexpected(number.error());
      out.bytes.resize_down(at);
      PENSTOCK_CHECK(out.bytes.append(as_bytes(&*number, sizeof *number)));
    }
    std::int64_t first = -1;
    const bool is_label = field.kind == FieldKind::kInteger && out.bytes.size() - at == sizeof first;
    if (is_label) std::memcpy(&first, out.bytes.bytes().data() + at, sizeof first);
    PENSTOCK_CHECK(pack_integers(out.bytes, at));
    PENSTOCK_CHECK(wrap_feature(out.bytes, at, field.stored_as, kInt64List));
    return add_class_name(first, field, out);
  }

  Status end(PreparedSample& out) override {
    // The head of the example is as long as its length needs, so the features move back to it.
    const std::uint64_t room = kTFRecordHeader + kMostHead, features = out.bytes.size() - room;
    const std::uint64_t head = head_size(features), data = head + features;
    const MutableBytes bytes = out.bytes.bytes();
    std::memmove(bytes.data() + kTFRecordHeader + head, bytes.data() + room, features);
    bytes[kTFRecordHeader] = kFeaturesOfExample;
    std::ranges::copy(Varint(features).span(), bytes.begin() + kTFRecordHeader + 1);
    std::memcpy(bytes.data(), &data, sizeof data);
    const std::uint32_t length_crc = masked(crc32c(bytes.first(sizeof data)));
    std::memcpy(bytes.data() + sizeof data, &length_crc, sizeof length_crc);
    const std::uint32_t data_crc = masked(crc32c(bytes.subspan(kTFRecordHeader, data)));
    out.bytes.resize_down(kTFRecordHeader + data);
    PENSTOCK_CHECK(out.bytes.append(as_bytes(&data_crc, sizeof data_crc)));
    PreparedMember member;
    member.field = PortableIndex::kAllFields;
    member.name = "record";
    member.length = out.bytes.size();
    member.checksum = crc32c(std::as_const(out.bytes).bytes());
    out.members.push_back(std::move(member));
    return {};
  }

 private:
  static constexpr std::uint64_t kMostHead = 11;

  // What readers of TensorFlow expect beside an encoded image, and beside the number of a class.
  static Status add_format(const PackedValue& value, const PackedField& field, PreparedSample& out) {
    if (field.stored_as != "image/encoded" || value.ending.empty()) return {};
    return put_text(out.bytes, "image/format", value.ending == "jpg" ? "jpeg" : value.ending);
  }
  Status add_class_name(std::int64_t number, const PackedField& field, PreparedSample& out) const {
    if (field.stored_as != "image/class/label" || number < 0 ||
        static_cast<std::uint64_t>(number) >= description_.classes.size())
      return {};
    return put_text(out.bytes, "image/class/text", description_.classes[static_cast<std::size_t>(number)]);
  }

  const PackDescription& description_;
  const std::string key_feature_;
};

class TFRecordFormat final : public FormatOfPack {
 public:
  explicit TFRecordFormat(const PackDescription& description) : description_(description) {
    const bool has_image =
        std::ranges::find(description.fields, "image/encoded", &PackedField::stored_as) != description.fields.end();
    key_feature_ = has_image ? "image/filename" : "key";
    if (std::ranges::find(description.fields, key_feature_, &PackedField::stored_as) != description.fields.end())
      key_feature_.clear();
  }

  std::vector<FileName> files() const override { return {{"", ".tfrecord"}}; }
  std::vector<std::byte> head_of(std::size_t, std::uint64_t) const override { return {}; }
  std::vector<std::byte> tail_of(std::size_t) const override { return {}; }
  std::uint64_t overhead_bytes() const override { return (description_.fields.size() + 1) * kFrameOverhead; }
  bool names_samples() const override { return false; }
  std::unique_ptr<SampleFramer> make_framer() const override {
    return std::make_unique<TFRecordFramer>(description_, key_feature_);
  }

 private:
  const PackDescription& description_;
  std::string key_feature_;
};

}  // namespace

std::unique_ptr<FormatOfPack> make_tfrecord_format(const PackDescription& description) {
  return std::make_unique<TFRecordFormat>(description);
}

}  // namespace penstock
