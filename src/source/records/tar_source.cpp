#include "source/records/tar_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <unordered_map>

#include "base/text/lower_case.h"
#include "decode/image/image_formats.h"
#include "decode/npy.h"
#include "decode/npz.h"
#include "decode/text.h"
#include "penstock/interruption.h"
#include "source/array_layout.h"
#include "source/field_kind.h"
#include "source/records/record_source.h"
#include "source/records/tar_scan.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxFields = 1024;
constexpr std::size_t kLongestEnding = 1024;

struct SplitName {
  std::string_view key;
  std::string extension;
};

// The key of a sample is the path up to the first dot after the last slash. Files without a dot, hidden files and
// __metadata__ belong to no sample.
std::optional<SplitName> split_name(std::string_view name) {
  if (name.starts_with("__") && name.ends_with("__")) return std::nullopt;
  const auto slash = name.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const auto dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base || dot + 1 == name.size()) return std::nullopt;
  return SplitName{name.substr(0, dot), lower_case(name.substr(dot + 1))};
}

// Groups consecutive members into samples.
class SampleGrouper {
 public:
  SampleGrouper(const std::string& path, ShardContents& out) : path_(path), out_(out) {}

  Status add(const TarMember& member) {
    const auto split = split_name(member.name);
    if (!split) return {};
    const Where where{path_, static_cast<std::int64_t>(member.header_offset),
                      static_cast<std::int64_t>(member.size), -1};
    if (out_.samples() == 0 || split->key != last_key()) PENSTOCK_CHECK(begin_sample(split->key, where));
    if (split->extension.size() > kLongestEnding)
      return fail(ErrorCode::kTooLarge,
                  fmt::format("a name with an ending of {} bytes, at most {} are read", split->extension.size(),
                              kLongestEnding),
                  where);
    if (!check_utf8(as_bytes(split->extension.data(), split->extension.size())))
      return fail(ErrorCode::kCorrupt, "the name's ending is not UTF-8", where);
    PENSTOCK_CHECK(out_.growth.add(ShardContents::kBytesPerMember, member.header_offset, member.size));
    const auto field = field_named(split->extension);
    if (!field) return fail(ErrorCode::kTooLarge, fmt::format("more than {} endings", kMaxFields), where);
    for (std::size_t i = out_.first_members.back(); i < out_.fields.size(); ++i)
      if (out_.fields[i] == *field)
        return fail(ErrorCode::kCorrupt,
                    fmt::format("two members \"{}\" in sample \"{}\"", split->extension, split->key), where);
    out_.offsets.push_back(member.data_offset);
    out_.lengths.push_back(member.size);
    out_.fields.push_back(*field);
    return {};
  }

  void drop_last() {
    if (out_.samples() == 0) return;
    const std::uint64_t members = out_.first_members.back();
    out_.offsets.resize(members);
    out_.lengths.resize(members);
    out_.fields.resize(members);
    out_.first_members.pop_back();
    out_.key_ends.pop_back();
    out_.keys.resize(out_.key_ends.empty() ? 0 : out_.key_ends.back());
  }

 private:
  std::string_view key_of(std::uint64_t sample) const {
    const std::uint64_t begin = sample > 0 ? out_.key_ends[sample - 1] : 0;
    return std::string_view(out_.keys).substr(begin, out_.key_ends[sample] - begin);
  }
  std::string_view last_key() const { return key_of(out_.samples() - 1); }

  // A key that returns after another key means that the members of samples are interleaved, or that a file was
  // added twice. Accepting it would make a sample of each half.
  Status begin_sample(std::string_view key, const Where& where) {
    const auto [known, is_new] = seen_.try_emplace(std::hash<std::string_view>()(key), out_.samples());
    if (!is_new && key_of(known->second) == key)
      return fail(ErrorCode::kCorrupt,
                  fmt::format("sample \"{}\" begins a second time: its members do not follow one another", key),
                  where);
    PENSTOCK_CHECK(out_.growth.add(ShardContents::kBytesPerSample + kBytesPerSeenKey + key.size(),
                                   static_cast<std::uint64_t>(where.offset),
                                   static_cast<std::uint64_t>(where.length)));
    out_.first_members.push_back(out_.offsets.size());
    out_.keys += key;
    out_.key_ends.push_back(out_.keys.size());
    return {};
  }

