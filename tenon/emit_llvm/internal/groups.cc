// Neighbours in memory along another dim than the lanes': moved as whole vectors, taken apart and put together by
// shuffles.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tenon/emit_llvm/internal/function_emitter.h"
#include "tenon/emit_llvm/internal/interleave.h"
#include "tenon/target/lanes.h"

namespace tenon::emit_llvm {

using kir::kNone;
using kir::Val;
using llvm::Value;

namespace {

/// Of which groups are made.
DType PartType(DType type) { return IsComplex(type) ? RealPartOf(type) : type; }

/// The vector of this type, made by no shuffle of such, that a lane comes from, and which of its lanes that is.
std::pair<Value*, int> OriginOf(Value* v, int lane) {
  while (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(v)) {
    if (shuffle->getOperand(0)->getType() != shuffle->getType()) break;
    const auto lanes = static_cast<int>(shuffle->getShuffleMask().size());
    const int from = shuffle->getMaskValue(static_cast<unsigned>(lane));
    if (from < 0) return {nullptr, 0};
    v = shuffle->getOperand(from < lanes ? 0 : 1);
    lane = from % lanes;
  }
  return {v, lane};
}

/// `network`, whose inputs are `vectors`, or fewer steps that make the same of what the vectors' lanes come from: what
/// was taken apart and is put together again unchanged only moves.
LaneNetwork Shortcut(LaneNetwork network, int lanes, std::vector<Value*>& vectors) {
  std::vector<Value*> origins;
  std::vector<std::vector<LaneFrom>> outputs = LanesOf(network, lanes);
  for (std::vector<LaneFrom>& row : outputs) {
    for (LaneFrom& from : row) {
      if (from.vector < 0) continue;
      const auto [origin, lane] = OriginOf(vectors[static_cast<size_t>(from.vector)], from.lane);
      if (origin == nullptr) {
        from = {};
        continue;
      }
      const auto at = std::find(origins.begin(), origins.end(), origin);
      from = {static_cast<int>(at - origins.begin()), lane};
      if (at == origins.end()) origins.push_back(origin);
    }
  }
  LaneNetwork direct = Collected(lanes, static_cast<int>(origins.size()), outputs);
  if (origins.empty() || direct.steps.size() >= network.steps.size()) return network;
  vectors = std::move(origins);
  return direct;
}

}  // namespace

int FunctionEmitter::LanesShuffled(unsigned bytes) const {
  return target::ShuffledLanes(static_cast<int>(bytes), static_cast<int>(lanes_.lanes), isa::VectorBytes(isa_));
}

Value* FunctionEmitter::Joined(llvm::ArrayRef<Value*> parts) {
  if (parts.size() == 1) return parts[0];
  const size_t half = parts.size() / 2;
  Value* low = Joined(parts.take_front(half));
  Value* high = Joined(parts.drop_front(half));
  llvm::SmallVector<int, 64> all(2 * llvm::cast<llvm::FixedVectorType>(low->getType())->getNumElements());
  std::iota(all.begin(), all.end(), 0);
  return b_.CreateShuffleVector(low, high, all);
}

Value* FunctionEmitter::PartOf(Value* vector, int first, int lanes) {
  const auto all = static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
  if (all == lanes) return vector;
  // Of what has just been joined, the one or the other.
  if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(vector); shuffle != nullptr && shuffle->isConcat()) {
    const int half = all / 2;
    return PartOf(shuffle->getOperand(first < half ? 0 : 1), first % half, lanes);
  }
  llvm::SmallVector<int, 64> pick(static_cast<size_t>(lanes));
  std::iota(pick.begin(), pick.end(), first);
  return b_.CreateShuffleVector(vector, pick);
}

bool FunctionEmitter::GroupsMove(unsigned bytes) const {
  if (lanes_.dim < 0) return false;
  if (LanesShuffled(bytes) == 0) return false;
  return lanes_.mask == nullptr || (lanes_.count != nullptr && MaskedMoveIsLegal(bytes));
}

Value* FunctionEmitter::FirstLanes(Value* count, int of) {
  const auto lanes = static_cast<unsigned>(of);
  if (const std::optional<int64_t> known = Known(count)) return FirstOf(*known, lanes);
  llvm::SmallVector<llvm::Constant*, 64> iota;
  for (unsigned i = 0; i < lanes; ++i) iota.push_back(b_.getInt32(i));
  Value* n = b_.CreateTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, I64(0)), b_.getInt32Ty());
  return b_.CreateICmpULT(llvm::ConstantVector::get(iota), low_.Splat(n, lanes));
}

