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

FunctionEmitter::Meeting* FunctionEmitter::MeetingOf(const Accumulators& acc, unsigned lanes) {
  const auto meeting = meetings_.find(acc.reduce->id);
  return meeting != meetings_.end() && meeting->second.rows == lanes && acc.lanes_order ? &meeting->second : nullptr;
}

void FunctionEmitter::OfferMeetings(DimId dim, const RowsPlan& plan, const kir::Stage& stage, const NodeList& needed) {
  for (const kir::Reduce& reduce : stage.reduces) {
    if (!MayMeetInRows(an_, reduce, dim, isa_)) continue;
    const bool asked_for = std::any_of(needed.begin(), needed.end(), [&](Val v) {
      return k_.nodes[v].op == kir::Op::kReduced && k_.nodes[v].attr == reduce.id;
    });
    if (asked_for) continue;
    const unsigned rows = plan.late_lanes > 1 ? plan.late_lanes : policy::kMostRows;
    meetings_[reduce.id] = {.memory = Alloca(low_.RegisterType(TypeOf(reduce.in[0]), rows), rows), .rows = rows};
  }
}

// Pairs of vectors, each of which holds some rows' values of a level of the tree, become one that holds those of the
// next level: the lower halves of all rows meet the upper ones.
Value* FunctionEmitter::MetRows(Meeting& meeting) {
  if (!meeting.joined) return nullptr;
  std::vector<Value*> vectors;
  for (unsigned row = 0; row < meeting.rows; ++row)
    vectors.push_back(b_.CreateLoad(meeting.type, b_.CreateConstGEP1_64(meeting.type, meeting.memory, row)));
  for (unsigned half = meeting.rows / 2; half >= 1; half /= 2) {
    llvm::SmallVector<int, 32> low, high;
    for (unsigned lane = 0; lane < 2 * meeting.rows; ++lane)
      (lane % (2 * half) < half ? low : high).push_back(static_cast<int>(lane));
    for (size_t i = 0; 2 * i < vectors.size(); ++i) {
      Value* const below = b_.CreateShuffleVector(vectors[2 * i], vectors[2 * i + 1], low);
      Value* const above = b_.CreateShuffleVector(vectors[2 * i], vectors[2 * i + 1], high);
      vectors[i] = Combine(meeting.acc, {below}, {above})[0];
    }
    vectors.resize(vectors.size() / 2);
  }
  Value* const init = b_.CreateVectorSplat(meeting.rows, Get(meeting.acc.reduce->init[0], 0));
  return StartWith(meeting.acc, meeting.plan, {init}, {vectors[0]})[0];
}

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
  // Results of reductions that turns need of earlier ones, and where they wait, one of each row; a bool has a byte.
  const auto in_memory = [&](llvm::Type* type) {
    return type->isIntOrIntVectorTy(1) ? type->getWithNewType(b_.getInt8Ty()) : type;
  };
  std::vector<NodeList> earlier(turns);
  std::map<Val, Value*> waiting;
  for (size_t turn = 1; turn < turns; ++turn) {
    for (Val v : needed(turn, turn + 1)) {
      if (k_.nodes[v].op != kir::Op::kReduced || turn_of.at(k_.nodes[v].attr) == turn) continue;
      earlier[turn].push_back(v);
      if (!waiting.contains(v)) waiting[v] = Alloca(in_memory(low_.RegisterType(TypeOf(v), 1)), rows);
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
      llvm::Type* const type = low_.RegisterType(node.type, lanes);
      Value* at = b_.CreateGEP(in_memory(low_.RegisterType(node.type, 1)), waiting[v], row);
      values[node.imm] = b_.CreateTrunc(b_.CreateLoad(in_memory(type), at), type);
    }
    for (auto& [id, values] : results) SetResult(reduced_, id, std::move(values));
  };
  const auto emit_stages = [&](size_t turn) {
    for (size_t i = first[turn]; i < first[turn + 1]; ++i) EmitStage(std::get<kir::Stage>(k_.seq[i].is));
  };
  Value* const together = by_row > 1 ? RowsOfTurn(plan) : I64(rows);
  const std::optional<int64_t> known_together = Known(together);
  const bool whole_blocks = known_together && *known_together >= int64_t{rows};
  const auto emit_turn = [&](size_t turn, Value* block, Value* lo, Value* hi) {
    const NodeList all = needed(turn, turn + 1);
    if (whole_blocks) {
      for (size_t i = first[turn]; i < first[turn + 1]; ++i)
        OfferMeetings(dim, plan, std::get<kir::Stage>(k_.seq[i].is), all);
    }
    For(
        lo, hi, I64(1), nullptr, [&] { Precompute(all); },
        [&](Value* row) {
          dim_value_[dim] = b_.CreateAdd(block, row);
          fetch(turn, row, 1);
          Precompute(all);
          for (auto& [id, meeting] : meetings_) meeting.row = row;
          emit_stages(turn);
          for (const auto& [v, memory] : waiting) {
            const uint32_t id = k_.nodes[v].attr;
            if (turn_of.at(id) != turn || (meetings_.contains(id) && meetings_.at(id).joined)) continue;
            Value* value = Get(v, 0);
            value = b_.CreateZExt(value, in_memory(value->getType()));
            b_.CreateStore(value, b_.CreateGEP(value->getType(), memory, row));
          }
          dim_value_[dim] = nullptr;
        });
    for (const auto& [v, memory] : waiting) {
      const auto meeting = meetings_.find(k_.nodes[v].attr);
      if (meeting == meetings_.end()) continue;
      if (Value* const results = MetRows(meeting->second))
        b_.CreateStore(b_.CreateZExt(results, in_memory(results->getType())), memory);
    }
    meetings_.clear();
  };
  Value* const hi = DimHigh(dim);
  For(
      DimLow(dim), hi, I64(rows), nullptr, [&] { Precompute(needed(0, by_row)); },
      [&](Value* block) {
        Value* left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(hi, block), I64(rows));
        const auto take_turns = [&](Value* lo, Value* end) {
          for (size_t turn = 0; turn < by_row; ++turn) emit_turn(turn, block, lo, end);
        };
        if (whole_blocks) {
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
