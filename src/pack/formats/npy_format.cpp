// .npy shards: one file per field, whose rows are the samples of the shard.
#include <fmt/format.h>

#include "base/crc32c.h"
#include "decode/npy.h"
#include "pack/formats/format_of_pack.h"

namespace penstock {
namespace {

class NpyFramer final : public SampleFramer {
 public:
  explicit NpyFramer(const PackDescription& description) : description_(description) {}

  Status begin(std::string_view, std::string_view, PreparedSample&) override { return {}; }

  Status add(const PackedValue& value, PreparedSample& out) override {
    const ArraySpec& spec = *description_.fields[value.field].elements;
    if (value.elements == nullptr || *value.elements != spec)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("field \"{}\" has another type or shape here than in the first sample: the rows of a .npy "
                              "file are alike",
                              description_.fields[value.field].name));
    PreparedMember member;
    member.file = member.field = value.field;
    member.name = "rows";
    member.offset = out.bytes.size();
    PENSTOCK_CHECK(value.append(out.bytes));
    member.length = out.bytes.size() - member.offset;
    member.checksum = crc32c(std::as_const(out.bytes).bytes().subspan(member.offset, member.length));
    out.members.push_back(std::move(member));
    return {};
  }

  Status end(PreparedSample& out) override {
    if (out.members.size() == description_.fields.size()) return {};
    return fail(ErrorCode::kNotFound, "a sample lacks a field: the rows of .npy files have all fields");
  }

 private:
  const PackDescription& description_;
};

class NpyFormat final : public FormatOfPack {
 public:
  explicit NpyFormat(const PackDescription& description) : description_(description) {}

  std::vector<FileName> files() const override {
    std::vector<FileName> names;
    for (const PackedField& field : description_.fields) names.push_back({field.stored_as + "-", ".npy"});
    return names;
  }
  std::vector<std::byte> head_of(std::size_t file, std::uint64_t samples) const override {
    ArraySpec rows = *description_.fields[file].elements;
    rows.shape.insert(rows.shape.begin(), static_cast<std::int64_t>(samples));
    return npy_header_of(rows);
  }
  std::vector<std::byte> tail_of(std::size_t) const override { return {}; }
  std::uint64_t overhead_bytes() const override { return 0; }
  bool names_samples() const override { return false; }
  std::unique_ptr<SampleFramer> make_framer() const override {
    return std::make_unique<NpyFramer>(description_);
  }

 private:
  const PackDescription& description_;
};

}  // namespace

std::unique_ptr<FormatOfPack> make_npy_format(const PackDescription& description) {
  return std::make_unique<NpyFormat>(description);
}

}  // namespace penstock
