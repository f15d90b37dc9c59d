#include "cli/table.h"

#include <algorithm>

namespace aquifer::cli {

namespace {
// What a terminal shows: UTF-8 characters, colours ("ESC [ ... m") left out.
size_t characters(const std::string& text) {
  size_t n = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') i = std::min(text.find('m', i), text.size());
    else n += (text[i] & 0xC0) != 0x80;
  }
  return n;
}
}  // namespace

std::string renderTable(const std::vector<std::vector<std::string>>& rows, int left) {
  std::vector<size_t> widths;
  for (auto& row : rows) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i]));
  }
  std::string rule = "+";
  for (auto w : widths) rule += std::string(w + 2, '-') + "+";
  rule += "\n";
  std::string out = rule;
  for (size_t r = 0; r < rows.size(); ++r) {
    out += "|";
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string cell = i < rows[r].size() ? rows[r][i] : "";
      size_t pad = widths[i] - characters(cell);
      size_t before = r == 0 ? pad - pad / 2 : static_cast<int>(i) == left ? 0 : pad;
      out += " " + std::string(before, ' ') + cell + std::string(pad - before, ' ') + " |";
    }
    out += "\n";
    if (r == 0) out += rule;
  }
  return out + rule;
}

}  // namespace aquifer::cli