std::vector<Value*> FunctionEmitter::RunNetwork(const LaneNetwork& network, std::vector<Value*> vectors) {
  for (const LaneNetwork::Step& step : network.steps) {
    Value* a = vectors[static_cast<size_t>(step.a)];
    Value* b = vectors[static_cast<size_t>(step.b)];
    llvm::SmallVector<int, 64> pick(step.pick.begin(), step.pick.end());
    vectors.push_back(step.a == step.b ? b_.CreateShuffleVector(a, pick) : b_.CreateShuffleVector(a, b, pick));
  }
  std::vector<Value*> outputs;
  for (int v : network.outputs) outputs.push_back(vectors[static_cast<size_t>(v)]);
  return outputs;
}

bool FunctionEmitter::IsGroupAccess(const Access& access) const {
  if (!access.guards->empty()) return false;
  return std::none_of(access.parts.begin(), access.parts.end(), [&](const Contribution& part) {
    return part.kind == Contribution::Kind::kStart && IsVector(part.start);
  });
}

Value* FunctionEmitter::RowExists(Value* points, int row, int lanes) {
  return FirstLanes(b_.CreateMul(b_.CreateSub(points, I64(row)), I64(lanes)), lanes);
}

std::vector<Value*> FunctionEmitter::LoadRows(llvm::Type* vector, Value* base, int stride, Value* points) {
  const auto lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector)->getNumElements());
  const int64_t bytes = vector->getScalarSizeInBits() / 8;
  const llvm::Align align(static_cast<uint64_t>(bytes));
  std::vector<Value*> components;
  while (static_cast<int>(components.size()) < stride) {
    // The last components are those at the end of a vector that ends with the row.
    const auto next = static_cast<int>(components.size());
    const int first = std::min(next, stride - lanes);
    std::vector<Value*> rows;
    for (int row = 0; row < lanes; ++row) {
      Value* pointer = b_.CreateGEP(b_.getInt8Ty(), base, I64((int64_t{row} * stride + first) * bytes));
      rows.push_back(points == nullptr ? static_cast<Value*>(b_.CreateAlignedLoad(vector, pointer, align))
                                       : b_.CreateMaskedLoad(vector, pointer, align, RowExists(points, row, lanes),
                                                             llvm::Constant::getNullValue(vector)));
    }
    std::vector<int> wanted(static_cast<size_t>(first + lanes - next));
    std::iota(wanted.begin(), wanted.end(), next - first);
    for (Value* v : RunNetwork(Deinterleave(lanes, lanes, wanted, true), std::move(rows))) components.push_back(v);
  }
  return components;
}

void FunctionEmitter::StoreRows(const std::vector<Value*>& components, Value* base, Value* points) {
  const auto* const vector = llvm::cast<llvm::FixedVectorType>(components[0]->getType());
  const auto lanes = static_cast<int>(vector->getNumElements()), stride = static_cast<int>(components.size());
  const int64_t bytes = vector->getScalarSizeInBits() / 8;
  const llvm::Align align(static_cast<uint64_t>(bytes));
  for (int next = 0, width = lanes; next < stride; next += width) {
    // The last components with some before them, as many as together are a power of two.
    while (width / 2 >= stride - next) width /= 2;
    const int first = std::min(next, stride - width);
    std::vector<Value*> columns(components.begin() + first, components.begin() + first + width);
    const std::vector<Value*> rows = RunNetwork(Interleave(lanes, width), std::move(columns));
    for (int row = 0; row < lanes; ++row) {
      Value* const whole = rows[static_cast<size_t>(row * width / lanes)];
      Value* pointer = b_.CreateGEP(b_.getInt8Ty(), base, I64((int64_t{row} * stride + first) * bytes));
      const auto store = [&] {
        Value* const elements =
            width == 1 ? b_.CreateExtractElement(whole, row) : PartOf(whole, row * width % lanes, width);
        b_.CreateAlignedStore(elements, pointer, align);
      };
      if (points == nullptr) {
        store();
      } else if (width == lanes) {
        b_.CreateMaskedStore(whole, pointer, align, RowExists(points, row, lanes));
      } else {
        If(b_.CreateICmpSGT(points, I64(row)), nullptr, store);
      }
    }
  }
}

