#include "tenon/host/in_flight.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "tenon/host/policy.h"

namespace tenon::host {

void InFlight::Entry::Enter(InFlight& list) {
  std::lock_guard lock(list.mutex_);
  list_ = &list;
  next_ = list.first_;
  link_ = &list.first_;
  if (next_ != nullptr) next_->link_ = &next_;
  list.first_ = this;
}

void InFlight::Entry::Leave() {
  if (list_ == nullptr) return;
  std::lock_guard lock(list_->mutex_);
  *link_ = next_;
  if (next_ != nullptr) next_->link_ = link_;
  list_ = nullptr;
}

bool InFlight::Poison(const plugin::Device& device, int32_t launch_id, const Status& error) {
  plugin::Ref<plugin::Event> done;
  {
    std::lock_guard lock(mutex_);
    for (Entry* e = first_; e != nullptr; e = e->next_) {  // The newest first.
      const bool fits = e->launch_id_ == launch_id && (e->device_ == nullptr || e->device_ == &device);
      if (fits && e->done_ != nullptr && !e->done_->is_ready()) done = plugin::Ref<plugin::Event>(e->done_);
    }
  }
  return done && done->Set(error);
}

bool InFlight::Unseen() {
  std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (now - looked_ < policy::kUnseenInterval) return unseen_;
  looked_ = now;
  struct Inside {
    int32_t references = 0;
    bool is_output = false;
  };
  std::unordered_map<const plugin::Storage*, Inside> all;
  for (const Entry* e = first_; e != nullptr; e = e->next_) {
    for (const Entry::Held& h : e->held_) {
      Inside& inside = all[h.storage];
      ++inside.references;
      inside.is_output |= h.is_output;
    }
  }
  unseen_ = true;
  for (const auto& [storage, inside] : all) unseen_ &= !inside.is_output || storage->num_refs() <= inside.references;
  return unseen_;
}

}  // namespace tenon::host
