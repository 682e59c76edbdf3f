#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <tuple>

#include "tenon/runtime/internal/copy_kernel.h"
#include "tenon/runtime/internal/ops.h"
#include "tenon/runtime/policy.h"

namespace tenon::runtime::internal {
namespace {

class Builder {
 public:
  Builder(const plan::Plan& plan, const std::vector<KernelCode>& code, const drivers::Registry& families,
          const target::Target& target, Profile* profile, Accelerator* accelerator, Share& share)
      : plan_(plan),
        code_(code),
        families_(families),
        target_(target),
        profile_(profile),
        accelerator_(accelerator),
        share_(share) {}

  void AddCalls(const plan::Seq& seq, std::vector<std::unique_ptr<const CallOp>>& calls) const {
    for (const plan::Step& step : seq) {
      if (const auto* call = std::get_if<plan::CustomCallStep>(&step.is)) {
        calls.push_back(Service(*call));
      } else if (const auto* loop = std::get_if<plan::WhileStep>(&step.is)) {
        AddCalls(loop->condition, calls);
        AddCalls(loop->body, calls);
      } else if (const auto* choice = std::get_if<plan::CaseStep>(&step.is)) {
        for (const plan::Seq& branch : choice->branches) AddCalls(branch, calls);
      }
    }
  }

  /// `loop`: whose body it is, which ends with its carries.
  Result<OpList> All(const plan::Seq& seq, int depth = 0, const plan::WhileStep* loop = nullptr) const {
    OpList ops;
    ops.reserve(seq.size());
    std::vector<Command> commands;  // Of the accelerator, since the last step of the host.
    for (const plan::Step& step : seq) {
      const auto* copy = std::get_if<plan::CopyStep>(&step.is);
      if (copy != nullptr && plan::SamePlace(plan_, copy->from, copy->to)) continue;
      StepProfile* record = nullptr;
      if (profile_ != nullptr) {
        record = &profile_->steps().emplace_back();
        record->depth = depth;
        Describe(plan_, step, target_, *record);
      }
      if (accelerator_ != nullptr) {
        const size_t before = commands.size();
        TENON_ASSIGN_OR_RETURN(const bool taken, Lower(step, commands));
        if (taken) {
          if (commands.size() > before) commands.back().profile = record;
          continue;
        }
        TENON_RETURN_IF_ERROR(AddSegment(commands, ops));
      }
      TENON_ASSIGN_OR_RETURN(std::unique_ptr<BoundOp> op, accelerator_ != nullptr ? DataLoopOf(step) : nullptr);
      if (op == nullptr) {
        TENON_ASSIGN_OR_RETURN(op, Bound(step, depth));
        if (accelerator_ != nullptr) op = OnHost(step, std::move(op));
      }
      if (record != nullptr) op = std::make_unique<TimedOp>(std::move(op), record);
      op->step = &step;
      ops.push_back(std::move(op));
    }
    if (loop != nullptr) TENON_RETURN_IF_ERROR(AddCarries(*loop, commands, ops));
    TENON_RETURN_IF_ERROR(AddSegment(commands, ops));
    return ops;
  }

 private:
  using OpResult = Result<std::unique_ptr<BoundOp>>;

  // --- What an accelerator takes.

  // Adds the step's commands when it takes all of it.
  Result<bool> Lower(const plan::Step& step, std::vector<Command>& commands) const {
    const size_t before = commands.size();
    Result<bool> taken = std::visit(
        [&]<class StepT>(const StepT& s) -> Result<bool> {
          if constexpr (requires { Add(step, s, commands); }) {
            return Add(step, s, commands);
          } else {
            return false;
          }
        },
        step.is);
    if (!taken.ok() || !*taken) commands.resize(before);
    return taken;
  }

  bool Takes(const kir::Kernel& kernel, std::span<const int64_t> params) const {
    const Status status = accelerator_->Takes(kernel, params);
    if (status.ok()) return true;
    std::vector<std::string>& reasons = share_.host.reasons;
    std::string reason(status.message());
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(std::move(reason));
    return false;
  }

