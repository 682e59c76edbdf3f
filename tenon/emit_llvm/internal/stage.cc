// Stages without reductions: loop order, vector loops, transposing tiles.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <numeric>

#include "tenon/emit_llvm/internal/function_emitter.h"
#include "tenon/emit_llvm/policy.h"
#include "tenon/isa/cache.h"
#include "tenon/target/lanes.h"

namespace tenon::emit_llvm {

using kir::DimId;
using kir::Op;
using kir::Val;
using llvm::Value;

void FunctionEmitter::EmitStage(const kir::Stage& stage) {
  const size_t mark = Mark();
  const bool outer_mutable_ok = mutable_ok_;
  std::pair<Value*, Value*> saved[32];
  std::copy(std::begin(range_), std::end(range_), saved);
  if (cuts_stages_) {
    const DimId first = stage.dims[0];
    range_[first] = {fn_->getArg(2),
                     b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, fn_->getArg(3), SizeValue(k_.dims[first].extent))};
  }
  Value* inside = nullptr;
  for (const kir::Range& r : stage.domain) {
    Value* lo = SizeValue(r.lo);
    Value* hi = SizeValue(r.hi);
    if (dim_value_[r.dim] != nullptr) {
      // The dim is a loop around all stages: this stage has only some of its iterations.
      Value* holds = b_.CreateAnd(b_.CreateICmpSGE(dim_value_[r.dim], lo), b_.CreateICmpSLT(dim_value_[r.dim], hi));
      inside = inside == nullptr ? holds : b_.CreateAnd(inside, holds);
      continue;
    }
    auto& range = range_[r.dim];
    range.first = range.first == nullptr ? lo : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, range.first, lo);
    range.second = range.second == nullptr ? hi : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, range.second, hi);
  }
  if (inside == nullptr) {
    EmitStageBody(stage);
  } else {
    If(inside, nullptr, [&] { EmitStageBody(stage); });
  }
  std::copy(std::begin(saved), std::end(saved), range_);
  mutable_ok_ = outer_mutable_ok;
  // Only results that belong to the point of the outer dims outlive the stage; memory that it read may change after it.
  std::vector<std::pair<uint32_t, std::vector<Value*>>> results;
  for (const kir::Reduce& r : stage.reduces) {
    if (auto it = reduced_.find(r.id); it != reduced_.end()) results.emplace_back(r.id, it->second);
  }
  Rewind(mark);
  for (auto& [id, values] : results) SetResult(reduced_, id, std::move(values));
}

void FunctionEmitter::EmitStageBody(const kir::Stage& stage) {
  // Memory that the kernel writes may be read anywhere in the stage, unless iterations see each other's stores.
  bool ordered = false;
  for (DimId d : stage.dims) ordered |= k_.dims[d].kind == kir::DimKind::kSerial;
  mutable_ok_ = !ordered;
  const StagePlan plan = PlanStage(an_, stage, promoted_, CutDims(), isa_, lanes_.dim < 0);
  together_ = plan.together;
  if (stage.reduces.empty()) {
    EmitElementwise(stage, plan);
  } else {
    EmitReduction(stage, plan);
  }
}

void FunctionEmitter::EmitPoint(const std::vector<const kir::Store*>& stores, const NodeList& needed) {
  const bool vector = lanes_.dim >= 0;
  const bool outer_mutable_ok = mutable_ok_;
  mutable_ok_ = true;
  for (Val v : needed) {
    if (k_.nodes[v].op == Op::kRead) ExtendPointer(k_.nodes[v].attr);
  }
  for (const kir::Store* s : stores) ExtendPointer(AccessId(*s));
  auto store_copy = [&](unsigned copy) {
    if (lanes_.short_tile != nullptr) return EmitShortStores(stores, copy);
    for (size_t i = 0; i < stores.size(); ++i) {
      if (vector && i + 1 < stores.size() && EmitPairedStore(*stores[i], *stores[i + 1], copy)) {
        ++i;
        continue;
      }
      if (const size_t written = vector ? EmitGroupStore(stores, i, copy) : 0; written > 0) {
        i += written - 1;
        continue;
      }
      EmitStore(*stores[i], copy, vector);
    }
  };
  if (lanes_.stream != nullptr) {
    for (unsigned copy = 0; copy < lanes_.copies; copy += lanes_.together)
      PrecomputeCopies(needed, copy, lanes_.together);
    IfElse(
        lanes_.stream, [&] { EmitStreamingStores(stores, lanes_.copies); },
        [&] {
          for (unsigned copy = 0; copy < lanes_.copies; ++copy) store_copy(copy);
        });
  } else {
    for (unsigned first = 0; first < lanes_.copies; first += lanes_.together) {
      PrecomputeCopies(needed, first, lanes_.together);
      for (unsigned copy = first; copy < first + lanes_.together; ++copy) store_copy(copy);
    }
  }
  mutable_ok_ = outer_mutable_ok;
}

