#include "source/mds/mds_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/byte_reader.h"
#include "source/field_kind.h"

namespace penstock {
namespace {

using Form = MdsEncoding::Form;

constexpr std::uint32_t kMaxImagesPerColumn = 1024;

bool is_whole(FieldKind kind) { return kind == FieldKind::kBytes || kind == FieldKind::kText || kind == FieldKind::kJson; }

// Applies what the user says about a column. The stored form limits it: an integer cannot become an image.
Status apply_requested_kind(const std::string& requested, const std::string& encoding, MdsField& field) {
  auto type = parse_field_type(field.info.name, requested);
  if (!type) return std::unexpected(type.error());
  MdsEncoding& stored = field.encoding;
  const bool holds_a_file = stored.form == Form::kWhole || stored.form == Form::kRefused;
  const bool is_picture = type->kind == FieldKind::kImage || type->kind == FieldKind::kMask;
  const bool keeps_form = stored.kind == type->kind && !type->elements && stored.form != Form::kRefused;
  if (is_whole(type->kind) && !keeps_form) {
    stored = {Form::kWhole, type->kind, {}, {}};
  } else if (is_picture && (stored.form == Form::kPixels || stored.is_several_images())) {
    stored.kind = type->kind;
  } else if (holds_a_file) {
    stored = {Form::kWhole, type->kind, {}, {}};
    field.elements = std::move(type->elements);
  } else if (!keeps_form) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("column \"{}\" has the encoding {} and cannot be \"{}\"",
                                                         field.info.name, encoding, requested));
  }
  field.info.kind = type->kind;
  return {};
}

}  // namespace

Result<std::vector<MdsField>> plan_mds_fields(const MdsIndex& index, const OpenOptions& options, const std::string& uri,
                                              const std::function<Result<std::uint32_t>(const MdsField&)>& count_images) {
  const auto located = [&](ErrorCode code, std::string message) {
    return fail(code, std::move(message), {uri, -1, -1, -1});
  };
  std::map<std::string, std::string> encodings;
  for (const auto& layout : index.layouts)
    for (const MdsColumn& column : layout)
      if (const auto [known, is_new] = encodings.try_emplace(column.name, column.encoding);
          !is_new && known->second != column.encoding)
        return located(ErrorCode::kUnsupported, fmt::format("column \"{}\" has the encoding {} in some shards and {} in others",
                                                            column.name, known->second, column.encoding));
  std::vector<std::string> names;
  for (const auto& [name, encoding] : encodings) names.push_back(name);
  PENSTOCK_CHECK(check_field_names(options.field_kinds, names));

  std::vector<MdsField> fields;
  for (const auto& [name, text] : encodings) {
    const auto encoding = parse_mds_encoding(text);
    if (!encoding) return located(encoding.error().code, encoding.error().message);
    MdsField field{{name, encoding->kind, FieldForm::kRecord}, *encoding, {}, {}};
    for (const auto& layout : index.layouts) {
      const auto column = std::ranges::find(layout, name, &MdsColumn::name);
      field.columns.push_back(column == layout.end() ? -1 : static_cast<int>(column - layout.begin()));
    }
    field.info.is_everywhere = std::ranges::find(field.columns, -1) == field.columns.end();
    if (const auto requested = options.field_kinds.find(name); requested != options.field_kinds.end()) {
      PENSTOCK_CHECK(apply_requested_kind(requested->second, text, field));
    } else if (encoding->form == Form::kRefused) {
      if (options.warn)
        options.warn(fmt::format("{}: column \"{}\" is left out: {}", uri, name,
                                 text == "pkl" ? "it holds pickles, which are never run (kinds= can ask for their bytes)"
                                               : fmt::format("its encoding {} is not known", text)));
      continue;
    }
    if (!field.encoding.is_several_images()) {
      fields.push_back(std::move(field));
      continue;
    }
    const auto images = count_images(field);
    if (!images) return std::unexpected(images.error());
    if (*images > kMaxImagesPerColumn)
      return located(ErrorCode::kTooLarge, fmt::format("column \"{}\" has {} images, at most {} are read", name, *images,
                                                       kMaxImagesPerColumn));
    field.images = *images;
    for (field.image = 0; field.image < *images; ++field.image) {
      field.info.name = fmt::format("{}/{}", name, field.image);
      fields.push_back(field);
    }
  }
  if (fields.empty())
    return located(ErrorCode::kUnsupported, "the data set has no column that is read: pickles are never run, and other "
                                            "encodings are not known");
  std::vector<std::string> taken;
  for (const MdsField& field : fields) taken.push_back(field.info.name);
  std::ranges::sort(taken);
  if (const auto twice = std::ranges::adjacent_find(taken); twice != taken.end())
    return located(ErrorCode::kUnsupported, fmt::format("two columns would be the field \"{}\"", *twice));
  std::ranges::stable_sort(fields, {}, [](const MdsField& field) { return field.info.kind; });
  return fields;
}

Result<ConstBytes> find_mds_column(const std::vector<MdsColumn>& columns, std::size_t column, ConstBytes sample) {
  ByteReader sizes(sample);
  std::uint64_t begin = 0, end = 0, wanted_bytes = 0, sized_columns = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::uint64_t size = columns[i].size_bytes;
    if (size == 0) {
      size = sizes.read<std::uint32_t>();
      ++sized_columns;
    }
    if (i == column) {
      begin = end;
      wanted_bytes = size;
    }
    end += size;
  }
  if (!sizes.ok()) return fail(ErrorCode::kTruncated, "MDS sample ends within the sizes of its values");
  const std::uint64_t head = sized_columns * 4;
  if (head + end != sample.size())
    return fail(ErrorCode::kCorrupt, fmt::format("MDS sample of {} bytes, where its values take {}", sample.size(), head + end));
  return sample.subspan(static_cast<std::size_t>(head + begin), static_cast<std::size_t>(wanted_bytes));
}

}  // namespace penstock