  Result<bool> Add(const plan::Step& step, const plan::KernelStep& s, std::vector<Command>& commands) const {
    const kir::Kernel& kernel = plan_.kernels[s.kernel];
    if (!Takes(kernel, {s.params.data(), s.params.size()})) return false;
    Command c;
    c.kernel = {std::shared_ptr<const void>(), &kernel};  // The plan's, which lives longer.
    for (plan::SlotId id : s.buffers) c.buffers.push_back(PlaceOf(id));
    c.params.assign(s.params.begin(), s.params.end());
    c.step = &step;
    commands.push_back(std::move(c));
    return true;
  }

  Result<bool> AddCopy(const plan::Step* step, runtime::Place from, const Dims& from_strides, runtime::Place to,
                       const Dims& to_strides, const Dims& dims, int64_t element_bytes,
                       std::vector<Command>& commands) const {
    if (NumElements(dims) == 0) return true;
    CopyKernel copy = MakeCopyKernel(dims, from_strides, to_strides, element_bytes);
    if (!Takes(*copy.kernel, copy.params)) return false;
    Command c;
    c.kernel = std::move(copy.kernel);
    c.buffers = {from, to};
    c.params = std::move(copy.params);
    c.step = step;
    commands.push_back(std::move(c));
    return true;
  }

  Result<bool> Add(const plan::Step& step, const plan::CopyStep& s, std::vector<Command>& commands) const {
    const plan::Slot& from = plan_.slots[s.from];
    const plan::Slot& to = plan_.slots[s.to];
    if (Overlap(s.from, s.to)) return InvalidArgument(fmt::format("copy of %{} to %{}, which overlap", s.from, s.to));
    return AddCopy(&step, PlaceOf(s.from), from.stride_elems, PlaceOf(s.to), to.stride_elems, to.dims,
                   ByteWidth(to.dtype), commands);
  }

  // Adds the commands of all steps when it takes all of them.
  Result<bool> LowerAll(const plan::Seq& seq, std::vector<Command>& commands) const {
    for (const plan::Step& step : seq) {
      const auto* copy = std::get_if<plan::CopyStep>(&step.is);
      if (copy != nullptr && plan::SamePlace(plan_, copy->from, copy->to)) continue;
      TENON_ASSIGN_OR_RETURN(const bool taken, Lower(step, commands));
      if (!taken) return false;
    }
    return true;
  }

  Result<bool> LowerBody(const plan::Step& step, const plan::WhileStep& s, std::vector<Command>& commands) const {
    TENON_ASSIGN_OR_RETURN(const bool taken, LowerAll(s.body, commands));
    return taken ? LowerCarries(&step, s, commands) : taken;
  }

  Result<bool> Add(const plan::Step& step, const plan::CaseStep& s, std::vector<Command>& commands) const {
    Command choice;
    choice.step = &step;
    choice.index = PlaceOf(s.index);
    choice.is_pred = plan_.slots[s.index].dtype == DType::kPred;
    for (const plan::Seq& branch : s.branches) {
      TENON_ASSIGN_OR_RETURN(const bool taken, LowerAll(branch, choice.branches.emplace_back()));
      if (!taken || Launches({choice}) > policy::kMostPassedOver) return false;
    }
    commands.push_back(std::move(choice));
    return true;
  }

  // A loop whose end data decide, when the accelerator takes all of it; null otherwise.
  OpResult DataLoopOf(const plan::Step& step) const {
    const auto* s = std::get_if<plan::WhileStep>(&step.is);
    if (s == nullptr || s->trip_count >= 0) return nullptr;
    DataLoop loop;
    loop.predicate = PlaceOf(s->predicate);
    TENON_ASSIGN_OR_RETURN(const bool decided, LowerAll(s->condition, loop.condition));
    if (!decided) return nullptr;
    TENON_ASSIGN_OR_RETURN(const bool taken, LowerBody(step, *s, loop.body));
    if (!taken) return nullptr;
    const double trip_ns = std::max(1.0, TimeNs(s->condition) + TimeNs(s->body));
    const int64_t launches = Launches(loop.condition) + Launches(loop.body);
    if (launches > policy::kMostRecorded) return nullptr;
    const auto most = static_cast<int64_t>(
        std::min(policy::kLongestLookNs / trip_ns, static_cast<double>(policy::kMostRecorded / (launches + 1))));
    for (const int64_t trips : policy::kTripsPerLook) loop.trips.push_back(std::clamp<int64_t>(most, 1, trips));
    TENON_ASSIGN_OR_RETURN(std::unique_ptr<const Accelerator::Segment> segment,
                           accelerator_->BindLoop(std::move(loop)));
    ++share_.host.data_loops;
    return std::unique_ptr<BoundOp>(std::make_unique<DataLoopOp>(std::move(segment)));
  }

