// Rows of kernels of several stages: which stage goes through which rows when, and the last one for a vector of rows.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <map>

#include "tenon/emit_llvm/internal/function_emitter.h"
#include "tenon/emit_llvm/policy.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::Val;
using llvm::Value;

// Rows for a turn, as many as caches hold.
Value* FunctionEmitter::RowsOfTurn(const RowsPlan& plan) {
  Value* bytes = I64(plan.element_bytes);
  for (DimId d : plan.row_dims) bytes = b_.CreateMul(bytes, SizeValue(k_.dims[d].extent));
  bytes = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, bytes, I64(1));
  Value* const fit = b_.CreateUDiv(I64(policy::kRowsBytes), bytes);
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, I64(1),
                                  b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, fit, I64(policy::kMostRows)));
}

void FunctionEmitter::EmitRows(DimId dim, const RowsPlan& plan) {
  // Turn by turn its first stage, and the one behind its last; a late stage is the last turn.
  std::vector<size_t> first(plan.turns.begin(), plan.turns.end());
  const bool late = plan.late_lanes > 1;
  if (late) first.push_back(k_.seq.size() - 1);
  const size_t turns = first.size(), by_row = late ? turns - 1 : turns;
  first.push_back(k_.seq.size());
  const auto needed = [&](size_t turn, size_t end) {
    std::vector<Val> roots;
    for (size_t i = first[turn]; i < first[end]; ++i) an_.SeqRoots({k_.seq[i]}, &roots);
    return an_.Needed(roots);
  };
  std::map<uint32_t, size_t> turn_of;  // By reduction.
  for (size_t turn = 0; turn < turns; ++turn) {
    for (size_t i = first[turn]; i < first[turn + 1]; ++i) {
      for (const kir::Reduce& reduce : std::get<kir::Stage>(k_.seq[i].is).reduces) turn_of[reduce.id] = turn;
    }
  }
  const unsigned rows = late ? plan.late_lanes : policy::kMostRows;
  // Results of reductions that turns need of earlier ones, and where they wait, one of each row.
  std::vector<NodeList> earlier(turns);
  std::map<Val, Value*> waiting;
  for (size_t turn = 1; turn < turns; ++turn) {
    for (Val v : needed(turn, turn + 1)) {
      if (k_.nodes[v].op != kir::Op::kReduced || turn_of.at(k_.nodes[v].attr) == turn) continue;
      earlier[turn].push_back(v);
      if (!waiting.contains(v)) waiting[v] = Alloca(low_.RegisterType(TypeOf(v), 1), rows);
    }
  }
  // What waits for a turn of one row, or of `lanes` rows from there on.
  const auto fetch = [&](size_t turn, Value* row, unsigned lanes) {
    // By reduction all of its values, of which only those that are used are known.
    std::map<uint32_t, std::vector<Value*>> results;
    for (Val v : earlier[turn]) {
      const kir::Node& node = k_.nodes[v];
      std::vector<Value*>& values = results[node.attr];
      values.resize(std::max<size_t>(values.size(), size_t{node.imm} + 1));
      Value* at = b_.CreateGEP(low_.RegisterType(node.type, 1), waiting[v], row);
      values[node.imm] = b_.CreateLoad(low_.RegisterType(node.type, lanes), at);
    }
    for (auto& [id, values] : results) SetResult(reduced_, id, std::move(values));
  };
  const auto emit_stages = [&](size_t turn) {
    for (size_t i = first[turn]; i < first[turn + 1]; ++i) EmitStage(std::get<kir::Stage>(k_.seq[i].is));
  };
  const auto emit_turn = [&](size_t turn, Value* block, Value* lo, Value* hi) {
    const NodeList all = needed(turn, turn + 1);
    For(
        lo, hi, I64(1), nullptr, [&] { Precompute(all); },
        [&](Value* row) {
          dim_value_[dim] = b_.CreateAdd(block, row);
          fetch(turn, row, 1);
          Precompute(all);
          emit_stages(turn);
          for (const auto& [v, memory] : waiting) {
            if (turn_of.at(k_.nodes[v].attr) != turn) continue;
            Value* value = Get(v, 0);
            b_.CreateStore(value, b_.CreateGEP(value->getType(), memory, row));
          }
          dim_value_[dim] = nullptr;
        });
  };
  Value* const together = by_row > 1 ? RowsOfTurn(plan) : I64(rows);
  Value* const hi = DimHigh(dim);
  For(
      DimLow(dim), hi, I64(rows), nullptr, [&] { Precompute(needed(0, by_row)); },
      [&](Value* block) {
        Value* left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(hi, block), I64(rows));
        const auto take_turns = [&](Value* lo, Value* end) {
          for (size_t turn = 0; turn < by_row; ++turn) emit_turn(turn, block, lo, end);
        };
        if (const std::optional<int64_t> known = Known(together); known && *known >= int64_t{rows}) {
          take_turns(I64(0), left);
        } else {
          For(
              I64(0), left, together, nullptr, [] {},
              [&](Value* lo) {
                take_turns(lo, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(lo, together), left));
              });
        }
        if (!late) return;
        const size_t mark = Mark();
        const Lanes outside = lanes_;
        dim_value_[dim] = block;
        lanes_ = {.dim = dim, .lanes = rows, .copy_dim = dim, .copies = 1, .mask = ActiveMask(left, rows)};
        lanes_.count = left;
        fetch(by_row, I64(0), rows);
        emit_stages(by_row);
        lanes_ = outside;
        dim_value_[dim] = nullptr;
        Rewind(mark);
      });
}

}  // namespace tenon::emit_llvm
