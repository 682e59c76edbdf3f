#include "tenon/vulkan/runner/binding.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "tenon/base/activity.h"
#include "tenon/vulkan/policy.h"
#include "tenon/vulkan/runner/chooser.h"

namespace tenon::vulkan {
namespace {

constexpr int64_t kWordBytes = sizeof(uint64_t);
constexpr int64_t kCellBytes = sizeof(int32_t);

}  // namespace

Binding::~Binding() {
  uint64_t last = 0;
  for (const auto& i : instances_) last = std::max(last, i->last);
  if (last > 0 && ForkGeneration() == generation_) static_cast<void>(device().Wait(last));
}

Status Binding::Takes(const kir::Kernel& kernel, std::span<const int64_t> params) {
  return kernels_->Get(kernel, params, emit_spirv::Places::kAligned).status();
}

struct Binding::Choices {
  std::vector<int32_t> table;  ///< Rows of kChooserCells.
  void Add(const std::array<uint32_t, 3>& groups, int32_t branch, int64_t sizes) {
    for (const uint32_t g : groups) table.push_back(static_cast<int32_t>(g));
    table.insert(table.end(), {branch, static_cast<int32_t>(sizes)});
  }
  int64_t rows() const { return static_cast<int64_t>(table.size()) / kChooserCells; }
};

Status Binding::AddLaunches(const runtime::Command& c, std::vector<Node>& nodes) {
  // Bases are blocks of the device's memory, which are aligned.
  static_assert(policy::kBlockBytes % emit_spirv::kAlignment == 0);
  const bool aligned = std::ranges::all_of(c.buffers, [](const runtime::Place& p) {
    return p.base == runtime::kNoBase || p.offset_bytes % static_cast<int64_t>(emit_spirv::kAlignment) == 0;
  });
  std::vector<Word> buffers;
  for (size_t i = 0; i < c.buffers.size(); ++i) {
    Word word;
    if (c.buffers[i].base != runtime::kNoBase) {
      word.kind = Word::Kind::kPlace;
      word.place = c.buffers[i];
    } else if (c.kernel->buffers[i].kind == kir::BufKind::kSignal) {
      word.kind = Word::Kind::kSignal;
    }
    buffers.push_back(word);
  }
  return AddLaunches(c, buffers, aligned ? emit_spirv::Places::kAligned : emit_spirv::Places::kElements, nodes);
}

Status Binding::AddLaunches(const runtime::Command& c, std::span<const Word> buffers, emit_spirv::Places places,
                            std::vector<Node>& nodes) {
  wants_times_ |= c.profile != nullptr;
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<const DeviceKernel> kernel, kernels_->Get(*c.kernel, c.params, places));
  const int64_t* params = c.params.data();
  Node launch;
  launch.step = c.step;
  launch.profile = c.profile;
  launch.buffers = static_cast<uint32_t>(words_.size());
  words_.insert(words_.end(), buffers.begin(), buffers.end());
  words_.push_back({Word::Kind::kScratch, {}, 0});
  launch.params = static_cast<uint32_t>(words_.size());
  for (const int64_t p : c.params) words_.push_back({Word::Kind::kNumber, {}, p});
  scratch_bytes_ = std::max(scratch_bytes_, kernel->module.ScratchBytes(params));
  code_bytes_ += kernel->code_bytes;
  bool barrier = true;
  for (size_t i = 0; i < kernel->module.dispatches.size(); ++i) {
    const emit_spirv::Dispatch& d = kernel->module.dispatches[i];
    barrier |= d.after_barrier;
    if (d.Groups(params) == 0) continue;
    Node node = launch;
    node.pipeline = kernel->pipelines[i];
    node.groups = d.GroupsByDirection(params);
    node.barrier = barrier;
    nodes.push_back(std::move(node));
    barrier = false;
    ++launches_;
  }
  return OkStatus();
}