  // Of what such steps launch, by what the plan says that it takes.
  double TimeNs(const plan::Seq& seq) const {
    double ns = 0;
    for (const plan::Step& step : seq) {
      if (const auto* kernel = std::get_if<plan::KernelStep>(&step.is)) {
        ns += target::TimeNs(target_, kernel->work);
      } else if (const auto* loop = std::get_if<plan::WhileStep>(&step.is)) {
        ns += static_cast<double>(std::max<int64_t>(loop->trip_count, 1)) * TimeNs(loop->body);
      } else if (const auto* choice = std::get_if<plan::CaseStep>(&step.is)) {
        for (const plan::Seq& branch : choice->branches) ns += TimeNs(branch);
      }
    }
    return ns;
  }

  Result<bool> Add(const plan::Step& step, const plan::WhileStep& s, std::vector<Command>& commands) const {
    if (s.trip_count < 0) return false;
    Command loop;
    loop.step = &step;
    loop.trips = s.trip_count;
    TENON_ASSIGN_OR_RETURN(const bool taken, LowerBody(step, s, loop.body));
    if (!taken) return false;
    if (s.trip_count > 0 && !loop.body.empty()) {
      if (Launches(loop.body) > policy::kMostRecorded / s.trip_count) return false;
      commands.push_back(std::move(loop));
    }
    return true;
  }

  static int64_t Launches(const std::vector<Command>& commands) {
    int64_t n = 0;
    for (const Command& c : commands) {
      n += c.kernel != nullptr || !c.branches.empty() ? 1 : c.trips * Launches(c.body);
      for (const std::vector<Command>& branch : c.branches) n += Launches(branch);
    }
    return n;
  }

  Result<bool> LowerCarries(const plan::Step* step, const plan::WhileStep& s, std::vector<Command>& commands) const {
    int64_t bytes = 0;
    TENON_ASSIGN_OR_RETURN(const std::vector<CarryOp::Move> moves, CarryMoves(CarriesOf(s), bytes));
    const size_t before = commands.size();
    const uint32_t waiting = NumBases();
    for (const CarryOp::Move& m : moves) {
      const bool saved = m.way == CarryOp::Way::kSave, restored = m.way == CarryOp::Way::kRestore;
      const runtime::Place own{waiting, m.offset_bytes};
      const Dims dense = RowMajorStridesElems(m.dims);
      TENON_ASSIGN_OR_RETURN(const bool taken, AddCopy(step, restored ? own : m.from, restored ? dense : m.from_strides,
                                                       saved ? own : m.to, saved ? dense : m.to_strides, m.dims,
                                                       m.element_bytes, commands));
      if (!taken) {
        commands.resize(before);
        return false;
      }
    }
    share_.waiting_bytes = std::max(share_.waiting_bytes, bytes);
    return true;
  }

  Status AddSegment(std::vector<Command>& commands, OpList& ops) const {
    if (commands.empty()) return OkStatus();
    const int64_t launches = Launches(commands);
    TENON_ASSIGN_OR_RETURN(std::unique_ptr<const Accelerator::Segment> segment,
                           accelerator_->Bind(std::exchange(commands, {})));
    ops.push_back(std::make_unique<SegmentOp>(std::move(segment), launches));
    ++share_.host.segments;
    return OkStatus();
  }

