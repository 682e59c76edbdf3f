#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/hash.h"
#include "tenon/base/status.h"
#include "tenon/collectives/engine.h"
#include "tenon/collectives/group.h"
#include "tenon/collectives/mailbox.h"
#include "tenon/host/device_queue.h"

namespace tenon::cpu {

/// Device `ordinal` of process `node` has the id node * kDevicesPerProcess + ordinal, in every process.
inline constexpr int kDevicesPerProcess = 2048;  // structural: JAX's own numbering of CPU devices

/// One process of a job, as it described itself.
struct JobProcess {
  int num_devices = 0;
  std::string build;    ///< Must be the same everywhere.
  std::string target;   ///< Printed; must give the same bits everywhere.
  std::string boot_id;  ///< Of the machine's running system: equal for processes of one machine.
  std::string host;
  std::string mail_address;  ///< Where its mailbox is reached; empty: at its host.
  uint16_t mail_port = 0;    ///< 0: it has none.
  int partition_index = 0;   ///< Which of the machines, in the order in which they first appear.
};

/// The job that this process is part of: who the others are, and the ways to them. Thread-safe.
class Job {
 public:
  struct Setup {
    int node = 0;
    int num_nodes = 1;
    int num_devices = 1;
    std::shared_ptr<collectives::Store> store;
    std::string engine;  ///< "auto", "gloo", "shm", "mpi".
    std::string address;
    collectives::Milliseconds join_timeout{0};
    collectives::Milliseconds timeout{0};  ///< Of one exchange.
    std::string build, target;
  };
  /// Meets all other processes. DEADLINE_EXCEEDED names those that did not come; FAILED_PRECONDITION, with the same
  /// words in all processes, when they do not fit together.
  static Result<std::unique_ptr<Job>> Join(Setup setup);
  ~Job();

  int node() const { return setup_.node; }
  std::span<const JobProcess> processes() const { return processes_; }

  /// Executions of several processes run here, in the order in which they were handed over.
  host::DeviceQueue& queue() { return queue_; }

  /// What carries arrays between two processes, by their numbers. UNAVAILABLE where this one has none.
  Result<collectives::Mailbox*> mailbox() const;

  /// The connections with `nodes` (ascending, this one among them), made on first use. Blocks: for the queue's thread.
  Result<collectives::Group*> GroupOf(const std::vector<int>& nodes);
  /// Number of the next execution with these processes, from 1.
  uint64_t NextLaunch(const std::vector<int>& nodes);

  /// Ends all groups that `node` is in.
  void Lost(int node, const std::string& why);
  /// Ends all groups: for when nobody waits for results any more.
  void Leave();

 private:
  explicit Job(Setup setup) : setup_(std::move(setup)), queue_("tenon-job") {}
  Status Exchange();
  /// For messages.
  std::string NameOf(size_t node) const;
  Result<std::string> Judge(const std::vector<std::string>& told) const;
  Status Read(std::string_view verdict);
  void OpenMailbox();
  Result<std::unique_ptr<collectives::Group>> Meet(const std::vector<int>& nodes);

  Setup setup_;
  std::vector<JobProcess> processes_;
  std::string secret_;
  std::unique_ptr<collectives::Mailbox> mailbox_;
  Status no_mailbox_;
  std::mutex mutex_;
  std::map<std::vector<int>, std::unique_ptr<collectives::Group>> groups_;
  std::map<std::vector<int>, uint64_t> launches_;
  std::map<int, std::string> lost_;
  std::atomic<bool> left_{false};
  host::DeviceQueue queue_;  ///< Last: its thread uses the others.
};

}  // namespace tenon::cpu