void FunctionEmitter::ForDims(const llvm::SmallVector<DimId, 4>& dims, size_t next, const NodeList& needed,
                              Values* carried, llvm::function_ref<void()> body) {
  if (next == dims.size()) {
    body();
    return;
  }
  const DimId dim = dims[next];
  For(
      DimLow(dim), DimHigh(dim), I64(1), carried, [&] { Precompute(needed); },
      [&](Value* i) {
        PrefetchRows(dim, i, needed);
        dim_value_[dim] = i;
        if (next + 1 < dims.size()) Precompute(needed);
        ForDims(dims, next + 1, needed, carried, body);
        dim_value_[dim] = nullptr;
      });
}

void FunctionEmitter::VectorLoop(DimId dim, unsigned lanes, unsigned copies, bool masked_only, const NodeList& needed,
                                 Value* stream, llvm::function_ref<void()> body, RowEnd ends) {
  if (pinned_ >> dim & 1) ends = {.pieces = {std::min(ends.pieces.most, 1u), ends.pieces.shortest}};
  const Lanes outer = lanes_;
  const int64_t step = int64_t{lanes} * copies;
  auto before = [&] {
    Precompute(needed);
    lanes_ = {.dim = dim, .lanes = lanes, .copy_dim = dim, .copies = 1};
    PrecomputeSplats(needed);
    lanes_ = outer;
  };
  const auto run = [&](Value* i, const Lanes& vectors) {
    dim_value_[dim] = i;
    lanes_ = vectors;
    body();
    lanes_ = outer;
    dim_value_[dim] = nullptr;
  };
  const auto whole = [&](unsigned count) {
    return Lanes{.dim = dim,
                 .lanes = lanes,
                 .copy_dim = dim,
                 .copies = count,
                 .together = std::min(count, together_),
                 .stream = stream};
  };
  const auto masked = [&](Value* i, Value* left, unsigned width) {
    Lanes rest{.dim = dim, .lanes = width, .copy_dim = dim, .copies = 1};
    if (auto known = Known(left); known == static_cast<int64_t>(width)) {
      rest.stream = masked_only ? stream : nullptr;
    } else {
      rest.mask = ActiveMask(left, width);
      rest.count = left;
      if (masked_only && stream != nullptr)
        rest.stream = b_.CreateAnd(stream, b_.CreateICmpEQ(left, I64(static_cast<int64_t>(width))));
    }
    run(i, rest);
  };
  Value* lo = DimLow(dim);
  Value* hi = DimHigh(dim);
  const std::optional<int64_t> first = Known(lo);
  const std::optional<int64_t> last = Known(hi);
  if (first && last) {
    // Nothing to find out at run time: what is left are vectors one after another, and shorter ones.
    const int64_t length = std::max<int64_t>(0, *last - *first);
    const int64_t rest = length % lanes;
    RestOfRow parts = RestOf(rest, lanes, ends.pieces);
    const unsigned overlapping = parts.masked && ends.overlap ? Overlapping(length, lanes) : 0;
    const bool twice = length < int64_t{lanes} && length > int64_t{overlapping};
    if (overlapping > 0) parts = {.widths = llvm::SmallVector<unsigned, 4>(twice ? 2 : 1, overlapping)};
    if (!masked_only || rest == 0 || !parts.masked || length < int64_t{lanes}) {
      int64_t at = *first;
      const int64_t end = at + std::max<int64_t>(0, *last - at) / step * step;
      For(I64(at), I64(end), I64(step), nullptr, before, [&](Value* i) { run(i, whole(copies)); });
      at = std::max(at, end);
      const auto once = [&](int64_t length, const Lanes& vectors) {
        const size_t mark = Mark();
        run(I64(at), vectors);
        Rewind(mark);
        at += length;
      };
      for (unsigned count = copies / 2; count >= 1; count /= 2) {
        if (*last - at >= int64_t{count} * lanes) once(int64_t{count} * lanes, whole(count));
      }
      for (const unsigned width : parts.widths) {
        if (overlapping > 0) at = std::min(at, *last - width);
        if (*last - at >= static_cast<int64_t>(width)) {
          once(width, width == 1 ? Lanes() : Lanes{.dim = dim, .lanes = width, .copy_dim = dim, .copies = 1});
          continue;
        }
        const size_t mark = Mark();
        masked(I64(at), I64(*last - at), width);
        Rewind(mark);
      }
      return;
    }
  }
  Value* main_end = lo;
  if (!masked_only) {
    Value* length = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(hi, lo), I64(0));
    main_end = b_.CreateAdd(lo, b_.CreateAnd(length, I64(-step)));
    For(lo, main_end, I64(step), nullptr, before, [&](Value* i) { run(i, whole(copies)); });
  }
  if (ends.overlap && !ends.masks) {
    Value* end = b_.CreateSub(hi, I64(lanes));
    const auto vectors = [&] {
      For(main_end, hi, I64(lanes), nullptr, before, [&](Value* i) {
        // The last one begins anywhere: it does not stream.
        Lanes vector = whole(1);
        if (stream != nullptr) vector.stream = masked_only ? b_.CreateAnd(stream, b_.CreateICmpSLE(i, end)) : nullptr;
        run(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, i, end), vector);
      });
    };
    const auto points = [&] {
      For(lo, hi, I64(1), nullptr, [&] { Precompute(needed); }, [&](Value* i) { run(i, {}); });
    };
    return IfElse(b_.CreateICmpSLE(lo, end), vectors, points);
  }
  For(main_end, hi, I64(lanes), nullptr, before, [&](Value* i) {
    const std::optional<int64_t> at = Known(i);
    Value* left = at && last ? I64(std::min<int64_t>(*last - *at, lanes))
                             : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateSub(hi, i), I64(lanes));
    masked(i, left, lanes);
  });
}

