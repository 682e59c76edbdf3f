// Stages and loops for one point of the launch's grid.
#include <algorithm>

#include "tenon/emit_spirv/internal/kernel_emitter.h"
#include "tenon/kir/walk.h"

namespace tenon::emit_spirv {

using kir::DimId;
using kir::DimKind;
using kir::Val;

void KernelEmitter::EmitSeq(const std::vector<const kir::Step*>& steps, bool inside_loop) {
  for (size_t i = 0; i < steps.size() && !failed(); ++i) {
    if (const auto* stage = std::get_if<kir::Stage>(&steps[i]->is)) {
      EmitStage(*stage);
    } else {
      EmitLoop(std::get<kir::Loop>(steps[i]->is));
    }
    if (part_->team && (inside_loop || i + 1 < steps.size())) w_.Barrier();
  }
}

KernelEmitter::Wanted KernelEmitter::WantedBy(const std::vector<Val>& roots, const StoreList& stores) const {
  std::vector<Val> all = roots;
  for (const kir::Store* s : stores) kir::ForEachRoot(*s, [&](Val v) { all.push_back(v); });
  Wanted wanted{Needed(all), {}};
  for (Val v : wanted.nodes) {
    if (k_.nodes[v].op == kir::Op::kRead) wanted.accesses.push_back(k_.nodes[v].attr);
  }
  for (const kir::Store* s : stores) wanted.accesses.push_back(AccessOf(*s));
  return wanted;
}

void KernelEmitter::Precompute(const Wanted& wanted) {
  for (Val v : wanted.nodes) {
    if (value_[v] == 0 && Available(v)) Value(v);
  }
  for (size_t a : wanted.accesses) Extend(a);
}

KernelEmitter::Bounds KernelEmitter::BoundsOf(DimId dim) {
  const kir::Size extent = k_.dims[dim].extent;
  Bounds b;
  kir::Size lo = kir::Size::Of(0), hi = extent;
  bool two_ends = false;
  if (stage_ != nullptr) {
    for (const kir::Range& r : stage_->domain) {
      if (r.dim != dim) continue;
      lo = r.lo;
      hi = r.hi;
      two_ends = hi != extent;
    }
  }
  if (!lo.is_param()) b.lo = std::max<int64_t>(0, lo.baked);
  b.lo_id = b.lo ? w_.C32(static_cast<uint32_t>(*b.lo)) : SizeId(lo, 32);
  if (!hi.is_param() && !extent.is_param()) {
    b.hi = std::min(hi.baked, extent.baked);
    b.hi_id = w_.C32(static_cast<uint32_t>(std::max<int64_t>(0, *b.hi)));
    return b;
  }
  b.hi_id = SizeId(hi, 32);
  if (two_ends) {
    const Id end = SizeId(extent, 32);
    b.hi_id = s_.Select(w_.U32(), s_.Compare(Spv::SLessThan, b.hi_id, end), b.hi_id, end);
  }
  return b;
}

Id KernelEmitter::Length(const Bounds& b) {
  if (b.lo && b.hi) return w_.C32(static_cast<uint32_t>(std::max<int64_t>(0, *b.hi - *b.lo)));
  const Id length = w_.Do(Spv::ISub, w_.U32(), {b.hi_id, b.lo_id});
  return s_.Select(w_.U32(), s_.Compare(Spv::SLessThan, b.lo_id, b.hi_id), length, w_.C32(0));
}

void KernelEmitter::ForDim(DimId dim, Id first, uint32_t step, const Wanted& wanted,
                           const std::function<void()>& body) {
  const size_t mark = Mark();
  const Bounds b = BoundsOf(dim);
  const bool from_low = first == 0;
  if (from_low && step == 1 && b.lo && b.hi && *b.hi == *b.lo + 1) {
    dim_value_[dim] = b.lo_id;
    Precompute(wanted);
    body();
    dim_value_[dim] = 0;
    Rewind(mark);
    return;
  }
  const auto loop = [&] {
    Precompute(wanted);
    const Id lo = from_low ? b.lo_id : w_.Do(Spv::IAdd, w_.U32(), {b.lo_id, first});
    w_.For(lo, b.hi_id, w_.C32(step), [&](Id i) {
      const size_t inside = Mark();
      dim_value_[dim] = i;
      body();
      dim_value_[dim] = 0;
      Rewind(inside);
    });
  };
  if (b.surely_some()) {
    loop();
  } else {
    // Nothing may be hoisted out of a loop that does not run: its reads need not be in bounds.
    w_.If(s_.Compare(Spv::SLessThan, b.lo_id, b.hi_id), loop);
  }
  Rewind(mark);
}

void KernelEmitter::ForDims(const DimList& dims, size_t next, const Wanted& wanted, const std::function<void()>& body) {
  if (next == dims.size()) return body();
  ForDim(dims[next], 0, 1, wanted, [&] { ForDims(dims, next + 1, wanted, body); });
}

void KernelEmitter::BindFlat(const DimList& dims, Id flat) {
  for (size_t i = dims.size(); i-- > 0;) {
    const Bounds b = BoundsOf(dims[i]);
    Id index = flat;
    if (i > 0) {
      // A division that finds no points where there are none: nobody asks for one then.
      const Id length = b.surely_some()
                            ? Length(b)
                            : s_.Select(w_.U32(), s_.Compare(Spv::SLessThan, b.lo_id, b.hi_id), Length(b), w_.C32(1));
      if (b.lo && b.hi && *b.hi == *b.lo + 1) {
        dim_value_[dims[i]] = b.lo_id;
        continue;
      }
      index = w_.Do(Spv::UMod, w_.U32(), {flat, length});
      flat = w_.Do(Spv::UDiv, w_.U32(), {flat, length});
    }
    if (b.lo != 0) index = w_.Do(Spv::IAdd, w_.U32(), {index, b.lo_id});
    dim_value_[dims[i]] = index;
  }
}

void KernelEmitter::ForTeam(const DimList& dims, const Wanted& wanted, const std::function<void()>& body, bool wide) {
  DimList parallel, serial;
  for (DimId d : dims) (k_.dims[d].kind == DimKind::kSerial ? serial : parallel).push_back(d);
  const size_t mark = Mark();
  if (parallel.empty()) {
    w_.If(IsFirst(), [&] { ForDims(serial, 0, wanted, body); });
    Rewind(mark);
    return;
  }
  Id total = 0;
  for (DimId d : parallel) {
    const Id length = Length(BoundsOf(d));
    total = total == 0 ? length : w_.Do(Spv::IMul, w_.U32(), {total, length});
  }
  if (wide) total = w_.Do(Spv::UDiv, w_.U32(), {total, w_.C32(kWide)});
  const auto loop = [&] {
    Precompute(wanted);
    w_.For(LocalIndex(), total, w_.C32(static_cast<uint32_t>(part_->group_size)), [&](Id flat) {
      const size_t inside = Mark();
      if (wide) {
        BindWide(parallel, flat);
      } else {
        BindFlat(parallel, flat);
      }
      ForDims(serial, 0, wanted, body);
      for (DimId d : parallel) dim_value_[d] = 0;
      Rewind(inside);
    });
  };
  const bool some = std::all_of(dims.begin(), dims.end(), [&](DimId d) { return BoundsOf(d).surely_some(); });
  if (some) {
    loop();
  } else {
    w_.If(s_.Compare(Spv::INotEqual, total, w_.C32(0)), loop);
  }
  Rewind(mark);
}

// All that the stores need is evaluated before the first of them acts.
void KernelEmitter::EmitPoint(const StoreList& stores) {
  for (const kir::Store* s : stores) kir::ForEachRoot(*s, [&](Val v) { Value(v); });
  for (const kir::Store* s : stores) Act(*s);
}

void KernelEmitter::EmitStage(const kir::Stage& stage) {
  const size_t mark = Mark();
  const kir::DimMask outer_scope = scope_;
  const kir::Stage* const outer_stage = stage_;
  stage_ = &stage;
  DimList free, reduced;
  bool many = false;  // results, each of its point
  for (DimId d : stage.dims) {
    scope_ |= kir::DimMask{1} << d;
    many |= k_.dims[d].kind != DimKind::kReduce;
    if (dim_value_[d] == 0) (k_.dims[d].kind == DimKind::kReduce ? reduced : free).push_back(d);
  }
  if (stage.reduces.empty()) {
    StoreList stores;
    for (const kir::Store& s : stage.stores) stores.push_back(&s);
    const Wanted wanted = WantedBy({}, stores);
    FindNeighbours(wanted.nodes);
    if (part_->wide) {
      EmitWide(stores, *part_->wide);
    } else if (part_->team && IsWideInTeam(stage, free, wanted)) {
      ForTeam(free, wanted, [&] { EmitWide(stores, free.back()); }, true);
    } else if (part_->team) {
      ForTeam(free, wanted, [&] { EmitPoint(stores); });
    } else {
      ForDims(free, 0, wanted, [&] { EmitPoint(stores); });
    }
  } else {
    EmitReduction(stage, free, reduced);
  }
  if (many) {
    for (const kir::Reduce& r : stage.reduces) results_.erase(r.id);
  }
  scope_ = outer_scope;
  stage_ = outer_stage;
  Rewind(mark);
}

void KernelEmitter::EmitLoop(const kir::Loop& loop) {
  const size_t mark = Mark();
  std::vector<Id> variables, first;
  for (size_t i = 0; i < loop.types.size(); ++i) first.push_back(Value(loop.init[i]));
  for (size_t i = 0; i < loop.types.size(); ++i) {
    variables.push_back(w_.Variable(s_.RegisterType(loop.types[i])));
    w_.Store(variables[i], first[i]);
  }
  Rewind(mark);  // memory that the body writes may differ when its nodes are next looked at
  const bool counted = loop.condition == kir::kNone;
  const int bits = loop.trip_count.is_param() || loop.trip_count.baked > INT32_MAX ? 64 : 32;
  Id trips = 0;
  if (counted) {
    trips = w_.Variable(w_.Int(bits));
    w_.Store(trips, w_.CInt(bits, 0));
  }
  std::vector<const kir::Step*> steps;
  for (const kir::Step& step : loop.body) steps.push_back(&step);
  std::set<uint32_t> before;
  for (const auto& [id, values] : results_) before.insert(id);
  before.insert(loop.id);
  w_.While(
      [&] {
        std::vector<Id> now;
        for (size_t i = 0; i < loop.types.size(); ++i) {
          now.push_back(w_.Load(s_.RegisterType(loop.types[i]), variables[i]));
        }
        results_[loop.id] = now;
        if (counted) {
          return s_.Compare(Spv::SLessThan, w_.Load(w_.Int(bits), trips), SizeId(loop.trip_count, bits));
        }
        const Id go = Value(loop.condition);
        Rewind(mark);
        return go;
      },
      [&] {
        EmitSeq(steps, true);
        std::vector<Id> next;
        for (Val v : loop.next) next.push_back(Value(v));
        for (size_t i = 0; i < next.size(); ++i) w_.Store(variables[i], next[i]);
        if (counted) {
          w_.Store(trips, s_.Int(bits, Spv::IAdd, w_.Load(w_.Int(bits), trips), w_.CInt(bits, 1)));
        }
        Rewind(mark);
        std::erase_if(results_, [&](const auto& entry) { return !before.contains(entry.first); });
      });
  Rewind(mark);
}

}  // namespace tenon::emit_spirv
