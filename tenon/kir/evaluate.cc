#include "tenon/kir/evaluate.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "tenon/kir/internal/analysis.h"
#include "tenon/kir/internal/scalar.h"
#include "tenon/kir/internal/soft_float.h"
#include "tenon/kir/math.h"

namespace tenon::kir {
namespace {

using internal::AsInt64;
using Values = SmallVector<uint64_t, 2>;

DType InType(const Node& node, const std::vector<Node>& nodes) {
  return node.in.empty() ? node.type : nodes[node.in.back()].type;
}

uint64_t EvaluateMath(MathId id, std::span<const uint64_t> arguments, bool flush);

// All nodes of a graph in order. Its inputs are verified.
Values EvaluateGraph(const Graph& graph, std::span<const uint64_t> arguments, bool flush) {
  SmallVector<uint64_t, 64> value(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    SmallVector<uint64_t, 4> in;
    for (Val v : node.in) in.push_back(value[v]);
    if (node.op == Op::kArgument) {
      value[i] = arguments[node.imm];
    } else if (node.op == Op::kConst) {
      value[i] = graph.literals[node.attr];
    } else if (node.op == Op::kMath) {
      value[i] = EvaluateMath(node.attr, {in.data(), in.size()}, flush);
    } else {
      value[i] = EvaluateScalar(node, InType(node, graph.nodes), {in.data(), in.size()}, flush);
    }
  }
  Values results;
  for (Val r : graph.results) results.push_back(value[r]);
  return results;
}

uint64_t EvaluateMath(MathId id, std::span<const uint64_t> arguments, bool flush) {
  const Graph& graph = MathGraph(id);
  if (flush) return EvaluateGraph(graph, arguments, true)[0];
  SmallVector<uint64_t, 2> flushed;
  for (size_t i = 0; i < arguments.size(); ++i)
    flushed.push_back(internal::FlushBits(graph.arguments[i], arguments[i]));
  const uint64_t result = EvaluateGraph(graph, {flushed.data(), flushed.size()}, false)[0];
  return internal::FlushBits(graph.nodes[graph.results[0]].type, result);
}

class Machine {
 public:
  Machine(const Kernel& kernel, std::span<const BufferRef> buffers, std::span<const int64_t> params, bool flush)
      : kernel_(kernel),
        analysis_(kernel),
        refs_(buffers.begin(), buffers.end()),
        params_(params.data()),
        flush_(flush) {}

  Status Run();

 private:
  /// A buffer that the evaluator owns, with a mark for each byte that was written in this outer iteration.
  struct Local {
    std::vector<char> bytes;
    std::vector<bool> written;
  };
  /// The nodes that a set of values needs, in order.
  using Schedule = std::vector<Val>;

  Status RunSeq(const Seq& seq);
  Status RunStage(const Stage& stage);
  Status RunLoop(const Loop& loop);
  template <class Fn>
  Status ForPoints(const SmallVector<DimId, 4>& dims, const Stage* stage, Fn fn);

  Schedule ScheduleFor(const std::vector<Val>& roots) const;
  static void AddRoots(const Store& store, std::vector<Val>* roots);
  Status Compute(const Schedule& schedule);
  Status ComputeRead(const Node& node, uint64_t* out);
  Status ActStores(const std::vector<const Store*>& stores);

  int64_t At(const Axis& axis) const;
  bool Holds(const SmallVector<Guard, 1>& guards) const;
  Result<char*> Address(Buf buf, const SmallVector<Axis, 4>& at, int component, bool write);
  int64_t V(const Size& s) const { return s.Value(params_); }
  Values Combine(const Reduce& r, const Values& acc, const Values& element) const;