  // A step that the accelerator does not take, as it stands between its segments.
  std::unique_ptr<BoundOp> OnHost(const plan::Step& step, std::unique_ptr<BoundOp> op) const {
    std::vector<Span> touched, written;
    const auto touch = [&](plan::SlotId id) {
      if (id == plan::kNoSlot || plan_.slots[id].kind == plan::SlotKind::kConst) return;
      const auto [base, begin, end] = SpanOf(plan_, id);
      if (begin < end) touched.push_back({base, begin, end});
    };
    const auto write = [&](plan::SlotId id) {
      touch(id);
      if (id == plan::kNoSlot) return;
      const auto [base, begin, end] = SpanOf(plan_, id);
      if (begin < end) written.push_back({base, begin, end});
    };
    const auto bind = [&](uint32_t kernel, const auto& buffers) {
      for (size_t i = 0; i < buffers.size(); ++i) {
        plan_.kernels[kernel].buffers[i].kind == kir::BufKind::kOut ? write(buffers[i]) : touch(buffers[i]);
      }
    };
    Program::HostSteps& n = share_.host;
    if (const auto* kernel = std::get_if<plan::KernelStep>(&step.is)) {
      ++n.kernels;
      bind(kernel->kernel, kernel->buffers);
    } else if (const auto* driver = std::get_if<plan::DriverStep>(&step.is)) {
      ++n.drivers;
      for (plan::SlotId id : driver->inputs) touch(id);
      for (plan::SlotId id : driver->outputs) write(id);
      for (const auto& [name, hook] : driver->hooks) bind(hook.kernel, hook.buffers);
    } else if (const auto* copy = std::get_if<plan::CopyStep>(&step.is)) {
      ++n.copies;
      touch(copy->from);
      write(copy->to);
    } else if (const auto* call = std::get_if<plan::CustomCallStep>(&step.is)) {
      ++n.custom_calls;
      for (plan::SlotId id : call->operands) touch(id);
      for (plan::SlotId id : call->results) write(id);
    } else if (const auto* evaluate = std::get_if<plan::EvaluateStep>(&step.is)) {
      ++n.evaluates;
      for (plan::SlotId id : evaluate->operands) touch(id);
      for (plan::SlotId id : evaluate->results) write(id);
    } else {
      ++n.decisions;
      return op;  // Loops and branches look for themselves.
    }
    return std::make_unique<HostOp>(std::move(op), std::move(touched), std::move(written));
  }

  OpResult Bound(const plan::Step& step, int depth) const {
    return std::visit(
        [&]<class StepT>(const StepT& s) {
          if constexpr (requires { One(s, depth); }) {
            return One(s, depth);
          } else {
            return One(s);
          }
        },
        step.is);
  }

  uint32_t NumBases() const {
    return static_cast<uint32_t>(plan_.inputs.size() + plan_.outputs.size() + 1 + plan_.constants.size());
  }

  Place PlaceOf(plan::SlotId id) const {
    if (id == plan::kNoSlot) return {kNoBase, 0};
    const uint32_t base = SpanOf(plan_, id).base;
    const int64_t offset = plan_.slots[id].offset_bytes;
    if (const std::optional<size_t> i = turns_.Meets(base, offset, offset + 1))
      return {NumBases() + static_cast<uint32_t>(*i), offset - turns_.areas[*i].begin};
    return {base, offset};
  }

  template <class Slots, class Params>
  Result<BoundKernel> Bind(uint32_t index, const Slots& slots, const Params& params) const {
    BoundKernel bound;
    bound.fn = code_[index].fn;
    bound.kernel = &plan_.kernels[index];
    for (size_t i = 0; i < bound.kernel->buffers.size(); ++i) {
      bound.has_locals |= bound.kernel->buffers[i].kind == kir::BufKind::kLocal;
      if (bound.kernel->buffers[i].kind == kir::BufKind::kSignal) bound.signal = static_cast<int32_t>(i);
    }
    if (bound.fn == nullptr) return InvalidArgument(fmt::format("kernel {} has no code", index));
    for (plan::SlotId id : slots) bound.buffers.push_back(PlaceOf(id));
    bound.params.assign(params.begin(), params.end());
    return bound;
  }

