#include "tenon/collectives/local.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace tenon::collectives {
namespace {

/// What the members of one clique share.
struct Hub {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> sent;  ///< By (from, to).
  std::set<int> gone;                                                      ///< Members that have ended.
};

class LocalChannel final : public Channel {
 public:
  LocalChannel(std::shared_ptr<Hub> hub, int self) : hub_(std::move(hub)), self_(self) {}
  ~LocalChannel() override { Abort(); }

  Status Exchange(std::span<const SendPart> sends, std::span<const ReceivePart> receives,
                  Milliseconds timeout) override {
    std::unique_lock lock(hub_->mutex);
    if (hub_->gone.contains(self_)) return Unavailable("the connections were given up");
    for (const SendPart& s : sends) hub_->sent[{self_, s.peer}].emplace_back(s.data, s.data + s.bytes);
    hub_->changed.notify_all();
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (const ReceivePart& r : receives) {
      auto& queue = hub_->sent[{r.peer, self_}];
      if (!hub_->changed.wait_until(lock, deadline, [&] {
            return !queue.empty() || hub_->gone.contains(r.peer) || hub_->gone.contains(self_);
          }))
        return DeadlineExceeded(fmt::format("member {} sent nothing for {} ms", r.peer, timeout.count()));
      if (queue.empty()) return Unavailable(fmt::format("member {} has left", r.peer));
      if (queue.front().size() != r.bytes)
        return Internal(fmt::format("{} bytes of member {}, wanted {}", queue.front().size(), r.peer, r.bytes));
      if (r.bytes > 0) std::memcpy(r.data, queue.front().data(), r.bytes);
      queue.pop_front();
    }
    return OkStatus();
  }

  void Abort() override {
    std::lock_guard lock(hub_->mutex);
    hub_->gone.insert(self_);
    hub_->changed.notify_all();
  }

 private:
  std::shared_ptr<Hub> hub_;
  int self_;
};

class LocalEngine final : public Engine {
 public:
  std::string_view name() const override { return "local"; }
  Result<std::unique_ptr<Channel>> Connect(const Meeting& meeting) override {
    std::lock_guard lock(mutex_);
    std::weak_ptr<Hub>& known = hubs_[meeting.key];
    std::shared_ptr<Hub> hub = known.lock();
    if (hub == nullptr) known = hub = std::make_shared<Hub>();
    return std::unique_ptr<Channel>(std::make_unique<LocalChannel>(std::move(hub), meeting.self));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Hub>> hubs_;
};

class LocalStore final : public Store {
 public:
  Status Put(std::string_view key, std::string_view value) override {
    std::lock_guard lock(mutex_);
    if (!values_.emplace(key, value).second) return AlreadyExists(fmt::format("'{}' has a value", key));
    changed_.notify_all();
    return OkStatus();
  }
  Result<std::string> Get(std::string_view key, Milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    const std::string name(key);
    if (!changed_.wait_for(lock, timeout, [&] { return values_.contains(name); }))
      return DeadlineExceeded(fmt::format("'{}' has no value after {} ms", key, timeout.count()));
    return values_[name];
  }
  Result<std::string> TryGet(std::string_view key) override {
    std::lock_guard lock(mutex_);
    const auto it = values_.find(std::string(key));
    if (it == values_.end()) return NotFound(fmt::format("'{}' has no value", key));
    return it->second;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace

std::unique_ptr<Engine> MakeLocalEngine() { return std::make_unique<LocalEngine>(); }
std::unique_ptr<Store> MakeLocalStore() { return std::make_unique<LocalStore>(); }

}  // namespace tenon::collectives
