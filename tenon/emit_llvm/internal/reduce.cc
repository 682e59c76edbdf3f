// Reductions: along the lanes, beside them, and in memory.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <functional>

#include "tenon/emit_llvm/internal/function_emitter.h"
#include "tenon/emit_llvm/policy.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::Val;
using llvm::Value;

namespace {

/// Whether the combiner is one operation whose operands may change places: its identity is one from either side.
bool IsSymmetric(const kir::Graph& graph) {
  if (graph.arguments.size() != 2 || graph.results.size() != 1) return false;
  const kir::Node& root = graph.nodes[graph.results[0]];
  if (root.in.size() != 2) return false;
  const kir::Node& x = graph.nodes[root.in[0]];
  const kir::Node& y = graph.nodes[root.in[1]];
  if (x.op != kir::Op::kArgument || y.op != kir::Op::kArgument || x.imm == y.imm) return false;
  switch (root.op) {
    case kir::Op::kAdd:
    case kir::Op::kMul:
    case kir::Op::kMin:
    case kir::Op::kMax:
    case kir::Op::kAnd:
    case kir::Op::kOr:
    case kir::Op::kXor:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Floats as integers in the same order, +0 above -0. A NaN is above all others, or below them where the least is asked
// for.
FunctionEmitter::Values FunctionEmitter::OrderedIntegers(const Values& floats, bool most) {
  llvm::Type* const type = floats[0]->getType();
  const unsigned bits = type->getScalarSizeInBits();
  llvm::Type* const integers = type->getWithNewType(b_.getIntNTy(bits));
  const llvm::APInt nan = llvm::APFloat::getQNaN(type->getScalarType()->getFltSemantics()).bitcastToAPInt();
  const llvm::APInt extreme = most ? nan : ~nan;
  Values ordered;
  for (Value* v : floats) {
    Value* const known = b_.CreateFCmpUNO(v, v);
    ordered.push_back(
        b_.CreateSelect(known, llvm::ConstantInt::get(integers, extreme), Mirrored(b_.CreateBitCast(v, integers))));
  }
  return ordered;
}

FunctionEmitter::Values FunctionEmitter::FloatsOf(const Values& ordered, llvm::Type* type) {
  Values floats;
  for (Value* v : ordered) floats.push_back(b_.CreateBitCast(Mirrored(v), v->getType()->getWithNewType(type)));
  return floats;
}

// Sign and magnitude to a number's bits, or back.
Value* FunctionEmitter::Mirrored(Value* integers) {
  const unsigned bits = integers->getType()->getScalarSizeInBits();
  Value* const negative = b_.CreateAShr(integers, llvm::ConstantInt::get(integers->getType(), bits - 1));
  Value* const magnitude = llvm::ConstantInt::get(integers->getType(), llvm::APInt::getSignedMaxValue(bits));
  return b_.CreateXor(integers, b_.CreateAnd(negative, magnitude));
}

FunctionEmitter::Accumulators FunctionEmitter::MakeAccumulators(const kir::Reduce& reduce) {
  Accumulators acc;
  acc.reduce = &reduce;
  acc.combiner = &k_.graphs[reduce.combiner];
  acc.lanes_order = reduce.order == kir::ReduceOrder::kLanes;
  acc.width = 4 * 64u / static_cast<unsigned>(std::max(1, ByteWidth(TypeOf(reduce.in[0]))));
  if (acc.lanes_order) {
    for (Val v : reduce.identity) acc.identity.push_back(k_.literals[k_.nodes[v].attr]);
  } else if (reduce.in.size() == 1) {
    if (const auto any = AnyOrderCombiner(*acc.combiner)) acc.identity.push_back(any->identity);
  }
  acc.symmetric = reduce.in.size() == 1 && IsSymmetric(*acc.combiner);
  return acc;
}

FunctionEmitter::Values FunctionEmitter::Combine(const Accumulators& acc, llvm::ArrayRef<Value*> accumulator,
                                                 llvm::ArrayRef<Value*> element) {
  if (acc.ordered) return {b_.CreateBinaryIntrinsic(*acc.ordered, accumulator[0], element[0])};
  Values arguments(accumulator.begin(), accumulator.end());
  arguments.append(element.begin(), element.end());
  const llvm::SmallVector<Value*, 2> results = low_.Inline(*acc.combiner, {arguments.data(), arguments.size()});
  return {results.begin(), results.end()};
}

void FunctionEmitter::SetReduced(const Accumulators& acc, unsigned copy, llvm::ArrayRef<Value*> result) {
  const size_t n = acc.values();
  auto it = reduced_.find(acc.reduce->id);
  if (copy == 0 || it == reduced_.end()) {
    SetResult(reduced_, acc.reduce->id, std::vector<Value*>(n * lanes_.copies));
    it = reduced_.find(acc.reduce->id);
  }
  std::copy(result.begin(), result.end(), it->second.begin() + static_cast<long>(n * copy));
}

FunctionEmitter::Values FunctionEmitter::StartWith(const Accumulators& acc, const StagePlan& plan, const Values& init,
                                                   const Values& met) {
  Values result = Combine(acc, init, met);
  // An identity may change what it meets, as to quiet a NaN or flush a subnormal.
  for (const DimId d : plan.reduced) {
    Value* const low = DimLow(d);
    Value* const high = DimHigh(d);
    const std::optional<int64_t> first = Known(low), last = Known(high);
    if (first && last && *first < *last) continue;
    Value* const some = b_.CreateICmpSLT(low, high);
    for (size_t i = 0; i < result.size(); ++i) result[i] = b_.CreateSelect(some, result[i], init[i]);
  }
  return result;
}

void FunctionEmitter::EmitReduction(const kir::Stage& stage, const StagePlan& plan) {
  std::vector<const kir::Store*> during;
  std::vector<const kir::Store*> after;
  std::vector<Val> roots;
  std::vector<Val> after_roots;
  for (const kir::Store& s : stage.stores) {
    const bool late = an_.RunsAfterReduce(stage, s);
    (late ? after : during).push_back(&s);
    Analysis::StoreRoots(s, late ? &after_roots : &roots);
  }
  for (const kir::Reduce& r : stage.reduces) {
    roots.insert(roots.end(), r.in.begin(), r.in.end());
    after_roots.insert(after_roots.end(), r.init.begin(), r.init.end());
  }
  const NodeList needed = an_.Needed(roots);
  const NodeList needed_after = an_.Needed(after_roots);
  std::vector<Accumulators> accs;
  for (const kir::Reduce& r : stage.reduces) accs.push_back(MakeAccumulators(r));

  Precompute(needed);
  Precompute(needed_after);
  auto at_point = [&] {
    Precompute(needed);
    Precompute(needed_after);
    if (plan.kind == StagePlan::Kind::kRow) {
      ReduceRows(stage, plan, accs, during, needed);
    } else {
      ReduceGeneral(stage, plan, accs, during, needed);
    }
    if (!after.empty()) EmitPoint(after, needed_after);
  };
  // A reduction over outer dims alone is one point: its result is visible to the steps that follow.
  if (plan.kind != StagePlan::Kind::kVector) {
    ForDims(plan.outside, 0, needed, nullptr, at_point);
    return;
  }
  const bool registers = std::none_of(accs.begin(), accs.end(), [](const Accumulators& a) { return a.lanes_order; });
  ForDims(plan.outside, 0, needed, nullptr, [&] {
    Precompute(needed);
    Precompute(needed_after);
    if (registers && ManyRows(plan, needed)) {
      ReduceColumns(plan, accs, during, after, needed, needed_after);
      return;
    }
    // Several vectors side by side give the additions of one column something to overlap with.
    const unsigned copies = plan.copies > 1 && registers ? std::max(4 / plan.together, plan.together) : 1;
    VectorLoop(static_cast<DimId>(plan.vector_dim), plan.lanes, copies, plan.masked_only, needed, nullptr, at_point);
  });
}

bool FunctionEmitter::FitsTree(const StagePlan& plan, const std::vector<Accumulators>& accs, const NodeList& needed) {
  if (plan.reduced.size() != 1 || lanes_.copies > 1 || accs.size() > policy::kTreesTogether) return false;
  const std::optional<int64_t> low = Known(DimLow(plan.reduced[0])), high = Known(DimHigh(plan.reduced[0]));
  if (!low || !high || *high <= *low || *high - *low > policy::kTreeElements) return false;
  const bool known = std::all_of(accs.begin(), accs.end(), [&](const Accumulators& acc) {
    return acc.lanes_order && acc.symmetric && acc.values() == 1 && acc.width == accs[0].width;
  });
  // Elements whose distance is not known have addresses of their own, which registers would not hold.
  return known && std::all_of(needed.begin(), needed.end(), [&](Val v) {
           if (k_.nodes[v].op != kir::Op::kRead) return true;
           const auto& parts = an_.reads[k_.nodes[v].attr].parts;
           return std::all_of(parts.begin(), parts.end(), [&](const Contribution& part) {
             return part.kind != Contribution::Kind::kDim || part.dim != plan.reduced[0] || part.ConstFactor();
           });
         });
}

void FunctionEmitter::ReduceAsTree(const StagePlan& plan, const std::vector<Accumulators>& accs,
                                   const NodeList& needed) {
  const DimId dim = plan.reduced[0];
  const int64_t low = *Known(DimLow(dim)), count = *Known(DimHigh(dim)) - low;
  // The result runs in lanes when what is reduced does.
  const auto get = [&](const kir::Reduce& reduce, Val v) {
    return IsVector(reduce.in[0]) || IsVector(reduce.init[0]) ? GetLanes(v, 0) : Get(v, 0);
  };
  using Partial = std::optional<Values>;  // Of each sum; nothing where only identities meet.
  const auto meet = [&](Partial a, Partial b) -> Partial {
    if (!a || !b) return a ? a : b;
    for (size_t i = 0; i < accs.size(); ++i) (*a)[i] = Combine(accs[i], {(*a)[i]}, {(*b)[i]})[0];
    return a;
  };
  const int64_t width = accs[0].width, quarter = width / 4;
  const auto lane = [&](int64_t at) {
    Partial sum;
    for (; at < count; at += width) {
      const size_t mark = Mark();
      dim_value_[dim] = I64(low + at);
      EmitPoint({}, needed);
      Values element;
      for (const Accumulators& acc : accs) element.push_back(get(*acc.reduce, acc.reduce->in[0]));
      Rewind(mark);
      dim_value_[dim] = nullptr;
      sum = meet(std::move(sum), std::move(element));
    }
    return sum;
  };
  // As FinishMemory, a branch at a time.
  const auto tree = [&](const auto& self, int64_t at, int64_t step) -> Partial {
    if (step < quarter) {
      Partial below = self(self, at, 2 * step);
      return meet(std::move(below), self(self, at + step, 2 * step));
    }
    Partial first = lane(at);
    first = meet(std::move(first), lane(at + quarter));
    Partial last = lane(at + 2 * quarter);
    last = meet(std::move(last), lane(at + 3 * quarter));
    return meet(std::move(first), std::move(last));
  };
  const Values sums = *tree(tree, 0, 1);
  for (size_t i = 0; i < accs.size(); ++i) {
    const Values start = {get(*accs[i].reduce, accs[i].reduce->init[0])};
    SetReduced(accs[i], 0, StartWith(accs[i], plan, start, {sums[i]}));
  }
}

void FunctionEmitter::ReduceGeneral(const kir::Stage& stage, const StagePlan& plan, std::vector<Accumulators>& accs,
                                    const std::vector<const kir::Store*>& during, const NodeList& needed) {
  if (during.empty() && FitsTree(plan, accs, needed)) return ReduceAsTree(plan, accs, needed);
  const unsigned lanes = lanes_.lanes;
  const unsigned copies = lanes_.copies;
  // The result runs in lanes when what is reduced does.
  auto in_lanes = [&](const kir::Reduce& r) {
    bool vector = false;
    for (Val v : r.in) vector |= IsVector(v);
    for (Val v : r.init) vector |= IsVector(v);
    return vector;
  };
  Values carried;
  for (Accumulators& acc : accs) {
    const bool vector = in_lanes(*acc.reduce);
    acc.first = static_cast<unsigned>(carried.size());
    acc.memory.clear();
    for (unsigned copy = 0; copy < copies; ++copy) {
      for (size_t i = 0; i < acc.values(); ++i) {
        const DType type = TypeOf(acc.reduce->in[i]);
        if (acc.lanes_order) {
          llvm::Type* slot = low_.RegisterType(type, vector ? lanes : 1);
          Value* memory = Alloca(slot, acc.width);
          acc.memory.push_back(memory);
          Value* identity = low_.Literal(type, acc.identity[i], vector ? lanes : 1);
          For(
              I64(0), I64(acc.width), I64(1), nullptr, [] {},
              [&](Value* w) { b_.CreateStore(identity, b_.CreateGEP(slot, memory, w)); });
        } else {
          carried.push_back(vector ? GetLanes(acc.reduce->init[i], copy) : Get(acc.reduce->init[i], copy));
        }
      }
    }
  }
  const DimId innermost = plan.reduced.back();
  ForDims(plan.reduced, 0, needed, &carried, [&] {
    EmitPoint(during, needed);
    for (Accumulators& acc : accs) {
      const bool vector = in_lanes(*acc.reduce);
      for (unsigned copy = 0; copy < copies; ++copy) {
        Values element;
        for (Val v : acc.reduce->in) element.push_back(vector ? GetLanes(v, copy) : Get(v, copy));
        const size_t n = acc.values();
        if (!acc.lanes_order) {
          Value** at = carried.data() + acc.first + n * copy;
          const Values sum = Combine(acc, {at, n}, element);
          std::copy(sum.begin(), sum.end(), at);
          continue;
        }
        Value* w = b_.CreateAnd(b_.CreateSub(dim_value_[innermost], DimLow(innermost)), I64(acc.width - 1));
        Values places;
        Values old;
        for (size_t i = 0; i < n; ++i) {
          llvm::Type* slot = element[i]->getType();
          places.push_back(b_.CreateGEP(slot, acc.memory[n * copy + i], w));
          old.push_back(b_.CreateLoad(slot, places.back()));
        }
        const Values sum = Combine(acc, old, element);
        for (size_t i = 0; i < n; ++i) b_.CreateStore(sum[i], places[i]);
      }
    }
  });
  for (Accumulators& acc : accs) {
    const size_t n = acc.values();
    const bool vector = in_lanes(*acc.reduce);
    if (acc.lanes_order) FinishMemory(acc);
    for (unsigned copy = 0; copy < copies; ++copy) {
      Values result;
      if (acc.lanes_order) {
        Values init;
        for (size_t i = 0; i < n; ++i) {
          llvm::Type* slot = low_.RegisterType(TypeOf(acc.reduce->in[i]), vector ? lanes : 1);
          result.push_back(b_.CreateLoad(slot, acc.memory[n * copy + i]));
          init.push_back(vector ? GetLanes(acc.reduce->init[i], copy) : Get(acc.reduce->init[i], copy));
        }
        result = StartWith(acc, plan, init, result);
      } else {
        result.assign(carried.begin() + static_cast<long>(acc.first + n * copy),
                      carried.begin() + static_cast<long>(acc.first + n * (copy + 1)));
      }
      SetReduced(acc, copy, result);
    }
  }
}

bool FunctionEmitter::ManyRows(const StagePlan& plan, const NodeList& needed) const {
  int64_t rows = 1;
  for (DimId d : plan.reduced) {
    if (k_.dims[d].extent.is_param()) return true;
    rows *= k_.dims[d].extent.baked;
  }
  if (rows > policy::kManyRows || rows < policy::kFarRows) return rows > policy::kManyRows;
  bool any = false;
  for (Val v : needed) {
    if (k_.nodes[v].op != kir::Op::kRead || !(an_.deps[v] >> plan.reduced.back() & 1)) continue;
    const Access& access = accesses_[k_.nodes[v].attr];
    const std::optional<int64_t> step = ConstStride(access, plan.reduced.back());
    if (!step || std::abs(*step) * ByteWidth(k_.buffers[access.buf].type) < policy::kFarRowBytes) return false;
    any = true;
  }
  return any;
}

void FunctionEmitter::ReduceColumns(const StagePlan& plan, std::vector<Accumulators>& accs,
                                    const std::vector<const kir::Store*>& during,
                                    const std::vector<const kir::Store*>& after, const NodeList& needed,
                                    const NodeList& needed_after) {
  // Rows outside, columns inside, sums of a block of columns in L1: memory is read in its order.
  int64_t bytes = 0;  // Of a column's sums.
  for (const Accumulators& acc : accs) {
    for (Val v : acc.reduce->in) bytes += ScalarLowering::RegisterBytes(TypeOf(v));
  }
  const int64_t in_cache = policy::kColumnBytes / bytes / 64 * 64;  // structural: whole vectors of every width
  const int64_t block_columns = std::max(policy::kColumns, in_cache);
  const auto dim = static_cast<DimId>(plan.vector_dim);
  const unsigned lanes = plan.lanes;
  const bool wide = isa_ == isa::IsaLevel::kAvx512;
  for (Accumulators& acc : accs) {
    acc.memory.clear();
    // One more, so that the sums of a column lie in different sets of the cache.
    for (Val v : acc.reduce->in)
      acc.memory.push_back(Alloca(low_.RegisterType(TypeOf(v), lanes), block_columns / lanes + 1));
  }
  const auto whole = range_[dim];
  Value* lo = DimLow(dim);
  Value* hi = DimHigh(dim);
  For(
      lo, hi, I64(block_columns), nullptr, [] {},
      [&](Value* block) {
        range_[dim] = {block,
                       b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(block, I64(block_columns)), hi)};
        auto slot = [&](const Accumulators& acc, size_t i, unsigned copy) {
          Value* index = b_.CreateLShr(b_.CreateSub(dim_value_[dim], block), llvm::Log2_32(lanes));
          return b_.CreateGEP(low_.RegisterType(TypeOf(acc.reduce->in[i]), lanes), acc.memory[i],
                              b_.CreateAdd(index, I64(copy)));
        };
        VectorLoop(dim, lanes, 1, wide, needed_after, nullptr, [&] {
          for (Accumulators& acc : accs) {
            for (size_t i = 0; i < acc.values(); ++i) b_.CreateStore(GetLanes(acc.reduce->init[i], 0), slot(acc, i, 0));
          }
        });
        if (const unsigned copies = during.empty() ? ColumnCopies(plan, accs) : 0; copies > 0) {
          ReduceColumnsInRegisters(plan, accs, needed, copies, slot);
        } else {
          ForDims(plan.reduced, 0, needed, nullptr, [&] {
            Precompute(needed);
            VectorLoop(dim, lanes, plan.copies, plan.masked_only, needed, nullptr, [&] {
              EmitPoint(during, needed);
              for (unsigned copy = 0; copy < lanes_.copies; ++copy) {
                for (Accumulators& acc : accs) {
                  Values old;
                  Values element;
                  for (size_t i = 0; i < acc.values(); ++i) {
                    element.push_back(GetLanes(acc.reduce->in[i], copy));
                    old.push_back(b_.CreateLoad(element[i]->getType(), slot(acc, i, copy)));
                  }
                  const Values sum = Combine(acc, old, element);
                  for (size_t i = 0; i < acc.values(); ++i) b_.CreateStore(sum[i], slot(acc, i, copy));
                }
              }
            });
          });
        }
        VectorLoop(dim, lanes, 1, wide, needed_after, nullptr, [&] {
          for (Accumulators& acc : accs) {
            Values result;
            for (size_t i = 0; i < acc.values(); ++i) {
              result.push_back(b_.CreateLoad(low_.RegisterType(TypeOf(acc.reduce->in[i]), lanes), slot(acc, i, 0)));
            }
            SetReduced(acc, 0, result);
          }
          EmitPoint(after, needed_after);
        });
      });
  range_[dim] = whole;
}

unsigned FunctionEmitter::ColumnCopies(const StagePlan& plan, const std::vector<Accumulators>& accs) const {
  const kir::Size rows = k_.dims[plan.reduced.back()].extent;
  if (plan.masked_only || (!rows.is_param() && rows.baked < policy::kRowsInRegisters)) return 0;
  unsigned registers = 0;
  for (const Accumulators& acc : accs) {
    for (Val v : acc.reduce->in) {
      const auto bytes = plan.lanes * static_cast<unsigned>(ScalarLowering::RegisterBytes(TypeOf(v)));
      registers += std::max(1u, bytes / static_cast<unsigned>(isa::VectorBytes(isa_)));
    }
  }
  unsigned copies = plan.copies;
  while (copies > 0 && copies * registers > policy::AllAccumulators(isa_)) copies /= 2;
  return copies;
}

void FunctionEmitter::ReduceColumnsInRegisters(const StagePlan& plan, std::vector<Accumulators>& accs,
                                               const NodeList& needed, unsigned copies,
                                               llvm::function_ref<Value*(const Accumulators&, size_t, unsigned)> slot) {
  const DimId rows = plan.reduced.back();
  llvm::SmallVector<DimId, 4> around = plan.reduced;
  around.pop_back();
  const auto whole = range_[rows];
  ForDims(around, 0, needed, nullptr, [&] {
    Precompute(needed);
    Value* high = DimHigh(rows);
    For(
        DimLow(rows), high, I64(policy::kRowsInRegisters), nullptr, [] {},
        [&](Value* first) {
          Value* end = b_.CreateAdd(first, I64(policy::kRowsInRegisters));
          range_[rows] = {first, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, high)};
          VectorLoop(static_cast<DimId>(plan.vector_dim), plan.lanes, copies, false, needed, nullptr, [&] {
            Values carried;
            for (Accumulators& acc : accs) {
              acc.first = static_cast<unsigned>(carried.size());
              for (unsigned copy = 0; copy < lanes_.copies; ++copy) {
                for (size_t i = 0; i < acc.values(); ++i) {
                  llvm::Type* type = low_.RegisterType(TypeOf(acc.reduce->in[i]), plan.lanes);
                  carried.push_back(b_.CreateLoad(type, slot(acc, i, copy)));
                }
              }
            }
            ForDims({rows}, 0, needed, &carried, [&] {
              EmitPoint({}, needed);
              for (Accumulators& acc : accs) {
                for (unsigned copy = 0; copy < lanes_.copies; ++copy) {
                  Values element;
                  for (Val v : acc.reduce->in) element.push_back(GetLanes(v, copy));
                  Value** at = carried.data() + acc.first + acc.values() * copy;
                  const Values sum = Combine(acc, {at, acc.values()}, element);
                  std::copy(sum.begin(), sum.end(), at);
                }
              }
            });
            for (Accumulators& acc : accs) {
              for (unsigned copy = 0; copy < lanes_.copies; ++copy) {
                for (size_t i = 0; i < acc.values(); ++i)
                  b_.CreateStore(carried[acc.first + acc.values() * copy + i], slot(acc, i, copy));
              }
            }
          });
          range_[rows] = whole;
        });
  });
}

void FunctionEmitter::FinishMemory(Accumulators& acc) {
  // a[l] = (a[l] + a[l+L]) + (a[l+2L] + a[l+3L]), then halves, in place; all as loops, because W may be 256.
  const size_t n = acc.values();
  const int64_t l = acc.width / 4;
  for (size_t first = 0; first < acc.memory.size(); first += n) {
    auto slot_type = [&](size_t i) {
      // The array's element: scalar or vector, as it was allocated.
      return llvm::cast<llvm::AllocaInst>(acc.memory[first + i])->getAllocatedType();
    };
    auto load = [&](Value* at) {
      Values v;
      for (size_t i = 0; i < n; ++i)
        v.push_back(b_.CreateLoad(slot_type(i), b_.CreateGEP(slot_type(i), acc.memory[first + i], at)));
      return v;
    };
    auto store = [&](Value* at, const Values& v) {
      for (size_t i = 0; i < n; ++i) b_.CreateStore(v[i], b_.CreateGEP(slot_type(i), acc.memory[first + i], at));
    };
    For(
        I64(0), I64(l), I64(1), nullptr, [] {},
        [&](Value* at) {
          const Values low = Combine(acc, load(at), load(b_.CreateAdd(at, I64(l))));
          const Values high = Combine(acc, load(b_.CreateAdd(at, I64(2 * l))), load(b_.CreateAdd(at, I64(3 * l))));
          store(at, Combine(acc, low, high));
        });
    for (int64_t half = l / 2; half >= 1; half /= 2) {
      For(
          I64(0), I64(half), I64(1), nullptr, [] {},
          [&](Value* at) { store(at, Combine(acc, load(at), load(b_.CreateAdd(at, I64(half))))); });
    }
  }
}

std::pair<FunctionEmitter::Pieces, FunctionEmitter::Pieces> FunctionEmitter::Halve(const Pieces& pieces, unsigned at,
                                                                                   unsigned lanes) {
  const unsigned half = lanes / 2;
  Pieces low;
  Pieces high;
  for (const Piece& piece : pieces) {
    if (piece.lanes < lanes) {
      (piece.at < at + half ? low : high).push_back(piece);
      continue;
    }
    Piece first{.at = at, .lanes = half};
    Piece second{.at = at + half, .lanes = half};
    for (Value* v : piece.values) {
      if (half == 1) {
        first.values.push_back(b_.CreateExtractElement(v, uint64_t{0}));
        second.values.push_back(b_.CreateExtractElement(v, uint64_t{1}));
        continue;
      }
      llvm::SmallVector<int, 32> from_low;
      llvm::SmallVector<int, 32> from_high;
      for (unsigned e = 0; e < half; ++e) {
        from_low.push_back(static_cast<int>(e));
        from_high.push_back(static_cast<int>(e + half));
      }
      first.values.push_back(b_.CreateShuffleVector(v, from_low));
      second.values.push_back(b_.CreateShuffleVector(v, from_high));
    }
    low.push_back(std::move(first));
    high.push_back(std::move(second));
  }
  return {std::move(low), std::move(high)};
}

FunctionEmitter::Pieces FunctionEmitter::Sum(const Accumulators& acc, Pieces a, Pieces b, unsigned at, unsigned lanes) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  if (a[0].lanes == lanes && b[0].lanes == lanes)
    return {{.at = at, .lanes = lanes, .values = Combine(acc, a[0].values, b[0].values)}};
  auto [a_low, a_high] = Halve(a, at, lanes);
  auto [b_low, b_high] = Halve(b, at, lanes);
  const unsigned half = lanes / 2;
  Pieces sum = Sum(acc, std::move(a_low), std::move(b_low), at, half);
  Pieces high = Sum(acc, std::move(a_high), std::move(b_high), at + half, half);
  sum.insert(sum.end(), high.begin(), high.end());
  return sum;
}

