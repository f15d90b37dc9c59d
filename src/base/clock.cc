#include "base/clock.h"

#include <fmt/core.h>

#include <cerrno>
#include <ctime>

namespace aquifer {

namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

int64_t read(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<int64_t>(t.tv_sec) * kNanosPerSecond + t.tv_nsec;
}

// ".12" of 120000000: trailing zeros are left out, and the dot when nothing remains.
std::string fraction(int64_t nanos) {
  if (nanos == 0) return {};
  std::string text = fmt::format(".{:09}", nanos);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

bool digits(const std::string& text, size_t at, size_t count, int* value) {
  *value = 0;
  for (size_t i = at; i < at + count; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    *value = *value * 10 + (text[i] - '0');
  }
  return true;
}

}  // namespace

int64_t unixNanos() { return read(CLOCK_REALTIME); }
int64_t unixSeconds() { return unixNanos() / kNanosPerSecond; }
int64_t monotonicNanos() { return read(CLOCK_MONOTONIC); }

std::string rfc3339(int64_t unixNanos, bool nanos) {
  int64_t seconds = unixNanos / kNanosPerSecond;
  int64_t rest = unixNanos % kNanosPerSecond;
  if (rest < 0) {
    rest += kNanosPerSecond;
    seconds--;
  }
  const time_t t = seconds;
  tm local{};
  localtime_r(&t, &local);
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
                                 local.tm_hour, local.tm_min, local.tm_sec);
  if (nanos) text += fraction(rest);
  const long minutes = local.tm_gmtoff / 60;
  if (minutes == 0) return text + "Z";
  const long size = minutes < 0 ? -minutes : minutes;
  return text + fmt::format("{}{:02}:{:02}", minutes < 0 ? '-' : '+', size / 60, size % 60);
}

namespace {

std::string timeText(int64_t unixSeconds, const char* format, tm* (*split)(const time_t*, tm*)) {
  const time_t t = unixSeconds;
  tm parts{};
  split(&t, &parts);
  char text[128];
  return std::string(text, strftime(text, sizeof text, format, &parts));
}

}  // namespace

std::string localTimeText(int64_t unixSeconds, const char* format) { return timeText(unixSeconds, format, localtime_r); }
std::string utcTimeText(int64_t unixSeconds, const char* format) { return timeText(unixSeconds, format, gmtime_r); }

std::string hourNameUtc(int64_t unixSeconds) {
  const time_t t = unixSeconds;
  tm utc{};
  gmtime_r(&t, &utc);
  return fmt::format("{:04}-{:02}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour);
}

bool parseHourNameUtc(const std::string& text, int64_t* unixSeconds) {
  int year, month, day, hour;
  if (text.size() != 13 || text[4] != '-' || text[7] != '-' || text[10] != '-') return false;
  if (!digits(text, 0, 4, &year) || !digits(text, 5, 2, &month) || !digits(text, 8, 2, &day) || !digits(text, 11, 2, &hour))
    return false;
  tm utc{};
  utc.tm_year = year - 1900;
  utc.tm_mon = month - 1;
  utc.tm_mday = day;
  utc.tm_hour = hour;
  const int64_t value = timegm(&utc);
  // timegm carries 31 February over into March; only a name that prints as itself is a name.
  if (hourNameUtc(value) != text) return false;
  *unixSeconds = value;
  return true;
}

void sleepMs(int64_t ms) {
  if (ms <= 0) return;
  timespec left{.tv_sec = static_cast<time_t>(ms / 1000), .tv_nsec = static_cast<long>(ms % 1000 * 1'000'000)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace aquifer