FunctionEmitter::RestOfRow FunctionEmitter::RestOf(int64_t rest, unsigned lanes, RowPieces pieces) {
  RestOfRow parts;
  if (rest == 0) return parts;
  int64_t left = rest;
  for (unsigned width = lanes / 2; width >= pieces.shortest && left > 0; width /= 2) {
    if (left < static_cast<int64_t>(width)) continue;
    parts.widths.push_back(width);
    left -= width;
  }
  // One by one where that is not more than a few.
  for (; left > 0 && parts.widths.size() < pieces.most; --left) parts.widths.push_back(1);
  if (left == 0 && parts.widths.size() <= pieces.most) return parts;
  parts.masked = true;
  unsigned width = pieces.most == 0 ? lanes : std::min(lanes, pieces.shortest);
  while (static_cast<int64_t>(width) < rest) width *= 2;
  parts.widths.assign(1, width);
  return parts;
}

unsigned FunctionEmitter::Overlapping(int64_t length, unsigned lanes) const {
  constexpr unsigned kLeastBytes = 16;  // structural: shorter vectors are not registers
  const auto register_bytes = static_cast<unsigned>(isa::VectorBytes(isa_));
  const unsigned least = std::max(kShortestVector, kLeastBytes * lanes / register_bytes);
  while (lanes > length && lanes > least) lanes /= 2;
  return lanes <= length ? lanes : 0;
}

RowEnd FunctionEmitter::RowEndOf(const kir::Stage& stage, const NodeList& needed, DimId dim) const {
  RowEnd ends{.pieces = PiecesOf(stage, needed, dim),
              .overlap = isa_ < isa::IsaLevel::kAvx512 && MayRepeat(stage, needed)};
  const auto moves = [&](kir::Buf buf) {
    ends.masks &= MaskedMoveIsLegal(static_cast<unsigned>(ByteWidth(k_.buffers[buf].type)));
  };
  for (const kir::Store& s : stage.stores) moves(s.buf);
  for (Val v : needed) {
    if (k_.nodes[v].op == Op::kRead && (an_.deps[v] >> dim & 1)) moves(k_.reads[k_.nodes[v].attr].buf);
  }
  return ends;
}

bool FunctionEmitter::MayRepeat(const kir::Stage& stage, const NodeList& needed) const {
  const auto memory = [&](kir::Buf buf) {
    const kir::Buf other = k_.buffers[buf].in_place_of;
    return other == kir::kNoBuf ? buf : other;
  };
  return std::ranges::all_of(stage.stores, [&](const kir::Store& s) {
    return s.combine < 0 && s.order == kir::StoreOrder::kDisjoint &&
           std::ranges::none_of(
               needed,
               [&](Val v) {
                 return k_.nodes[v].op == Op::kRead && memory(k_.reads[k_.nodes[v].attr].buf) == memory(s.buf);
               });
  });
}

