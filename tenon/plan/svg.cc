#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "tenon/plan/plan.h"

namespace tenon::plan {
namespace {

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (static_cast<unsigned char>(c) >= 32)  // structural: printable characters
      out += c;
  }
  return out;
}

/// One row per step, loops and branches indented.
struct Row {
  int depth;
  std::string text;
  const char* colour;
  std::vector<SlotId> slots;
};

struct Collector {
  const Plan& plan;
  std::vector<Row> rows;
  int depth = 0;

  void All(const Seq& seq) {
    for (const Step& step : seq) std::visit([this](const auto& s) { One(s); }, step.is);
  }
  void Nested(std::string label, const Seq& seq) {
    Add(std::move(label), "#eeeeee", {});
    ++depth;
    All(seq);
    --depth;
  }
  void Add(std::string text, const char* colour, std::vector<SlotId> slots) {
    std::erase(slots, kNoSlot);
    rows.push_back({depth, std::move(text), colour, std::move(slots)});
  }
  std::string ShapeOf(SlotId id) const {
    return id == kNoSlot ? "_" : ToString(Shape{plan.slots[id].dtype, plan.slots[id].dims});
  }

  void One(const KernelStep& s) {
    Add(fmt::format("kernel {} -> {}", s.kernel, s.buffers.empty() ? "" : ShapeOf(s.buffers.back())), "#cfe8ff",
        {s.buffers.begin(), s.buffers.end()});
  }
  void One(const DriverStep& s) {
    std::vector<SlotId> slots(s.inputs.begin(), s.inputs.end());
    slots.insert(slots.end(), s.outputs.begin(), s.outputs.end());
    Add(fmt::format("{} -> {}", s.driver, s.outputs.empty() ? "" : ShapeOf(s.outputs[0])), "#ffd9b3", slots);
  }
  void One(const CopyStep& s) {
    if (SamePlace(plan, s.from, s.to)) return;
    Add("copy " + ShapeOf(s.to), "#e0e0e0", {s.from, s.to});
  }
  void One(const WhileStep& s) {
    Add(s.trip_count >= 0 ? fmt::format("while, {} times", s.trip_count) : "while", "#d5f5d5", {});
    ++depth;
    Nested("condition", s.condition);
    Nested("body", s.body);
    --depth;
  }
  void One(const CaseStep& s) {
    Add("case", "#d5f5d5", {s.index});
    ++depth;
    for (size_t i = 0; i < s.branches.size(); ++i) Nested(fmt::format("branch {}", i), s.branches[i]);
    --depth;
  }
  void One(const CustomCallStep& s) {
    std::vector<SlotId> slots(s.operands.begin(), s.operands.end());
    slots.insert(slots.end(), s.results.begin(), s.results.end());
    Add("custom_call " + s.target, "#f5d5f5", slots);
  }
  void One(const EvaluateStep& s) {
    std::vector<SlotId> slots(s.operands.begin(), s.operands.end());
    slots.insert(slots.end(), s.results.begin(), s.results.end());
    Add("evaluate " + s.op, "#ffb3b3", slots);
  }
};

int64_t SpanBytes(const Slot& slot) {
  int64_t last = 1;
  for (size_t i = 0; i < slot.dims.size(); ++i) {
    if (slot.dims[i] == 0) return 0;
    last += (slot.dims[i] - 1) * slot.stride_elems[i];
  }
  return last * ByteWidth(slot.dtype);
}

}  // namespace

std::string ToSvg(const Plan& plan) {
  constexpr int kRowHeight = 16;    // structural: pixels
  constexpr int kTextWidth = 420;   // structural: pixels
  constexpr int kArenaWidth = 600;  // structural: pixels
  Collector all{plan, {}};
  all.All(plan.steps);

  // The rows between a slot's first and last use are its life in the arena.
  std::map<SlotId, std::pair<int, int>> lives;
  for (int row = 0; row < static_cast<int>(all.rows.size()); ++row) {
    for (SlotId id : all.rows[static_cast<size_t>(row)].slots) {
      if (plan.slots[id].kind != SlotKind::kTemp) continue;
      lives.try_emplace(id, row, row).first->second.second = row;
    }
  }
  const int height = (static_cast<int>(all.rows.size()) + 2) * kRowHeight;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"monospace\" "
      "font-size=\"11\">\n"
      "<text x=\"4\" y=\"12\">{}: {} steps, {} kernels, arena {} bytes</text>\n",
      kTextWidth + kArenaWidth + 20, height, Escaped(plan.name), all.rows.size(), plan.kernels.size(),
      plan.arena_bytes);
  for (size_t i = 0; i < all.rows.size(); ++i) {
    const Row& row = all.rows[i];
    const int y = (static_cast<int>(i) + 1) * kRowHeight;
    fmt::format_to(
        std::back_inserter(out),
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
        4 + 12 * row.depth, y, kTextWidth - 12 * row.depth, kRowHeight - 1, row.colour, 8 + 12 * row.depth, y + 12,
        Escaped(row.text));
  }
  const double scale = kArenaWidth / static_cast<double>(std::max<int64_t>(plan.arena_bytes, 1));
  for (const auto& [id, life] : lives) {
    const Slot& slot = plan.slots[id];
    fmt::format_to(std::back_inserter(out),
                   "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"#88aadd\" stroke=\"#335588\" "
                   "fill-opacity=\"0.5\"><title>%{} {} at {}</title></rect>\n",
                   kTextWidth + 10 + static_cast<double>(slot.offset_bytes) * scale, (life.first + 1) * kRowHeight,
                   std::max(1.0, static_cast<double>(SpanBytes(slot)) * scale),
                   (life.second - life.first + 1) * kRowHeight - 1, id, Escaped(ToString(Shape{slot.dtype, slot.dims})),
                   slot.offset_bytes);
  }
  return out + "</svg>\n";
}

}  // namespace tenon::plan
