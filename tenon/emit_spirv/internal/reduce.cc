// Reductions: by one invocation, or by a workgroup that meets in local memory. Either way elements meet in the order
// that the kernel states.
#include <algorithm>

#include "tenon/emit_spirv/internal/kernel_emitter.h"
#include "tenon/emit_spirv/policy.h"

namespace tenon::emit_spirv {

using kir::DimId;
using kir::ReduceOrder;
using kir::Val;

// Accumulators of ReduceOrder::kLanes.
int64_t KernelEmitter::Lanes(const kir::Reduce& r) const {
  return target_.numerics.reduce_accumulators * target_.numerics.reduce_lane_bytes / ByteWidth(k_.nodes[r.in[0]].type);
}

std::vector<Id> KernelEmitter::ValuesOf(const SmallVector<Val, 2>& values) {
  std::vector<Id> ids;
  for (Val v : values) ids.push_back(Value(v));
  return ids;
}

std::vector<Id> KernelEmitter::Combine(const kir::Reduce& r, std::span<const Id> left, std::span<const Id> right) {
  std::vector<Id> args(left.begin(), left.end());
  args.insert(args.end(), right.begin(), right.end());
  return InlineGraph(k_.graphs[r.combiner], args);
}

std::vector<Id> KernelEmitter::MakeVariables(const kir::Reduce& r) {
  std::vector<Id> variables;
  for (Val v : r.in) variables.push_back(w_.Variable(s_.RegisterType(k_.nodes[v].type)));
  return variables;
}

std::vector<Id> KernelEmitter::LoadAll(const kir::Reduce& r, const std::vector<Id>& variables) {
  std::vector<Id> ids;
  for (size_t i = 0; i < variables.size(); ++i) {
    ids.push_back(w_.Load(s_.RegisterType(k_.nodes[r.in[i]].type), variables[i]));
  }
  return ids;
}

void KernelEmitter::StoreAll(const std::vector<Id>& variables, std::span<const Id> values) {
  for (size_t i = 0; i < variables.size(); ++i) w_.Store(variables[i], values[i]);
}

void KernelEmitter::EmitReduction(const kir::Stage& stage, const DimList& free, const DimList& reduced) {
  StoreList at_points, after, all;
  std::vector<Val> roots;
  ReduceList reduces;
  for (const kir::Store& s : stage.stores) {
    (UsesOwn(s, stage) ? after : at_points).push_back(&s);
    all.push_back(&s);
  }
  if (const MatrixSum* matrix = MatrixSumOf(stage); matrix != nullptr && part_->team) {
    FindNeighbours({});
    return EmitMatrixSum(*matrix, free, reduced, after);
  }
  bool lanes = false;
  for (const kir::Reduce& r : stage.reduces) {
    reduces.push_back(&r);
    roots.insert(roots.end(), r.in.begin(), r.in.end());
    roots.insert(roots.end(), r.init.begin(), r.init.end());
    lanes |= r.order == ReduceOrder::kLanes;
  }
  const Wanted wanted = WantedBy(roots, all);
  FindNeighbours(wanted.nodes);
  const auto alone = [&] {
    const size_t mark = Mark();
    ReduceAlone(reduces, reduced, at_points);
    if (!at_points.empty()) Rewind(mark);
    EmitPoint(after);
    Rewind(mark);
  };
  if (!part_->team) return ForDims(free, 0, wanted, alone);
  const bool together = free.empty() || (lanes && PointsOf(stage, true).value_or(INT64_MAX) >= policy::kSharedReduce);
  if (!together) return ForTeam(free, wanted, alone);
  ForDims(free, 0, wanted, [&] {
    const size_t mark = Mark();
    ReduceTogether(stage, reduced, at_points);
    if (!at_points.empty()) Rewind(mark);
    if (!after.empty()) {
      const size_t inside = Mark();
      w_.If(IsFirst(), [&] { EmitPoint(after); });
      Rewind(inside);
    }
    if (!free.empty()) w_.Barrier();
    Rewind(mark);
  });
}

void KernelEmitter::ReduceAlone(const ReduceList& reduces, const DimList& reduced, const StoreList& at_points) {
  // What the points store is stored once, along with the first that visit them.
  StoreList stores = at_points;
  ReduceList in_order;
  std::map<int64_t, ReduceList> in_lanes;
  for (const kir::Reduce* r : reduces) {
    if (r->order == ReduceOrder::kLanes) {
      in_lanes[Lanes(*r)].push_back(r);
    } else {
      in_order.push_back(r);
    }
  }
  if (!in_order.empty()) {
    SumInOrder(in_order, reduced, stores);
    stores.clear();
  }
  for (const auto& [width, list] : in_lanes) {
    SumInLanes(list, width, reduced, stores);
    stores.clear();
  }
}

void KernelEmitter::SumInOrder(const ReduceList& reduces, const DimList& reduced, const StoreList& stores) {
  Variables acc;
  for (const kir::Reduce* r : reduces) {
    acc.push_back(MakeVariables(*r));
    StoreAll(acc.back(), ValuesOf(r->init));
  }
  Accumulate(reduces, reduced, 0, 1, acc, stores);
  for (size_t i = 0; i < reduces.size(); ++i) results_[reduces[i]->id] = LoadAll(*reduces[i], acc[i]);
}

void KernelEmitter::Accumulate(const ReduceList& reduces, const DimList& reduced, Id first, int64_t width,
                               const Variables& acc, const StoreList& stores) {
  std::vector<Val> roots;
  for (const kir::Reduce* r : reduces) roots.insert(roots.end(), r->in.begin(), r->in.end());
  const Wanted wanted = WantedBy(roots, stores);
  DimList around = reduced;
  around.pop_back();
  ForDims(around, 0, wanted, [&] {
    ForDim(reduced.back(), first, static_cast<uint32_t>(width), wanted, [&] {
      std::vector<std::vector<Id>> elements;
      for (const kir::Reduce* r : reduces) elements.push_back(ValuesOf(r->in));
      for (size_t i = 0; i < reduces.size(); ++i) {
        StoreAll(acc[i], Combine(*reduces[i], LoadAll(*reduces[i], acc[i]), elements[i]));
      }
      EmitPoint(stores);
    });
  });
}

Id KernelEmitter::AnyPoints(const DimList& reduced) {
  Id any = 0;
  for (DimId d : reduced) {
    const Bounds b = BoundsOf(d);
    if (b.surely_some()) continue;
    const Id some = s_.Compare(Spv::SLessThan, b.lo_id, b.hi_id);
    any = any == 0 ? some : s_.And(any, some);
  }
  return any;
}

void KernelEmitter::Finish(const kir::Reduce& r, std::span<const Id> sum, const DimList& reduced) {
  const std::vector<Id> init = ValuesOf(r.init);
  std::vector<Id> result = Combine(r, init, sum);
  if (const Id any = AnyPoints(reduced); any != 0) {
    for (size_t i = 0; i < result.size(); ++i) {
      result[i] = s_.Select(s_.RegisterType(k_.nodes[r.in[i]].type), any, result[i], init[i]);
    }
  }
  results_[r.id] = result;
}

// One accumulator after the other, as the tree asks for them: level by level, each combines two of the next.
void KernelEmitter::SumInLanes(const ReduceList& reduces, int64_t width, const DimList& reduced,
                               const StoreList& stores) {
  const int64_t lanes = width / target_.numerics.reduce_accumulators;
  std::vector<int64_t> offsets;
  for (int64_t h = 1; h < lanes; h *= 2) offsets.push_back(h);
  for (int64_t h = target_.numerics.reduce_accumulators / 2; h > 0; h /= 2) offsets.push_back(h * lanes);
  Variables sum;
  for (const kir::Reduce* r : reduces) sum.push_back(MakeVariables(*r));
  TreeLevel(reduces, offsets, w_.C32(0), sum, reduced, width, stores);
  for (size_t i = 0; i < reduces.size(); ++i) Finish(*reduces[i], LoadAll(*reduces[i], sum[i]), reduced);
}

void KernelEmitter::TreeLevel(const ReduceList& reduces, std::span<const int64_t> offsets, Id first,
                              const Variables& out, const DimList& reduced, int64_t width, const StoreList& stores) {
  if (offsets.empty()) {
    for (size_t i = 0; i < reduces.size(); ++i) StoreAll(out[i], ValuesOf(reduces[i]->identity));
    return Accumulate(reduces, reduced, first, width, out, stores);
  }
  Variables one;
  for (const kir::Reduce* r : reduces) one.push_back(MakeVariables(*r));
  w_.For(w_.C32(0), w_.C32(2), w_.C32(1), [&](Id side) {
    const size_t mark = Mark();
    const Id offset = w_.Do(Spv::IMul, w_.U32(), {side, w_.C32(static_cast<uint32_t>(offsets[0]))});
    TreeLevel(reduces, offsets.subspan(1), w_.Do(Spv::IAdd, w_.U32(), {first, offset}), one, reduced, width, stores);
    const Id is_left = s_.Compare(Spv::IEqual, side, w_.C32(0));
    w_.If(is_left, [&] {
      for (size_t i = 0; i < reduces.size(); ++i) StoreAll(out[i], LoadAll(*reduces[i], one[i]));
    });
    w_.If(w_.Do(Spv::LogicalNot, w_.Bool(), {is_left}), [&] {
      for (size_t i = 0; i < reduces.size(); ++i) {
        StoreAll(out[i], Combine(*reduces[i], LoadAll(*reduces[i], out[i]), LoadAll(*reduces[i], one[i])));
      }
    });
    Rewind(mark);
  });
}

void KernelEmitter::ReduceTogether(const kir::Stage& stage, const DimList& reduced, const StoreList& at_points) {
  StoreList stores = at_points;
  ReduceList by_first;
  std::map<int64_t, ReduceList> in_lanes;
  for (const kir::Reduce& r : stage.reduces) {
    if (r.order == ReduceOrder::kLanes && Lanes(r) <= part_->group_size) {
      in_lanes[Lanes(r)].push_back(&r);
    } else {
      by_first.push_back(&r);
    }
  }
  for (const auto& [width, list] : in_lanes) {
    Variables acc;
    for (const kir::Reduce* r : list) {
      ValuesOf(r->init);
      acc.push_back(MakeVariables(*r));
      StoreAll(acc.back(), ValuesOf(r->identity));
    }
    const auto sum = [&, lanes = width, &reduces = list] {
      Accumulate(reduces, reduced, LocalIndex(), lanes, acc, stores);
    };
    const size_t mark = Mark();
    if (width == part_->group_size) {
      sum();
    } else {
      w_.If(s_.Compare(Spv::ULessThan, LocalIndex(), w_.C32(static_cast<uint32_t>(width))), sum);
    }
    Rewind(mark);
    stores.clear();
    MeetInTeam(list, width, acc, reduced);
  }
  if (by_first.empty()) return;
  const size_t mark = Mark();
  w_.If(IsFirst(), [&] {
    ReduceAlone(by_first, reduced, stores);
    for (const kir::Reduce* r : by_first) {
      for (size_t i = 0; i < r->in.size(); ++i) {
        const DType type = k_.nodes[r->in[i]].type;
        w_.Store(TeamWord(*r, i, 1, w_.C32(0)), s_.ToLocal(type, results_[r->id][i]));
      }
    }
  });
  Rewind(mark);
  ShareResults(by_first);
}

// Where value `i` of the reduce meets: an array of `elements` in workgroup memory.
Id KernelEmitter::TeamWord(const kir::Reduce& r, size_t i, int64_t elements, Id at) {
  // Stages after each other use the same memory, reduces of one stage do not.
  int which = static_cast<int>(i);
  for (const kir::Reduce& other : stage_->reduces) {
    if (&other == &r) break;
    which += static_cast<int>(other.in.size());
  }
  const DType type = k_.nodes[r.in[i]].type;
  const Id words = WorkgroupWords(type, elements, which);
  return w_.Do(Spv::AccessChain, w_.Pointer(spv::StorageWorkgroup, s_.LocalType(type)), {words, at});
}

void KernelEmitter::ShareResults(const ReduceList& reduces) {
  w_.Barrier();
  for (const kir::Reduce* r : reduces) {
    std::vector<Id> values;
    for (size_t i = 0; i < r->in.size(); ++i) {
      const DType type = k_.nodes[r->in[i]].type;
      values.push_back(s_.FromLocal(type, w_.Load(s_.LocalType(type), TeamWord(*r, i, 1, w_.C32(0)))));
    }
    results_[r->id] = values;
  }
}

void KernelEmitter::MeetInTeam(const ReduceList& reduces, int64_t width, const Variables& acc, const DimList& reduced) {
  const int64_t lanes = width / target_.numerics.reduce_accumulators;
  const Id lane = LocalIndex();
  const auto below = [&](Id n) { return s_.Compare(Spv::ULessThan, lane, n); };
  const auto store = [&](const kir::Reduce& r, Id at, std::span<const Id> values) {
    for (size_t i = 0; i < values.size(); ++i) {
      w_.Store(TeamWord(r, i, width, at), s_.ToLocal(k_.nodes[r.in[i]].type, values[i]));
    }
  };
  const auto load = [&](const kir::Reduce& r, Id at) {
    std::vector<Id> values;
    for (size_t i = 0; i < r.in.size(); ++i) {
      const DType type = k_.nodes[r.in[i]].type;
      values.push_back(s_.FromLocal(type, w_.Load(s_.LocalType(type), TeamWord(r, i, width, at))));
    }
    return values;
  };
  const auto plus = [&](Id n) { return w_.Do(Spv::IAdd, w_.U32(), {lane, n}); };
  const auto put = [&] {
    for (size_t i = 0; i < reduces.size(); ++i) store(*reduces[i], lane, LoadAll(*reduces[i], acc[i]));
  };
  if (width == part_->group_size) {
    put();
  } else {
    w_.If(below(w_.C32(static_cast<uint32_t>(width))), put);
  }
  w_.Barrier();
  w_.If(below(w_.C32(static_cast<uint32_t>(lanes))), [&] {
    for (const kir::Reduce* r : reduces) {
      const auto at = [&](int64_t n) { return load(*r, plus(w_.C32(static_cast<uint32_t>(n * lanes)))); };
      const std::vector<Id> left = Combine(*r, load(*r, lane), at(1)), right = Combine(*r, at(2), at(3));
      store(*r, lane, Combine(*r, left, right));
    }
  });
  w_.Barrier();
  // Halves: v[l] = combine(v[l], v[l + h]).
  const Id half = w_.Variable(w_.U32());
  w_.Store(half, w_.C32(static_cast<uint32_t>(lanes / 2)));
  w_.While([&] { return s_.Compare(Spv::INotEqual, w_.Load(w_.U32(), half), w_.C32(0)); },
           [&] {
             const Id h = w_.Load(w_.U32(), half);
             w_.If(below(h), [&] {
               for (const kir::Reduce* r : reduces) store(*r, lane, Combine(*r, load(*r, lane), load(*r, plus(h))));
             });
             w_.Barrier();
             w_.Store(half, w_.Do(Spv::ShiftRightLogical, w_.U32(), {h, w_.C32(1)}));
           });
  for (const kir::Reduce* r : reduces) Finish(*r, load(*r, w_.C32(0)), reduced);
}

}  // namespace tenon::emit_spirv