RowPieces FunctionEmitter::PiecesOf(const kir::Stage& stage, const NodeList& needed, DimId dim) const {
  constexpr unsigned kRegister = 16;  // structural: bytes of the shortest
  RowPieces pieces;
  const auto moves = [&](DType type) {
    pieces.shortest = std::max(pieces.shortest, kRegister / static_cast<unsigned>(ByteWidth(type)));
  };
  for (const kir::Store& s : stage.stores) moves(k_.buffers[s.buf].type);
  for (Val v : needed) {
    if (!(an_.deps[v] >> dim & 1)) continue;
    if (k_.nodes[v].op == Op::kRead) moves(k_.buffers[k_.reads[k_.nodes[v].attr].buf].type);
    if (TypeOf(v) != DType::kPred) moves(TypeOf(v));
  }
  pieces.most = 1;
  if (loops_ == 0) return pieces;
  const int cost = an_.Cost(needed, kir::DimMask{1} << dim);
  pieces.most = cost <= policy::kFourCopies ? 3 : cost <= policy::kTwoCopies ? 2 : 1;
  return pieces;
}

bool FunctionEmitter::WrittenOutRow(DimId dim, unsigned lanes, unsigned most_vectors, bool overlap,
                                    const NodeList& needed, llvm::function_ref<void()> body) {
  auto* const lo = llvm::dyn_cast<llvm::ConstantInt>(DimLow(dim));
  auto* const hi = llvm::dyn_cast<llvm::ConstantInt>(DimHigh(dim));
  if (lo == nullptr || hi == nullptr) return false;
  const int64_t length = hi->getSExtValue() - lo->getSExtValue();
  if (length <= 0 || length > int64_t{most_vectors} * lanes) return false;
  if (loops_ > 0 && length % lanes != 0) return false;  // What a trip stores through a mask the next one waits for.
  const unsigned overlapping = overlap && length % lanes != 0 ? Overlapping(length, lanes) : 0;
  if (overlapping > 0) lanes = overlapping;
  const Lanes outer = lanes_;
  const size_t mark = Mark();
  Precompute(needed);
  lanes_ = {.dim = dim, .lanes = lanes, .copy_dim = dim, .copies = 1};
  PrecomputeSplats(needed);
  const auto vectors = [&](int64_t begin, const Lanes& now) {
    const size_t here = Mark();
    dim_value_[dim] = I64(lo->getSExtValue() + begin);
    lanes_ = now;
    body();
    dim_value_[dim] = nullptr;
    lanes_ = outer;
    Rewind(here);
  };
  const auto whole = static_cast<unsigned>(length / lanes), rest = static_cast<unsigned>(length % lanes);
  if (whole > 0) {
    vectors(0, {.dim = dim,
                .lanes = lanes,
                .copy_dim = dim,
                .copies = whole,
                .together = whole % together_ == 0 ? together_ : 1});
  }
  if (rest > 0 && overlapping > 0) {
    vectors(length - lanes, {.dim = dim, .lanes = lanes, .copy_dim = dim, .copies = 1});
  } else if (rest > 0) {
    llvm::SmallVector<llvm::Constant*, 64> exist;
    for (unsigned i = 0; i < lanes; ++i) exist.push_back(b_.getInt1(i < rest));
    vectors(length - rest, {.dim = dim,
                            .lanes = lanes,
                            .copy_dim = dim,
                            .copies = 1,
                            .mask = llvm::ConstantVector::get(exist),
                            .count = I64(rest)});
  }
  lanes_ = outer;
  Rewind(mark);
  return true;
}

