#pragma once

/// What the threads of this process are doing, for a profiler: spans of time with names, kept while somebody records
/// and for nothing otherwise (a span that nobody records costs the look at one flag).

#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenon::activity {

/// What is the same for all spans of one kind.
struct Label {
  std::string name;
  std::vector<std::pair<std::string, double>> numbers;     ///< Such as "flops".
  std::vector<std::pair<std::string, std::string>> texts;  ///< Such as "hlo_category".
  friend bool operator==(const Label&, const Label&) = default;
};

/// The label of this process that is equal to `label`. It is never freed, so only what is recorded should get one.
const Label* Intern(Label label);

namespace internal {
extern std::atomic<int> recorders;
/// What the calling thread is at.
struct Current {
  const Label* label = nullptr;
  int64_t run = 0;
};
Current& CurrentOfThread();
}  // namespace internal

/// Whether anybody records.
inline bool IsOn() { return internal::recorders.load(std::memory_order_relaxed) != 0; }

/// Nanoseconds since the Unix epoch.
int64_t NowNs();

/// Adds a span of the calling thread that is over. `run`: which execution it belongs to, 0 for none.
void Add(const Label* label, int64_t start_ns, int64_t end_ns, int64_t run = 0);

/// Adds a span to a line that is no thread's, such as a device's queue; `name` is all that tells lines apart.
void AddTo(const std::string& name, const Label* label, int64_t start_ns, int64_t end_ns, int64_t run = 0);

/// The span from construction to destruction, when somebody records at its beginning. Spans of a thread nest.
class Scope {
 public:
  /// `make`: a function that gives a const Label*, called only when needed. `run`: 0 for that of the span around.
  template <class Make>
  explicit Scope(const Make& make, int64_t run = 0)
    requires std::is_invocable_r_v<const Label*, const Make&>
  {
    if (IsOn()) [[unlikely]]
      Begin(make(), run);
  }
  explicit Scope(const char* name) {
    if (IsOn()) [[unlikely]]
      Begin(Intern({name, {}, {}}), 0);
  }
  ~Scope() {
    if (label_ != nullptr) [[unlikely]]
      End();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  void Begin(const Label* label, int64_t run);
  void End();

  const Label* label_ = nullptr;  ///< Null: not recorded.
  int64_t start_ns_ = 0;
  internal::Current around_;
};

/// What a thread hands over with a piece of its work, for the Scope of whoever does it.
class Handover {
 public:
  Handover() {
    if (IsOn()) [[unlikely]]
      current_ = internal::CurrentOfThread();
  }
  const Label* label() const { return current_.label; }
  int64_t run() const { return current_.run; }

 private:
  internal::Current current_;
};

struct Event {
  const Label* label;
  int64_t start_ns, end_ns;
  int64_t run;
};

struct Thread {
  int64_t id = 0;  ///< The system's number; of lines beside the threads a larger one than any of these.
  std::string name;
  std::vector<Event> events;  ///< By start; a span before those inside it.
  bool is_thread = true;      ///< Not a line of AddTo.
};

struct Record {
  std::vector<Thread> threads;
  int64_t dropped = 0;  ///< Events for which there was no room.
};

/// Records from its construction until Stop, which may be called once.
class Recorder {
 public:
  Recorder();
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  Record Stop();

 private:
  int64_t start_ns_;
  bool on_ = true;
};

}  // namespace tenon::activity
