#include "tenon/trace/recorder.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "tenon/trace/capture.h"
#include "tenon/trace/objects.h"
#include "tenon/trace/writer.h"

namespace tenon::trace {
namespace {

constexpr size_t kRingSize = size_t{1} << 19;

// Records of one thread: it alone moves `head`, and whoever holds the writer's lock moves `tail`. Records are whole:
// what would cross the end is put at the beginning, behind a record that is skipped.
struct Ring {
  std::atomic<uint64_t> head{0};
  std::atomic<uint64_t> tail{0};
  std::atomic<bool> abandoned{false};  // its thread has ended; may be taken by another one
  int tid = 0;
  Ring* next = nullptr;
  alignas(64) char data[kRingSize];
};

struct State {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // of the writer and of every tail
  std::atomic<Ring*> rings{nullptr};
  std::atomic<int> next_tid{1};
  TraceOptions options;
  Writer writer;
  std::atomic<uint64_t> misuses[kNumMisuses] = {};
  bool thread_started = false;
  pid_t pid = 0;
};

// Never freed: threads may record until the process has gone.
State& GetState() {
  static State& state = *new State;
  return state;
}

struct ThreadRing {
  Ring* ring = nullptr;
  ~ThreadRing() {
    if (ring != nullptr) ring->abandoned.store(true, std::memory_order_release);
    ring = nullptr;
  }
};
thread_local ThreadRing this_thread;

Ring* GetRing() {
  if (this_thread.ring != nullptr) return this_thread.ring;
  State& state = GetState();
  for (Ring* ring = state.rings.load(std::memory_order_acquire); ring != nullptr; ring = ring->next) {
    bool abandoned = true;
    if (ring->abandoned.load(std::memory_order_acquire) && ring->tail.load() == ring->head.load() &&
        ring->abandoned.compare_exchange_strong(abandoned, false)) {
      ring->tid = state.next_tid.fetch_add(1);
      this_thread.ring = ring;
      return ring;
    }
  }
  Ring* ring = new (std::nothrow) Ring;
  if (ring == nullptr) return nullptr;
  ring->tid = state.next_tid.fetch_add(1);
  ring->next = state.rings.load();
  while (!state.rings.compare_exchange_weak(ring->next, ring)) {
  }
  this_thread.ring = ring;
  return ring;
}

// With the lock held.
void Drain(Ring& ring) {
  State& state = GetState();
  uint64_t tail = ring.tail.load(std::memory_order_relaxed);
  const uint64_t head = ring.head.load(std::memory_order_acquire);
  while (tail != head) {
    const char* record = ring.data + tail % kRingSize;
    RecordHead info;
    std::memcpy(&info, record, 8);  // A skipped one may be as short as this.
    if (info.type != RecordType::kSkip) state.writer.Add(record, ring.tid);
    tail += info.size;
    ring.tail.store(tail, std::memory_order_release);
  }
}

void DrainAll() {
  State& state = GetState();
  for (Ring* ring = state.rings.load(std::memory_order_acquire); ring != nullptr; ring = ring->next) Drain(*ring);
  state.writer.Flush();
}

void* WriterThread(void*) {
  State& state = GetState();
  const timespec pause{0, 20'000'000};
  for (;;) {
    nanosleep(&pause, nullptr);
    pthread_mutex_lock(&state.mutex);
    if (Recording()) DrainAll();
    pthread_mutex_unlock(&state.mutex);
  }
}

// With the lock held. Without the thread, callers write when their rings are full.
void StartThread() {
  State& state = GetState();
  if (state.thread_started) return;
  // Signals belong to the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  state.thread_started = pthread_create(&thread, &attributes, WriterThread, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void BeforeFork() { pthread_mutex_lock(&GetState().mutex); }
void AfterForkInParent() { pthread_mutex_unlock(&GetState().mutex); }

// The child gets files of its own: FILE.PID. What other threads had recorded is the parent's to write.
void AfterForkInChild() {
  State& state = GetState();
  pthread_mutex_init(&state.mutex, nullptr);
  Handles::Get().UnlockAfterFork();
  state.writer.Abandon();
  AbandonCapture();
  for (Ring* ring = state.rings.load(); ring != nullptr; ring = ring->next) {
    ring->tail.store(ring->head.load());
    if (ring != this_thread.ring) ring->abandoned = true;
  }
  state.thread_started = false;
  if (!Recording()) return;
  const std::string suffix = "." + std::to_string(getpid());
  std::string file = state.options.file, text = state.options.text;
  if (!file.empty()) file += suffix;
  if (!text.empty() && text != "-") text += suffix;
  state.pid = getpid();
  state.writer.Open(file, text, state.options.limit);
  // Not the thread: a child often only waits for exec. Full rings and the end of the process write.
}

void RegisterForkHandlers() {
  static const int once = pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
  (void)once;
}

}  // namespace

const char* MisuseName(Misuse misuse) {
  static constexpr const char* kNames[kNumMisuses] = {
      "double destroy", "use after destroy",       "use after delete",  "wrong struct_size",
      "null argument",  "error read before ready", "error never freed", "leaked handle"};
  return kNames[static_cast<int>(misuse)];
}

uint64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

const TraceOptions& Options() { return GetState().options; }

void StartTrace(TraceOptions options) {
  State& state = GetState();
  StopTrace();
  RegisterForkHandlers();
  pthread_mutex_lock(&state.mutex);
  Handles::Get().Clear();
  ForgetExecutables();
  for (std::atomic<uint64_t>& count : state.misuses) count = 0;
  state.options = std::move(options);
  state.pid = getpid();
  state.writer.Open(state.options.file, state.options.text, state.options.limit);
  if (!state.options.capture.empty() && !StartCapture(state.options.capture, state.options.capture_limit))
    state.options.capture.clear();
  StartThread();
  recording.store(true, std::memory_order_release);
  pthread_mutex_unlock(&state.mutex);
}

void StopTrace() {
  if (!Recording()) return;
  State& state = GetState();
  pthread_mutex_lock(&state.mutex);
  if (Recording()) {
    const std::vector<HandleInfo> live = Handles::Get().Live();
    DrainAll();
    recording.store(false, std::memory_order_release);
    for (const HandleInfo& info : live) {
      const Misuse misuse = info.kind == HandleKind::kError ? Misuse::kLeakedError : Misuse::kLeakedHandle;
      state.misuses[static_cast<int>(misuse)] += info.count;
    }
    state.writer.Finish(live);
    StopCapture();
  }
  pthread_mutex_unlock(&state.mutex);
}

void Submit(RecordBuilder& record) {
  if (!Recording()) return;
  Ring* ring = GetRing();
  if (ring == nullptr) return;
  State& state = GetState();
  const size_t size = record.Finish();
  uint64_t head = ring->head.load(std::memory_order_relaxed);
  const size_t to_end = kRingSize - head % kRingSize;
  const size_t needed = size + (to_end < size ? to_end : 0);
  if (head + needed - ring->tail.load(std::memory_order_acquire) > kRingSize) {
    pthread_mutex_lock(&state.mutex);
    Drain(*ring);
    state.writer.Flush();
    pthread_mutex_unlock(&state.mutex);
  }
  if (to_end < size) {
    RecordHead skip{};
    skip.size = static_cast<uint32_t>(to_end);
    skip.type = RecordType::kSkip;
    std::memcpy(ring->data + head % kRingSize, &skip, 8);
    head += to_end;
  }
  std::memcpy(ring->data + head % kRingSize, record.data(), size);
  ring->head.store(head + size, std::memory_order_release);
}

void ReportMisuse(Misuse misuse, int function, std::string_view text) {
  if (!Recording()) return;
  // The first thousand of a kind are told, the others counted.
  constexpr uint64_t kMostTold = 1000;
  if (GetState().misuses[static_cast<int>(misuse)].fetch_add(1) >= kMostTold) return;
  RecordBuilder record(RecordType::kMisuse, function, Now(), 0);
  record.head().code = static_cast<uint8_t>(misuse);
  record.Text(ItemType::kMessage, 0, text, 500);
  Submit(record);
  Flush();
}

uint64_t MisuseCount(Misuse misuse) { return GetState().misuses[static_cast<int>(misuse)].load(); }

void Flush() {
  State& state = GetState();
  pthread_mutex_lock(&state.mutex);
  if (Recording()) DrainAll();
  pthread_mutex_unlock(&state.mutex);
}

}  // namespace tenon::trace