  OpResult One(const plan::KernelStep& s) const {
    TENON_ASSIGN_OR_RETURN(BoundKernel bound, Bind(s.kernel, s.buffers, s.params));
    const kir::Kernel& kernel = plan_.kernels[s.kernel];
    const int64_t* params = bound.params.data();
    bound.scratch_bytes = kir::LocalBytes(kernel, params);
    const int64_t total = kir::SplitTotal(kernel, params);
    const int64_t grain = kernel.split.dims == 0 ? 1 : kernel.split.grain.Value(params);
    if (grain < 1) return InvalidArgument(fmt::format("kernel {}: pieces of {} elements", s.kernel, grain));
    // Plans from outside may claim any work.
    const auto ns = static_cast<int64_t>(std::min(target::TimeNs(target_, s.work), policy::kLongestNs));
    return std::unique_ptr<BoundOp>(std::make_unique<KernelOp>(std::move(bound), total, grain, ns));
  }

  std::vector<Place> PlacesOf(std::span<const plan::SlotId> ids) const {
    std::vector<Place> places;
    for (plan::SlotId id : ids) places.push_back(PlaceOf(id));
    return places;
  }

  OpResult One(const plan::DriverStep& s) const {
    TENON_ASSIGN_OR_RETURN(const drivers::Family* family, families_.Find(s.driver));
    const plan::DriverArrays arrays = plan::ArraysOf(plan_, s);
    DriverOp::Hooks hooks;
    SmallVector<bool, 4> hooked;
    if (!s.hooks.empty()) {
      TENON_ASSIGN_OR_RETURN(const drivers::Facts facts, family->Describe(s.config, arrays.operands()));
      for (const drivers::HookPoint& point : facts.hooks) {
        BoundKernel bound;
        for (const auto& [name, hook] : s.hooks) {
          if (name != point.name) continue;
          TENON_ASSIGN_OR_RETURN(bound, Bind(hook.kernel, hook.buffers, hook.params));
        }
        hooked.push_back(bound.fn != nullptr);
        hooks.push_back(std::move(bound));
      }
    }
    TENON_ASSIGN_OR_RETURN(std::unique_ptr<const drivers::Call> call,
                           family->Bind(s.config, arrays.operands(), {hooked.data(), hooked.size()}));
    return std::unique_ptr<BoundOp>(std::make_unique<DriverOp>(
        std::move(call), PlacesOf({s.inputs.data(), s.inputs.size()}), PlacesOf({s.outputs.data(), s.outputs.size()}),
        PlaceOf(s.scratch), std::move(hooks)));
  }

  std::unique_ptr<BoundOp> Copy(Place from, const Dims& from_strides, Place to, const plan::Slot& like,
                                const Dims& to_strides) const {
    return std::make_unique<CopyOp>(from, from_strides, to, to_strides, like.dims, ByteWidth(like.dtype));
  }

  OpResult One(const plan::CopyStep& s) const {
    const plan::Slot& from = plan_.slots[s.from];
    const plan::Slot& to = plan_.slots[s.to];
    if (Overlap(s.from, s.to)) return InvalidArgument(fmt::format("copy of %{} to %{}, which overlap", s.from, s.to));
    return Copy(PlaceOf(s.from), from.stride_elems, PlaceOf(s.to), to, to.stride_elems);
  }

  OpResult One(const plan::WhileStep& s, int depth) const {
    Builder inside = *this;
    // An accelerator's commands name places for all trips.
    if (accelerator_ == nullptr) inside.turns_ = finder_->Of(s);
    TENON_ASSIGN_OR_RETURN(OpList condition, inside.All(s.condition, depth + 1));
    TENON_ASSIGN_OR_RETURN(OpList body, inside.All(s.body, depth + 1, &s));
    const Place predicate = s.trip_count < 0 ? inside.PlaceOf(s.predicate) : Place{};
    return std::unique_ptr<BoundOp>(std::make_unique<WhileOp>(std::move(condition), predicate, s.trip_count,
                                                              std::move(body), std::move(inside.turns_), NumBases()));
  }

  using Carries = std::vector<std::pair<plan::SlotId, plan::SlotId>>;

  Carries CarriesOf(const plan::WhileStep& s) const {
    Carries carries;
    for (const auto& pair : s.carry) {
      const bool turns = std::ranges::find(turns_.carries, pair) != turns_.carries.end();
      if (!turns && !plan::SamePlace(plan_, pair.first, pair.second)) carries.push_back(pair);
    }
    return carries;
  }