Status Binding::Lower(std::vector<runtime::Command> commands, std::vector<Node>& nodes) {
  for (runtime::Command& c : commands) {
    if (c.kernel != nullptr) {
      TENON_RETURN_IF_ERROR(AddLaunches(c, nodes));
    } else if (!c.branches.empty()) {
      TENON_RETURN_IF_ERROR(LowerChoice(std::move(c), nodes));
    } else {
      wants_times_ |= c.profile != nullptr;
      Node loop;
      loop.trips = c.trips;
      loop.step = c.step;
      loop.profile = c.profile;
      TENON_RETURN_IF_ERROR(Lower(std::move(c.body), loop.body));
      if (loop.trips > 0 && !loop.body.empty()) nodes.push_back(std::move(loop));
    }
  }
  return OkStatus();
}

Status Binding::LowerChoice(runtime::Command choice, std::vector<Node>& nodes) {
  std::vector<Node> inside;
  Choices choices;
  wants_times_ |= choice.profile != nullptr;
  const size_t branches = choice.branches.size();
  for (size_t i = 0; i < branches; ++i) {
    std::vector<Node> branch;
    TENON_RETURN_IF_ERROR(Lower(std::move(choice.branches[i]), branch));
    Settle(branch, static_cast<int32_t>(i), choices);
    std::ranges::move(branch, std::back_inserter(inside));
  }
  if (inside.empty()) return OkStatus();
  Node all;
  all.trips = 1;
  all.step = choice.step;
  all.profile = choice.profile;
  TENON_RETURN_IF_ERROR(AddChooser(choice.step, choice.index, choice.is_pred, branches, choices, all.body));
  std::ranges::move(inside, std::back_inserter(all.body));
  nodes.push_back(std::move(all));
  return OkStatus();
}

void Binding::Settle(std::vector<Node>& nodes, int32_t branch, Choices& choices) {
  for (Node& n : nodes) {
    if (n.pipeline == nullptr) {
      Settle(n.body, branch, choices);
      continue;
    }
    // What a choice inside decides is none of this one's business, but that nothing is left of the time before.
    constexpr int32_t kNoBranch = -1;
    const bool decided = n.sizes >= 0;
    if (!decided) {
      n.sizes = static_cast<int64_t>(cells_.size());
      cells_.resize(cells_.size() + n.groups.size());
    }
    choices.Add(n.groups, decided ? kNoBranch : branch, n.sizes);
  }
}

Status Binding::AddChooser(const plan::Step* step, const runtime::Place& index, bool is_pred, size_t branches,
                           const Choices& choices, std::vector<Node>& nodes) {
  runtime::Command chooser;
  chooser.kernel = ChooserKernel(is_pred);
  chooser.step = step;
  const auto table = static_cast<int64_t>(cells_.size());
  cells_.insert(cells_.end(), choices.table.begin(), choices.table.end());
  chooser.params = {choices.rows(), table, static_cast<int64_t>(branches)};
  const std::array<Word, 3> buffers = {
      {{Word::Kind::kPlace, index, 0}, {Word::Kind::kCell, {}, table}, {Word::Kind::kCell, {}, 0}}};
  return AddLaunches(chooser, buffers, emit_spirv::Places::kElements, nodes);
}

Result<std::unique_ptr<const runtime::Accelerator::Segment>> Binding::Bind(std::vector<runtime::Command> commands) {
  auto segment = std::make_unique<DeviceSegment>();
  segment->index = lists_++;
  TENON_RETURN_IF_ERROR(Lower(std::move(commands), segment->lists.emplace_back()));
  return std::unique_ptr<const Segment>(std::move(segment));
}

