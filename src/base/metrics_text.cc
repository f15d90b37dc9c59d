#include "base/metrics_text.h"

#include <charconv>
#include <cmath>

namespace aquifer::metrics {

namespace {

constexpr std::string_view kPrefix = "juicefs_";

const char* notFinite(double v) { return std::isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf"; }

std::string toChars(double v, std::chars_format format) {
  char buffer[400];  // the longest double without exponent has 309 digits before the point, or 326 behind it
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v, format).ptr);
}

void appendEscaped(std::string& out, std::string_view text, bool quotes) {
  for (char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\' || (quotes && c == '"'))
      (out += '\\') += c;
    else
      out += c;
  }
}

void appendLabels(std::string& out, const Labels& constant, const Labels& own, std::string_view le) {
  // Both are sorted, and an own label hides a constant one of the same name.
  std::map<std::string_view, std::string_view> all;
  for (const auto& [k, v] : constant) all[k] = v;
  for (const auto& [k, v] : own) all[k] = v;
  if (all.empty() && le.empty()) return;
  char separator = '{';
  auto add = [&](std::string_view k, std::string_view v) {
    ((out += separator) += k) += "=\"";
    appendEscaped(out, v, true);
    out += '"';
    separator = ',';
  };
  for (const auto& [k, v] : all) add(k, v);
  if (!le.empty()) add("le", le);
  out += '}';
}

void appendHistogram(std::string& out, const std::string& name, const Labels& constant, const Labels& own, const Histogram& h) {
  uint64_t below = 0;
  auto line = [&](const char* suffix, std::string_view le, const std::string& value) {
    (out += name) += suffix;
    appendLabels(out, constant, own, le);
    ((out += ' ') += value) += '\n';
  };
  for (size_t i = 0; i < h.bounds().size(); i++) {
    below += h.bucket(i);
    line("_bucket", shortest(h.bounds()[i]), std::to_string(below));
  }
  // Counted from the buckets, so that the total never disagrees with them while others observe.
  below += h.bucket(h.bounds().size());
  line("_bucket", "+Inf", std::to_string(below));
  line("_sum", "", shortest(h.sum()));
  line("_count", "", std::to_string(below));
}

}  // namespace

std::string shortest(double v) {
  if (!std::isfinite(v)) return notFinite(v);
  if (v == 0) return "0";
  const double size = std::fabs(v);
  return toChars(v, size < 1e-4 || size >= 1e6 ? std::chars_format::scientific : std::chars_format::fixed);
}

std::string shortestFixed(double v) {
  if (!std::isfinite(v)) return notFinite(v);
  // From the digits of the scientific form: asked for a fixed one, the library writes every digit of a large integer, where
  // exporters write the few that identify the number and zeros.
  const std::string text = toChars(std::fabs(v), std::chars_format::scientific);
  const size_t e = text.find('e');
  std::string digits = text.substr(0, 1);
  if (e > 2) digits += text.substr(2, e - 2);
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  const int point = exponent + 1;  // digits in front of it
  const int count = static_cast<int>(digits.size());
  if (point <= 0)
    digits = "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  else if (point >= count)
    digits.append(static_cast<size_t>(point - count), '0');
  else
    digits.insert(static_cast<size_t>(point), 1, '.');
  return std::signbit(v) && v != 0 ? "-" + digits : digits;
}

std::string prometheusText() {
  const Snapshot all = snapshot();
  std::string out;
  for (const auto& [bare, family] : all.families) {
    if (family.series.empty()) continue;
    const std::string name = std::string(kPrefix) + bare;
    ((out += "# HELP ") += name) += ' ';
    appendEscaped(out, family.help, false);
    const char* kind = family.kind == Kind::counter ? "counter" : family.kind == Kind::gauge ? "gauge" : "histogram";
    ((((out += "\n# TYPE ") += name) += ' ') += kind) += '\n';
    for (const auto& [labels, series] : family.series) {
      if (series.histogram) {
        appendHistogram(out, name, all.constLabels, labels, *series.histogram);
        continue;
      }
      out += name;
      appendLabels(out, all.constLabels, labels, "");
      ((out += ' ') += shortest(series.value)) += '\n';
    }
  }
  return out;
}

std::string statsText() {
  const Snapshot all = snapshot();
  std::string out;
  auto line = [&](const std::string& name, const char* suffix, const std::string& value) {
    ((((out += name) += suffix) += ' ') += value) += '\n';
  };
  for (const auto& [bare, family] : all.families) {
    for (const auto& [labels, series] : family.series) {
      std::string name = std::string(kPrefix) + bare;
      for (const auto& [k, v] : labels) {
        if (k == "method" || k == "errno" || k == "stage") (name += '_') += v;
      }
      if (series.histogram) {
        line(name, "_total", std::to_string(series.histogram->count()));
        line(name, "_sum", shortestFixed(series.histogram->sum()));
      } else {
        line(name, "", shortestFixed(series.value));
      }
    }
  }
  return out;
}

}  // namespace aquifer::metrics
