// The table of `stats`: which figures a schema asks for, and how each of them is written. Immutable after construction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/mount_stats.h"

namespace aquifer::cli {

class StatsTable {
 public:
  // `schema`: letters of sections (t u f m c o g). `unknown` receives the letters that name none.
  StatsTable(std::string_view schema, bool detailed, bool colour, std::string* unknown);
  bool empty() const { return sections_.empty(); }
  std::string header() const;   // two lines, no newline at the end
  // What happened from `before` to `after`, per second of `seconds`.
  std::string row(const MountStats& before, const MountStats& after, double seconds) const;

 private:
  enum class Kind { clock, cpu, gauge, bytes, count, latency };
  struct Item {
    const char* nick;
    const char* metric;
    Kind kind;
    bool detail = false;
  };
  struct Section {
    char letter;
    const char* name;
    std::vector<Item> items;
  };
  static const std::vector<Section>& known();
  std::string painted(const std::string& text, int colour) const;
  std::string number(double v, bool bytes) const;
  std::string milliseconds(double v) const;
  std::string percent(double v) const;
  std::vector<Section> sections_;
  const bool colour_;
};

}  // namespace aquifer::cli
