#include "tenon/base/activity.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

namespace tenon::activity {

namespace internal {
std::atomic<int> recorders{0};

Current& CurrentOfThread() {
  static thread_local Current current;
  return current;
}
}  // namespace internal

namespace {

// What a recording may take of memory: 32 bytes each.
constexpr int64_t kMaxEvents = int64_t{1} << 22;
// Above the system's numbers of threads (2^22 at most), within 32 bits, which viewers keep.
constexpr int64_t kFirstLine = int64_t{1} << 30;

struct Log {
  std::mutex mutex;
  Thread thread;
};

struct Less {
  bool operator()(const Label& a, const Label& b) const {
    return std::tie(a.name, a.numbers, a.texts) < std::tie(b.name, b.numbers, b.texts);
  }
};

// Leaked: threads may record while the process ends.
struct Registry {
  std::mutex mutex;  // Before any log's.
  std::vector<std::shared_ptr<Log>> logs;
  std::map<std::string, std::shared_ptr<Log>> lines;  // Beside the threads, by name; in `logs`, too.
  std::set<Label, Less> labels;
  std::atomic<int64_t> num_events{0};
  std::atomic<int64_t> dropped{0};
};

std::atomic<Registry*> the_registry{nullptr};

Registry& TheRegistry() {
  Registry* registry = the_registry.load(std::memory_order_acquire);
  if (registry != nullptr) return *registry;
  // In a child of fork nobody records, and all starts afresh: other threads of the parent may have held mutexes.
  static const int at_fork = pthread_atfork(nullptr, nullptr, [] {
    internal::recorders.store(0, std::memory_order_relaxed);
    the_registry.store(nullptr, std::memory_order_relaxed);
  });
  static_cast<void>(at_fork);
  auto made = std::make_unique<Registry>();
  if (the_registry.compare_exchange_strong(registry, made.get(), std::memory_order_acq_rel)) registry = made.release();
  return *registry;
}

Log& LogOfThread() {
  struct Mine {
    std::shared_ptr<Log> log;
    Registry* of = nullptr;
  };
  static thread_local Mine mine;
  Registry& registry = TheRegistry();
  if (mine.of != &registry) {
    mine.log = std::make_shared<Log>();
    mine.of = &registry;
    mine.log->thread.id = syscall(SYS_gettid);
    char name[32] = "";
    pthread_getname_np(pthread_self(), name, sizeof(name));
    mine.log->thread.name = name;
    const std::lock_guard lock(registry.mutex);
    registry.logs.push_back(mine.log);
  }
  return *mine.log;
}

Log& LogOfLine(const std::string& name) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  std::shared_ptr<Log>& log = registry.lines[name];
  if (log == nullptr) {
    log = std::make_shared<Log>();
    log->thread.id = kFirstLine + static_cast<int64_t>(registry.lines.size());
    log->thread.name = name;
    log->thread.is_thread = false;
    registry.logs.push_back(log);
  }
  return *log;
}

/// Whether there is room for one more event.
bool CountEvent() {
  Registry& registry = TheRegistry();
  if (registry.num_events.fetch_add(1, std::memory_order_relaxed) < kMaxEvents) return true;
  registry.num_events.fetch_sub(1, std::memory_order_relaxed);
  registry.dropped.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void Append(Log& log, const Label* label, int64_t start_ns, int64_t end_ns, int64_t run) {
  const std::lock_guard lock(log.mutex);
  log.thread.events.push_back({label, start_ns, std::max(start_ns, end_ns), run});
}

}  // namespace

const Label* Intern(Label label) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  return &*registry.labels.insert(std::move(label)).first;
}

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void Add(const Label* label, int64_t start_ns, int64_t end_ns, int64_t run) {
  if (CountEvent()) Append(LogOfThread(), label, start_ns, end_ns, run);
}

void AddTo(const std::string& name, const Label* label, int64_t start_ns, int64_t end_ns, int64_t run) {
  if (CountEvent()) Append(LogOfLine(name), label, start_ns, end_ns, run);
}

void Scope::Begin(const Label* label, int64_t run) {
  if (label == nullptr) return;
  label_ = label;
  internal::Current& current = internal::CurrentOfThread();
  around_ = current;
  current = {label, run != 0 ? run : current.run};
  start_ns_ = NowNs();
}

void Scope::End() {
  const int64_t end_ns = NowNs();
  internal::Current& current = internal::CurrentOfThread();
  const int64_t run = current.run;
  current = around_;
  try {
    if (IsOn()) Add(label_, start_ns_, end_ns, run);
  } catch (...) {
    return;  // A profiler must not cost the work that it watches.
  }
}

Recorder::Recorder() {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  start_ns_ = NowNs();
  internal::recorders.fetch_add(1, std::memory_order_relaxed);
}

Recorder::~Recorder() {
  if (on_) Stop();
}

Record Recorder::Stop() {
  Record record;
  if (!std::exchange(on_, false)) return record;
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  // What the parent of a fork started counts no more.
  const bool last = !IsOn() || internal::recorders.fetch_sub(1, std::memory_order_relaxed) == 1;
  for (const std::shared_ptr<Log>& log : registry.logs) {
    const std::lock_guard log_lock(log->mutex);
    Thread thread{log->thread.id, log->thread.name, {}, log->thread.is_thread};
    for (const Event& e : log->thread.events) {
      if (e.start_ns >= start_ns_) thread.events.push_back(e);
    }
    std::sort(thread.events.begin(), thread.events.end(), [](const Event& a, const Event& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    });
    if (!thread.events.empty()) record.threads.push_back(std::move(thread));
    if (last) std::vector<Event>().swap(log->thread.events);
  }
  record.dropped = registry.dropped.load(std::memory_order_relaxed);
  if (last) {
    registry.num_events.store(0, std::memory_order_relaxed);
    registry.dropped.store(0, std::memory_order_relaxed);
    // Of threads that ended.
    std::erase_if(registry.logs, [](const std::shared_ptr<Log>& log) { return log.use_count() == 1; });
  }
  return record;
}

}  // namespace tenon::activity
