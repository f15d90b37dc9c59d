// Wall and monotonic time. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace aquifer {
int64_t unixNanos();
int64_t unixSeconds();
int64_t monotonicNanos();
std::string rfc3339(int64_t unixNanos, bool nanos);          // in the local zone: 2026-12-01T01:02:33Z or +08:00
std::string hourNameUtc(int64_t unixSeconds);                // YYYY-MM-DD-HH
bool parseHourNameUtc(const std::string& text, int64_t* unixSeconds);
// By strftime, in the local zone or in UTC.
std::string localTimeText(int64_t unixSeconds, const char* format);
std::string utcTimeText(int64_t unixSeconds, const char* format);
void sleepMs(int64_t ms);
}  // namespace aquifer