Value* FunctionEmitter::StreamingAllowed(const std::vector<const kir::Store*>& stores,
                                         const llvm::SmallVector<DimId, 4>& dims, DimId along, int64_t aligned_bytes,
                                         unsigned lanes) {
  Value* stream = b_.getTrue();
  const size_t mark = Mark();
  for (const kir::Store* store : stores) {
    const int64_t bytes = ByteWidth(k_.buffers[store->buf].type);
    // Vectors that are parts of a cache line may stream only where the rest of the line follows at once.
    const int64_t alignment = std::max(aligned_bytes, bytes * lanes);
    Value* wants = StreamsAlong(*store, along) ? WantsStreaming(*store) : nullptr;
    if (wants == nullptr) {
      stream = nullptr;
      break;
    }
    // Where the loops begin and every one of their steps must keep the alignment.
    const size_t id = AccessId(*store);
    Value* bits = nullptr;
    bool known = true;
    for (const Contribution& part : accesses_[id].parts) {
      const bool loops =
          part.kind == Contribution::Kind::kDim && std::find(dims.begin(), dims.end(), part.dim) != dims.end();
      known &= part.kind != Contribution::Kind::kStart || Available(part.start, 0);
      if (!loops || part.dim == along) continue;
      Value* step = b_.CreateMul(Product(part.a, part.b), I64(bytes));
      bits = bits == nullptr ? step : b_.CreateOr(bits, step);
    }
    if (!known) {
      stream = nullptr;
      break;
    }
    Value* old[32];
    std::copy(std::begin(dim_value_), std::end(dim_value_), old);
    for (DimId d : dims) dim_value_[d] = DimLow(d);
    dim_value_[along] = DimLow(along);
    ExtendPointer(id);
    std::copy(std::begin(old), std::end(old), dim_value_);
    Value* address = b_.CreatePtrToInt(pointers_[id].pointer, b_.getInt64Ty());
    bits = bits == nullptr ? address : b_.CreateOr(bits, address);
    stream = b_.CreateAnd(stream, b_.CreateAnd(wants, b_.CreateICmpEQ(b_.CreateAnd(bits, I64(alignment - 1)), I64(0))));
    Rewind(mark);
  }
  Rewind(mark);
  streams_ |= stream != nullptr;
  return stream;
}

bool FunctionEmitter::StreamsAlong(const kir::Store& store, DimId dim) {
  const kir::Buffer& buffer = k_.buffers[store.buf];
  const int bytes = ByteWidth(buffer.type);
  if (buffer.kind != kir::BufKind::kOut || IsComplex(buffer.type) || !store.guard.empty() || store.combine >= 0)
    return false;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return false;
  for (const kir::Read& read : k_.reads) {
    if (read.buf == store.buf) return false;
  }
  const Access& access = accesses_[AccessId(store)];
  for (const Contribution& part : access.parts) {
    if (part.kind == Contribution::Kind::kStart && (an_.deps[part.start] >> dim & 1)) return false;
  }
  return ConstStride(access, dim) == 1;
}

Value* FunctionEmitter::BytesOf(const kir::Buffer& buffer) {
  Value* bytes = I64(ByteWidth(buffer.type));
  for (kir::Size extent : buffer.extent) bytes = entry_.CreateMul(bytes, SizeValue(extent));
  return bytes;
}

Value* FunctionEmitter::WantsStreaming(const kir::Store& store) {
  // What is larger than half of the last cache level leaves it before anybody reads it. Writing around the caches is
  // slower than into them, and pays by what it leaves there: of what is read, and of what was written the last time.
  const int64_t l3_bytes = isa::Caches().l3_bytes;
  Value* const written = BytesOf(k_.buffers[store.buf]);
  Value* traffic = written;
  for (size_t i = 0; i < k_.buffers.size(); ++i) {
    const bool read = std::any_of(k_.reads.begin(), k_.reads.end(), [&](const kir::Read& r) { return r.buf == i; });
    if (read) traffic = entry_.CreateAdd(traffic, entry_.CreateMul(BytesOf(k_.buffers[i]), I64(2)));
  }
  Value* const wants = entry_.CreateAnd(entry_.CreateICmpSGE(written, I64(l3_bytes / 2)),
                                        entry_.CreateICmpSGE(traffic, I64(l3_bytes / 2 * 3)));
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(wants); known != nullptr && known->isZero()) return nullptr;
  return wants;
}