  const Kernel& kernel_;
  const internal::Analysis analysis_;
  std::vector<BufferRef> refs_;
  const int64_t* params_;
  const bool flush_;
  int64_t index_[32] = {};                                       // the current value of each dim
  std::vector<uint64_t> value_;                                  // of each node, where computed
  std::unordered_map<uint32_t, Values> reduced_;                 // by Reduce::id
  std::unordered_map<uint32_t, std::vector<uint64_t>> carried_;  // by Loop::id
  std::vector<Local> locals_;                                    // by buffer
};

Status Machine::Run() {
  for (size_t i = 0; i < kernel_.dims.size(); ++i) {
    if (V(kernel_.dims[i].extent) < 0) return InvalidArgument("dim d" + std::to_string(i) + " has a negative extent");
  }
  value_.resize(kernel_.nodes.size());
  locals_.resize(kernel_.buffers.size());
  SmallVector<DimId, 4> outer;
  for (int d = 0; d < kernel_.outer; ++d) outer.push_back(static_cast<DimId>(d));
  return ForPoints(outer, nullptr, [&]() -> Status {
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const Buffer& b = kernel_.buffers[i];
      if (b.kind != BufKind::kLocal && b.kind != BufKind::kSignal) continue;
      int64_t elements = 1;
      bool empty = false;
      for (size_t a = 0; a < b.extent.size(); ++a) {
        empty |= V(b.extent[a]) <= 0;
        elements += (V(b.extent[a]) - 1) * V(b.stride[a]);
      }
      const auto size = static_cast<size_t>(empty ? 0 : elements * ByteWidth(b.type));
      locals_[i].bytes.assign(size, 0);
      locals_[i].written.assign(size, false);
      refs_[i] = {locals_[i].bytes.data(), locals_[i].bytes.data(), static_cast<int64_t>(size)};
    }
    return RunSeq(kernel_.seq);
  });
}

Status Machine::RunSeq(const Seq& seq) {
  for (const Step& step : seq) {
    if (const auto* stage = std::get_if<Stage>(&step.is)) {
      TENON_RETURN_IF_ERROR(RunStage(*stage));
    } else {
      TENON_RETURN_IF_ERROR(RunLoop(std::get<Loop>(step.is)));
    }
  }
  return OkStatus();
}

// Calls fn at each point of `dims` in row-major order, within the stage's domain.
template <class Fn>
Status Machine::ForPoints(const SmallVector<DimId, 4>& dims, const Stage* stage, Fn fn) {
  SmallVector<int64_t, 4> lo, hi;
  for (DimId d : dims) {
    lo.push_back(0);
    hi.push_back(V(kernel_.dims[d].extent));
    if (stage != nullptr) {
      for (const Range& r : stage->domain) {
        if (r.dim != d) continue;
        lo.back() = std::max(lo.back(), V(r.lo));
        hi.back() = std::min(hi.back(), V(r.hi));
      }
    }
    if (lo.back() >= hi.back()) return OkStatus();
    index_[d] = lo.back();
  }
  while (true) {
    TENON_RETURN_IF_ERROR(fn());
    size_t i = dims.size();
    while (i > 0 && ++index_[dims[i - 1]] == hi[i - 1]) {
      index_[dims[i - 1]] = lo[i - 1];
      --i;
    }
    if (i == 0) return OkStatus();
  }
}

Status Machine::RunStage(const Stage& stage) {
  const DimMask reduced_dims = stage.reduces.empty() ? 0 : stage.reduces[0].dims;
  SmallVector<DimId, 4> free_dims, inner_dims;
  for (DimId d : stage.dims) (reduced_dims >> d & 1 ? inner_dims : free_dims).push_back(d);

  std::vector<const Store*> at_points, after;
  for (const Store& s : stage.stores) {
    bool uses_own = false;
    for (const Reduce& r : stage.reduces) uses_own |= analysis_.Uses(s, r.id);
    (uses_own ? after : at_points).push_back(&s);
  }
  std::vector<Val> point_roots, init_roots, after_roots;
  for (const Reduce& r : stage.reduces) {
    point_roots.insert(point_roots.end(), r.in.begin(), r.in.end());
    init_roots.insert(init_roots.end(), r.init.begin(), r.init.end());
    init_roots.insert(init_roots.end(), r.identity.begin(), r.identity.end());
  }
  for (const Store* s : at_points) AddRoots(*s, &point_roots);
  for (const Store* s : after) AddRoots(*s, &after_roots);
  const Schedule point_schedule = ScheduleFor(point_roots);
  const Schedule init_schedule = ScheduleFor(init_roots);
  const Schedule after_schedule = ScheduleFor(after_roots);

  return ForPoints(free_dims, &stage, [&]() -> Status {
    TENON_RETURN_IF_ERROR(Compute(init_schedule));
    // Accumulators of each reduce: one, or with kLanes W of them.
    std::vector<std::vector<Values>> acc;
    std::vector<Values> init;
    for (const Reduce& r : stage.reduces) {
      Values first, identity;
      for (Val v : r.init) first.push_back(value_[v]);
      for (Val v : r.identity) identity.push_back(value_[v]);
      init.push_back(first);
      const size_t lanes = 4 * 64 / static_cast<size_t>(ByteWidth(kernel_.nodes[r.in[0]].type));
      acc.push_back(r.order == ReduceOrder::kLanes ? std::vector<Values>(lanes, identity)
                                                   : std::vector<Values>(1, first));
    }
    int64_t low = 0;
    if (!inner_dims.empty()) {
      for (const Range& r : stage.domain) {
        if (r.dim == inner_dims.back()) low = std::max<int64_t>(low, V(r.lo));
      }
    }
    bool any = false;
    TENON_RETURN_IF_ERROR(ForPoints(inner_dims, &stage, [&]() -> Status {
      any = true;
      TENON_RETURN_IF_ERROR(Compute(point_schedule));
      for (size_t i = 0; i < stage.reduces.size(); ++i) {
        const Reduce& r = stage.reduces[i];
        Values element;
        for (Val v : r.in) element.push_back(value_[v]);
        const size_t lane =
            r.order == ReduceOrder::kLanes ? static_cast<size_t>(index_[inner_dims.back()] - low) % acc[i].size() : 0;
        acc[i][lane] = Combine(r, acc[i][lane], element);
      }
      return ActStores(at_points);
    }));
    for (size_t i = 0; i < stage.reduces.size(); ++i) {
      const Reduce& r = stage.reduces[i];
      if (r.order == ReduceOrder::kLanes) {
        const size_t lanes = acc[i].size() / 4;
        std::vector<Values> v(lanes);
        for (size_t l = 0; l < lanes; ++l) {
          v[l] = Combine(r, Combine(r, acc[i][l], acc[i][l + lanes]),
                         Combine(r, acc[i][l + 2 * lanes], acc[i][l + 3 * lanes]));
        }
        for (size_t half = lanes / 2; half > 0; half /= 2) {
          for (size_t l = 0; l < half; ++l) v[l] = Combine(r, v[l], v[l + half]);
        }
        acc[i][0] = any ? Combine(r, init[i], v[0]) : init[i];
      }
      reduced_[r.id] = acc[i][0];
    }
    if (after.empty()) return OkStatus();
    TENON_RETURN_IF_ERROR(Compute(after_schedule));
    return ActStores(after);
  });
}

Status Machine::RunLoop(const Loop& loop) {
  const Schedule init = ScheduleFor(loop.init);
  const Schedule next = ScheduleFor(loop.next);
  const Schedule condition = loop.condition == kNone ? Schedule() : ScheduleFor({loop.condition});
  TENON_RETURN_IF_ERROR(Compute(init));
  std::vector<uint64_t> now;
  for (Val v : loop.init) now.push_back(value_[v]);
  carried_[loop.id] = now;
  const int64_t trips = V(loop.trip_count);
  for (int64_t trip = 0;; ++trip) {
    if (loop.condition == kNone) {
      if (trip >= trips) break;
    } else {
      TENON_RETURN_IF_ERROR(Compute(condition));
      if (value_[loop.condition] == 0) break;
    }
    TENON_RETURN_IF_ERROR(RunSeq(loop.body));
    TENON_RETURN_IF_ERROR(Compute(next));
    for (size_t i = 0; i < now.size(); ++i) now[i] = value_[loop.next[i]];
    carried_[loop.id] = now;
  }
  return OkStatus();
}

Machine::Schedule Machine::ScheduleFor(const std::vector<Val>& roots) const {
  std::vector<bool> needed(kernel_.nodes.size(), false);
  for (Val v : roots) needed[v] = true;
  for (size_t v = kernel_.nodes.size(); v-- > 0;) {
    if (needed[v]) ForEachInput(kernel_, kernel_.nodes[v], [&](Val in) { needed[in] = true; });
  }
  Schedule schedule;
  for (Val v = 0; v < needed.size(); ++v) {
    if (needed[v]) schedule.push_back(v);
  }
  return schedule;
}

void Machine::AddRoots(const Store& store, std::vector<Val>* roots) {
  roots->push_back(store.value);
  for (const Axis& a : store.at) {
    if (a.start != kNone) roots->push_back(a.start);
  }
  for (const Guard& g : store.guard) {
    if (g.e.start != kNone) roots->push_back(g.e.start);
  }
}

Status Machine::Compute(const Schedule& schedule) {
  for (Val v : schedule) {
    const Node& node = kernel_.nodes[v];
    uint64_t& out = value_[v];
    switch (node.op) {
      case Op::kConst:
        out = kernel_.literals[node.attr];
        break;
      case Op::kIndex:
        out = static_cast<uint64_t>(index_[node.attr]);
        break;
      case Op::kParam:
        out = static_cast<uint64_t>(params_[node.attr]);
        break;
      case Op::kReduced:
        out = reduced_.at(node.attr)[node.imm];
        break;
      case Op::kCarried:
        out = carried_.at(node.attr)[node.imm];
        break;
      case Op::kRead:
        TENON_RETURN_IF_ERROR(ComputeRead(node, &out));
        break;
      default: {
        SmallVector<uint64_t, 4> in;
        for (Val i : node.in) in.push_back(value_[i]);
        const std::span<const uint64_t> inputs(in.data(), in.size());
        out = node.op == Op::kMath ? EvaluateMath(node.attr, inputs, flush_)
                                   : EvaluateScalar(node, InType(node, kernel_.nodes), inputs, flush_);
      }
    }
  }
  return OkStatus();
}

Status Machine::ComputeRead(const Node& node, uint64_t* out) {
  const Read& read = kernel_.reads[node.attr];
  if (!Holds(read.guard)) {
    *out = value_[read.otherwise];
    return OkStatus();
  }
  TENON_ASSIGN_OR_RETURN(const char* from, Address(read.buf, read.at, node.imm, /*write=*/false));
  *out = internal::LoadBits(node.type, from);
  return OkStatus();
}

Status Machine::ActStores(const std::vector<const Store*>& stores) {
  for (const Store* s : stores) {
    if (!Holds(s->guard)) continue;
    TENON_ASSIGN_OR_RETURN(char* to, Address(s->buf, s->at, s->component, /*write=*/s->combine < 0));
    const DType type = kernel_.nodes[s->value].type;
    uint64_t bits = value_[s->value];
    if (s->combine >= 0) {
      const uint64_t arguments[] = {internal::LoadBits(type, to), bits};
      bits = EvaluateGraph(kernel_.graphs[static_cast<size_t>(s->combine)], arguments, flush_)[0];
    }
    internal::StoreBits(type, bits, to);
  }
  return OkStatus();
}

int64_t Machine::At(const Axis& axis) const {
  // Unsigned arithmetic: parameters and data may overflow, which the bounds check then sees.
  auto e = static_cast<uint64_t>(V(axis.offset));
  for (const Term& t : axis.terms) e += static_cast<uint64_t>(V(t.coef)) * static_cast<uint64_t>(index_[t.dim]);
  if (axis.start != kNone) e += static_cast<uint64_t>(AsInt64(kernel_.nodes[axis.start].type, value_[axis.start]));
  return static_cast<int64_t>(e);
}

bool Machine::Holds(const SmallVector<Guard, 1>& guards) const {
  for (const Guard& g : guards) {
    const int64_t e = At(g.e);
    if (e < V(g.lo) || e >= V(g.hi)) return false;
    if (g.mod > 1 && static_cast<uint64_t>(e - V(g.lo)) % static_cast<uint64_t>(g.mod) != 0) return false;
  }
  return true;
}

Result<char*> Machine::Address(Buf buf, const SmallVector<Axis, 4>& at, int component, bool write) {
  const Buffer& b = kernel_.buffers[buf];
  const BufferRef& ref = refs_[buf];
  int64_t element = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t index = At(at[i]);
    const int64_t extent = V(b.extent[i]);
    if (index < 0 || index >= extent) {
      return InvalidArgument("index " + std::to_string(index) + " of axis " + std::to_string(i) + " of b" +
                             std::to_string(buf) + " is outside [0, " + std::to_string(extent) + ")");
    }
    element += index * V(b.stride[i]);
  }
  const int64_t width = ByteWidth(b.type);
  const int64_t part = IsComplex(b.type) ? width / 2 : width;
  char* const address = static_cast<char*>(ref.data) + element * width + component * part;
  const auto offset =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(ref.begin));
  if (ref.data == nullptr || offset < 0 || offset + part > ref.size_bytes) {
    return InvalidArgument("element " + std::to_string(element) + " of b" + std::to_string(buf) + " is outside its " +
                           std::to_string(ref.size_bytes) + " bytes");
  }
  if (b.kind == BufKind::kLocal) {
    auto& written = locals_[buf].written;
    for (int64_t i = offset; i < offset + part; ++i) {
      if (write) written[static_cast<size_t>(i)] = true;
      if (!written[static_cast<size_t>(i)]) {
        return InvalidArgument("element " + std::to_string(element) + " of local buffer b" + std::to_string(buf) +
                               " is read before it is written");
      }
    }
  }
  return address;
}