// The condition, then trip by trip the body and the condition; behind each condition it is settled whether the next
// trip happens.
Result<std::unique_ptr<const runtime::Accelerator::Segment>> Binding::BindLoop(runtime::DataLoop loop) {
  constexpr int32_t kGoesOn = 1;  // The branch of a pred that is true.
  auto segment = std::make_unique<DeviceSegment>();
  segment->index = lists_;
  lists_ += static_cast<uint32_t>(loop.trips.size());
  std::vector<Node> before, trip, choosing;
  TENON_RETURN_IF_ERROR(Lower(loop.condition, before));
  TENON_RETURN_IF_ERROR(Lower(std::move(loop.body), trip));
  TENON_RETURN_IF_ERROR(Lower(std::move(loop.condition), trip));
  Choices choices;
  Settle(trip, kGoesOn, choices);
  segment->goes_on = static_cast<int64_t>(cells_.size());
  cells_.resize(cells_.size() + 3);
  choices.Add({1, 1, 1}, kGoesOn, segment->goes_on);
  TENON_RETURN_IF_ERROR(AddChooser(nullptr, loop.predicate, true, 2, choices, choosing));
  for (std::vector<Node>* nodes : {&before, &trip}) nodes->insert(nodes->end(), choosing.begin(), choosing.end());
  for (const int64_t trips : loop.trips) {
    Node rounds;
    rounds.trips = trips;
    rounds.body = trip;
    std::vector<Node>& list = segment->lists.emplace_back();
    if (segment->lists.size() == 1) list = before;
    list.push_back(std::move(rounds));
  }
  return std::unique_ptr<const Segment>(std::move(segment));
}

int64_t Binding::CellOffset(int64_t cell) const {
  // Behind the words one that is zero: the signal that is never set.
  return static_cast<int64_t>(words_.size() + 1) * kWordBytes + cell * kCellBytes;
}

void Binding::Record(VkCommandBuffer to, std::span<const Node> nodes, const Block& frame) const {
  for (const Node& n : nodes) {
    if (n.pipeline == nullptr) {
      for (int64_t i = 0; i < n.trips; ++i) Record(to, n.body, frame);
      continue;
    }
    if (n.barrier) device().Barrier(to);
    device().Bind(to, *n.pipeline, {frame.address(), n.buffers, n.params});
    if (n.sizes < 0) {
      device().functions().CmdDispatch(to, n.groups[0], n.groups[1], n.groups[2]);
    } else {
      device().functions().CmdDispatchIndirect(to, frame.buffer(),
                                               frame.offset() + static_cast<VkDeviceSize>(CellOffset(n.sizes)));
    }
  }
}

/// Records nodes with timestamps between their launches.
class Binding::TimedRecorder {
 public:
  TimedRecorder(const Binding& binding, VkCommandBuffer to, const Block& frame, Timing::Piece& piece)
      : binding_(binding), to_(to), frame_(frame), piece_(piece) {}

  /// Timestamps that All writes.
  static int64_t Count(const std::vector<Node>& nodes) {
    int64_t count = 0;
    for (const Node& n : nodes) count += IsWhole(n) ? 1 : n.trips * Count(n.body);
    return count;
  }

  void All(const std::vector<Node>& nodes) {
    const Node* before = nullptr;
    for (const Node& n : nodes) {
      if (!IsWhole(n)) {
        const size_t mark = piece_.marks.size();
        piece_.marks.push_back({n.step, n.profile, last_, last_});
        for (int64_t i = 0; i < n.trips; ++i) All(n.body);
        piece_.marks[mark].last = last_;
      } else {
        binding_.Record(to_, {&n, 1}, frame_);
        piece_.times->Write(to_, ++last_);
        const bool goes_on = before != nullptr && before->pipeline != nullptr && n.pipeline != nullptr &&
                             before->step != nullptr && before->step == n.step;
        if (goes_on) {
          piece_.marks.back().last = last_;
        } else {
          piece_.marks.push_back({n.step, n.profile, last_ - 1, last_});
        }
      }
      before = &n;
    }
  }

 private:
  /// A launch, or a loop of too many to time each.
  static bool IsWhole(const Node& n) { return n.pipeline != nullptr || Count(n.body) > policy::kMostTimed / n.trips; }

