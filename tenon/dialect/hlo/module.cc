#include "tenon/dialect/hlo/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tenon/dialect/hlo/limits.h"

namespace tenon::hlo {
namespace {

using enum TypeKind;

constexpr TypeInfo kTypes[] = {
    {1, "pred", kBool, 1, 1, 2},
    {2, "s8", kSigned, 8, 1, 15},
    {3, "s16", kSigned, 16, 2, 17},
    {4, "s32", kSigned, 32, 4, 4},
    {5, "s64", kSigned, 64, 8, 5},
    {6, "u8", kUnsigned, 8, 1, 3},
    {7, "u16", kUnsigned, 16, 2, 16},
    {8, "u32", kUnsigned, 32, 4, 6},
    {9, "u64", kUnsigned, 64, 8, 7},
    {10, "f16", kFloat, 16, 2, 11},
    {11, "f32", kFloat, 32, 4, 8},
    {12, "f64", kFloat, 64, 8, 9},
    {13, "tuple", kOther, 0, 0, 0},
    {14, "opaque", kOther, 0, 0, 0},
    {15, "c64", kComplex, 64, 8, 12},
    {16, "bf16", kFloat, 16, 2, 13},
    {17, "token", kOther, 0, 0, 0},
    {18, "c128", kComplex, 128, 16, 18},
    {19, "f8e5m2", kFloat, 8, 1, 19},
    {20, "f8e4m3fn", kFloat, 8, 1, 20},
    {21, "s4", kSigned, 4, 1, 21},
    {22, "u4", kUnsigned, 4, 1, 22},
    {23, "f8e4m3b11fnuz", kFloat, 8, 1, 23},
    {24, "f8e5m2fnuz", kFloat, 8, 1, 24},
    {25, "f8e4m3fnuz", kFloat, 8, 1, 25},
    {26, "s2", kSigned, 2, 1, 26},
    {27, "u2", kUnsigned, 2, 1, 27},
    {28, "f8e4m3", kFloat, 8, 1, 28},
    {29, "f8e3m4", kFloat, 8, 1, 29},
    {30, "s1", kSigned, 1, 1, 30},
    {31, "u1", kUnsigned, 1, 1, 31},
    {32, "f4e2m1fn", kFloat, 4, 1, 32},
    {33, "f8e8m0fnu", kFloat, 8, 1, 33},
    {35, "f6e3m2fn", kFloat, 6, 1, 35},
    {36, "f6e2m3fn", kFloat, 6, 1, 36},
};

// Depth-first over "uses" edges without recursion. `edges(n)` lists what n needs; `visit(n)` is called once everything
// n needs has been visited. Returns a node on a cycle, or nothing.
template <class Edges, class Visit>
std::optional<uint32_t> PostOrder(size_t count, Edges edges, Visit visit) {
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(count, kNew);
  std::vector<std::pair<uint32_t, size_t>> stack;
  for (uint32_t start = 0; start < count; ++start) {
    if (state[start] != kNew) continue;
    stack.emplace_back(start, 0);
    state[start] = kOpen;
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      const std::span<const uint32_t> needs = edges(node);
      if (next == needs.size()) {
        state[node] = kDone;
        visit(node);
        stack.pop_back();
        continue;
      }
      const uint32_t need = needs[next++];
      if (state[need] == kOpen) return need;
      if (state[need] == kNew) {
        state[need] = kOpen;
        stack.emplace_back(need, 0);
      }
    }
  }
  return std::nullopt;
}

Status CheckShape(const Shape& shape, std::string_view where, int64_t& leaves) {
  const TypeInfo* type = FindType(shape.type);
  if (type == nullptr)
    return InvalidArgument(fmt::format("{}: the shape has element type {}, which there is none of", where, shape.type));
  if (shape.type == kTuple) {
    for (const Shape& member : shape.members) TENON_RETURN_IF_ERROR(CheckShape(member, where, leaves));
    return OkStatus();
  }
  if (++leaves > kMaxLeaves)
    return InvalidArgument(fmt::format("{}: the shape has more than {} arrays", where, kMaxLeaves));
  if (!shape.members.empty())
    return InvalidArgument(fmt::format("{}: a shape of type {} has members; only tuples have", where, type->name));
  if (!shape.is_array()) {
    if (!shape.dims.empty())
      return InvalidArgument(fmt::format("{}: a shape of type {} has dimensions", where, type->name));
    return OkStatus();
  }
  if (shape.dims.size() > kMaxRank)
    return InvalidArgument(
        fmt::format("{}: the shape has rank {}, at most {} is accepted", where, shape.dims.size(), kMaxRank));
  uint64_t bytes = static_cast<uint64_t>(std::max(type->bytes, 1));
  bool empty = false;
  for (int64_t d : shape.dims) {
    if (d == std::numeric_limits<int64_t>::min()) continue;  // Unbounded; refused below.
    if (d < 0)
      return InvalidArgument(fmt::format("{}: the shape {} has a negative dimension", where, ToText(shape, false)));
    empty = empty || d == 0;
    if (d > 0 && static_cast<uint64_t>(d) > kMaxArrayBytes / bytes) {
      return InvalidArgument(fmt::format("{}: the shape {} has too many elements", where, ToText(shape, false)));
    }
    if (d > 0) bytes *= static_cast<uint64_t>(d);
  }
  if (!shape.dynamic.empty() && shape.dynamic.size() != shape.dims.size()) {
    return InvalidArgument(fmt::format("{}: is_dynamic_dimension has {} entries for rank {}", where,
                                       shape.dynamic.size(), shape.dims.size()));
  }
  if (shape.minor_to_major) {
    std::vector<bool> seen(shape.dims.size(), false);
    bool ok = shape.minor_to_major->size() == shape.dims.size();
    for (int64_t d : *shape.minor_to_major) {
      ok = ok && d >= 0 && d < static_cast<int64_t>(seen.size()) && !seen[static_cast<size_t>(d)];
      if (ok) seen[static_cast<size_t>(d)] = true;
    }
    if (!ok)
      return InvalidArgument(
          fmt::format("{}: minor_to_major of the layout is no permutation of the {} dims", where, shape.dims.size()));
  }
  return OkStatus();
}

Status CheckStatic(const Shape& shape, std::string_view where) {
  for (const Shape& member : shape.members) TENON_RETURN_IF_ERROR(CheckStatic(member, where));
  const bool unbounded =
      std::find(shape.dims.begin(), shape.dims.end(), std::numeric_limits<int64_t>::min()) != shape.dims.end();
  if (unbounded || std::find(shape.dynamic.begin(), shape.dynamic.end(), true) != shape.dynamic.end()) {
    return Unimplemented(
        fmt::format("{}: dynamic dimensions in HLO are not supported, got {}; compile with static shapes", where,
                    ToText(shape, false)));
  }
  return OkStatus();
}

Status CheckComputation(Computation& c) {
  if (c.instructions.empty()) return InvalidArgument(fmt::format("computation '{}' has no instructions", c.name));
  for (const Instruction& i : c.instructions) {
    const std::string where = fmt::format("instruction '{}' ({})", i.name, i.opcode);
    int64_t leaves = 0;
    TENON_RETURN_IF_ERROR(CheckShape(i.shape, where, leaves));
    TENON_RETURN_IF_ERROR(CheckStatic(i.shape, where));
    for (const Shape& s : i.extras().operand_shapes) TENON_RETURN_IF_ERROR(CheckShape(s, where, leaves));
  }
  // Operands first; programs that are in order already stay in it.
  std::vector<uint32_t> order;
  order.reserve(c.instructions.size());
  const auto cycle = PostOrder(
      c.instructions.size(), [&](uint32_t n) { return std::span<const uint32_t>(c.instructions[n].operands); },
      [&](uint32_t n) { order.push_back(n); });
  if (cycle)
    return InvalidArgument(
        fmt::format("instruction '{}' of computation '{}' depends on itself", c.instructions[*cycle].name, c.name));
  std::vector<uint32_t> position(order.size());
  bool sorted = true;
  for (uint32_t n = 0; n < order.size(); ++n) {
    position[order[n]] = n;
    for (uint32_t o : c.instructions[n].operands) sorted = sorted && o < n;
  }
  if (!sorted) {
    std::vector<Instruction> instructions(order.size());
    for (uint32_t n = 0; n < order.size(); ++n) {
      instructions[position[n]] = std::move(c.instructions[n]);
      for (uint32_t& o : instructions[position[n]].operands) o = position[o];
    }
    c.instructions = std::move(instructions);
    c.root = position[c.root];
  }
  c.parameters.clear();
  for (uint32_t n = 0; n < c.instructions.size(); ++n) {
    if (c.instructions[n].opcode == "parameter") c.parameters.push_back(n);
  }
  std::vector<uint32_t> by_number(c.parameters.size(), std::numeric_limits<uint32_t>::max());
  for (uint32_t n : c.parameters) {
    const int64_t number = c.instructions[n].number;
    if (number < 0 || number >= static_cast<int64_t>(by_number.size())) {
      return InvalidArgument(fmt::format(
          "parameter '{}' of computation '{}' has number {}; the {} parameters are numbered from 0 without gaps",
          c.instructions[n].name, c.name, number, by_number.size()));
    }
    uint32_t& slot = by_number[static_cast<size_t>(number)];
    if (slot != std::numeric_limits<uint32_t>::max()) {
      return InvalidArgument(fmt::format("computation '{}' has two parameters of number {}", c.name, number));
    }
    slot = n;
  }
  c.parameters = std::move(by_number);
  return OkStatus();
}

// Callees first, as every reader of HLO accepts it; modules that are in such an order keep it.
void ReorderComputations(Module& module, const std::vector<uint32_t>& order) {
  std::vector<uint32_t> position(order.size());
  bool sorted = true;
  for (uint32_t n = 0; n < order.size(); ++n) {
    position[order[n]] = n;
    for (const Instruction& i : module.computations[n].instructions) {
      for (uint32_t callee : i.called) sorted = sorted && callee < n;
    }
  }
  if (sorted) return;
  std::vector<Computation> computations(order.size());
  for (uint32_t n = 0; n < order.size(); ++n) {
    computations[position[n]] = std::move(module.computations[n]);
    for (Instruction& i : computations[position[n]].instructions) {
      for (uint32_t& callee : i.called) callee = position[callee];
    }
  }
  module.computations = std::move(computations);
  module.entry = position[module.entry];
}

}  // namespace