  std::optional<std::uint16_t> field_named(const std::string& name) {
    const auto found = std::ranges::find(out_.field_names, name);
    if (found == out_.field_names.end()) {
      if (out_.field_names.size() >= kMaxFields) return std::nullopt;
      out_.field_names.push_back(name);
      return static_cast<std::uint16_t>(out_.field_names.size() - 1);
    }
    return static_cast<std::uint16_t>(found - out_.field_names.begin());
  }

  static constexpr std::uint64_t kBytesPerSeenKey = 56;  // an entry of the hash table and its bucket

  const std::string& path_;
  ShardContents& out_;
  std::unordered_map<std::size_t, std::uint64_t> seen_;
};

Status scan_counting_links(ForwardReader& reader, const std::string& path, ShardContents& out,
                           std::atomic<std::uint64_t>& links) {
  SampleGrouper grouper(path, out);
  const auto summary = scan_tar(reader, path, [&](const TarMember& member) { return grouper.add(member); });
  if (!summary) {
    grouper.drop_last();  // its data or some of its members may be missing
    return std::unexpected(summary.error());
  }
  links += summary->links;
  return {};
}

class TarSource final : public RecordSource {
 public:
  using RecordSource::RecordSource;

  Status prepare(const OpenOptions& options) {
    if (packed_ && packed_->description.format == "tar") return take_packed_fields(options);
    PENSTOCK_CHECK(check_field_names(options.field_kinds, index_.field_names()));
    for (std::size_t i = 0; i < index_.field_names().size(); ++i)
      PENSTOCK_CHECK(add_field(static_cast<std::uint16_t>(i), options));
    merge_images(options);
    std::ranges::stable_sort(mappings_, {}, [](const FieldMapping& mapping) { return mapping.info.kind; });
    for (const FieldMapping& mapping : mappings_) fields_.push_back(mapping.info);
    return {};
  }

  std::string kind() const override { return storage().is_forward_only() ? "compressed tar shards" : "tar shards"; }
  std::string key(std::uint64_t sample) const override { return std::string(index_.key(sample)); }
  const std::vector<std::string>& classes() const override {
    return packed_ ? packed_->description.classes : Source::classes();
  }

  Result<Extent> extent(std::uint64_t sample, std::size_t field) const override {
    const FieldMapping& mapping = mappings_[field];
    for (std::uint64_t i = 0; i < index_.member_count(sample); ++i) {
      const auto member = index_.member(sample, i);
      if (std::ranges::find(mapping.members, member.field) != mapping.members.end())
        return extent_of(sample, i);
    }
    const Extent first = extent_of(sample, 0);
    return fail(ErrorCode::kNotFound,
                fmt::format("sample \"{}\" has no \"{}\"", index_.key(sample), mapping.info.name),
                {first.object, static_cast<std::int64_t>(first.offset),
                 static_cast<std::int64_t>(first.length), static_cast<std::int64_t>(sample)});
  }

  const ArrayLayout* array_layout(std::size_t field) const override {
    const ArrayLayout& layout = mappings_[field].layout;
    return fields_[field].form == FieldForm::kElements || !layout.header.empty() ? &layout : nullptr;
  }

  // An .npz with several arrays is the only record within a tar. It may have thousands of arrays, so its directory is
  // read once for all of them.
  Result<OpenedRecord> open_record(std::uint64_t, std::span<const std::byte> stored,
                                   const Charge& charge) const override {
    auto members = list_npz(stored, Limits{}, charge);
    if (!members) return std::unexpected(std::move(members).error());
    std::ranges::sort(*members, {}, &NpzMember::name);
    return OpenedRecord{stored, std::make_shared<const std::vector<NpzMember>>(std::move(*members))};
  }

