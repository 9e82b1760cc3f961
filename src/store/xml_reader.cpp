#include "store/xml_reader.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace penstock {
namespace {

bool is_xml_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == ':' || (static_cast<unsigned char>(c) & 0x80) != 0;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto byte = [&](std::uint32_t value) { text += static_cast<char>(static_cast<unsigned char>(value)); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xC0 | (code >> 6));
  } else {
    if (code < 0x10000) {
      byte(0xE0 | (code >> 12));
    } else {
      byte(0xF0 | (code >> 18));
      byte(0x80 | ((code >> 12) & 0x3F));
    }
    byte(0x80 | ((code >> 6) & 0x3F));
  }
  byte(0x80 | (code & 0x3F));
}

bool append_entity(std::string& text, std::string_view name) {
  if (name == "amp") return text += '&', true;
  if (name == "lt") return text += '<', true;
  if (name == "gt") return text += '>', true;
  if (name == "quot") return text += '"', true;
  if (name == "apos") return text += '\'', true;
  if (!name.starts_with('#')) return false;
  name.remove_prefix(1);
  const bool is_hex = name.starts_with('x');
  if (is_hex) name.remove_prefix(1);
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), code, is_hex ? 16 : 10);
  if (name.empty() || error != std::errc() || end != name.data() + name.size() || code == 0 || code > 0x10FFFF ||
      (code >= 0xD800 && code < 0xE000))
    return false;
  append_utf8(text, code);
  return true;
}

std::optional<std::string> with_entities_replaced(std::string_view raw) {
  std::string text;
  for (std::size_t at = raw.find('&'); at != std::string_view::npos; at = raw.find('&')) {
    text += raw.substr(0, at);
    const std::size_t end = raw.find(';', at);
    if (end == std::string_view::npos || end - at > 12 || !append_entity(text, raw.substr(at + 1, end - at - 1)))
      return std::nullopt;
    raw.remove_prefix(end + 1);
  }
  text += raw;
  return text;
}

std::string_view without_prefix(std::string_view name) { return name.substr(name.find(':') + 1); }

}  // namespace

std::unexpected<Error> XmlReader::corrupt(const char* what) const {
  return fail(ErrorCode::kCorrupt, std::string("the server's answer is not proper XML: ") + what);
}

bool XmlReader::skip_to(std::string_view end) {
  const std::size_t at = rest_.find(end);
  if (at == std::string_view::npos) return false;
  rest_.remove_prefix(at + end.size());
  return true;
}

Result<XmlReader::Piece> XmlReader::next() {
  if (!to_close_.empty()) {
    const Piece piece{Kind::kClose, to_close_, {}};
    to_close_ = {};
    open_.pop_back();
    return piece;
  }
  while (!rest_.empty()) {
    if (rest_.starts_with("<![CDATA[")) {
      const std::size_t end = rest_.find("]]>");
      if (end == std::string_view::npos || open_.empty()) return corrupt("odd CDATA");
      Piece piece{Kind::kText, {}, std::string(rest_.substr(9, end - 9))};
      rest_.remove_prefix(end + 3);
      return piece;
    }
    if (rest_.starts_with("<!--")) {
      if (!skip_to("-->")) return corrupt("a comment does not end");
    } else if (rest_.starts_with("<?")) {
      if (!skip_to("?>")) return corrupt("an instruction does not end");
    } else if (rest_.starts_with("<!")) {
      return corrupt("it has a document type");
    } else if (rest_.front() == '<') {
      return element();
    } else {
      const std::size_t end = std::min(rest_.find('<'), rest_.size());
      const std::string_view raw = rest_.substr(0, end);
      rest_.remove_prefix(end);
      if (open_.empty()) {
        const bool is_mark = raw.starts_with("\xEF\xBB\xBF");  // the byte order mark
        if (!std::ranges::all_of(is_mark ? raw.substr(3) : raw, is_xml_blank)) return corrupt("text outside of it");
        continue;
      }
      auto text = with_entities_replaced(raw);
      if (!text) return corrupt("odd entity");
      return Piece{Kind::kText, {}, *std::move(text)};
    }
  }
  if (!open_.empty() || !had_root_) return corrupt("it breaks off");
  return Piece{};
}

Result<XmlReader::Piece> XmlReader::element() {
  const bool is_end = rest_.starts_with("</");
  rest_.remove_prefix(is_end ? 2 : 1);
  const auto name_end = std::ranges::find_if_not(rest_, is_name_character);
  const std::string_view name = rest_.substr(0, static_cast<std::size_t>(name_end - rest_.begin()));
  if (name.empty()) return corrupt("an element without a name");
  rest_.remove_prefix(name.size());
  // Attributes; a '>' within quotes does not end the element.
  char quote = 0;
  std::size_t end = 0;
  while (end < rest_.size() && (quote != 0 || rest_[end] != '>')) {
    const char c = rest_[end++];
    if (quote != 0 ? c == quote : c == '"' || c == '\'') quote = quote != 0 ? 0 : c;
    if (c == '<') return corrupt("an element does not end");
  }
  if (end == rest_.size()) return corrupt("an element does not end");
  const bool is_empty = end > 0 && rest_[end - 1] == '/';
  const bool is_bare = std::ranges::all_of(rest_.substr(0, end), is_xml_blank);
  rest_.remove_prefix(end + 1);
  if (is_end) {
    if (open_.empty() || open_.back() != name || !is_bare) return corrupt("elements do not nest");
    open_.pop_back();
    return Piece{Kind::kClose, without_prefix(name), {}};
  }
  if (open_.empty() && had_root_) return corrupt("two documents");
  if (open_.size() == kMaxDepth) return corrupt("too deep");
  had_root_ = true;
  open_.push_back(name);
  const std::string_view shown = without_prefix(name);
  if (shown.empty()) return corrupt("an element without a name");
  if (is_empty) to_close_ = shown;
  return Piece{Kind::kOpen, shown, {}};
}

std::string xml_text_at(std::string_view xml, std::string_view path) {
  XmlReader reader(xml);
  std::vector<std::string> open;
  std::string text;
  while (true) {
    auto piece = reader.next();
    if (!piece || piece->kind == XmlReader::Kind::kEnd) return {};
    const auto is_at_path = [&] {
      std::string joined;
      for (const std::string& name : open) joined += (joined.empty() ? "" : "/") + name;
      return joined == path;
    };
    if (piece->kind == XmlReader::Kind::kOpen) {
      open.emplace_back(piece->name);
      text.clear();
    } else if (piece->kind == XmlReader::Kind::kText) {
      text += piece->text;
    } else {
      if (is_at_path()) return text;
      open.pop_back();
      text.clear();
    }
  }
}

}  // namespace penstock
