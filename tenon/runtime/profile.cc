#include "tenon/runtime/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "tenon/kir/math.h"
#include "tenon/runtime/policy.h"

namespace tenon::runtime {
namespace {

/// "f32[64,128]".
std::string ArrayText(const plan::Plan& plan, plan::SlotId id) {
  if (id == plan::kNoSlot) return "-";
  const plan::Slot& slot = plan.slots[id];
  std::string dims;
  for (const int64_t d : slot.dims) dims += fmt::format("{}{}", dims.empty() ? "" : ",", d);
  return fmt::format("{}[{}]", DTypeName(slot.dtype), dims);
}

template <class Ids>
std::string ArraysText(const plan::Plan& plan, const Ids& ids) {
  std::string text;
  for (const plan::SlotId id : ids) text += (text.empty() ? "" : ", ") + ArrayText(plan, id);
  return text;
}

/// Names from programs must not end a line or a column.
std::string OneLine(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

class Describer {
 public:
  Describer(const plan::Plan& plan, StepProfile& to) : plan_(plan), to_(to) {}

  void operator()(const plan::KernelStep& s) {
    const kir::Kernel& kernel = plan_.kernels[s.kernel];
    std::string in, out;
    for (size_t i = 0; i < kernel.buffers.size(); ++i) {
      const kir::BufKind kind = kernel.buffers[i].kind;
      if (kind != kir::BufKind::kArg && kind != kir::BufKind::kOut) continue;
      std::string& list = kind == kir::BufKind::kOut ? out : in;
      list += (list.empty() ? "" : ", ") + ArrayText(plan_, s.buffers[i]);
    }
    Say("kernel", fmt::format("{}: {} -> {}; {}", s.kernel, in, out, OpsText(kernel)), s.work);
  }
  void operator()(const plan::DriverStep& s) {
    Say(s.driver, ArraysText(plan_, s.inputs) + " -> " + ArraysText(plan_, s.outputs), s.work);
  }
  void operator()(const plan::CopyStep& s) {
    const plan::Slot& slot = plan_.slots[s.to];
    double bytes = ByteWidth(slot.dtype);
    for (const int64_t d : slot.dims) bytes *= static_cast<double>(d);
    target::Work work;
    work.bytes_read = work.bytes_written = bytes;
    work.launches = 1;
    Say("copy", ArrayText(plan_, s.from) + " -> " + ArrayText(plan_, s.to), work);
  }
  void operator()(const plan::WhileStep& s) {
    Say("loop", s.trip_count < 0 ? std::string("until false") : fmt::format("{} trips", s.trip_count), {});
  }
  void operator()(const plan::CaseStep& s) { Say("case", fmt::format("{} branches", s.branches.size()), {}); }
  void operator()(const plan::EvaluateStep& s) {
    Say("evaluate", fmt::format("{}: {} -> {}", s.op, ArraysText(plan_, s.operands), ArraysText(plan_, s.results)), {});
  }
  void operator()(const plan::CustomCallStep& s) {
    Say("call", fmt::format("{}: {} -> {}", s.target, ArraysText(plan_, s.operands), ArraysText(plan_, s.results)), {});
  }

 private:
  void Say(std::string kind, std::string what, const target::Work& work) {
    to_.kind = std::move(kind);
    to_.what = OneLine(std::move(what));
    to_.work = work;
  }

  const plan::Plan& plan_;
  StepProfile& to_;
};

std::string LineOf(const std::string& program, int64_t number, const StepProfile& s) {
  const int64_t runs = s.runs.load(std::memory_order_relaxed);
  const target::Work& w = s.work;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.0f}\t{:.0f}\t{:.0f}\t{:.0f}\t{:.0f}\t{:.0f}\t{:.0f}\t{}\t{}\n",
                     program, number, s.depth, s.kind, runs, s.total_ns.load(std::memory_order_relaxed),
                     runs == 0 ? 0 : s.least_ns.load(std::memory_order_relaxed), s.estimate_ns, w.flops, w.ops,
                     w.serial, w.bytes_read, w.bytes_written, w.bytes_cached, s.what, s.from);
}

}  // namespace

