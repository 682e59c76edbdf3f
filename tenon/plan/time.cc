#include <algorithm>

#include "tenon/plan/plan.h"
#include "tenon/plan/policy.h"

namespace tenon::plan {
namespace {

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
    target::Work work = policy::kCopy;
    if (s.to < plan_.slots.size()) {
      const Slot& to = plan_.slots[s.to];
      work.bytes_read = work.bytes_written = static_cast<double>(SizeBytes({to.dtype, to.dims}));
    }
    return Of(work);
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

}  // namespace

double EstimateNs(const Plan& plan, const target::Target& target) { return Timer(plan, target).All(plan.steps); }

}  // namespace tenon::plan