  // Behind `commands`, which the accelerator has not got yet.
  Status AddCarries(const plan::WhileStep& s, std::vector<Command>& commands, OpList& body) const {
    int64_t bytes = 0;
    TENON_ASSIGN_OR_RETURN(std::vector<CarryOp::Move> moves, CarryMoves(CarriesOf(s), bytes));
    if (moves.empty()) return OkStatus();
    if (accelerator_ == nullptr) {
      body.push_back(std::make_unique<CarryOp>(std::move(moves), bytes));
      return OkStatus();
    }
    TENON_ASSIGN_OR_RETURN(const bool taken, LowerCarries(nullptr, s, commands));
    if (taken) return OkStatus();
    TENON_RETURN_IF_ERROR(AddSegment(commands, body));
    std::vector<Span> touched, written;
    for (const auto& [from, to] : CarriesOf(s)) {
      for (const plan::SlotId id : {from, to}) {
        const auto [base, begin, end] = SpanOf(plan_, id);
        if (begin == end || plan_.slots[id].kind == plan::SlotKind::kConst) continue;
        touched.push_back({base, begin, end});
        if (id == to) written.push_back(touched.back());
      }
    }
    ++share_.host.copies;
    body.push_back(std::make_unique<HostOp>(std::make_unique<CarryOp>(std::move(moves), bytes), std::move(touched),
                                            std::move(written)));
    return OkStatus();
  }

  // Copies as if at once: one after the other, each when nobody reads any more what it overwrites. Where they wait for
  // each other, the next value of one of them goes to a place of its own first.
  Result<std::vector<CarryOp::Move>> CarryMoves(const Carries& carries, int64_t& bytes) const {
    const size_t n = carries.size();
    // By where they begin: what is read, and how far what begins before reaches.
    struct Read {
      uint32_t base;
      int64_t begin, end;
      size_t carry;
    };
    std::vector<Read> reads;
    for (size_t i = 0; i < n; ++i) {
      const auto [base, begin, end] = SpanOf(plan_, carries[i].first);
      if (begin < end) reads.push_back({base, begin, end, i});
    }
    std::ranges::sort(reads, {}, [](const Read& r) { return std::tuple(r.base, r.begin, r.carry); });
    std::vector<int64_t> reach(reads.size());
    for (size_t i = 0; i < reads.size(); ++i) {
      reach[i] = reads[i].end;
      if (i > 0 && reads[i - 1].base == reads[i].base) reach[i] = std::max(reach[i], reach[i - 1]);
    }
    std::vector<std::vector<size_t>> overwritten_by(n);  // By carry: those that write what it reads.
    std::vector<size_t> waits_for(n, 0);                 // Reads that must come before it.
    std::vector<bool> for_itself(n, false);
    for (size_t i = 0; i < n; ++i) {
      const auto [base, begin, end] = SpanOf(plan_, carries[i].second);
      const auto after = std::ranges::lower_bound(reads, std::pair(base, end), {},
                                                  [](const Read& r) { return std::pair(r.base, r.begin); });
      for (size_t r = static_cast<size_t>(after - reads.begin()); r-- > 0;) {
        if (reads[r].base != base || reach[r] <= begin) break;
        if (reads[r].end <= begin) continue;
        if (reads[r].carry == i) {
          for_itself[i] = true;
        } else {
          overwritten_by[reads[r].carry].push_back(i);
          ++waits_for[i];
        }
      }
    }
    std::vector<size_t> ready;
    std::vector<bool> done(n, false), saved(n, false);
    bytes = 0;
    const auto has_read = [&](size_t i) {
      for (size_t w : overwritten_by[i]) {
        if (--waits_for[w] == 0) ready.push_back(w);
      }
      overwritten_by[i].clear();
    };
    std::vector<int64_t> offset(n, 0);
    std::vector<CarryOp::Move> moves;
    const auto add = [&](size_t i, CarryOp::Way way) {
      const plan::Slot& a = plan_.slots[carries[i].first];
      const plan::Slot& b = plan_.slots[carries[i].second];
      moves.push_back({way, PlaceOf(carries[i].first), PlaceOf(carries[i].second), a.stride_elems, b.stride_elems,
                       a.dims, ByteWidth(a.dtype), offset[i]});
    };
    const auto save = [&](size_t i) -> Status {
      const plan::Slot& a = plan_.slots[carries[i].first];
      TENON_ASSIGN_OR_RETURN(const int64_t size, CheckedSizeBytes({a.dtype, a.dims}));
      if (size > INT64_MAX / 2 - bytes) return InvalidArgument("the carries of a loop are too large");
      offset[i] = bytes;
      bytes += (size + 63) / 64 * 64;
      add(i, CarryOp::Way::kSave);
      saved[i] = true;
      has_read(i);
      return OkStatus();
    };
    for (size_t i = n; i-- > 0;) {
      if (waits_for[i] == 0) ready.push_back(i);
    }
    size_t next_stuck = 0;
    for (size_t left = n; left > 0;) {
      if (ready.empty()) {
        while (done[next_stuck] || saved[next_stuck]) ++next_stuck;
        TENON_RETURN_IF_ERROR(save(next_stuck));
        continue;
      }
      const size_t i = ready.back();
      ready.pop_back();
      if (for_itself[i] && !saved[i]) TENON_RETURN_IF_ERROR(save(i));
      add(i, saved[i] ? CarryOp::Way::kRestore : CarryOp::Way::kCopy);
      done[i] = true;
      --left;
      has_read(i);
    }
    return moves;
  }