const TypeInfo* FindType(int32_t number) {
  for (const TypeInfo& t : kTypes) {
    if (t.number == number) return &t;
  }
  return nullptr;
}

const TypeInfo* FindType(std::string_view name) {
  for (const TypeInfo& t : kTypes) {
    if (t.name == name) return &t;
  }
  return nullptr;
}

int64_t CountLeaves(const Shape& shape) {
  if (shape.type != kTuple) return 1;
  int64_t n = 0;
  for (const Shape& member : shape.members) n += CountLeaves(member);
  return n;
}

int64_t CountElements(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape.dims) n *= d;
  return n;
}

bool IsRowMajor(const Shape& shape) {
  if (!shape.minor_to_major) return true;
  for (size_t i = 0; i < shape.minor_to_major->size(); ++i) {
    if ((*shape.minor_to_major)[i] != static_cast<int64_t>(shape.minor_to_major->size() - 1 - i)) return false;
  }
  return true;
}

std::string ToText(const Shape& shape, bool layouts) {
  if (shape.type == kTuple) {
    std::string text = "(";
    for (size_t i = 0; i < shape.members.size(); ++i) {
      // As XLA prints long tuples.
      if (i > 0 && i % 5 == 0)
        text += fmt::format(", /*index={}*/", i);
      else if (i > 0)
        text += ", ";
      text += ToText(shape.members[i], layouts);
    }
    return text + ")";
  }
  const TypeInfo* type = FindType(shape.type);
  std::string text = fmt::format("{}[", type != nullptr ? type->name : "invalid");
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    if (i > 0) text += ",";
    if (shape.dims[i] == std::numeric_limits<int64_t>::min()) {
      text += "?";
      continue;
    }
    if (i < shape.dynamic.size() && shape.dynamic[i]) text += "<=";
    text += std::to_string(shape.dims[i]);
  }
  text += "]";
  if (layouts && shape.is_array() && shape.minor_to_major && !shape.minor_to_major->empty())
    text += fmt::format("{{{}}}", fmt::join(*shape.minor_to_major, ","));
  return text;
}