void FunctionEmitter::FinishRow(Accumulators& acc, const StagePlan& plan, std::vector<Pieces> registers) {
  const unsigned group = acc.registers / 4;  // vectors per L accumulators
  const unsigned lanes = lanes_.lanes;
  Meeting* const meeting = MeetingOf(acc, lanes);
  // A comparison of floats that minds NaN and zeros takes ten times as long as one of integers, and each level of the
  // tree waits for the one below, unless other rows have theirs meanwhile. All values have met another one: none is
  // subnormal.
  const DType type = TypeOf(acc.reduce->in[0]);
  // Of floats, only these give the same in any order.
  const std::optional<AnyOrder> extreme = acc.symmetric ? AnyOrderCombiner(*acc.combiner) : std::nullopt;
  const bool ordered =
      extreme && meeting == nullptr && (type == DType::kF32 || (type == DType::kF64 && isa_ == isa::IsaLevel::kAvx512));
  if (ordered) {
    const bool most = extreme->op == kir::Op::kMax;
    acc.ordered = most ? llvm::Intrinsic::smax : llvm::Intrinsic::smin;
    for (Pieces& pieces : registers) {
      for (Piece& piece : pieces) piece.values = OrderedIntegers(piece.values, most);
    }
  }
  const auto sum = [&](Pieces& a, Pieces& b) { return Sum(acc, std::move(a), std::move(b), 0, lanes); };
  std::vector<Pieces> v;
  for (unsigned j = 0; j < group; ++j) {
    Pieces low = sum(registers[j], registers[j + group]);
    Pieces high = sum(registers[j + 2 * group], registers[j + 3 * group]);
    v.push_back(sum(low, high));
  }
  for (size_t m = group / 2; m >= 1; m /= 2) {
    for (size_t j = 0; j < m; ++j) v[j] = sum(v[j], v[j + m]);
  }
  Pieces total = std::move(v[0]);
  if (meeting != nullptr && total[0].lanes == lanes) {
    Value* const vector = total[0].values[0];
    b_.CreateStore(vector, b_.CreateGEP(vector->getType(), meeting->memory, meeting->row));
    meeting->type = vector->getType();
    meeting->acc = acc;
    meeting->plan = plan;
    meeting->joined = true;
    return;
  }
  for (unsigned half = lanes / 2; half >= 1; half /= 2) {
    auto [low, high] = Halve(total, 0, 2 * half);
    for (Piece& piece : high) piece.at -= half;
    total = Sum(acc, std::move(low), std::move(high), 0, half);
  }
  if (ordered) {
    acc.ordered.reset();
    total[0].values = FloatsOf(total[0].values, low_.RegisterType(type, 1));
  }
  Values init;
  for (Val v0 : acc.reduce->init) init.push_back(Get(v0, 0));
  const Values result = StartWith(acc, plan, init, total[0].values);
  const Lanes rows = lanes_;
  lanes_ = {};
  SetReduced(acc, 0, result);
  lanes_ = rows;
}