  bool Overlap(plan::SlotId a, plan::SlotId b) const {
    const Span x = SpanOf(plan_, a), y = SpanOf(plan_, b);
    return x.base == y.base && x.begin < y.end && y.begin < x.end;
  }

  OpResult One(const plan::CaseStep& s, int depth) const {
    std::vector<OpList> branches;
    for (const plan::Seq& branch : s.branches) {
      TENON_ASSIGN_OR_RETURN(OpList ops, All(branch, depth + 1));
      branches.push_back(std::move(ops));
    }
    const bool is_pred = plan_.slots[s.index].dtype == DType::kPred;
    return std::unique_ptr<BoundOp>(std::make_unique<CaseOp>(PlaceOf(s.index), is_pred, std::move(branches)));
  }

  template <class StepT>
  std::unique_ptr<ServiceOp<StepT>> Service(const StepT& s) const {
    using Operand = typename ServiceOp<StepT>::Operand;
    const auto resolve = [&](const auto& ids) {
      std::vector<Operand> out;
      for (plan::SlotId id : ids)
        out.push_back(id == plan::kNoSlot ? Operand{} : Operand{PlaceOf(id), &plan_.slots[id]});
      return out;
    };
    return std::make_unique<ServiceOp<StepT>>(s, resolve(s.operands), resolve(s.results));
  }
  OpResult One(const plan::CustomCallStep& s) const { return std::unique_ptr<BoundOp>(Service(s)); }
  OpResult One(const plan::EvaluateStep& s) const { return std::unique_ptr<BoundOp>(Service(s)); }

  const plan::Plan& plan_;
  const std::vector<KernelCode>& code_;
  const drivers::Registry& families_;
  const target::Target& target_;
  Profile* profile_;          ///< Null: nothing is timed.
  Accelerator* accelerator_;  ///< Null: there is none.
  Share& share_;
  std::shared_ptr<TurnFinder> finder_ = std::make_shared<TurnFinder>(plan_);
  Turns turns_;  ///< Of the loop around.
};

}  // namespace

std::vector<std::unique_ptr<const CallOp>> BuildCalls(const plan::Plan& plan) {
  const std::vector<KernelCode> no_code;
  const drivers::Registry no_drivers;
  std::vector<std::unique_ptr<const CallOp>> calls;
  Share share;
  Builder(plan, no_code, no_drivers, *target::StandardTarget(), nullptr, nullptr, share).AddCalls(plan.steps, calls);
  return calls;
}

Result<OpList> Build(const plan::Plan& plan, const std::vector<KernelCode>& code, const drivers::Registry& families,
                     const target::Target& target, Profile* profile, Accelerator* accelerator, Share& share) {
  return Builder(plan, code, families, target, profile, accelerator, share).All(plan.steps);
}

}  // namespace tenon::runtime::internal