  const Binding& binding_;
  const VkCommandBuffer to_;
  const Block& frame_;
  Timing::Piece& piece_;
  uint32_t last_ = 0;  ///< The timestamp that was written last.
};

Result<Timing::Piece> Binding::RecordTimed(const std::vector<Node>& nodes, const Block& frame) const {
  Timing::Piece piece;
  TENON_ASSIGN_OR_RETURN(piece.times,
                         Timestamps::Create(device(), static_cast<uint32_t>(TimedRecorder::Count(nodes)) + 1));
  TENON_ASSIGN_OR_RETURN(piece.commands, device().Record([&](VkCommandBuffer to) {
    piece.times->Reset(to);
    piece.times->Write(to, 0);
    TimedRecorder(*this, to, frame, piece).All(nodes);
    device().Barrier(to);
  }));
  return piece;
}

Result<std::vector<Timing::Span>> Timing::Read(Device& device, int64_t ended_ns) const {
  std::vector<Span> spans;
  for (const Piece& piece : pieces_) {
    TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> times, piece.times->Read());
    for (const Mark& m : piece.marks) spans.push_back({m.step, m.profile, times[m.first], times[m.last]});
  }
  int64_t last_ns = INT64_MIN;
  for (const Span& s : spans) last_ns = std::max(last_ns, s.end_ns);
  if (spans.empty()) return spans;
  const int64_t offset_ns = device.clock().Observe(last_ns, ended_ns);
  for (Span& s : spans) {
    s.start_ns += offset_ns;
    s.end_ns += offset_ns;
  }
  return spans;
}

Result<Binding::Instance*> Binding::TakeInstance() {
  const uint64_t completed = device().Completed();
  Instance* oldest = nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& i : instances_) {
      if (i->taken) continue;
      if (i->last <= completed) {
        i->taken = true;
        return i.get();
      }
      if (oldest == nullptr || i->last < oldest->last) oldest = i.get();
    }
    if (oldest != nullptr && instances_.size() >= policy::kMostInstances)
      oldest->taken = true;
    else
      oldest = nullptr;
  }
  if (oldest != nullptr) {
    const Status waited = device().Wait(oldest->last);
    if (waited.ok()) return oldest;
    GiveBack(oldest, oldest->last);
    return waited;
  }
  auto made = std::make_unique<Instance>();
  const auto cells = static_cast<int64_t>(cells_.size());
  TENON_ASSIGN_OR_RETURN(made->frame, device().frame_memory().Allocate(CellOffset(cells)));
  auto* words = reinterpret_cast<uint64_t*>(made->frame.host());
  for (size_t i = 0; i < words_.size(); ++i) {
    const Word& w = words_[i];
    if (w.kind == Word::Kind::kSignal) {
      words[i] = made->frame.address() + words_.size() * sizeof(uint64_t);
    } else if (w.kind == Word::Kind::kCell) {
      words[i] = made->frame.address() + static_cast<uint64_t>(CellOffset(w.number));
    } else {
      words[i] = static_cast<uint64_t>(w.number);
    }
  }
  words[words_.size()] = 0;
  if (cells > 0) std::memcpy(made->frame.host() + CellOffset(0), cells_.data(), cells_.size() * sizeof(int32_t));
  made->commands.resize(lists_);
  made->taken = true;
  const std::lock_guard lock(mutex_);
  instances_.push_back(std::move(made));
  return instances_.back().get();
}

void Binding::GiveBack(Instance* instance, uint64_t last) {
  const std::lock_guard lock(mutex_);
  instance->last = last;
  instance->taken = false;
}

