// A zip archive of small files, deflated. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace aquifer::cli {

class ZipFile {
 public:
  // Names with '/' between folders. Code::tooBig: the archive would pass 2 GiB or 60000 entries.
  Status add(const std::string& name, std::string_view content);
  // The whole archive; nothing may be added afterwards.
  std::string finish();

 private:
  std::string body_, directory_;
  uint16_t entries_ = 0;
};

}  // namespace aquifer::cli