  Result<RecordValue> find_in_record(std::uint64_t, std::size_t field, const OpenedRecord& record,
                                     const Allocate& allocate) const override {
    const auto& members = *static_cast<const std::vector<NpzMember>*>(record.contents.get());
    const auto found = std::ranges::lower_bound(members, mappings_[field].npz_name, {}, &NpzMember::name);
    if (found == members.end() || found->name != mappings_[field].npz_name)
      return fail(ErrorCode::kNotFound, fmt::format("the .npz has no array \"{}\"", mappings_[field].npz_name));
    const auto file = allocate(found->size_bytes);
    if (!file) return std::unexpected(file.error());
    PENSTOCK_CHECK(unpack_npz(*found, *file));
    return RecordValue{*file, std::nullopt};
  }

 private:
  struct FieldMapping {
    FieldInfo info;
    std::vector<std::uint16_t> members;  // the endings that belong to this field
    ArrayLayout layout;
    std::string npz_name;
  };

  // The fields are those of the source that was packed; the endings in the tar are only where they are stored.
  Status take_packed_fields(const OpenOptions& options) {
    std::vector<std::string> names;
    for (const PackedField& field : packed_->description.fields) names.push_back(field.name);
    PENSTOCK_CHECK(check_field_names(options.field_kinds, names));
    for (std::size_t number = 0; number < names.size(); ++number) {
      const PackedField& field = packed_->description.fields[number];
      FieldMapping mapping{{field.name, field.kind, FieldForm::kFile, field.is_everywhere, field.is_class, field.keeps_type},
                           {},
                           {},
                           {}};
      for (std::size_t ending = 0; ending < packed_->field_of_name.size(); ++ending)
        if (packed_->field_of_name[ending] == number) mapping.members.push_back(static_cast<std::uint16_t>(ending));
      if (field.kind == FieldKind::kArray && field.elements) {
        mapping.layout.spec = *field.elements;
        mapping.layout.header = npy_header_of(*field.elements);
        mapping.layout.is_time = field.is_time;
      }
      if (const auto requested = options.field_kinds.find(field.name); requested != options.field_kinds.end()) {
        const auto type = parse_field_type(field.name, requested->second);
        if (!type) return std::unexpected(type.error());
        mapping.info.kind = type->kind;
        mapping.layout = {};
        if (type->elements) {
          mapping.info.form = FieldForm::kElements;
          mapping.layout.spec = *type->elements;
        }
      }
      mappings_.push_back(std::move(mapping));
    }
    for (const FieldMapping& mapping : mappings_) fields_.push_back(mapping.info);
    return {};
  }

  Status add_field(std::uint16_t member, const OpenOptions& options) {
    const std::string& name = index_.field_names()[member];
    FieldMapping mapping{{name, kind_of_extension(name), FieldForm::kFile, index_.samples_with(member) == size()},
                {member},
                {},
                {}};
    if (const auto requested = options.field_kinds.find(name); requested != options.field_kinds.end()) {
      const auto type = parse_field_type(name, requested->second);
      if (!type) return std::unexpected(type.error());
      mapping.info.kind = type->kind;
      if (type->elements) {
        mapping.info.form = FieldForm::kElements;
        mapping.layout.spec = *type->elements;
      }
    } else if (name == "npz" || name.ends_with(".npz")) {
      return add_npz_fields(std::move(mapping));
    }
    mappings_.push_back(std::move(mapping));
    return {};
  }

  // Converts the location of an error from an offset within a member to one in the shard.
  static Error located_in_shard(Error error, const Extent& extent, std::uint64_t sample) {
    if (!error.where.uri.empty()) return error;
    const std::int64_t within = std::max<std::int64_t>(error.where.offset, 0);
    error.where = where_of(extent);
    error.where.offset += within;
    error.where.sample = static_cast<std::int64_t>(sample);
    return error;
  }