bool FunctionEmitter::EmitGroupRead(Val v, unsigned copy) {
  const DType type = PartType(k_.buffers[k_.reads[k_.nodes[v].attr].buf].type);
  if (!GroupsMove(static_cast<unsigned>(ByteWidth(type))) || needed_now_ == nullptr) return false;
  const auto dim = static_cast<kir::DimId>(lanes_.dim);
  const Access& mine = an_.reads[k_.nodes[v].attr];
  const std::optional<int64_t> stride = ApartAlong(k_, mine, dim);
  if (!stride || !IsGroupAccess(mine)) return false;
  // Whatever else is read there, and would be read now as well.
  std::vector<Val> nodes;
  std::vector<const Access*> accesses;
  std::vector<uint8_t> parts_moved;
  for (Val u : *needed_now_) {
    const kir::Node& node = k_.nodes[u];
    if (node.op != kir::Op::kRead || !IsVector(u) || Has(u, copy)) continue;
    const Access& access = an_.reads[node.attr];
    if (access.buf != mine.buf || !IsGroupAccess(access) || !Available(u, copy)) continue;
    nodes.push_back(u);
    accesses.push_back(&access);
    parts_moved.push_back(static_cast<uint8_t>(node.imm));
  }
  for (const AccessGroup& group : FindGroups(k_, accesses, parts_moved, dim)) {
    const auto member =
        std::find_if(group.members.begin(), group.members.end(), [&](size_t i) { return nodes[i] == v; });
    if (member == group.members.end()) continue;
    std::vector<int> components = group.components;
    components.erase(std::unique(components.begin(), components.end()), components.end());
    const int lanes = LanesShuffled(static_cast<unsigned>(ByteWidth(type)));
    if (!GroupPays(group, lanes)) return false;
    const int64_t bytes = ByteWidth(type);
    const int span = components.back();
    const bool by_rows =
        !group.down && target::MovesByRows(lanes, static_cast<int>(group.stride), static_cast<int>(components.size()));
    const LaneNetwork network =
        by_rows ? LaneNetwork()
                : Deinterleave(lanes, static_cast<int>(group.stride), components, lanes_.mask == nullptr);
    const int64_t elements = int64_t{lanes - 1} * group.stride + span + 1;
    const kir::Node& lowest_read = k_.nodes[nodes[group.members[0]]];
    const Place place = PlaceOf(lowest_read.attr, copy, lowest_read.imm);
    llvm::Type* vector = low_.MemoryType(type, static_cast<unsigned>(lanes));
    const llvm::Align align(static_cast<uint64_t>(bytes));
    std::vector<std::vector<Value*>> parts(components.size());  // By component, in the order of the lanes.
    for (int lane = 0; lane < static_cast<int>(lanes_.lanes); lane += lanes) {
      const int64_t lowest = group.down ? -int64_t{lane + lanes - 1} : lane;
      Value* base = b_.CreateGEP(b_.getInt8Ty(), place.pointer, I64(lowest * group.stride * bytes));
      if (by_rows) {
        Value* const points = lanes_.mask == nullptr ? nullptr : b_.CreateSub(lanes_.count, I64(lane));
        const std::vector<Value*> outputs = LoadRows(vector, base, static_cast<int>(group.stride), points);
        for (size_t c = 0; c < outputs.size(); ++c) parts[c].push_back(outputs[c]);
        continue;
      }
      Value* first = nullptr;  // Of the elements that exist, where those in front do not.
      Value* end = nullptr;    // Behind them, where some do not exist.
      if (lanes_.mask != nullptr) {
        Value* points = b_.CreateSub(lanes_.count, I64(lane));
        // Rows that run down have their first points last.
        if (group.down) first = b_.CreateMul(b_.CreateSub(I64(lanes), points), I64(group.stride));
        end = group.down ? I64(elements)
                         : b_.CreateAdd(b_.CreateMul(points, I64(group.stride)), I64(span + 1 - group.stride));
      }
      std::vector<Value*> vectors;
      for (int i = 0; i < network.inputs; ++i) {
        int64_t at = int64_t{i} * lanes;
        if (end == nullptr) at = std::min(at, elements - lanes);
        Value* pointer = b_.CreateGEP(b_.getInt8Ty(), base, I64(at * bytes));
        if (end == nullptr) {
          vectors.push_back(b_.CreateAlignedLoad(vector, pointer, align));
          continue;
        }
        Value* exist = FirstLanes(b_.CreateSub(end, I64(at)), lanes);
        if (first != nullptr)
          exist = b_.CreateAnd(exist, b_.CreateNot(FirstLanes(b_.CreateSub(first, I64(at)), lanes)));
        vectors.push_back(b_.CreateMaskedLoad(vector, pointer, align, exist, llvm::Constant::getNullValue(vector)));
      }
      const std::vector<Value*> outputs = RunNetwork(network, std::move(vectors));
      for (size_t c = 0; c < outputs.size(); ++c) {
        Value* output = outputs[c];
        if (group.down) {
          llvm::SmallVector<int, 64> turned;
          for (int l = lanes; l-- > 0;) turned.push_back(l);
          output = b_.CreateShuffleVector(output, turned);
        }
        parts[c].push_back(output);
      }
    }
    for (size_t i = 0; i < group.members.size(); ++i) {
      const auto c = std::lower_bound(components.begin(), components.end(), group.components[i]) - components.begin();
      Set(nodes[group.members[i]], copy, low_.FromMemory(type, Joined(parts[static_cast<size_t>(c)])));
    }
    return true;
  }
  return false;
}

