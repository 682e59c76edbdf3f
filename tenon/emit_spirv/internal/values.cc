// Values of nodes: made where they are first asked for, kept as long as they hold.
#include <algorithm>

#include "tenon/emit_spirv/internal/kernel_emitter.h"
#include "tenon/emit_spirv/policy.h"
#include "tenon/kir/math.h"
#include "tenon/kir/walk.h"

namespace tenon::emit_spirv {

using kir::Op;
using kir::Val;

DType KernelEmitter::InType(const kir::Node& node) const {
  return node.in.empty() ? node.type : k_.nodes[node.in.back()].type;
}

bool KernelEmitter::Uses(Val v, uint32_t id) const { return std::binary_search(uses_[v].begin(), uses_[v].end(), id); }

bool KernelEmitter::Uses(const kir::Store& store, uint32_t id) const {
  bool uses = false;
  kir::ForEachRoot(store, [&](Val v) { uses |= Uses(v, id); });
  return uses;
}

bool KernelEmitter::UsesOwn(const kir::Store& store, const kir::Stage& stage) const {
  return std::any_of(stage.reduces.begin(), stage.reduces.end(),
                     [&](const kir::Reduce& r) { return Uses(store, r.id); });
}

void KernelEmitter::Set(Val v, Id id) {
  value_[v] = id;
  trail_.push_back({false, v, 0, 0});
}

void KernelEmitter::Rewind(size_t mark) {
  while (trail_.size() > mark) {
    const Change& c = trail_.back();
    if (c.is_access) {
      accesses_[c.index].sum = c.sum;
      accesses_[c.index].done = c.done;
    } else {
      value_[c.index] = 0;
    }
    trail_.pop_back();
  }
}

bool KernelEmitter::Available(Val v) const {
  kir::DimMask bound = 0;
  for (size_t d = 0; d < k_.dims.size(); ++d) {
    if (dim_value_[d] != 0) bound |= kir::DimMask{1} << d;
  }
  if ((deps_[v] & scope_ & ~bound) != 0) return false;
  return std::all_of(uses_[v].begin(), uses_[v].end(),
                     [&](uint32_t id) { return results_.contains(id) || !defined_.contains(id); });
}

// Nodes that the roots surely need, ascending; not what only the rare side of a select needs.
KernelEmitter::NodeList KernelEmitter::Needed(const std::vector<Val>& roots) const {
  std::vector<bool> needed(k_.nodes.size(), false);
  for (Val v : roots) needed[v] = true;
  NodeList list;
  for (size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const kir::Node& node = k_.nodes[i];
    if (node.op == Op::kSelect && node.imm == kir::kRare) {
      needed[node.in[0]] = needed[node.in[2]] = true;
    } else {
      kir::ForEachInput(k_, node, [&](Val in) { needed[in] = true; });
    }
    list.push_back(static_cast<Val>(i));
  }
  std::reverse(list.begin(), list.end());
  return list;
}

Id KernelEmitter::Value(Val v) {
  if (value_[v] != 0) return value_[v];
  if (failed()) return w_.C32(0);
  const kir::Node& node = k_.nodes[v];
  Id id = 0;
  switch (node.op) {
    case Op::kConst:
      id = s_.Literal(node.type, k_.literals[node.attr]);
      break;
    case Op::kIndex:
      s_.RegisterType(node.type);
      id = w_.Do(Spv::UConvert, w_.U64(), {dim_value_[node.attr]});
      break;
    case Op::kParam:
      s_.RegisterType(node.type);
      id = SizeId(kir::Size::Param(static_cast<int32_t>(node.attr)), 64);
      break;
    case Op::kRead:
      if (ReadNeighbours(v)) return value_[v];
      id = Read(node);
      break;
    case Op::kReduced:
    case Op::kCarried: {
      const auto found = results_.find(node.attr);
      id = found != results_.end() ? found->second[node.imm] : External(node.attr, node.imm, node.type);
      break;
    }
    case Op::kSelect:
      if (node.imm == kir::kRare) {
        const Id condition = Value(node.in[0]), otherwise = Value(node.in[2]);
        if (value_[node.in[1]] == 0) {
          const size_t mark = Mark();
          id = w_.IfElse(
              condition, s_.RegisterType(node.type), [&] { return Value(node.in[1]); }, [&] { return otherwise; });
          Rewind(mark);
          break;
        }
      }
      [[fallthrough]];
    default: {
      SmallVector<Id, 4> in;
      for (Val i : node.in) in.push_back(Value(i));
      const std::span<const Id> inputs(in.data(), in.size());
      id = node.op == Op::kMath ? Math(node.attr, inputs) : s_.Lower(node, InType(node), inputs);
    }
  }
  Set(v, id);
  return id;
}

std::vector<Id> KernelEmitter::InlineGraph(const kir::Graph& graph, std::span<const Id> args) {
  std::vector<Id> value(graph.nodes.size(), 0);
  std::vector<Val> made;
  const auto at = [&](auto& self, Val v) -> Id {
    if (value[v] != 0 || failed()) return value[v];
    const kir::Node& node = graph.nodes[v];
    Id id = 0;
    if (node.op == Op::kArgument) {
      id = args[node.imm];
    } else if (node.op == Op::kConst) {
      id = s_.Literal(node.type, graph.literals[node.attr]);
    } else if (node.op == Op::kSelect && node.imm == kir::kRare && value[node.in[1]] == 0) {
      const Id condition = self(self, node.in[0]), otherwise = self(self, node.in[2]);
      const size_t mark = made.size();
      id = w_.IfElse(
          condition, s_.RegisterType(node.type), [&] { return self(self, node.in[1]); }, [&] { return otherwise; });
      for (; made.size() > mark; made.pop_back()) value[made.back()] = 0;
    } else {
      SmallVector<Id, 4> in;
      for (Val i : node.in) in.push_back(self(self, i));
      const std::span<const Id> inputs(in.data(), in.size());
      const DType in_type = node.in.empty() ? node.type : graph.nodes[node.in.back()].type;
      id = node.op == Op::kMath ? Math(node.attr, inputs) : s_.Lower(node, in_type, inputs);
    }
    value[v] = id;
    made.push_back(v);
    return id;
  };
  std::vector<Id> results;
  for (Val r : graph.results) results.push_back(at(at, r));
  return results;
}

void KernelEmitter::CountMath(const std::vector<kir::Node>& nodes) {
  for (const kir::Node& node : nodes) {
    if (node.op == Op::kMath && ++math_uses_[node.attr] == 1) CountMath(kir::MathGraph(node.attr).nodes);
  }
}

Id KernelEmitter::Math(uint32_t math, std::span<const Id> args) {
  const kir::Graph& graph = kir::MathGraph(math);
  const DType result_type = graph.nodes[graph.results[0]].type;
  // They are made for arithmetic without subnormals.
  const auto body = [&](std::span<const Id> values) {
    SmallVector<Id, 2> flushed;
    for (size_t i = 0; i < values.size(); ++i) flushed.push_back(s_.Flushed(graph.arguments[i], values[i]));
    return s_.Flushed(result_type, InlineGraph(graph, {flushed.data(), flushed.size()})[0]);
  };
  const bool alone = math_uses_[math] <= 1 || std::ssize(graph.nodes) <= policy::kInlineNodes;
  if (alone) return body(args);
  const Id type = s_.RegisterType(result_type);
  Id& function = math_functions_[math];
  if (function == 0) {
    std::vector<Id> types, parameters;
    for (DType t : graph.arguments) types.push_back(s_.RegisterType(t));
    const Id id = w_.BeginFunction(type, types, &parameters);
    const Id result = body(parameters);
    w_.EndFunction(result);
    function = id;
  }
  return w_.Call(function, type, args);
}

Id KernelEmitter::External(uint32_t id, uint8_t result, DType type) {
  const int64_t place = crossing_.at({id, result});
  const Id word = s_.LocalType(type);
  const int64_t bytes = s_.RegisterBits(type) == 64 ? 8 : 4;
  const Id at = w_.C32(static_cast<uint32_t>(place / bytes));
  const Id pointer = w_.Do(Spv::AccessChain, w_.Pointer(spv::StoragePhysicalStorageBuffer, word),
                           {Scratch(word, bytes, 0), w_.C32(0), at});
  return s_.FromLocal(type, w_.Load(word, pointer, static_cast<uint32_t>(bytes)));
}

}  // namespace tenon::emit_spirv
