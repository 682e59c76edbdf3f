#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/trace/record.h"

namespace tenon::trace {

/// A file that never blocks the process with errors: after the first failed write it stays silent.
class OutputFile {
 public:
  ~OutputFile() { Close(); }
  /// "-" is stderr. A file that another process is writing is left to it, and PATH.PID written instead.
  bool Open(const std::string& path);
  void Append(std::string_view text);
  void Close();
  bool is_open() const { return fd_ >= 0; }
  bool failed() const { return failed_; }

 private:
  int fd_ = -1;
  bool owned_ = false;
  bool failed_ = false;
};

/// Turns records into the two outputs, and keeps the totals. One thread at a time.
class Writer {
 public:
  /// Opens the files that are not empty names; those that cannot be opened are left out.
  /// Calls beyond `limit` bytes of either are left out, and counted; 0: no limit.
  void Open(const std::string& file, const std::string& text, uint64_t limit = 0);
  bool is_open() const { return json_.is_open() || text_.is_open(); }
  /// One record of the thread `tid`.
  void Add(const char* record, int tid);
  /// Hands what was added to the operating system.
  void Flush();
  /// Totals, `leaks`, and the end of the files.
  void Finish(const std::vector<HandleInfo>& leaks);
  /// Forgets the files without touching them: they belong to the parent process.
  void Abandon();

 private:
  struct Totals {
    uint64_t calls = 0, nanoseconds = 0, longest = 0, errors = 0;
  };
  void AddJson(const RecordHead& head, const char* raw, const char* items, int tid);
  void AddText(const RecordHead& head, const char* raw, const char* items, int tid);
  void JsonHead(const char* phase, uint64_t when, int tid);

  OutputFile json_, text_;
  std::string json_buffer_, text_buffer_;
  std::vector<Totals> totals_;
  uint64_t misuses_[kNumMisuses] = {};
  uint64_t origin_ = 0;
  uint64_t limit_ = 0, left_out_ = 0, json_written_ = 0, text_written_ = 0;
  std::vector<bool> named_threads_;
  uint64_t buffers_ = 0, bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace tenon::trace
