// Writing JSON in the form that Go programs print: two spaces of indent, keys in the order of adding, <>& escaped.
// Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace aquifer::cli {

std::string jsonQuote(std::string_view text);   // bytes that are not UTF-8 become U+FFFD
// `json` (several lines, two spaces of indent) as a value one level deeper.
std::string indentJson(std::string_view json);

class JsonArray {
 public:
  template <class T>
    requires std::is_integral_v<T>
  void add(T v) { items_.push_back(std::to_string(v)); }
  void addText(std::string_view v) { items_.push_back(jsonQuote(v)); }
  template <class J>
    requires requires(const J& j) { j.text(); }
  void add(const J& v) { items_.push_back(v.text()); }
  std::string text() const;

 private:
  std::vector<std::string> items_;
};

class JsonObject {
 public:
  template <class T>
    requires std::is_integral_v<T>
  void add(std::string_view key, T v) { items_.emplace_back(key, std::to_string(v)); }
  void addText(std::string_view key, std::string_view v) { items_.emplace_back(key, jsonQuote(v)); }
  void addRaw(std::string_view key, std::string json) { items_.emplace_back(key, std::move(json)); }
  template <class J>
    requires requires(const J& j) { j.text(); }
  void add(std::string_view key, const J& v) { items_.emplace_back(key, v.text()); }
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> items_;
};

}  // namespace aquifer::cli
