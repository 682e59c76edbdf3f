#include "tenon/reference/processes.h"

#include <chrono>

namespace tenon::reference {

Result<std::vector<std::vector<Value>>> Processes::Meet(const std::string& name, std::span<const int64_t> members,
                                                        int64_t me, std::vector<Value> mine) {
  std::string group = name;
  for (int64_t member : members) group += "," + std::to_string(member);
  std::unique_lock lock(mutex_);
  const auto key = std::make_pair(group, times_[{group, me}]++);
  meetings_[key].brought[me] = std::move(mine);
  changed_.notify_all();
  const bool complete = changed_.wait_for(lock, std::chrono::seconds(kPatienceSeconds),
                                          [&] { return aborted_ || meetings_[key].brought.size() == members.size(); });
  if (aborted_) return Aborted("another process failed");
  if (!complete) return Aborted("not all processes of the group came to " + name);
  Meeting& meeting = meetings_[key];
  std::vector<std::vector<Value>> all;
  for (int64_t member : members) all.push_back(meeting.brought[member]);
  if (++meeting.left == members.size()) meetings_.erase(key);
  return all;
}

void Processes::Send(int64_t channel, std::vector<Value> values) {
  const std::lock_guard lock(mutex_);
  channels_[channel].push_back(std::move(values));
  changed_.notify_all();
}

Result<std::vector<Value>> Processes::Receive(int64_t channel) {
  std::unique_lock lock(mutex_);
  const bool came = changed_.wait_for(lock, std::chrono::seconds(kPatienceSeconds),
                                      [&] { return aborted_ || !channels_[channel].empty(); });
  if (aborted_ || !came) return Aborted("nothing came over channel " + std::to_string(channel));
  std::vector<Value> values = std::move(channels_[channel].front());
  channels_[channel].pop_front();
  return values;
}

Result<std::vector<Value>> Processes::TakeInfeed() {
  const std::lock_guard lock(mutex_);
  if (infeed.empty()) return OutOfRange("the infeed is empty");
  std::vector<Value> values = std::move(infeed.front());
  infeed.pop_front();
  return values;
}

void Processes::Abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  changed_.notify_all();
}

}  // namespace tenon::reference