void StepProfile::Record(int64_t ns) {
  runs.fetch_add(1, std::memory_order_relaxed);
  total_ns.fetch_add(ns, std::memory_order_relaxed);
  int64_t least = least_ns.load(std::memory_order_relaxed);
  while (ns < least && !least_ns.compare_exchange_weak(least, ns, std::memory_order_relaxed)) {
  }
}

std::string OpsText(const kir::Kernel& kernel) {
  std::set<std::string_view> names;
  for (const kir::Node& n : kernel.nodes) {
    if (n.op == kir::Op::kConst || n.op == kir::Op::kRead || n.op == kir::Op::kIndex || n.op == kir::Op::kParam)
      continue;
    names.insert(n.op == kir::Op::kMath ? kir::MathName(n.attr) : kir::OpName(n.op));
  }
  std::string text;
  for (const std::string_view name : names) text += fmt::format("{}{}", text.empty() ? "" : " ", name);
  return text.empty() ? "moves" : text;
}

std::string_view Profile::Columns() {
  return "program\tstep\tdepth\tkind\truns\ttotal_ns\tleast_ns\testimate_ns\tflops\tops\tserial\tbytes_read\tbytes_"
         "written\tbytes_cached\twhat\tfrom\n";
}

std::string Profile::Lines() const {
  const std::string name = OneLine(program_);
  std::string text = LineOf(name, -1, whole_);
  int64_t number = 0;
  for (const StepProfile& s : steps_) text += LineOf(name, number++, s);
  return text;
}

void Describe(const plan::Plan& plan, const plan::Step& step, const target::Target& target, StepProfile& to) {
  std::visit(Describer(plan, to), step.is);
  to.from = OriginsText(plan, step);
  to.estimate_ns = std::min(target::TimeNs(target, to.work), policy::kLongestNs);
}

std::string OriginsText(const plan::Plan& plan, const plan::Step& step) {
  struct Place {
    std::string_view place;
    std::vector<std::string_view> ops;
  };
  std::vector<Place> places;  // In the order in which they are last named.
  for (const uint32_t index : step.origins) {
    const plan::Origin& origin = plan.origins[index];
    const auto same =
        std::find_if(places.begin(), places.end(), [&](const Place& p) { return p.place == origin.place; });
    if (same == places.end()) {
      places.push_back({origin.place, {}});
    } else {
      std::rotate(same, same + 1, places.end());
    }
    std::vector<std::string_view>& ops = places.back().ops;
    if (std::find(ops.begin(), ops.end(), origin.op) == ops.end()) ops.push_back(origin.op);
  }
  const size_t left_out = places.size() - std::min(places.size(), policy::kMostPlaces);
  std::string text = left_out == 0 ? std::string() : fmt::format("{} places, ", left_out);
  for (size_t i = left_out; i < places.size(); ++i) {
    text += fmt::format("{}{}{}{}", i == left_out ? "" : ", ", places[i].place, places[i].place.empty() ? "" : " ",
                        fmt::join(places[i].ops, " "));
  }
  return OneLine(std::move(text));
}

activity::Label LabelOf(const plan::Plan& plan, const plan::Step& step) {
  StepProfile about;
  std::visit(Describer(plan, about), step.is);
  activity::Label label{about.kind, {}, {{"hlo_category", about.kind}, {"long_name", about.what}}};
  if (!step.origins.empty()) {
    // Under the names that TensorBoard knows: of the op that the others are for.
    const plan::Origin& origin = plan.origins[step.origins.back()];
    if (!origin.scope.empty()) label.texts.push_back({"tf_op", origin.scope});
    if (!origin.place.empty()) label.texts.push_back({"source", origin.place});
    label.texts.push_back({"stablehlo_ops", OriginsText(plan, step)});
  }
  if (const auto* kernel = std::get_if<plan::KernelStep>(&step.is)) {
    label.name = fmt::format("kernel {}: {}", kernel->kernel, OpsText(plan.kernels[kernel->kernel]));
  }
  if (const auto* call = std::get_if<plan::CustomCallStep>(&step.is)) label.name = call->target;
  if (const auto* evaluate = std::get_if<plan::EvaluateStep>(&step.is)) label.name = "evaluate " + evaluate->op;
  if (about.work.launches > 0) {
    label.numbers = {{"flops", about.work.flops},
                     {"bytes_accessed", about.work.bytes_read + about.work.bytes_written + about.work.bytes_cached}};
  }
  return label;
}

}  // namespace tenon::runtime
