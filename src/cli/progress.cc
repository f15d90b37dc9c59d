#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/log.h"
#include "cli/main.h"
#include "cli/values.h"

namespace aquifer::cli {

namespace {

constexpr int kWidth = 64;
constexpr auto kDrawEvery = std::chrono::milliseconds(120);
constexpr auto kFirstLogLine = std::chrono::seconds(1), kLogEvery = std::chrono::seconds(10);

std::mutex gScreen;             // who writes to the terminal; held while a log line goes out
Progress* gActive = nullptr;    // guarded by gScreen

bool barsWanted() {
  const char* wanted = std::getenv("DISPLAY_PROGRESSBAR");
  return ::isatty(STDOUT_FILENO) && !(wanted && std::string(wanted) == "false");
}

std::string rate(double perSecond) { return fmt::format("{:.1f}/s", perSecond); }

}  // namespace

std::string ProgressBar::line(double seconds, unsigned frame) const {
  static constexpr std::array<const char*, 10> kFrames{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
  int64_t now = current(), all = total();
  double speed = seconds > 0 ? static_cast<double>(now) / seconds : 0;
  bool finished = done_.load(std::memory_order_relaxed);
  if (kind_ == Kind::bar) {
    int filled = all > 0 ? static_cast<int>(std::clamp<int64_t>(now, 0, all) * kWidth / all) : 0;
    std::string bar(static_cast<size_t>(filled), '=');
    if (filled < kWidth) bar += ">" + std::string(static_cast<size_t>(kWidth - filled - 1), ' ');
    auto tail = finished || now >= all ? fmt::format("used: {}", durationText(static_cast<int64_t>(seconds * 1000) * 1000'000))
                : speed > 0            ? fmt::format("{} ETA: {:.0f}s", rate(speed), static_cast<double>(all - now) / speed)
                                       : std::string("ETA: -");
    return fmt::format("{}: {}/{} [{}] {}", name_, now, all, bar, tail);
  }
  std::string mark = finished ? " " : fmt::format("\033[32m{}\033[0m", kFrames[frame % kFrames.size()]);
  if (kind_ == Kind::bytes)
    return fmt::format("{}: {} {}  {}/s", name_, longSize(static_cast<uint64_t>(std::max<int64_t>(now, 0))), mark,
                       shortSize(static_cast<uint64_t>(std::max(speed, 0.0))));
  return fmt::format("{}: {} {}  {}", name_, now, mark, rate(speed));
}

Progress::Progress(bool quiet) : shown_(!quiet && !globalSettings().quiet && barsWanted()), quiet_(quiet), start_(monotonicNanos()) {
  if (shown_) {
    std::lock_guard lock(gScreen);
    gActive = this;
    log::setHook(beforeLog, afterLog);
  }
  if (!quiet_) thread_ = std::thread([this] { loop(); });
}

Progress::~Progress() { finish(); }

ProgressBar& Progress::make(std::string name, ProgressBar::Kind kind, int64_t total) {
  std::lock_guard lock(mu_);
  bars_.push_back(std::unique_ptr<ProgressBar>(new ProgressBar(std::move(name), kind, total)));
  return *bars_.back();
}
ProgressBar& Progress::bar(const std::string& name, int64_t total) { return make(name, ProgressBar::Kind::bar, total); }
ProgressBar& Progress::counter(const std::string& name) { return make(name, ProgressBar::Kind::count, 0); }
ProgressBar& Progress::bytes(const std::string& name) { return make(name, ProgressBar::Kind::bytes, 0); }
Progress::Double Progress::doubleCounter(const std::string& countName, const std::string& bytesName) {
  auto& n = counter(countName);
  return {n, bytes(bytesName)};
}

void Progress::loop() {
  std::unique_lock lock(mu_);
  auto nextLog = std::chrono::steady_clock::now() + kFirstLogLine;
  while (!stop_) {
    if (shown_) {
      wake_.wait_for(lock, kDrawEvery, [&] { return stop_; });
      lock.unlock();
      {
        std::lock_guard screen(gScreen);
        clear();
        draw();
      }
      lock.lock();
    } else {
      if (wake_.wait_until(lock, nextLog, [&] { return stop_; })) break;
      nextLog += kLogEvery;
      lock.unlock();
      logLine();
      lock.lock();
    }
  }
}

// One line for all bars, for people who read logs.
void Progress::logLine() {
  std::string text;
  {
    std::lock_guard lock(mu_);
    for (auto& b : bars_) {
      if (b->current() == 0) continue;
      text += text.empty() ? "" : ", ";
      text += b->name_ + ": ";
      if (b->kind_ == ProgressBar::Kind::bytes) text += shortSize(static_cast<uint64_t>(std::max<int64_t>(b->current(), 0)));
      else text += std::to_string(b->current());
      if (b->kind_ == ProgressBar::Kind::bar) text += "/" + std::to_string(b->total());
    }
  }
  if (!text.empty()) LOG_INFO("in progress: {}", text);
}

// Called with gScreen held.
void Progress::clear() {
  if (linesOnScreen_ == 0) return;
  std::string out = fmt::format("\033[{}A\033[J", linesOnScreen_);
  linesOnScreen_ = 0;
  std::fputs(out.c_str(), stdout);
  std::fflush(stdout);
}
void Progress::draw() {
  std::string out;
  {
    std::lock_guard lock(mu_);
    double seconds = static_cast<double>(monotonicNanos() - start_) / 1e9;
    ++frame_;
    for (auto& b : bars_) out += b->line(seconds, frame_) + "\n";
    linesOnScreen_ = bars_.size();
  }
  std::fputs(out.c_str(), stdout);
  std::fflush(stdout);
}

void Progress::beforeLog() {
  gScreen.lock();
  if (gActive) gActive->clear();
}
void Progress::afterLog() {
  if (gActive) gActive->draw();
  gScreen.unlock();
}

void Progress::finish() {
  {
    std::lock_guard lock(mu_);
    if (stop_) return;
    stop_ = true;
    for (auto& b : bars_) b->done();
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (!shown_) return;
  {
    std::lock_guard screen(gScreen);
    clear();
    draw();
    gActive = nullptr;
  }
  log::setHook(nullptr, nullptr);
}

}  // namespace aquifer::cli
