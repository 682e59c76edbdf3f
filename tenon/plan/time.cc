#include <algorithm>

#include "tenon/plan/plan.h"
#include "tenon/plan/policy.h"

namespace tenon::plan {
namespace {

target::Work CopyWork(const Plan& plan, const CopyStep& s) {
  target::Work work = policy::kCopy;
  if (s.to < plan.slots.size()) {
    const Slot& to = plan.slots[s.to];
    work.bytes_read = work.bytes_written = static_cast<double>(SizeBytes({to.dtype, to.dims}));
  }
  return work;
}

/// Times add up, work would not: of a step's arithmetic and memory the longer one counts.
class Timer {
 public:
  Timer(const Plan& plan, const target::Target& target) : plan_(plan), target_(target) {}

  double All(const Seq& seq) const {
    double ns = 0;
    for (const Step& step : seq) ns += std::visit([this](const auto& s) { return One(s); }, step.is);
    return ns;
  }

 private:
  double Of(const target::Work& work) const { return target::TimeNs(target_, work); }

  double One(const KernelStep& s) const { return Of(s.work); }
  double One(const DriverStep& s) const { return Of(s.work); }
  double One(const CopyStep& s) const {
    if (SamePlace(plan_, s.from, s.to)) return 0;
    return Of(CopyWork(plan_, s));
  }
  double One(const CustomCallStep&) const { return Of(policy::kCall); }
  double One(const EvaluateStep&) const { return Of(policy::kEvaluate); }
  double One(const WhileStep& s) const {
    const auto trips = static_cast<double>(s.trip_count >= 0 ? s.trip_count : policy::kUnknownTrips);
    return trips * (Of(policy::kTrip) + All(s.condition) + All(s.body));
  }
  double One(const CaseStep& s) const {
    double most = 0;
    for (const Seq& branch : s.branches) most = std::max(most, All(branch));
    return most;
  }

  const Plan& plan_;
  const target::Target& target_;
};

class ByteCounter {
 public:
  explicit ByteCounter(const Plan& plan) : plan_(plan) {}

  double All(const Seq& seq) const {
    double bytes = 0;
    for (const Step& step : seq) bytes += std::visit([this](const auto& s) { return One(s); }, step.is);
    return bytes;
  }

 private:
  static double Of(const target::Work& w) { return w.bytes_read + w.bytes_written + w.bytes_cached; }
  double Of(SlotId id) const {
    return id < plan_.slots.size() ? static_cast<double>(SizeBytes({plan_.slots[id].dtype, plan_.slots[id].dims})) : 0;
  }
  template <class In, class Out>
  double OfAll(const In& in, const Out& out) const {
    double bytes = 0;
    for (const SlotId id : in) bytes += Of(id);
    for (const SlotId id : out) bytes += Of(id);
    return bytes;
  }

  double One(const KernelStep& s) const { return Of(s.work); }
  double One(const DriverStep& s) const { return Of(s.work); }
  double One(const CopyStep& s) const { return SamePlace(plan_, s.from, s.to) ? 0 : Of(CopyWork(plan_, s)); }
  double One(const CustomCallStep& s) const { return OfAll(s.operands, s.results); }
  double One(const EvaluateStep& s) const { return OfAll(s.operands, s.results); }
  double One(const WhileStep& s) const { return All(s.condition) + All(s.body); }
  double One(const CaseStep& s) const {
    double most = 0;
    for (const Seq& branch : s.branches) most = std::max(most, All(branch));
    return most;
  }

  const Plan& plan_;
};

}  // namespace

double EstimateNs(const Plan& plan, const target::Target& target) { return Timer(plan, target).All(plan.steps); }

double BytesAccessed(const Plan& plan) { return ByteCounter(plan).All(plan.steps); }

}  // namespace tenon::plan
