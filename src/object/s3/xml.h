// XML as storage services write it: elements and text. Attributes, comments and processing instructions are skipped, prefixes of
// names dropped; documents with a DOCTYPE are refused, so nothing expands. Bounded in depth and in number of elements.
// Pure, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace aquifer::object::s3 {

struct XmlElement {
  std::string name, text;  // text: all of it, without that of elements inside
  std::vector<XmlElement> children;
  const XmlElement* child(std::string_view name) const;  // the first, or null
  std::string_view textOf(std::string_view name) const;  // of the first child, or ""
};

inline constexpr int kMaxXmlDepth = 32;
inline constexpr size_t kMaxXmlElements = 200'000;

// The root element. Errors: io.
Result<XmlElement> parseXml(std::string_view text);
// `text` with & < > written so that an element can hold it.
std::string xmlEscape(std::string_view text);

}  // namespace aquifer::object::s3
