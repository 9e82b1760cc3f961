#include "source/manifest/csv_delimiter.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {
namespace {

constexpr int kMaxExaminedRows = 64;

// Counts the cells that rows would have with a given delimiter.
class CellCounter {
 public:
  CellCounter(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {}

  bool is_at_end() const { return at_ >= text_.size(); }

  // The number of cells in the next row that is not empty; 0: there is none.
  std::size_t next_row() {
    while (!is_at_end() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    if (is_at_end()) return 0;
    std::size_t cells = 1;
    bool at_cell_start = true;
    for (; !is_at_end() && text_[at_] != '\n'; ++at_) {
      if (at_cell_start && text_[at_] == '"') {
        at_ = std::min(text_.find('"', at_ + 1), text_.size() - 1);
        // A doubled quote is a literal quote, so the cell continues as if it were opened again.
        at_cell_start = at_ + 1 < text_.size() && text_[at_ + 1] == '"';
        continue;
      }
      at_cell_start = text_[at_] == delimiter_;
      if (at_cell_start) ++cells;
    }
    return cells;
  }

 private:
  std::string_view text_;
  char delimiter_;
  std::size_t at_ = 0;
};

std::size_t cells_of_names(std::string_view text, char delimiter) {
  return CellCounter(text, delimiter).next_row();
}

bool first_rows_agree(std::string_view text, char delimiter) {
  CellCounter counter(text, delimiter);
  const std::size_t names = counter.next_row();
  for (int row = 0; row < kMaxExaminedRows; ++row) {
    const std::size_t cells = counter.next_row();
    if (cells == 0) return true;
    if (cells != names) return false;
  }
  return true;
}

}  // namespace

Result<char> find_csv_delimiter(std::string_view text, const std::string& uri) {
  if (cells_of_names(text, ',') > 1) return ',';
  char seen = 0;
  for (const char delimiter : {';', '\t'}) {
    if (cells_of_names(text, delimiter) < 2) continue;
    if (first_rows_agree(text, delimiter)) return delimiter;
    if (seen == 0) seen = delimiter;
  }
  if (seen == 0) return ',';
  const char* name = seen == ';' ? ";" : "\\t";
  return fail(ErrorCode::kCorrupt,
              fmt::format("the line of names has \"{0}\" and no comma, but the rows do not have it as often; "
                          "write delimiter=\"{0}\" or delimiter=\",\" to say which is meant",
                          name),
              {uri, 0, static_cast<std::int64_t>(std::min(text.find('\n'), text.size())), -1});
}

}  // namespace penstock