Values Machine::Combine(const Reduce& r, const Values& acc, const Values& element) const {
  SmallVector<uint64_t, 4> arguments;
  arguments.append(acc.begin(), acc.end());
  arguments.append(element.begin(), element.end());
  return EvaluateGraph(kernel_.graphs[r.combiner], {arguments.data(), arguments.size()}, flush_);
}

}  // namespace

Status Evaluate(const Kernel& kernel, std::span<const BufferRef> buffers, std::span<const int64_t> params,
                bool flush_denormals) {
  if (buffers.size() != kernel.buffers.size()) {
    return InvalidArgument("got " + std::to_string(buffers.size()) + " buffers, wanted " +
                           std::to_string(kernel.buffers.size()));
  }
  if (params.size() < kernel.num_params) {
    return InvalidArgument("got " + std::to_string(params.size()) + " params, wanted " +
                           std::to_string(kernel.num_params));
  }
  return Machine(kernel, buffers, params, flush_denormals).Run();
}

Result<SmallVector<uint64_t, 2>> Evaluate(const Graph& graph, std::span<const uint64_t> arguments,
                                          bool flush_denormals) {
  if (arguments.size() != graph.arguments.size()) {
    return InvalidArgument("got " + std::to_string(arguments.size()) + " arguments, wanted " +
                           std::to_string(graph.arguments.size()));
  }
  return EvaluateGraph(graph, arguments, flush_denormals);
}

}  // namespace tenon::kir
