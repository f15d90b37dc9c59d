// Log lines as operators of this format know them:
//   2026/01/31 10:20:30.123456 juicefs[42] <INFO>: message [function@file:line]
// to stderr, a file, and syslog. Thread-safe; a line is written with one write(2). Never pass secrets; URLs go through maskUrl.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace aquifer::log {

enum class Level { trace, debug, info, warning, error, fatal };

void setLevel(Level level);
Level level();
void setId(const std::string& id);            // `[id] ` in front of every line
void setColor(bool allowed);                  // colour only when stderr is a terminal
bool toFile(const std::string& path);         // append, 0644, parent created 0755; stderr is left alone afterwards
void toSyslog(bool on);
void setHook(void (*beforeLine)(), void (*afterLine)());  // progress bars step aside

void write(Level level, const char* function, const char* file, int line, std::string_view message);
[[noreturn]] void die(const char* function, const char* file, int line, std::string_view message);  // FATAL, flush, exit 1

}  // namespace aquifer::log

#define AQ_LOG(lvl, ...)                                                                                     \
  do {                                                                                                       \
    if (::aquifer::log::Level::lvl >= ::aquifer::log::level())                                               \
      ::aquifer::log::write(::aquifer::log::Level::lvl, __func__, __FILE_NAME__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (0)
#define LOG_TRACE(...) AQ_LOG(trace, __VA_ARGS__)
#define LOG_DEBUG(...) AQ_LOG(debug, __VA_ARGS__)
#define LOG_INFO(...) AQ_LOG(info, __VA_ARGS__)
#define LOG_WARN(...) AQ_LOG(warning, __VA_ARGS__)
#define LOG_ERROR(...) AQ_LOG(error, __VA_ARGS__)
#define LOG_FATAL(...) ::aquifer::log::die(__func__, __FILE_NAME__, __LINE__, ::fmt::format(__VA_ARGS__))