void FunctionEmitter::ReduceRest(const kir::Stage& stage, const StagePlan& plan, std::vector<Accumulators>& accs,
                                 const std::vector<const kir::Store*>& during, const NodeList& needed, int64_t from,
                                 int64_t to, std::vector<std::vector<Pieces>>& registers) {
  const auto dim = static_cast<DimId>(plan.vector_dim);
  const Lanes outer = lanes_;
  // Identities need not be combined where they change nothing from either side.
  // Rows that meet do so in whole vectors.
  const bool exact = std::all_of(accs.begin(), accs.end(), [&](const Accumulators& acc) {
    return acc.symmetric && MeetingOf(acc, plan.lanes) == nullptr;
  });
  const RestOfRow rest =
      RestOf((to - from) % plan.lanes, plan.lanes, exact ? PiecesOf(stage, needed, dim) : RowPieces());
  const auto one = [&](int64_t i, unsigned width) {
    const size_t mark = Mark();
    const int64_t left = to - i;
    dim_value_[dim] = I64(i);
    lanes_ = width == 1 ? Lanes() : Lanes{.dim = dim, .lanes = width, .copy_dim = dim, .copies = 1};
    if (left < static_cast<int64_t>(width)) {
      lanes_.count = I64(left);
      lanes_.mask = ActiveMask(lanes_.count, width);
    }
    EmitPoint(during, needed);
    for (size_t a = 0; a < accs.size(); ++a) {
      const Accumulators& acc = accs[a];
      Pieces& at = registers[a][static_cast<size_t>(i) / plan.lanes % acc.registers];
      const auto lane = static_cast<unsigned>(i % plan.lanes);
      Piece fresh{.at = lane, .lanes = width};
      for (Val v : acc.reduce->in) fresh.values.push_back(GetLanes(v, 0));
      Values identity;
      for (size_t v = 0; v < acc.values(); ++v)
        identity.push_back(low_.Literal(TypeOf(acc.reduce->in[v]), acc.identity[v], width));
      const bool whole = at.size() == 1 && at[0].lanes == width && at[0].at == lane;
      const Values old = whole ? at[0].values : identity;
      fresh.values = Combine(acc, old, fresh.values);
      if (lanes_.mask != nullptr) {
        for (size_t v = 0; v < acc.values(); ++v)
          fresh.values[v] = b_.CreateSelect(lanes_.mask, fresh.values[v], old[v]);
      }
      if (whole) {
        at[0] = std::move(fresh);
      } else {
        at = Sum(acc, std::move(at), {std::move(fresh)}, 0, plan.lanes);
      }
    }
    lanes_ = outer;
    dim_value_[dim] = nullptr;
    Rewind(mark);
  };
  int64_t i = from;
  for (; i + int64_t{plan.lanes} <= to; i += plan.lanes) one(i, plan.lanes);
  for (const unsigned width : rest.widths) {
    one(i, width);
    i += width;
  }
}

