#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/trace/record.h"

namespace tenon::trace {

struct TraceOptions {
  /// Chrome trace-event JSON, which Perfetto opens. Empty: none.
  std::string file;
  /// One line per call. "-" is stderr. Empty: none.
  std::string text;
  /// Calls that would use freed memory are answered with an error instead of being forwarded.
  bool shield = true;
  /// A folder for what is needed to do the calls again on another plugin (capture.h). Empty: none.
  std::string capture = {};
  /// Of contents of buffers, how many bytes a capture may hold.
  uint64_t capture_limit = uint64_t{1} << 30;
  /// How many bytes each of the two files may hold; calls beyond are counted, misuse is always told. 0: no limit.
  uint64_t limit = 0;
  /// A callback is registered on every event, to know when it fires.
  bool follow_events = true;
  /// The plugin is asked for the sizes of an executable's first outputs.
  bool ask_sizes = true;
};

/// Monotonic nanoseconds.
uint64_t Now();

/// Starts to record into files; ends what was recorded before. Also tells an open file that cannot be made: nothing is
/// recorded then. Never fails.
void StartTrace(TraceOptions options);
/// Reports leaks, writes the summary and closes the files. Calls are forwarded and no longer recorded.
void StopTrace();

const TraceOptions& Options();
inline std::atomic<bool> recording{false};
inline bool Recording() { return recording.load(std::memory_order_acquire); }

/// Puts a record into the ring of this thread. Waits only when the ring is full and somebody else writes the file.
void Submit(RecordBuilder& record);
/// Counts a misuse, and writes it at once: what follows may be a crash.
void ReportMisuse(Misuse misuse, int function, std::string_view text);
/// How many misuses of a kind were found since StartTrace.
uint64_t MisuseCount(Misuse misuse);
/// Writes everything that was submitted so far.
void Flush();

}  // namespace tenon::trace
