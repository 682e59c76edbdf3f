// Loops and branches inside the loop: native loops that carry the scalars that they change.

#include <algorithm>
#include <utility>

#include "tenon/compiler/schedule/link_writer.h"
#include "tenon/compiler/schedule/policy.h"
#include "tenon/target/work.h"

namespace tenon::compiler {

using kir::kNone;
using kir::Size;
using kir::Val;

std::vector<uint32_t> LinkWriter::CarriesOf(const ScalarUses& uses) const {
  std::vector<uint32_t> carries;
  for (const auto& [id, use] : uses) {
    if (!IsScalar(id) || !use.written) continue;
    const auto around = scope_->find(id);
    const bool outside = around != scope_->end() && around->second.accesses > use.accesses;
    if (use.exposed || outside) carries.push_back(id);
  }
  return carries;
}

ScalarUses LinkWriter::Inside(ScalarUses uses, const std::vector<uint32_t>& carries) {
  for (uint32_t id : carries) ++uses[id].accesses;
  return uses;
}

LinkWriter::Open LinkWriter::Enter(std::vector<uint32_t> carries) {
  Open open;
  open.loop.id = b_.NewId();
  for (uint32_t id : carries) {
    open.loop.types.push_back(Place(id).dtype);
    open.loop.init.push_back(Current(id));
  }
  open.carries = std::move(carries);
  return open;
}

void LinkWriter::Begin(Open& open) {
  open.known = known_;
  open.in_memory = in_memory_;
  if (open.loop.types.size() > static_cast<size_t>(target_.limits.carries)) return Fail();
  SetCarried(open);
}

void LinkWriter::SetCarried(const Open& open) {
  for (size_t i = 0; i < open.carries.size(); ++i) {
    known_[open.carries[i]] = b_.Carried(open.loop.id, i, Place(open.carries[i]).dtype);
    in_memory_.erase(open.carries[i]);
  }
}

void LinkWriter::Leave(Open& open, const ScalarUses& uses, const std::vector<Val>& more_next) {
  for (uint32_t id : open.carries) open.loop.next.push_back(Current(id));
  open.loop.next.insert(open.loop.next.end(), more_next.begin(), more_next.end());
  known_ = std::move(open.known);
  in_memory_ = std::move(open.in_memory);
  for (const auto& [id, use] : uses) {
    if (!IsScalar(id) || !use.written) continue;
    known_.erase(id);
    in_memory_.erase(id);
  }
  SetCarried(open);
}

void LinkWriter::While(const plan::WhileStep& w, kir::Seq& out) {
  if (failed_) return;
  SettleAll(out);
  const ScalarUses uses = survey_.UsesOf(w);
  std::vector<uint32_t> carries = CarriesOf(uses);
  const bool stepped = w.trip_count < 0 && learnt_.stepped.contains(&w);
  const uint32_t predicate = w.trip_count < 0 ? survey_.PlaceOf(w.predicate) : 0;
  if (stepped) {
    Steps(w.condition, out);
    if (std::find(carries.begin(), carries.end(), predicate) == carries.end()) carries.push_back(predicate);
  }
  if (w.trip_count < 0 && !IsScalar(predicate)) return Fail();
  const bool polls = w.trip_count < 0 || TimeNs(w) > policy::kUnpolledNs;

  Open open = Enter(std::move(carries));
  const size_t counter = open.loop.types.size();
  if (w.trip_count >= 0 && polls) {
    open.loop.types.push_back(DType::kS64);
    open.loop.init.push_back(b_.ConstS64(0));
  }
  Begin(open);
  if (failed_) return;
  const ScalarUses inner = Inside(uses, open.carries);
  const ScalarUses* const around = std::exchange(scope_, &inner);
  std::vector<Val> more_next;
  kir::Seq body;
  Val again = kNone;
  if (w.trip_count >= 0 && polls) {
    const Val count = b_.Carried(open.loop.id, counter, DType::kS64);
    again = b_.Compare(kir::kLt, count, b_.ConstS64(w.trip_count));
    more_next.push_back(b_.Add(count, b_.ConstS64(1)));
  } else if (w.trip_count < 0) {
    if (!stepped) {
      kir::Seq steps;
      Steps(w.condition, steps);
      SettleAll(steps);
      if (!steps.empty() || !known_.contains(predicate)) {
        learnt_.stepped.insert(&w);
        return Again();
      }
    }
    again = Current(predicate);
  }
  if (again != kNone) {
    open.loop.condition = b_.And(again, b_.Compare(kir::kEq, Signal(), b_.ConstPred(false)));
  } else {
    open.loop.trip_count = Size::Of(w.trip_count);
  }
  Steps(w.body, body);
  SettleAll(body);
  Carry(w.carry, body);
  if (stepped) Steps(w.condition, body);
  if (failed_) return;
  scope_ = around;
  Leave(open, uses, more_next);
  open.loop.body = std::move(body);
  out.push_back(kir::Step{std::move(open.loop)});
}

double LinkWriter::TimeNs(const plan::WhileStep& w) const {
  target::Work work = survey_.WorkOf(w);
  work.launches = 0;
  return target::TimeNs(target_, work);
}

void LinkWriter::Steps(const plan::Seq& seq, kir::Seq& out) {
  for (const plan::Step& step : seq) {
    if (failed_) return;
    if (const auto* k = std::get_if<plan::KernelStep>(&step.is)) {
      Kernel(*k, out);
    } else if (const auto* c = std::get_if<plan::CopyStep>(&step.is)) {
      Copy(c->from, c->to, out);
    } else if (const auto* w = std::get_if<plan::WhileStep>(&step.is)) {
      While(*w, out);
    } else if (const auto* b = std::get_if<plan::CaseStep>(&step.is)) {
      Case(*b, out);
    }
  }
}

void LinkWriter::Case(const plan::CaseStep& c, kir::Seq& out) {
  SettleAll(out);
  const uint32_t id = survey_.PlaceOf(c.index);
  if (!IsScalar(id)) return Fail();
  const Val index = Current(id);
  const size_t n = c.branches.size();
  std::vector<Val> takes;
  for (size_t i = 0; i < n; ++i) {
    if (Place(id).dtype == DType::kPred) {
      const Val no = b_.Compare(kir::kEq, index, b_.ConstPred(false));
      // More branches than two values, or one alone: the last one takes the rest.
      if (n == 1) {
        takes.push_back(b_.ConstPred(true));
      } else {
        takes.push_back(i == 0 ? no : i == 1 ? b_.Compare(kir::kEq, no, b_.ConstPred(false)) : b_.ConstPred(false));
      }
      continue;
    }
    if (i + 1 < n) {
      takes.push_back(b_.Compare(kir::kEq, index, b_.ConstS32(static_cast<int32_t>(i))));
    } else {
      const Val low = b_.Compare(kir::kLt, index, b_.ConstS32(0));
      takes.push_back(b_.Or(low, b_.Compare(kir::kGe, index, b_.ConstS32(static_cast<int32_t>(n) - 1))));
    }
  }
  for (size_t i = 0; i < n && !failed_; ++i) {
    const ScalarUses uses = survey_.UsesOf(c.branches[i]);
    std::vector<uint32_t> carries = CarriesOf(uses);
    // What the branch reads passes through it, too: what only the branch computes is not computed without it.
    for (const auto& [place, use] : uses) {
      if (IsScalar(place) && use.exposed && known_.contains(place) &&
          std::find(carries.begin(), carries.end(), place) == carries.end())
        carries.push_back(place);
    }
    Open open = Enter(std::move(carries));
    const size_t first = open.loop.types.size();
    for (size_t j = i; j < n; ++j) {
      open.loop.types.push_back(DType::kPred);
      open.loop.init.push_back(takes[j]);
    }
    Begin(open);
    if (failed_) return;
    std::vector<Val> next{b_.ConstPred(false)};
    for (size_t j = i; j < n; ++j) takes[j] = b_.Carried(open.loop.id, first + j - i, DType::kPred);
    next.insert(next.end(), takes.begin() + static_cast<std::ptrdiff_t>(i) + 1, takes.end());
    open.loop.condition = takes[i];
    const ScalarUses inner = Inside(uses, open.carries);
    const ScalarUses* const around = std::exchange(scope_, &inner);
    Steps(c.branches[i], open.loop.body);
    SettleAll(open.loop.body);
    if (failed_) return;
    scope_ = around;
    Leave(open, uses, next);
    out.push_back(kir::Step{std::move(open.loop)});
  }
}

}  // namespace tenon::compiler
