// A kernel of the loop, written into the new one.

#include <algorithm>
#include <iterator>
#include <tuple>

#include "tenon/compiler/schedule/link_writer.h"

namespace tenon::compiler {

using kir::kNone;
using kir::Size;
using kir::Val;

void LinkWriter::Kernel(const plan::KernelStep& s, kir::Seq& out) {
  const kir::Kernel& k = p_.kernels[s.kernel];
  SettleFor(s, out);
  Moving m{s, k, {}, {}, {}, {}, {}, {}};
  used_dims_ = 0;
  for (size_t d = 0; d < k.dims.size(); ++d) {
    const int64_t extent = m.Of(k.dims[d].extent).baked;
    m.counters.push_back(kNone);
    m.counter_ids.push_back(0);
    m.dims.push_back(0);
    if (!LinkSurvey::RunsAsLoop(k, static_cast<kir::DimId>(d))) {
      m.dims.back() = DimOf(extent, k.dims[d].kind);
      continue;
    }
    m.counter_ids.back() = b_.NewId();
    b_.ConstS64(0);  // The loop's first value comes before what it carries.
    // Whoever proves where accesses go sees the range.
    const Val count = b_.Carried(m.counter_ids.back(), 0, DType::kS64);
    m.counters.back() = b_.Min(b_.Max(count, b_.ConstS64(0)), b_.ConstS64(std::max<int64_t>(0, extent - 1)));
  }
  m.locals.assign(k.buffers.size(), kir::kNoBuf);
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    if (k.buffers[i].kind != kir::BufKind::kLocal) continue;
    Dims extents, strides;
    for (Size e : k.buffers[i].extent) extents.push_back(m.Of(e).baked);
    for (Size e : k.buffers[i].stride) strides.push_back(m.Of(e).baked);
    m.locals[i] = AddBuffer(kir::BufKind::kLocal, k.buffers[i].type, extents, strides, plan::kNoSlot);
  }
  NewIds(k.seq, m);
  for (const kir::Node& node : k.nodes) {
    m.nodes.push_back(Node(node, m));
    if (failed_) return;
  }
  kir::Seq steps;
  for (const kir::Step& step : k.seq) {
    steps.push_back(Step(step, m, true));
    auto* stage = std::get_if<kir::Stage>(&steps.back().is);
    if (stage == nullptr) continue;
    if (stage->stores.empty() && stage->reduces.empty()) {
      steps.pop_back();
      continue;
    }
    const auto& dims = std::get<kir::Stage>(step.is).dims;
    for (size_t i = dims.size(); i-- > 0;) {
      if (m.counters[dims[i]] != kNone) RunAsLoop(dims[i], m, steps, steps.size() - 1);
    }
  }
  for (size_t d = k.outer; d-- > 0;) {
    if (m.counters[d] != kNone) RunAsLoop(static_cast<kir::DimId>(d), m, steps, 0);
  }
  for (kir::Step& step : steps) out.push_back(std::move(step));
}

void LinkWriter::RunAsLoop(kir::DimId dim, const Moving& m, kir::Seq& steps, size_t first) {
  if (steps.size() == first) return;
  kir::Loop loop;
  loop.id = m.counter_ids[dim];
  loop.types = {DType::kS64};
  loop.init = {b_.ConstS64(0)};
  loop.next = {b_.Add(b_.Carried(loop.id, 0, DType::kS64), b_.ConstS64(1))};
  loop.trip_count = m.Of(m.k.dims[dim].extent);
  std::move(steps.begin() + static_cast<std::ptrdiff_t>(first), steps.end(), std::back_inserter(loop.body));
  steps.resize(first);
  steps.push_back(kir::Step{std::move(loop)});
}

void LinkWriter::NewIds(const kir::Seq& seq, Moving& m) {
  for (const kir::Step& step : seq) {
    if (const auto* stage = std::get_if<kir::Stage>(&step.is)) {
      for (const kir::Reduce& r : stage->reduces) m.ids[r.id] = b_.NewId();
    } else {
      const auto& loop = std::get<kir::Loop>(step.is);
      m.ids[loop.id] = b_.NewId();
      NewIds(loop.body, m);
    }
  }
}

kir::Axis LinkWriter::Axis(const kir::Axis& a, const Moving& m) {
  kir::Axis axis;
  axis.offset = m.Of(a.offset);
  axis.start = a.start == kNone ? kNone : m.nodes[a.start];
  for (const kir::Term& t : a.terms) {
    const int64_t coef = m.Of(t.coef).baked;
    if (m.counters[t.dim] == kNone) {
      axis.terms.push_back({m.dims[t.dim], Size::Of(coef)});
      continue;
    }
    const Val part = coef == 1 ? m.counters[t.dim] : b_.Mul(m.counters[t.dim], b_.ConstS64(coef));
    axis.start = axis.start == kNone ? part : b_.Add(b_.Convert(DType::kS64, axis.start), part);
  }
  return axis;
}

