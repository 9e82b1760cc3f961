#include "decode/tiff/ome_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace penstock {
namespace {

constexpr std::uint64_t kMaxXmlEntries = std::uint64_t{1} << 31;  // along one axis

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// A start tag: its name without a namespace, and the text of its attributes.
struct XmlTag {
  std::string_view name, attributes;
};

class TagScanner {
 public:
  explicit TagScanner(std::string_view text) : rest_(text) {}

  bool has_doctype() const { return has_doctype_; }

  // Returns the next start tag, or nothing at the end of the text.
  std::optional<XmlTag> next() {
    for (;;) {
      const std::size_t begin = rest_.find('<');
      if (begin == std::string_view::npos) return std::nullopt;
      rest_.remove_prefix(begin);
      if (rest_.starts_with("<!--")) {
        if (!skip_past("-->")) return std::nullopt;
      } else if (rest_.starts_with("<![CDATA[")) {
        if (!skip_past("]]>")) return std::nullopt;
      } else if (rest_.starts_with("<!")) {
        has_doctype_ = true;
        return std::nullopt;
      } else if (rest_.starts_with("<?") || rest_.starts_with("</")) {
        if (!skip_past(">")) return std::nullopt;
      } else {
        return take_tag();
      }
    }
  }

 private:
  bool skip_past(std::string_view end) {
    const std::size_t found = rest_.find(end);
    if (found == std::string_view::npos) return false;
    rest_.remove_prefix(found + end.size());
    return true;
  }

  // Reads up to the first '>' that is not within a quoted value.
  std::optional<XmlTag> take_tag() {
    char quote = 0;
    std::size_t end = 1;
    for (; end < rest_.size(); ++end) {
      const char c = rest_[end];
      if (quote != 0)
        quote = c == quote ? 0 : quote;
      else if (c == '"' || c == '\'')
        quote = c;
      else if (c == '>')
        break;
    }
    if (end == rest_.size()) return std::nullopt;
    std::string_view inside = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    std::size_t name_end = 0;
    while (name_end < inside.size() && !is_space(inside[name_end]) && inside[name_end] != '/') ++name_end;
    std::string_view name = inside.substr(0, name_end);
    if (const std::size_t colon = name.find(':'); colon != std::string_view::npos)
      name.remove_prefix(colon + 1);
    return XmlTag{name, inside.substr(name_end)};
  }

  std::string_view rest_;
  bool has_doctype_ = false;
};

std::optional<std::string_view> attribute(const XmlTag& tag, std::string_view wanted) {
  std::string_view rest = tag.attributes;
  for (;;) {
    while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    std::string_view name = rest.substr(0, equals);
    while (!name.empty() && is_space(name.back())) name.remove_suffix(1);
    rest.remove_prefix(equals + 1);
    while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
    if (rest.empty() || (rest.front() != '"' && rest.front() != '\'')) return std::nullopt;
    const std::size_t end = rest.find(rest.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    if (name == wanted) return rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  }
}

class PixelsReader {
 public:
  PixelsReader(std::string_view text, const std::string& uri) : scanner_(text), uri_(uri) {}

  Result<std::optional<OmePixels>> run() {
    while (const auto tag = scanner_.next()) {
      if (tag->name == "Pixels") {
        if (pixels_.images++ == 0) PENSTOCK_CHECK(read_pixels(*tag));
      } else if (pixels_.images == 1 && tag->name == "TiffData") {
        PENSTOCK_CHECK(read_tiff_data(*tag));
      } else if (pixels_.images == 1 && tag->name == "UUID") {
        const auto file = attribute(*tag, "FileName");
        if (file && file_ && *file != *file_) pixels_.several_files = true;
        if (file && !file_) file_ = file;
      }
    }
    if (scanner_.has_doctype())
      return fail(ErrorCode::kUnsupported, "OME-XML with a DOCTYPE is not read", {uri_, -1, -1, -1});
    if (pixels_.images == 0) return std::nullopt;
    return std::move(pixels_);
  }

 private:
  std::unexpected<Error> bad(const XmlTag& tag, std::string_view name, std::string_view value) const {
    return fail(ErrorCode::kCorrupt,
                fmt::format("OME-XML: {} of {} is \"{}\"", name, tag.name, value.substr(0, 40)),
                {uri_, -1, -1, -1});
  }

  Result<std::uint64_t> number(const XmlTag& tag, std::string_view name, std::uint64_t least,
                               std::optional<std::uint64_t> otherwise = std::nullopt) const {
    const auto text = attribute(tag, name);
    if (!text && otherwise) return *otherwise;
    std::uint64_t value = 0;
    const std::string_view digits = text.value_or("");
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || value < least || value > kMaxXmlEntries)
      return bad(tag, name, digits);
    return value;
  }

  Status read_pixels(const XmlTag& tag) {
    const std::string_view order = attribute(tag, "DimensionOrder").value_or("");
    std::string sorted(order);
    std::ranges::sort(sorted);
    if (sorted != "CTXYZ" || !order.starts_with("XY")) return bad(tag, "DimensionOrder", order);
    pixels_.order = order.substr(2);
    const std::pair<const char*, std::uint64_t*> sizes[] = {{"SizeX", &pixels_.x},
                                                            {"SizeY", &pixels_.y},
                                                            {"SizeZ", &pixels_.z},
                                                            {"SizeC", &pixels_.c},
                                                            {"SizeT", &pixels_.t}};
    for (const auto& [name, size] : sizes) {
      const auto value = number(tag, name, 1);
      if (!value) return std::unexpected(value.error());
      *size = *value;
    }
    return {};
  }

  // Pages are in order if each run of planes begins at the page that its indexes give.
  Status read_tiff_data(const XmlTag& tag) {
    const auto page = number(tag, "IFD", 0, 0), z = number(tag, "FirstZ", 0, 0), c = number(tag, "FirstC", 0, 0),
               t = number(tag, "FirstT", 0, 0);
    for (const auto& part : {page, z, c, t})
      if (!part) return std::unexpected(part.error());
    unsigned __int128 plane = 0;
    for (std::size_t i = pixels_.order.size(); i-- > 0;) {
      const char axis = pixels_.order[i];
      plane = plane * (axis == 'Z' ? pixels_.z : axis == 'C' ? pixels_.c : pixels_.t) +
              (axis == 'Z' ? *z : axis == 'C' ? *c : *t);
    }
    pixels_.in_order = pixels_.in_order && plane == *page;
    return {};
  }

  TagScanner scanner_;
  const std::string& uri_;
  OmePixels pixels_;
  std::optional<std::string_view> file_;
};

}  // namespace

bool is_ome_xml(std::string_view text) {
  const auto tag = TagScanner(text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text).next();
  const bool is_markup = text.starts_with('<') || text.starts_with("\xef\xbb\xbf<");
  return is_markup && tag && tag->name == "OME";
}

Result<std::optional<OmePixels>> read_ome_pixels(std::string_view text, const std::string& uri) {
  return PixelsReader(text, uri).run();
}

}  // namespace penstock