const Extras& Instruction::extras() const {
  static const Extras& none = *new Extras;
  return extras_ ? *extras_ : none;
}

Extras& Instruction::mutable_extras() {
  if (!extras_) extras_ = std::make_unique<Extras>();
  return *extras_;
}

Status Check(Module& module) {
  if (module.computations.empty()) return InvalidArgument("the HLO module has no computations");
  for (Computation& c : module.computations) TENON_RETURN_IF_ERROR(CheckComputation(c));
  std::vector<std::vector<uint32_t>> calls(module.computations.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const Instruction& instruction : module.computations[i].instructions) {
      calls[i].insert(calls[i].end(), instruction.called.begin(), instruction.called.end());
    }
  }
  std::vector<uint32_t> depth(calls.size(), 0), order;
  uint32_t deepest = 0;
  const auto cycle = PostOrder(
      calls.size(), [&](uint32_t n) { return std::span<const uint32_t>(calls[n]); },
      [&](uint32_t n) {
        for (uint32_t callee : calls[n]) depth[n] = std::max(depth[n], depth[callee] + 1);
        deepest = std::max(deepest, depth[n]);
        order.push_back(n);
      });
  if (cycle) return InvalidArgument(fmt::format("computation '{}' calls itself", module.computations[*cycle].name));
  ReorderComputations(module, order);
  if (deepest > kMaxCallDepth)
    return InvalidArgument(
        fmt::format("computations call each other {} deep; at most {} is accepted", deepest, kMaxCallDepth));
  if (module.signature) {
    int64_t leaves = 0;
    for (const Shape& s : module.signature->parameters)
      TENON_RETURN_IF_ERROR(CheckShape(s, "the entry's parameter layouts", leaves));
    TENON_RETURN_IF_ERROR(CheckShape(module.signature->result, "the entry's result layout", leaves));
  }
  return OkStatus();
}

}  // namespace tenon::hlo