void FunctionEmitter::EmitStreamingStores(const std::vector<const kir::Store*>& stores, unsigned copies) {
  for (unsigned copy = 0; copy < copies; ++copy) {
    for (const kir::Store* store : stores) {
      ForgetStored(store->buf);
      const DType type = k_.buffers[store->buf].type;
      const Place place = PlaceOf(AccessId(*store), copy, 0);
      Value* memory = low_.ToMemory(type, GetLanes(store->value, copy));
      const uint64_t bytes = memory->getType()->getPrimitiveSizeInBits().getFixedValue() / 8;
      llvm::StoreInst* made = b_.CreateAlignedStore(memory, place.pointer, llvm::Align(bytes));
      made->setMetadata(llvm::LLVMContext::MD_nontemporal,
                        llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
    }
  }
}

void FunctionEmitter::EmitElementwise(const kir::Stage& stage, const StagePlan& plan) {
  std::vector<Val> roots;
  std::vector<const kir::Store*> stores;
  for (const kir::Store& s : stage.stores) {
    Analysis::StoreRoots(s, &roots);
    stores.push_back(&s);
  }
  const NodeList needed = an_.Needed(roots);
  Precompute(needed);
  if (MayPair(stage, plan)) return EmitPairs(stage, plan, needed);
  Value* stream = nullptr;
  if (plan.kind == StagePlan::Kind::kVector)
    stream = StreamingAllowed(stores, plan.outside, static_cast<DimId>(plan.vector_dim), 1, plan.lanes);
  target::RowChoices choices;
  choices.needed = needed;
  if (plan.kind != StagePlan::Kind::kScalar) choices = target::ChoicesOf(RowStageOf(stage, plan, needed));
  ForRows(stage, plan, choices, 0, [&](const NodeList& left) {
    if (plan.kind == StagePlan::Kind::kScalar) {
      EmitPoint(stores, left);
    } else if (plan.kind == StagePlan::Kind::kTile) {
      EmitTiles(stage, plan, left);
    } else if (plan.kind == StagePlan::Kind::kShort) {
      EmitShortTile(stage, plan, left);
    } else {
      EmitRow(stage, plan, left, stream);
    }
  });
}

void FunctionEmitter::EmitRow(const kir::Stage& stage, const StagePlan& plan, const NodeList& needed, Value* stream) {
  std::vector<const kir::Store*> stores;
  for (const kir::Store& s : stage.stores) stores.push_back(&s);
  const auto v = static_cast<DimId>(plan.vector_dim);
  const auto point = [&] { EmitPoint(stores, needed); };
  // What is asked about places of the row is answered when it is written out.
  const bool asks = std::any_of(needed.begin(), needed.end(), [&](Val n) {
    if (k_.nodes[n].op != Op::kRead) return false;
    const auto& guards = k_.reads[k_.nodes[n].attr].guard;
    return std::any_of(guards.begin(), guards.end(), [&](const kir::Guard& g) {
      return std::any_of(g.e.terms.begin(), g.e.terms.end(), [&](const kir::Term& t) { return t.dim == v; });
    });
  });
  const RowEnd ends = RowEndOf(stage, needed, v);
  if (!asks || stream != nullptr || !WrittenOutRow(v, plan.lanes, plan.written_out, ends.overlap, needed, point)) {
    const auto row = [&] { VectorLoop(v, plan.lanes, plan.copies, plan.masked_only, needed, stream, point, ends); };
    Precompute(needed);
    IfStored(stores, v, row);
  }
}

void FunctionEmitter::EmitTiles(const kir::Stage& stage, const StagePlan& plan, const NodeList& needed) {
  const auto v = static_cast<DimId>(plan.vector_dim);
  const auto t = static_cast<DimId>(plan.tile_dim);
  const int64_t n = plan.lanes;
  std::vector<const kir::Store*> stores;
  for (const kir::Store& s : stage.stores) stores.push_back(&s);
  Precompute(needed);
  Value* v_hi = DimHigh(v);
  Value* t_hi = DimHigh(t);
  // Only whole cache lines: parts of one would leave it one by one.
  const bool lines = std::all_of(stores.begin(), stores.end(),
                                 [&](const kir::Store* s) { return ByteWidth(k_.buffers[s->buf].type) * n == 64; });
  Value* stream = lines ? StreamingAllowed(stores, {t}, v, 64, plan.lanes) : nullptr;
  auto min = [&](Value* a, Value* b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); };
  // The last tiles reach back over what is done already where that changes nothing; not where vectors must be aligned.
  const auto reach_back = [&](DimId d, Value* hi) -> Value* {
    Value* enough = b_.CreateICmpSGE(b_.CreateSub(hi, DimLow(d)), I64(n));
    if (stream != nullptr && d == v) enough = b_.CreateAnd(enough, b_.CreateNot(stream));
    return b_.CreateSelect(enough, b_.CreateSub(hi, I64(n)), hi);
  };
  const bool repeats = MayRepeat(stage, needed);
  Value* const last_t = repeats ? reach_back(t, t_hi) : nullptr;
  Value* const last_v = repeats ? reach_back(v, v_hi) : nullptr;
  auto tile = [&](Value* t0, Value* v0) {
    if (repeats) {
      t0 = min(t0, last_t);
      v0 = min(v0, last_v);
    }
    dim_value_[t] = t0;
    dim_value_[v] = v0;
    Value* lanes_left = b_.CreateSub(v_hi, v0);
    Value* copies_left = b_.CreateSub(t_hi, t0);
    Value* whole = b_.CreateAnd(b_.CreateICmpSGE(lanes_left, I64(n)), b_.CreateICmpSGE(copies_left, I64(n)));
    auto full = [&] {
      const Lanes outer = lanes_;
      lanes_ = {.dim = v, .lanes = plan.lanes, .copy_dim = t, .copies = plan.lanes, .stream = stream};
      EmitPoint(stores, needed);
      lanes_ = outer;
    };
    // What is left at the edges goes point by point: little code, and little to do.
    IfElse(whole, full, [&] {
      For(
          t0, min(b_.CreateAdd(t0, I64(n)), t_hi), I64(1), nullptr, [] {},
          [&](Value* i) {
            dim_value_[t] = i;
            For(
                v0, min(b_.CreateAdd(v0, I64(n)), v_hi), I64(1), nullptr, [] {},
                [&](Value* j) {
                  dim_value_[v] = j;
                  EmitPoint(stores, needed);
                });
          });
    });
    dim_value_[t] = nullptr;
    dim_value_[v] = nullptr;
  };
  For(
      DimLow(t), t_hi, I64(policy::kTileBlock), nullptr, [] {},
      [&](Value* tb) {
        Value* tb_end = min(b_.CreateAdd(tb, I64(policy::kTileBlock)), t_hi);
        For(
            DimLow(v), v_hi, I64(policy::kTileBlock), nullptr, [] {},
            [&](Value* vb) {
              Value* vb_end = min(b_.CreateAdd(vb, I64(policy::kTileBlock)), v_hi);
              For(
                  tb, tb_end, I64(n), nullptr, [] {},
                  [&](Value* t0) { For(vb, vb_end, I64(n), nullptr, [] {}, [&](Value* v0) { tile(t0, v0); }); });
            });
      });
}

