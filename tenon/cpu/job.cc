#include "tenon/cpu/job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <utility>

#include "tenon/base/bytes.h"
#include "tenon/base/log.h"
#include "tenon/collectives/load.h"
#include "tenon/collectives/shm.h"
#include "tenon/cpu/policy.h"

namespace tenon::cpu {
namespace {

// structural: names of the format; another format takes another number.
constexpr std::string_view kPrefix = "tenon/1/";

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "?";
}

void Put(ByteWriter& out, const JobProcess& p) {
  out.Put<int32_t>(p.num_devices);
  out.PutText(p.build);
  out.PutText(p.target);
  out.PutText(p.boot_id);
  out.PutText(p.host);
  out.PutText(p.mail_address);
  out.Put<uint16_t>(p.mail_port);
}

JobProcess Get(ByteReader& in) {
  JobProcess p;
  p.num_devices = in.Get<int32_t>();
  p.build = in.GetText();
  p.target = in.GetText();
  p.boot_id = in.GetText();
  p.host = in.GetText();
  if (in.at_end()) return p;  // Another version's, which is found out from what is there.
  p.mail_address = in.GetText();
  p.mail_port = in.Get<uint16_t>();
  return p;
}

Status GivenUp() { return Cancelled("the client has been given up"); }

/// The job's store, whose waits end when the job is left: a process that will not come is not waited for then.
class LeavableStore final : public collectives::Store {
 public:
  LeavableStore(std::shared_ptr<collectives::Store> store, const std::atomic<bool>& left)
      : store_(std::move(store)), left_(left) {}

  Status Put(std::string_view key, std::string_view value) override { return store_->Put(key, value); }
  Result<std::string> TryGet(std::string_view key) override { return store_->TryGet(key); }
  Result<std::string> Get(std::string_view key, collectives::Milliseconds timeout) override {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + timeout;
    while (!left_.load(std::memory_order_acquire)) {
      const auto now = Clock::now();
      const auto rest = std::chrono::duration_cast<collectives::Milliseconds>(until - now);
      Result<std::string> got = store_->Get(key, std::clamp(rest, collectives::Milliseconds(1), policy::kStoreLook));
      // Stores do not agree on what they call an end of waiting: it is one that took its time.
      if (got.ok() || rest <= policy::kStoreLook || Clock::now() - now < policy::kStoreLook / 2) return got;
    }
    return GivenUp();
  }

