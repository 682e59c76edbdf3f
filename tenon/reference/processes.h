#pragma once

// What the processes of one program share while they run side by side.

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tenon/reference/value.h"

namespace tenon::reference {

/// The meeting place of replicas x partitions processes, each on a thread of its own. Thread-safe.
class Processes {
 public:
  Processes(int64_t replicas, int64_t partitions) : replicas_(replicas), partitions_(partitions) {}
  int64_t replicas() const { return replicas_; }
  int64_t partitions() const { return partitions_; }

  /// Waits until every one of `members` has come to its next meeting called `name` and gives what each brought, in the
  /// order of `members`. ABORTED when a process failed or the others do not come within `kPatienceSeconds`.
  Result<std::vector<std::vector<Value>>> Meet(const std::string& name, std::span<const int64_t> members, int64_t me,
                                               std::vector<Value> mine);
  void Send(int64_t channel, std::vector<Value> values);
  Result<std::vector<Value>> Receive(int64_t channel);
  /// Lets every waiting process go with ABORTED.
  void Abort();

  /// What infeed takes, first to last; set before the processes start. OUT_OF_RANGE when nothing is left.
  std::deque<std::vector<Value>> infeed;
  Result<std::vector<Value>> TakeInfeed();

  static constexpr int kPatienceSeconds = 20;

 private:
  struct Meeting {
    std::map<int64_t, std::vector<Value>> brought;
    size_t left = 0;
  };

  int64_t replicas_, partitions_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool aborted_ = false;
  std::map<std::pair<std::string, int64_t>, int64_t> times_;  // meetings of a name that a process has been to
  std::map<std::pair<std::string, int64_t>, Meeting> meetings_;
  std::map<int64_t, std::deque<std::vector<Value>>> channels_;
};

}  // namespace tenon::reference