void FunctionEmitter::Fence(llvm::IRBuilder<>& b, llvm::SmallVectorImpl<Value*>& rows) {
  for (Value*& row : rows) {
    llvm::Type* type = row->getType();
    const unsigned words = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue() / 32);
    llvm::Type* floats = llvm::FixedVectorType::get(b.getFloatTy(), words);
    row = b.CreateBitCast(
        b.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {floats}, {b.CreateBitCast(row, floats)}), type);
  }
}

namespace {

/// TransposeRows of rows that fill half of the shortest register: two columns of the result are made in one.
void TransposeHalfRows(llvm::IRBuilder<>& b, llvm::SmallVectorImpl<Value*>& rows) {
  const auto n = static_cast<int>(rows.size());
  llvm::SmallVector<int, 16> widened;
  llvm::SmallVector<int, 16> low;
  llvm::SmallVector<int, 16> high;
  for (int i = 0; i < 2 * n; ++i) {
    widened.push_back(i < n ? i : -1);
    low.push_back(i / 2 + i % 2 * 2 * n);
    high.push_back(i / 2 + n + i % 2 * 2 * n);
  }
  const auto unpacked = [&](Value* x, Value* y, llvm::ArrayRef<int> half) { return b.CreateShuffleVector(x, y, half); };
  llvm::SmallVector<Value*, 16> pairs;
  for (int i = 0; i < n / 2; ++i) {
    Value* const first = b.CreateShuffleVector(rows[static_cast<size_t>(i)], widened);
    Value* const second = b.CreateShuffleVector(rows[static_cast<size_t>(i + n / 2)], widened);
    pairs.push_back(unpacked(first, second, low));
  }
  // Each round another bit of a row's number becomes one of its lane's, and one of the column's the register's.
  for (int stage = 2; stage < n; stage *= 2) {
    llvm::SmallVector<Value*, 16> next;
    for (int i = 0; i < n / 4; ++i) {
      Value* const first = pairs[static_cast<size_t>(i)];
      Value* const second = pairs[static_cast<size_t>(i + n / 4)];
      next.push_back(unpacked(first, second, low));
      next.push_back(unpacked(first, second, high));
    }
    pairs = std::move(next);
  }
  for (int i = 0; i < n; ++i) {
    llvm::SmallVector<int, 16> half(static_cast<size_t>(n));
    std::iota(half.begin(), half.end(), i % 2 * n);
    rows[static_cast<size_t>(i)] = b.CreateShuffleVector(pairs[static_cast<size_t>(i / 2)], half);
  }
}

}  // namespace