 private:
  const std::shared_ptr<collectives::Store> store_;
  const std::atomic<bool>& left_;
};

std::string NewSecret() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace

Result<std::unique_ptr<Job>> Job::Join(Setup setup) {
  if (setup.engine != "auto" && setup.engine != "gloo" && setup.engine != "shm" && setup.engine != "mpi") {
    return InvalidArgument(
        fmt::format("collectives is '{}', wanted auto, gloo, shm (shared memory of one machine) or mpi", setup.engine));
  }
  if (setup.engine == "mpi") TENON_RETURN_IF_ERROR(collectives::MpiOfThisProcess().status());
  std::unique_ptr<Job> job(new Job(std::move(setup)));
  job->setup_.store = std::make_shared<LeavableStore>(std::move(job->setup_.store), job->left_);
  TENON_RETURN_IF_ERROR(job->Exchange());
  return job;
}

Job::~Job() { Leave(); }

// Everybody tells process 0, which judges for all: they agree, or fail alike.
Status Job::Exchange() {
  JobProcess own;
  own.num_devices = setup_.num_devices;
  own.build = setup_.build;
  own.target = setup_.target;
  own.boot_id = BootId();
  own.host = HostName();
  Result<std::unique_ptr<collectives::Mailbox>> mailbox = collectives::Mailbox::Open(setup_.address);
  if (mailbox.ok()) {
    mailbox_ = *std::move(mailbox);
    own.mail_address = setup_.address;
    own.mail_port = mailbox_->port();
  } else {
    no_mailbox_ = mailbox.status();
  }
  ByteWriter out;
  Put(out, own);
  collectives::Store& store = *setup_.store;
  const std::string mine = fmt::format("{}topology/{}", kPrefix, setup_.node);
  if (const Status put = store.Put(mine, std::move(out).Take()); !put.ok()) {
    return put.WithContext(fmt::format(
        "process {} of the job cannot tell the others of its devices (is another process number {} running?)",
        setup_.node, setup_.node));
  }
  const std::string all = fmt::format("{}global", kPrefix);
  if (setup_.node == 0) {
    const auto deadline = std::chrono::steady_clock::now() + setup_.join_timeout;
    std::vector<std::string> told, missing;
    for (int node = 0; node < setup_.num_nodes; ++node) {
      const auto left =
          std::chrono::duration_cast<collectives::Milliseconds>(deadline - std::chrono::steady_clock::now());
      Result<std::string> one =
          store.Get(fmt::format("{}topology/{}", kPrefix, node), std::max(left, collectives::Milliseconds(1)));
      if (!one.ok()) missing.push_back(std::to_string(node));
      told.push_back(one.ok() ? *std::move(one) : std::string());
    }
    ByteWriter verdict;
    if (!missing.empty()) {
      verdict.Put<int32_t>(static_cast<int32_t>(Code::kDeadlineExceeded));
      verdict.PutText(fmt::format("of {} processes these did not make their client within {} ms: {}", setup_.num_nodes,
                                  setup_.join_timeout.count(), fmt::join(missing, ", ")));
    } else if (const Result<std::string> judged = Judge(told); !judged.ok()) {
      verdict.Put<int32_t>(static_cast<int32_t>(judged.status().code()));
      verdict.PutText(judged.status().message());
    } else {
      verdict.Put<int32_t>(0);
      verdict.PutText(*judged);
    }
    TENON_RETURN_IF_ERROR(store.Put(all, std::move(verdict).Take()));
  }
  // Process 0 may take all of its time before it answers.
  Result<std::string> verdict = store.Get(all, setup_.join_timeout + collectives::Milliseconds(30'000));
  if (!verdict.ok())
    return std::move(verdict).status().WithContext("process 0 of the job did not say who is part of it");
  ByteReader in(*verdict);
  const auto code = in.Get<int32_t>();
  const std::string_view text = in.GetText();
  TENON_RETURN_IF_ERROR(in.status());
  if (code != 0) return Status(static_cast<Code>(code), std::string(text));
  TENON_RETURN_IF_ERROR(Read(text));
  OpenMailbox();
  return OkStatus();
}

std::string Job::NameOf(size_t node) const {
  return fmt::format("process {} ({})", node, node < processes_.size() ? processes_[node].host : "?");
}

void Job::OpenMailbox() {
  if (mailbox_ == nullptr) return;
  collectives::Mailbox::Setup setup{.self = setup_.node, .secret = secret_, .peers = {}, .timeout = setup_.timeout};
  const std::string& here = processes_[static_cast<size_t>(setup_.node)].boot_id;
  for (size_t node = 0; node < processes_.size(); ++node) {
    const JobProcess& p = processes_[node];
    const std::string& host = !p.mail_address.empty() ? p.mail_address : p.boot_id == here ? "127.0.0.1" : p.host;
    setup.peers.push_back({host, p.mail_port, NameOf(node)});
  }
  mailbox_->Begin(std::move(setup));
}

Result<collectives::Mailbox*> Job::mailbox() const {
  if (mailbox_ == nullptr) return no_mailbox_;
  return mailbox_.get();
}

Result<std::string> Job::Judge(const std::vector<std::string>& told) const {
  ByteWriter out;
  out.PutText(NewSecret());
  JobProcess first;
  for (size_t node = 0; node < told.size(); ++node) {
    ByteReader in(told[node]);
    const JobProcess p = Get(in);
    TENON_RETURN_IF_ERROR(in.status());
    if (node == 0) first = p;
    if (p.build != first.build) {
      return FailedPrecondition(
          fmt::format("the processes of the job have different versions of the plugin: process 0 "
                      "on {} has '{}', process {} on {} has '{}'",
                      first.host, first.build, node, p.host, p.build));
    }
    if (p.target != first.target) {
      return FailedPrecondition(
          fmt::format("processes 0 on {} and {} on {} would compute different bits, since their CPUs differ: '{}' and "
                      "'{}'. TENON_MAX_ISA=avx2 (or sse4) in all processes gives them one level",
                      first.host, node, p.host, first.target, p.target));
    }
    if (p.num_devices < 1 || p.num_devices > kDevicesPerProcess) {
      return FailedPrecondition(fmt::format("process {} on {} has {} devices, wanted 1 to {}", node, p.host,
                                            p.num_devices, kDevicesPerProcess));
    }
    Put(out, p);
  }
  return std::move(out).Take();
}

Status Job::Read(std::string_view verdict) {
  ByteReader in(verdict);
  secret_ = in.GetText();
  std::vector<std::string> machines;
  for (int node = 0; node < setup_.num_nodes; ++node) {
    JobProcess p = Get(in);
    auto at = std::find(machines.begin(), machines.end(), p.boot_id);
    if (at == machines.end()) at = machines.insert(machines.end(), p.boot_id);
    p.partition_index = static_cast<int>(at - machines.begin());
    processes_.push_back(std::move(p));
  }
  return in.status();
}

uint64_t Job::NextLaunch(const std::vector<int>& nodes) {
  std::lock_guard lock(mutex_);
  return ++launches_[nodes];
}

Result<collectives::Group*> Job::GroupOf(const std::vector<int>& nodes) {
  {
    std::lock_guard lock(mutex_);
    for (const int node : nodes) {
      const auto lost = lost_.find(node);
      if (lost != lost_.end()) return Unavailable(lost->second);
    }
    if (left_) return GivenUp();
    const auto it = groups_.find(nodes);
    if (it != groups_.end()) return it->second.get();
  }
  TENON_ASSIGN_OR_RETURN(std::unique_ptr<collectives::Group> group, Meet(nodes));
  std::lock_guard lock(mutex_);
  // What ended meanwhile was not there to be told.
  for (const int node : nodes) {
    const auto lost = lost_.find(node);
    if (lost != lost_.end()) group->Fail(Unavailable(lost->second));
  }
  if (left_) group->Leave(GivenUp());
  return (groups_[nodes] = std::move(group)).get();
}

Result<std::unique_ptr<collectives::Group>> Job::Meet(const std::vector<int>& nodes) {
  collectives::Group::Setup setup;
  setup.secret = secret_;
  bool one_machine = true;
  for (const int node : nodes) {
    const JobProcess& p = processes_[static_cast<size_t>(node)];
    setup.names.push_back(NameOf(static_cast<size_t>(node)));
    one_machine &= p.boot_id == processes_[static_cast<size_t>(nodes[0])].boot_id;
  }
  setup.meeting.nodes = nodes;
  setup.meeting.self = static_cast<int>(std::find(nodes.begin(), nodes.end(), setup_.node) - nodes.begin());
  setup.meeting.store = setup_.store.get();
  setup.meeting.timeout = setup_.timeout;
  setup.meeting.address = setup_.address;
  const std::string key = fmt::format("{}clique/{}", kPrefix, fmt::join(nodes, ","));
  if (setup_.engine == "shm" || (setup_.engine == "auto" && one_machine)) {
    const std::unique_ptr<collectives::Engine> shm = collectives::MakeShmEngine();
    setup.meeting.key = key + "/s";
    Result<std::unique_ptr<collectives::Group>> group = collectives::Group::Create(*shm, setup);
    if (group.ok() || setup_.engine == "shm" || group.status().code() != Code::kUnavailable) return group;
    Log(LogLevel::kInfo, fmt::format("processes {} take gloo: {}", fmt::join(nodes, ","), group.status().message()));
  }
  std::string_view name = "gloo";
  if (setup_.engine == "mpi") {
    TENON_ASSIGN_OR_RETURN(name, collectives::MpiOfThisProcess());
  }
  TENON_ASSIGN_OR_RETURN(const std::unique_ptr<collectives::Engine> engine, collectives::LoadEngine(name));
  setup.meeting.key = fmt::format("{}/{}", key, name);
  return collectives::Group::Create(*engine, std::move(setup));
}

void Job::Lost(int node, const std::string& why) {
  const std::string text = fmt::format("{} is gone: {}", NameOf(static_cast<size_t>(node)), why);
  std::lock_guard lock(mutex_);
  if (!lost_.emplace(node, text).second) return;
  if (mailbox_ != nullptr) mailbox_->Lost(node, Unavailable(text));
  for (const auto& [nodes, group] : groups_) {
    if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) group->Fail(Unavailable(text));
  }
}

void Job::Leave() {
  std::lock_guard lock(mutex_);
  left_.store(true, std::memory_order_release);
  if (mailbox_ != nullptr) mailbox_->Leave(GivenUp());
  for (const auto& [nodes, group] : groups_) group->Leave(GivenUp());
}

}  // namespace tenon::cpu
