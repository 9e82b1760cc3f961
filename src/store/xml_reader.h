// Reads the XML answers of object stores, piece by piece.
//
// Such answers are small and simple: elements, text and the five named entities. The reader accepts no more than that
// (no document types, hence no entities that grow), limits the depth, and checks that elements nest. Attributes,
// comments and processing instructions are skipped, and so is the prefix of a name ("aws:Key" is "Key").
// The bytes cannot be trusted. The reader borrows them; thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penstock/result.h"

namespace penstock {

class XmlReader {
 public:
  static constexpr std::size_t kMaxDepth = 32;

  explicit XmlReader(std::string_view text) : rest_(text) {}

  enum class Kind : std::uint8_t { kOpen, kText, kClose, kEnd };
  struct Piece {
    Kind kind = Kind::kEnd;
    std::string_view name;  // of kOpen and kClose
    std::string text;       // of kText, with its entities replaced; blank text between elements comes too
  };

  // Fails with kCorrupt. After kEnd it returns kEnd again.
  Result<Piece> next();

  // How many elements are open.
  std::size_t depth() const { return open_.size(); }

 private:
  std::unexpected<Error> corrupt(const char* what) const;
  Result<Piece> element();
  bool skip_to(std::string_view end);

  std::string_view rest_;
  std::vector<std::string_view> open_;
  std::string_view to_close_;  // of an element that was closed where it began: <a/>
  bool had_root_ = false;
};

// The text of the first element at this path below the root ("Error/Code"); empty if there is none, or if the text is
// not XML.
std::string xml_text_at(std::string_view xml, std::string_view path);

}  // namespace penstock