SmallVector<kir::Guard, 1> LinkWriter::Guards(const SmallVector<kir::Guard, 1>& guards, const Moving& m) {
  SmallVector<kir::Guard, 1> result;
  for (const kir::Guard& g : guards) result.push_back({Axis(g.e, m), m.Of(g.lo), m.Of(g.hi), g.mod});
  return result;
}

std::pair<kir::Buf, SmallVector<kir::Axis, 4>> LinkWriter::Access(kir::Buf buf, const SmallVector<kir::Axis, 4>& from,
                                                                  const Moving& m) {
  SmallVector<kir::Axis, 4> at;
  for (const kir::Axis& a : from) at.push_back(Axis(a, m));
  if (m.locals[buf] != kir::kNoBuf) return {m.locals[buf], std::move(at)};
  const uint32_t id = survey_.PlaceOf(m.step.buffers[buf]);
  return {BufferOf(id), AxesOf(id, survey_.FormOf(m.step, buf), at)};
}

Val LinkWriter::Node(const kir::Node& n, Moving& m) {
  kir::Node node = n;
  for (Val& in : node.in) in = m.nodes[in];
  switch (n.op) {
    case kir::Op::kConst:
      return b_.ConstBits(n.type, m.k.literals[n.attr]);
    case kir::Op::kIndex:
      return m.counters[n.attr] != kNone ? m.counters[n.attr] : b_.Index(m.dims[n.attr]);
    case kir::Op::kParam:
      return b_.ConstS64(m.step.params[n.attr]);
    case kir::Op::kReduced:
    case kir::Op::kCarried:
      node.attr = m.ids.at(n.attr);
      return b_.Emit(std::move(node));
    case kir::Op::kRead: {
      const kir::Read& r = m.k.reads[n.attr];
      if (m.locals[r.buf] == kir::kNoBuf) {
        const uint32_t id = survey_.PlaceOf(m.step.buffers[r.buf]);
        if (IsScalar(id)) return Current(id);
      }
      kir::Read read;
      std::tie(read.buf, read.at) = Access(r.buf, r.at, m);
      read.guard = Guards(r.guard, m);
      read.otherwise = r.otherwise == kNone ? kNone : m.nodes[r.otherwise];
      return b_.Read(read, n.imm);
    }
    default:
      return b_.Emit(std::move(node));
  }
}

kir::Step LinkWriter::Step(const kir::Step& step, Moving& m, bool top) {
  if (const auto* stage = std::get_if<kir::Stage>(&step.is)) return kir::Step{Stage(*stage, m, top)};
  const auto& from = std::get<kir::Loop>(step.is);
  kir::Loop loop;
  loop.id = m.ids.at(from.id);
  loop.types = from.types;
  for (Val v : from.init) loop.init.push_back(m.nodes[v]);
  for (Val v : from.next) loop.next.push_back(m.nodes[v]);
  loop.condition = from.condition == kNone ? kNone : m.nodes[from.condition];
  loop.trip_count = m.Of(from.trip_count);
  for (const kir::Step& s : from.body) loop.body.push_back(Step(s, m, false));
  return kir::Step{std::move(loop)};
}

kir::Stage LinkWriter::Stage(const kir::Stage& from, Moving& m, bool top) {
  kir::Stage stage;
  const auto add = [&](kir::DimId d) {
    if (m.counters[d] == kNone) stage.dims.push_back(m.dims[d]);
  };
  for (kir::DimId d = 0; d < m.k.outer; ++d) add(d);
  for (kir::DimId d : from.dims) add(d);
  for (const kir::Range& r : from.domain) stage.domain.push_back({m.dims[r.dim], m.Of(r.lo), m.Of(r.hi)});
  for (const kir::Reduce& r : from.reduces) {
    kir::Reduce reduce = r;
    reduce.id = m.ids.at(r.id);
    reduce.dims = 0;
    for (size_t d = 0; d < m.dims.size(); ++d) {
      if (r.dims >> d & 1) reduce.dims |= kir::DimMask{1} << m.dims[d];
    }
    for (Val& v : reduce.in) v = m.nodes[v];
    for (Val& v : reduce.init) v = m.nodes[v];
    for (Val& v : reduce.identity) v = m.nodes[v];
    reduce.combiner = b_.AddGraph(m.k.graphs[r.combiner]);
    stage.reduces.push_back(std::move(reduce));
  }
  for (const kir::Store& s : from.stores) {
    if (m.locals[s.buf] == kir::kNoBuf && top) {
      const uint32_t id = survey_.PlaceOf(m.step.buffers[s.buf]);
      if (IsScalar(id)) {
        Become(id, m.nodes[s.value], stage);
        continue;
      }
    }
    kir::Store store = s;
    std::tie(store.buf, store.at) = Access(s.buf, s.at, m);
    store.guard = Guards(s.guard, m);
    store.value = m.nodes[s.value];
    if (s.combine >= 0) store.combine = static_cast<int32_t>(b_.AddGraph(m.k.graphs[static_cast<size_t>(s.combine)]));
    stage.stores.push_back(std::move(store));
  }
  return stage;
}

}  // namespace tenon::compiler