void FunctionEmitter::ReduceRows(const kir::Stage& stage, const StagePlan& plan, std::vector<Accumulators>& accs,
                                 const std::vector<const kir::Store*>& during, const NodeList& needed) {
  const auto dim = static_cast<DimId>(plan.vector_dim);
  const unsigned lanes = plan.lanes;
  unsigned most = 1;
  unsigned total = 0;
  for (Accumulators& acc : accs) {
    // Integers meet in any order: there are no more accumulators than registers hold, however narrow the type is.
    if (acc.values() == 1 && !IsFloat(TypeOf(acc.reduce->in[0])) && AnyOrderCombiner(*acc.combiner))
      acc.width = std::min(acc.width, lanes * policy::kAccumulators);
    acc.registers = acc.width / lanes;
    most = std::max(most, acc.registers);
    acc.first = total;
    total += acc.registers * static_cast<unsigned>(acc.values());
  }
  const bool in_memory = plan.copies == 1 || most > policy::kAccumulators || total > policy::AllAccumulators(isa_);

  const Lanes outer = lanes_;
  const Lanes full = {.dim = dim, .lanes = lanes, .copy_dim = dim, .copies = 1};
  Values carried;
  for (Accumulators& acc : accs) {
    acc.memory.clear();
    for (unsigned k = 0; k < acc.registers; ++k) {
      for (size_t i = 0; i < acc.values(); ++i)
        carried.push_back(low_.Literal(TypeOf(acc.reduce->in[i]), acc.identity[i], lanes));
    }
    for (size_t i = 0; i < acc.values(); ++i) {
      acc.memory.push_back(Alloca(low_.RegisterType(TypeOf(acc.reduce->in[i]), lanes), acc.registers));
    }
  }
  auto spill = [&] {
    for (Accumulators& acc : accs) {
      for (unsigned k = 0; k < acc.registers; ++k) {
        for (size_t i = 0; i < acc.values(); ++i) {
          Value* v = carried[acc.first + k * acc.values() + i];
          b_.CreateStore(v, b_.CreateConstGEP1_64(v->getType(), acc.memory[i], k));
        }
      }
    }
  };
  auto reload = [&] {
    for (Accumulators& acc : accs) {
      for (unsigned k = 0; k < acc.registers; ++k) {
        for (size_t i = 0; i < acc.values(); ++i) {
          Value*& v = carried[acc.first + k * acc.values() + i];
          v = b_.CreateLoad(v->getType(), b_.CreateConstGEP1_64(v->getType(), acc.memory[i], k));
        }
      }
    }
  };
  // One vector at index i of the row into the accumulators in memory.
  auto memory_step = [&](Value* i, Value* left) {
    dim_value_[dim] = i;
    lanes_ = full;
    if (left != nullptr) {
      lanes_.mask = ActiveMask(left, lanes);
      lanes_.count = left;
    }
    EmitPoint(during, needed);
    for (Accumulators& acc : accs) {
      Values element;
      Values places;
      Values old;
      Value* k = b_.CreateLShr(b_.CreateAnd(i, I64(acc.width - 1)), llvm::Log2_32(lanes));
      for (size_t v = 0; v < acc.values(); ++v) {
        element.push_back(GetLanes(acc.reduce->in[v], 0));
        places.push_back(b_.CreateGEP(element[v]->getType(), acc.memory[v], k));
        old.push_back(b_.CreateLoad(element[v]->getType(), places[v]));
      }
      Values sum = Combine(acc, old, element);
      for (size_t v = 0; v < acc.values(); ++v) {
        if (lanes_.mask != nullptr) sum[v] = b_.CreateSelect(lanes_.mask, sum[v], old[v]);
        b_.CreateStore(sum[v], places[v]);
      }
    }
    lanes_ = outer;
    dim_value_[dim] = nullptr;
  };
  auto before = [&] {
    Precompute(needed);
    lanes_ = full;
    PrecomputeSplats(needed);
    lanes_ = outer;
  };
  auto tail = [&](Value* from, Value* hi) {
    For(from, hi, I64(lanes), nullptr, before, [&](Value* i) {
      memory_step(i, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(hi, i), I64(lanes)));
    });
  };

  llvm::SmallVector<DimId, 4> others = plan.reduced;
  others.pop_back();
  Value* hi = DimHigh(dim);
  // What is left of a row behind vector `first` of its last group, as many vectors as there are; bodies that cost
  // little.
  const std::function<void(Value*, unsigned)> rest = [&](Value* from, unsigned first) {
    before();
    Value* const left = b_.CreateSub(hi, from);
    const size_t mark = Mark();
    dim_value_[dim] = from;
    lanes_ = full;
    lanes_.count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, I64(lanes));
    lanes_.mask = ActiveMask(lanes_.count, lanes);
    EmitPoint(during, needed);
    for (Accumulators& acc : accs) {
      Values element;
      for (Val v : acc.reduce->in) element.push_back(GetLanes(v, 0));
      Value** const at = carried.data() + acc.first + first % acc.registers * acc.values();
      const Values sum = Combine(acc, {at, acc.values()}, element);
      for (size_t v = 0; v < acc.values(); ++v) at[v] = b_.CreateSelect(lanes_.mask, sum[v], at[v]);
    }
    lanes_ = outer;
    dim_value_[dim] = nullptr;
    Rewind(mark);
    if (first + 1 == most) return;
    If(b_.CreateICmpSGT(left, I64(lanes)), &carried, [&] { rest(b_.CreateAdd(from, I64(lanes)), first + 1); });
  };
  // By accumulators' vector, in which pieces of the row they are.
  std::vector<std::vector<Pieces>> registers(accs.size());
  const auto finish = [&] {
    for (size_t a = 0; a < accs.size(); ++a) {
      lanes_ = full;
      FinishRow(accs[a], plan, std::move(registers[a]));
      lanes_ = outer;
    }
  };
  const auto take = [&](size_t a) {
    const size_t n = accs[a].values();
    for (unsigned k = 0; k < accs[a].registers; ++k) {
      Value** first = carried.data() + accs[a].first + k * n;
      registers[a].push_back({{.at = 0, .lanes = lanes, .values = Values(first, first + n)}});
    }
  };
  const int64_t step = int64_t{lanes} * most;
  auto main_loop = [&](Value* main_end) {
    For(I64(0), main_end, I64(step), &carried, before, [&](Value* i) {
      dim_value_[dim] = i;
      lanes_ = full;
      lanes_.copies = most;
      for (Val v : needed) {
        if (k_.nodes[v].op == kir::Op::kRead) ExtendPointer(k_.nodes[v].attr);
      }
      const unsigned together = std::min(most, together_);
      for (unsigned copy = 0; copy < most; ++copy) {
        if (copy % together == 0) PrecomputeCopies(needed, copy, together);
        for (const kir::Store* s : during) EmitStore(*s, copy, true);
        for (Accumulators& acc : accs) {
          Values element;
          for (Val v : acc.reduce->in) element.push_back(GetLanes(v, copy));
          Value** at = carried.data() + acc.first + copy % acc.registers * acc.values();
          const Values sum = Combine(acc, {at, acc.values()}, element);
          std::copy(sum.begin(), sum.end(), at);
        }
      }
      lanes_ = outer;
      dim_value_[dim] = nullptr;
    });
  };
  if (const std::optional<int64_t> length = Known(hi); length && *length > 0 && others.empty() &&
                                                       most <= policy::kAccumulators &&
                                                       total <= policy::AllAccumulators(isa_)) {
    const int64_t main_end = plan.copies == 1 ? 0 : *length / step * step;
    const int64_t vectors = (*length - main_end + lanes - 1) / lanes;
    if (vectors * an_.Cost(needed, kir::DimMask{1} << dim) <= policy::kWrittenOutRow) {
      main_loop(I64(main_end));
      for (size_t a = 0; a < accs.size(); ++a) {
        if (main_end > 0 || !accs[a].symmetric) {
          take(a);
        } else {
          registers[a].resize(accs[a].registers);
        }
      }
      ReduceRest(stage, plan, accs, during, needed, main_end, *length, registers);
      return finish();
    }
  }
  if (in_memory) {
    spill();
    ForDims(others, 0, needed, nullptr, [&] {
      Precompute(needed);
      Value* main_end = I64(0);
      if (!plan.masked_only) {
        main_end = b_.CreateAnd(hi, I64(-int64_t{lanes}));
        For(I64(0), main_end, I64(lanes), nullptr, before, [&](Value* i) { memory_step(i, nullptr); });
      }
      tail(main_end, hi);
    });
    reload();
  } else {
    ForDims(others, 0, needed, &carried, [&] {
      Precompute(needed);
      Value* main_end = b_.CreateAnd(hi, I64(-step));
      main_loop(main_end);
      If(b_.CreateICmpSLT(main_end, hi), &carried, [&] {
        if (plan.copies == 4) return rest(main_end, 0);
        spill();
        tail(main_end, hi);
        reload();
      });
    });
  }
  for (size_t a = 0; a < accs.size(); ++a) take(a);
  finish();
}

}  // namespace tenon::emit_llvm