void FunctionEmitter::TransposeRows(llvm::IRBuilder<>& b, llvm::SmallVectorImpl<Value*>& rows, unsigned bytes) {
  const unsigned n = static_cast<unsigned>(rows.size());
  if (n * bytes < 16) return TransposeHalfRows(b, rows);  // structural: the shortest register
  const unsigned e =
      std::min(n, 16 / bytes);  // structural: elements per 128-bit block, within which unpack instructions work
  const unsigned blocks = n / e;
  llvm::SmallVector<Value*, 16> next(n);
  llvm::SmallVector<int, 16> low;
  llvm::SmallVector<int, 16> high;
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned i = 0; i < e; ++i) {
      const unsigned from = block * e + i / 2;
      const unsigned side = (i & 1) * n;
      low.push_back(static_cast<int>(from + side));
      high.push_back(static_cast<int>(from + e / 2 + side));
    }
  }
  for (unsigned stage = 1; stage < e; stage *= 2) {
    for (unsigned g = 0; g < n; g += e) {
      for (unsigned i = 0; i < e / 2; ++i) {
        next[g + 2 * i] = b.CreateShuffleVector(rows[g + i], rows[g + i + e / 2], low);
        next[g + 2 * i + 1] = b.CreateShuffleVector(rows[g + i], rows[g + i + e / 2], high);
      }
    }
    rows.assign(next.begin(), next.end());
    Fence(b, rows);
  }
  // Now row g*e + k holds, in its block l, column l*e + k of rows g*e...: a transpose of whole blocks remains.
  llvm::SmallVector<int, 16> even;
  llvm::SmallVector<int, 16> odd;
  for (unsigned block = 0; block < blocks; ++block) {
    for (unsigned i = 0; i < e; ++i) {
      even.push_back(static_cast<int>(2 * block * e + i));
      odd.push_back(static_cast<int>((2 * block + 1) * e + i));
    }
  }
  for (unsigned stage = 1; stage < blocks; stage *= 2) {
    for (unsigned k = 0; k < e; ++k) {
      for (unsigned g = 0; g < blocks / 2; ++g) {
        next[g * e + k] = b.CreateShuffleVector(rows[2 * g * e + k], rows[(2 * g + 1) * e + k], even);
        next[(g + blocks / 2) * e + k] = b.CreateShuffleVector(rows[2 * g * e + k], rows[(2 * g + 1) * e + k], odd);
      }
    }
    rows.assign(next.begin(), next.end());
    if (2 * stage < blocks) Fence(b, rows);
  }
}

bool FunctionEmitter::EmitTileRead(Val v) {
  // Square tiles only: rows that are combined before they are stored come in twos and fours.
  if (lanes_.copies == 1 || lanes_.copy_dim == lanes_.dim || lanes_.copies != lanes_.lanes) return false;
  const kir::Read& read = k_.reads[k_.nodes[v].attr];
  const Access& access = an_.reads[k_.nodes[v].attr];
  const DType type = k_.buffers[read.buf].type;
  const auto along = static_cast<DimId>(lanes_.copy_dim);
  const auto across = static_cast<DimId>(lanes_.dim);
  const std::optional<int64_t> step = ConstStride(access, along);
  const bool down = step == -1;
  if (!read.guard.empty() || !step || !TurnsInTiles(type, *step) || ConstStride(access, across) == 0 ||
      ConstStride(access, across) == 1) {
    return false;
  }
  for (const Contribution& part : access.parts) {
    if (part.kind == Contribution::Kind::kStart &&
        (an_.deps[part.start] & (kir::DimMask{1} << along | kir::DimMask{1} << across))) {
      return false;
    }
  }
  const DType part_type = IsComplex(type) ? RealPartOf(type) : type;
  const bool second = IsComplex(type) || *step == 2;
  const unsigned bytes = static_cast<unsigned>(ByteWidth(part_type));
  const Place place = PlaceOf(k_.nodes[v].attr, 0, k_.nodes[v].imm);
  llvm::Type* row_type = low_.MemoryType(part_type, lanes_.copies);
  llvm::SmallVector<Value*, 16> rows;
  for (unsigned lane = 0; lane < lanes_.lanes; ++lane) {
    Value* offset = place.stride ? I64(*place.stride * lane) : b_.CreateMul(place.stride_value, I64(lane));
    // The first copy's element is the last one in memory where places go down.
    if (down) offset = b_.CreateSub(offset, I64(int64_t{bytes} * (lanes_.copies - 1)));
    Value* pointer = b_.CreateGEP(b_.getInt8Ty(), place.pointer, offset);
    rows.push_back(second ? LoadEverySecond(row_type->getScalarType(), lanes_.copies, pointer)
                          : b_.CreateAlignedLoad(row_type, pointer, llvm::Align(bytes)));
  }
  TransposeRows(b_, rows, bytes);
  for (unsigned copy = 0; copy < lanes_.copies; ++copy)
    Set(v, copy, low_.FromMemory(part_type, rows[down ? lanes_.copies - 1 - copy : copy]));
  return true;
}

}  // namespace tenon::emit_llvm
