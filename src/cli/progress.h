// Progress of long work: bars and spinners on a terminal, else a log line every few seconds. Thread-safe: counters are
// atomic, one thread draws. Log lines step aside while bars are on the screen.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace aquifer::cli {

class ProgressBar {
 public:
  void add(int64_t n = 1) { current_.fetch_add(n, std::memory_order_relaxed); }
  void set(int64_t n) { current_.store(n, std::memory_order_relaxed); }
  void setTotal(int64_t n) { total_.store(n, std::memory_order_relaxed); }
  void addTotal(int64_t n) { total_.fetch_add(n, std::memory_order_relaxed); }
  int64_t current() const { return current_.load(std::memory_order_relaxed); }
  int64_t total() const { return total_.load(std::memory_order_relaxed); }
  void done() { done_.store(true, std::memory_order_relaxed); }

 private:
  friend class Progress;
  enum class Kind { bar, count, bytes };
  ProgressBar(std::string name, Kind kind, int64_t total) : name_(std::move(name)), kind_(kind), total_(total) {}
  std::string line(double seconds, unsigned frame) const;
  const std::string name_;
  const Kind kind_;
  std::atomic<int64_t> current_{0}, total_;
  std::atomic<bool> done_{false};
};

class Progress {
 public:
  // quiet: nothing is drawn or logged. DISPLAY_PROGRESSBAR=false in the environment hides bars.
  explicit Progress(bool quiet = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  ProgressBar& bar(const std::string& name, int64_t total);   // "name: 3/10 [=>  ] 5.0/s ETA: 1s"
  ProgressBar& counter(const std::string& name);              // "name: 42   10.0/s"
  ProgressBar& bytes(const std::string& name);                // "name: 1.5 MiB (1572864 Bytes)  3.0 MiB/s"
  // A count and its bytes under one name, or two.
  struct Double {
    ProgressBar& count;
    ProgressBar& bytes;
    void add(int64_t n, int64_t size) { count.add(n), bytes.add(size); }
  };
  Double doubleCounter(const std::string& countName, const std::string& bytesName);
  bool shown() const { return shown_; }
  void finish();   // draws the final state; idempotent

 private:
  ProgressBar& make(std::string name, ProgressBar::Kind kind, int64_t total);
  void loop();
  void draw();
  void clear();
  void logLine();
  static void beforeLog();
  static void afterLog();

  const bool shown_, quiet_;
  const int64_t start_;
  std::mutex mu_;
  std::condition_variable wake_;
  bool stop_ = false;
  unsigned frame_ = 0;
  size_t linesOnScreen_ = 0;
  std::vector<std::unique_ptr<ProgressBar>> bars_;
  std::thread thread_;
};

}  // namespace aquifer::cli