Result<std::unique_ptr<Run>> Run::Start(Binding& binding, std::vector<Base> bases, uint64_t scratch) {
  std::unique_ptr<Run> run(new Run(binding));
  TENON_ASSIGN_OR_RETURN(run->instance_, binding.TakeInstance());
  run->bases_ = std::move(bases);
  const bool wanted = binding.wants_times_ || activity::IsOn();
  if (wanted && binding.device().info().timestamp_bits > 0) run->timing_ = std::make_unique<Timing>();
  auto* words = reinterpret_cast<uint64_t*>(run->instance_->frame.host());
  for (size_t i = 0; i < binding.words_.size(); ++i) {
    const Binding::Word& w = binding.words_[i];
    if (w.kind == Binding::Word::Kind::kPlace) {
      words[i] = run->bases_[w.place.base].address + static_cast<uint64_t>(w.place.offset_bytes);
    } else if (w.kind == Binding::Word::Kind::kScratch) {
      words[i] = scratch;
    }
  }
  return run;
}

Run::~Run() {
  if (!waited_) static_cast<void>(binding_.device().Wait(last_));
  if (instance_ != nullptr) Finish();
}

uint64_t Run::Finish() {
  binding_.GiveBack(instance_, last_);
  instance_ = nullptr;
  waited_ = true;
  return last_;
}

Status Run::Launch(const runtime::Accelerator::Segment& segment) {
  return LaunchList(static_cast<const Binding::DeviceSegment&>(segment), 0);
}

Result<bool> Run::LaunchTrips(const runtime::Accelerator::Segment& loop, size_t look) {
  const auto& s = static_cast<const Binding::DeviceSegment&>(loop);
  TENON_RETURN_IF_ERROR(LaunchList(s, std::min(look, s.lists.size() - 1)));
  TENON_RETURN_IF_ERROR(binding_.device().Wait(last_));
  waited_ = true;
  int32_t goes_on = 0;
  std::memcpy(&goes_on, instance_->frame.host() + binding_.CellOffset(s.goes_on), sizeof(goes_on));
  return goes_on == 0;
}

Status Run::LaunchList(const Binding::DeviceSegment& segment, size_t list) {
  const std::vector<Binding::Node>& nodes = segment.lists[list];
  if (nodes.empty()) return OkStatus();
  Device& device = binding_.device();
  if (timing_ != nullptr && timing_->marks_ < policy::kMostTimedOfRun) {
    TENON_ASSIGN_OR_RETURN(Timing::Piece piece, binding_.RecordTimed(nodes, instance_->frame));
    const VkCommandBuffer handle = piece.commands.handle();
    timing_->marks_ += static_cast<int64_t>(piece.marks.size());
    timing_->pieces_.push_back(std::move(piece));
    TENON_ASSIGN_OR_RETURN(last_, device.Submit({&handle, 1}));
    waited_ = false;
    return OkStatus();
  }
  Commands& commands = instance_->commands[segment.index + list];
  if (!commands) {
    TENON_ASSIGN_OR_RETURN(commands, device.Record([&](VkCommandBuffer to) {
      binding_.Record(to, nodes, instance_->frame);
      device.Barrier(to);
    }));
  }
  const VkCommandBuffer handle = commands.handle();
  TENON_ASSIGN_OR_RETURN(last_, device.Submit({&handle, 1}));
  waited_ = false;
  return OkStatus();
}

Status Run::BeginHost(std::span<const runtime::Span> touched) {
  Device& device = binding_.device();
  if (!waited_) {
    TENON_RETURN_IF_ERROR(device.Wait(last_));
    waited_ = true;
  }
  if (device.is_mapped()) return OkStatus();
  for (const runtime::Span& s : touched) {
    const Base& b = bases_[s.base];
    TENON_RETURN_IF_ERROR(device.Download(*b.block, s.begin, b.host + s.begin, s.end - s.begin));
  }
  return OkStatus();
}

Status Run::EndHost(std::span<const runtime::Span> written) {
  Device& device = binding_.device();
  if (device.is_mapped()) return OkStatus();
  for (const runtime::Span& s : written) {
    const Base& b = bases_[s.base];
    TENON_RETURN_IF_ERROR(device.Upload(*b.block, s.begin, b.host + s.begin, s.end - s.begin));
  }
  return OkStatus();
}

}  // namespace tenon::vulkan
