#include "tenon/base/log.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "tenon/base/fork.h"

namespace tenon {
namespace {

struct Sink {
  ForkSafeMutex mutex;
  LogSink custom;
};

// Leaked: lines may be logged while the process ends.
Sink& GlobalSink() {
  static Sink& sink = *new Sink;
  return sink;
}

void DefaultSink(LogLevel level, std::string_view line) {
  const char* wanted = std::getenv("TENON_LOG");
  if (wanted == nullptr || *wanted == '\0') return;
  if (level == LogLevel::kInfo && std::string_view(wanted) != "info") return;
  std::fprintf(stderr, "tenon: %.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace

void SetLogSink(LogSink sink) {
  std::lock_guard lock(GlobalSink().mutex);
  GlobalSink().custom = std::move(sink);
}

void Log(LogLevel level, std::string_view line) {
  LogSink custom;
  {
    std::lock_guard lock(GlobalSink().mutex);
    custom = GlobalSink().custom;
  }
  custom ? custom(level, line) : DefaultSink(level, line);
}

}  // namespace tenon