size_t FunctionEmitter::EmitGroupStore(const std::vector<const kir::Store*>& stores, size_t first, unsigned copy) {
  const DType type = PartType(k_.buffers[stores[first]->buf].type);
  if (!GroupsMove(static_cast<unsigned>(ByteWidth(type)))) return 0;
  const auto dim = static_cast<kir::DimId>(lanes_.dim);
  // As many as follow one another, so that stores act in their order.
  std::vector<const Access*> accesses;
  std::vector<uint8_t> parts_moved;
  for (size_t i = first; i < stores.size(); ++i) {
    const kir::Store& store = *stores[i];
    if (store.buf != stores[first]->buf || store.combine >= 0 || store.order != kir::StoreOrder::kDisjoint) break;
    const size_t id = AccessId(store);
    if (!IsGroupAccess(accesses_[id])) break;
    accesses.push_back(nullptr);
    parts_moved.push_back(static_cast<uint8_t>(store.component));
  }
  for (size_t i = 0; i < accesses.size(); ++i) accesses[i] = &accesses_[AccessId(*stores[first + i])];
  if (accesses.size() < 2) return 0;
  const std::optional<int64_t> stride = ApartAlong(k_, *accesses[0], dim);
  if (!stride || *stride < 0 || static_cast<int64_t>(accesses.size()) < *stride) return 0;
  accesses.resize(static_cast<size_t>(*stride));
  const std::vector<AccessGroup> groups = FindGroups(k_, accesses, parts_moved, dim);
  if (groups.size() != 1 || !groups[0].complete() || groups[0].down ||
      std::adjacent_find(groups[0].components.begin(), groups[0].components.end()) != groups[0].components.end()) {
    return 0;
  }
  const AccessGroup& group = groups[0];
  ForgetStored(stores[first]->buf);
  const int64_t bytes = ByteWidth(type);
  const int lanes = LanesShuffled(static_cast<unsigned>(bytes));
  std::vector<Value*> values;
  for (size_t member : group.members)
    values.push_back(low_.ToMemory(type, GetLanes(stores[first + member]->value, copy)));
  const kir::Store& lowest_store = *stores[first + group.members[0]];
  const Place place = PlaceOf(AccessId(lowest_store), copy, lowest_store.component);
  const llvm::Align align(static_cast<uint64_t>(bytes));
  for (int lane = 0; lane < static_cast<int>(lanes_.lanes); lane += lanes) {
    std::vector<Value*> vectors;
    for (Value* v : values) vectors.push_back(PartOf(v, lane, lanes));
    if (target::MovesByRows(lanes, static_cast<int>(group.stride), static_cast<int>(vectors.size()))) {
      StoreRows(vectors, b_.CreateGEP(b_.getInt8Ty(), place.pointer, I64(lane * group.stride * bytes)),
                lanes_.mask == nullptr ? nullptr : b_.CreateSub(lanes_.count, I64(lane)));
      continue;
    }
    const LaneNetwork network = Shortcut(Interleave(lanes, static_cast<int>(group.stride)), lanes, vectors);
    const std::vector<Value*> outputs = RunNetwork(network, std::move(vectors));
    Value* left = lanes_.mask == nullptr ? nullptr : b_.CreateMul(lanes_.count, I64(group.stride));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int64_t at = lane * group.stride + static_cast<int64_t>(i) * lanes;
      Value* pointer = b_.CreateGEP(b_.getInt8Ty(), place.pointer, I64(at * bytes));
      if (left == nullptr) {
        b_.CreateAlignedStore(outputs[i], pointer, align);
      } else {
        b_.CreateMaskedStore(outputs[i], pointer, align, FirstLanes(b_.CreateSub(left, I64(at)), lanes));
      }
    }
  }
  return group.members.size();
}

}  // namespace tenon::emit_llvm