  // Adds one field per array of the first readable .npz: "npz/weights". A damaged .npz is skipped here, because reading
  // its sample reports the damage.
  Status add_npz_fields(FieldMapping mapping) {
    constexpr std::uint64_t kTries = 64;
    mapping.info.form = FieldForm::kRecord;
    const std::string name = mapping.info.name;
    std::uint64_t tried = 0;
    std::optional<Error> first_error;
    InterruptionCheck check;
    for (std::uint64_t sample = 0; sample < size() && tried < kTries; ++sample) {
      PENSTOCK_CHECK(check(uri()));
      for (std::uint64_t i = 0; i < index_.member_count(sample); ++i) {
        const auto member = index_.member(sample, i);
        if (member.field != mapping.members.front()) continue;
        ++tried;
        PENSTOCK_CHECK(check_interruption(uri()));
        const Extent extent = extent_of(sample, i);
        const auto file = read(extent);
        OpeningReservation listed;
        const auto arrays = file ? list_npz(file->bytes, Limits{},
                                            [&](std::uint64_t bytes) {
                                              return listed.add(bytes, "the list of an .npz file's arrays", where_of(extent));
                                            })
                                 : Result<std::vector<NpzMember>>(std::unexpected(file.error()));
        if (!arrays) {
          if (!first_error) first_error = located_in_shard(arrays.error(), extent, sample);
          continue;
        }
        for (const NpzMember& array : *arrays) {
          mapping.info.name = name + "/" + array.name;
          mapping.npz_name = array.name;
          mappings_.push_back(mapping);
        }
        return {};
      }
    }
    return first_error ? Status(std::unexpected(*first_error)) : Status();
  }

  // If some samples have a .jpg and others a .png, they become one field "image".
  void merge_images(const OpenOptions& options) {
    const auto is_picture = [&](const FieldMapping& mapping) {
      return is_image_ending(mapping.info.name) && mapping.info.kind == FieldKind::kImage &&
             !options.field_kinds.contains(mapping.info.name);
    };
    std::vector<std::uint16_t> pictures;
    std::uint64_t with_picture = 0;
    for (const FieldMapping& mapping : mappings_)
      if (is_picture(mapping)) {
        pictures.push_back(mapping.members.front());
        with_picture += index_.samples_with(mapping.members.front());
      }
    InterruptionCheck check;
    const auto is_taken = [](const FieldMapping& mapping) { return mapping.info.name == "image"; };
    if (pictures.size() < 2 || with_picture > size() || std::ranges::any_of(mappings_, is_taken)) return;
    for (std::uint64_t sample = 0; sample < size(); ++sample) {
      if (check.is_due() && Interruption::is_requested()) return;
      int here = 0;
      for (std::uint64_t i = 0; i < index_.member_count(sample); ++i)
        here += std::ranges::count(pictures, index_.member(sample, i).field) > 0;
      if (here > 1) return;
    }
    std::erase_if(mappings_, is_picture);
    mappings_.insert(
        mappings_.begin(),
        {{"image", FieldKind::kImage, FieldForm::kFile, with_picture == size()}, pictures, {}, {}});
  }

  std::vector<FieldMapping> mappings_;  // in the order of fields_
};

}  // namespace

bool is_tar_name(std::string_view name) {
  return std::ranges::any_of(std::array{".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"},
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

Status scan_tar_shard(ForwardReader& reader, const std::string& path, ShardContents& out) {
  std::atomic<std::uint64_t> links{0};
  return scan_counting_links(reader, path, out, links);
}

Result<SourcePtr> open_tar(OpenRequest request, const OpenOptions& options) {
  const ShardSet shards = shard_set(request, "tar");
  return open_tar(std::move(request.store), shards, options);
}

Result<SourcePtr> open_tar(std::shared_ptr<const Store> store, const ShardSet& shards,
                           const OpenOptions& options) {
  std::atomic<std::uint64_t> links{0};
  auto opened = open_shard_index(*store, shards, options,
                                 [&](ForwardReader& reader, const std::string& path, ShardContents& out) {
                                   return scan_counting_links(reader, path, out, links);
                                 });
  if (!opened) return std::unexpected(std::move(opened).error());
  if (links > 0 && options.warn)
    options.warn(fmt::format("{}: {} links in the archives are left out", shards.uri, links.load()));
  if (opened->index.size() == 0)
    return fail(ErrorCode::kNotFound, "no samples in the archive: no file is named like key.ending",
                {shards.uri, 0, static_cast<std::int64_t>(opened->index.shards().front().version.size), -1});
  auto source = std::make_shared<TarSource>(std::move(store), shards.uri, std::move(*opened), options.verify_checksums);
  PENSTOCK_CHECK(source->prepare(options));
  return source;
}

}  // namespace penstock
