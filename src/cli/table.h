// Tables in frames of +, - and |, as `quota`, `summary` and others print them.
#pragma once

#include <string>
#include <vector>

namespace aquifer::cli {

// rows[0] is the header: centred. Cells are right-aligned but for column `left` (-1: none). Widths count characters (UTF-8).
// Ends in a newline.
std::string renderTable(const std::vector<std::vector<std::string>>& rows, int left = -1);

}  // namespace aquifer::cli
