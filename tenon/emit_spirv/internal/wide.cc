// Several elements at once: neighbours in memory that one load or store moves.
#include <algorithm>

#include "tenon/emit_spirv/internal/kernel_emitter.h"
#include "tenon/kir/walk.h"

namespace tenon::emit_spirv {

using kir::BufKind;
using kir::DimId;
using kir::DimKind;
using kir::Size;
using kir::Val;

bool KernelEmitter::IsWideType(const Access& access) const {
  const kir::Buffer& b = k_.buffers[access.buf];
  if (places_ != Places::kAligned || b.kind == BufKind::kLocal || b.kind == BufKind::kSignal) return false;
  return !IsComplex(b.type) && ByteWidth(b.type) <= 4;
}

bool KernelEmitter::IsWideAlong(const Access& access, DimId dim) const {
  if (!IsWideType(access) || !access.guards->empty()) return false;
  bool along = false;
  for (const Summand& s : access.parts) {
    if (s.kind == Summand::Kind::kStart || s.a.is_param() || s.b.is_param()) return false;
    if (s.kind == Summand::Kind::kDim && s.dim == dim) {
      if (s.a.baked * s.b.baked != 1) return false;
      along = true;
    } else if (s.a.baked * s.b.baked % kWide != 0) {
      return false;
    }
  }
  return along;
}

bool KernelEmitter::HasWholeGroups(const kir::Stage& stage, DimId dim) const {
  const Size& extent = k_.dims[dim].extent;
  if (extent.is_param()) return false;
  int64_t lo = 0, hi = extent.baked;
  for (const kir::Range& r : stage.domain) {
    if (r.dim != dim) continue;
    if (r.lo.is_param() || r.hi.is_param()) return false;
    lo = std::max(lo, r.lo.baked);
    hi = std::min(hi, r.hi.baked);
  }
  return lo < hi && lo % kWide == 0 && hi % kWide == 0;
}

std::optional<DimId> KernelEmitter::WideDim(const kir::Stage& stage, DimId last) const {
  const bool inside = std::find(stage.dims.begin(), stage.dims.end(), last) != stage.dims.end();
  if (!stage.reduces.empty() || !inside || !HasWholeGroups(stage, last)) return std::nullopt;
  for (DimId d = 0; d < k_.outer; ++d) {
    if (k_.dims[d].kind != DimKind::kParallel) return std::nullopt;
  }
  for (DimId d : stage.dims) {
    if (k_.dims[d].kind != DimKind::kParallel) return std::nullopt;
  }
  StoreList stores;
  for (const kir::Store& s : stage.stores) stores.push_back(&s);
  const Wanted wanted = WantedBy({}, stores);
  const bool gains = std::any_of(wanted.accesses.begin(), wanted.accesses.end(),
                                 [&](size_t a) { return IsWideAlong(accesses_[a], last); });
  return gains ? std::optional(last) : std::nullopt;
}

bool KernelEmitter::IsWideInTeam(const kir::Stage& stage, const DimList& free, const Wanted& wanted) const {
  if (free.empty() || !HasWholeGroups(stage, free.back())) return false;
  if (!std::all_of(free.begin(), free.end(), [&](DimId d) { return k_.dims[d].kind == DimKind::kParallel; }))
    return false;
  if (PointsOf(stage, false).value_or(0) / kWide < part_->group_size) return false;  // all of the team has some
  return std::any_of(wanted.accesses.begin(), wanted.accesses.end(),
                     [&](size_t a) { return IsWideAlong(accesses_[a], free.back()); });
}

void KernelEmitter::BindWide(const DimList& dims, Id flat) {
  DimList others = dims;
  others.pop_back();
  const Bounds b = BoundsOf(dims.back());
  Id group = flat;
  if (!others.empty()) {
    const Id groups = w_.C32(static_cast<uint32_t>((*b.hi - *b.lo) / kWide));
    group = w_.Do(Spv::UMod, w_.U32(), {flat, groups});
    flat = w_.Do(Spv::UDiv, w_.U32(), {flat, groups});
  }
  wide_first_ = w_.Do(Spv::IMul, w_.U32(), {group, w_.C32(kWide)});
  if (*b.lo != 0) wide_first_ = w_.Do(Spv::IAdd, w_.U32(), {wide_first_, b.lo_id});
  BindFlat(others, flat);
}

// What kWide elements are in memory: one word, or two of 64 bits.
Id KernelEmitter::WideType(kir::Buf buf) {
  const int width = ByteWidth(PartType(buf));
  if (width == 4) return w_.Vector(w_.U64(), 2);
  return width == 2 ? w_.U64() : w_.U32();
}

Id KernelEmitter::WidePointer(size_t access) {
  needs_alignment_ = true;
  const Access& a = accesses_[access];
  const int bits = a.wide ? 64 : 32;
  const Id place = Place(access, 0);
  const Id group = s_.Int(bits, Spv::ShiftRightArithmetic, place, w_.CInt(bits, 2));
  const Id type = WideType(a.buf);
  const Id base = Base(a.buf, type, kWide * ByteWidth(PartType(a.buf)));
  return w_.Do(Spv::AccessChain, w_.Pointer(spv::StoragePhysicalStorageBuffer, type), {base, w_.C32(0), group});
}

std::vector<Id> KernelEmitter::LoadWide(size_t access) {
  const kir::Buf buf = accesses_[access].buf;
  const DType type = PartType(buf);
  const auto width = static_cast<uint32_t>(ByteWidth(type));
  const Id words = w_.Load(WideType(buf), WidePointer(access), kWide * width);
  const auto part = [&](Id of, Id whole, uint32_t i) { return w_.Do(Spv::CompositeExtract, of, {whole, i}); };
  std::vector<Id> values;
  for (uint32_t i = 0; i < kWide; ++i) {
    if (width == 4) {
      const Id pair = w_.Do(Spv::Bitcast, w_.Vector(s_.MemoryType(type), 2), {part(w_.U64(), words, i / 2)});
      values.push_back(s_.FromMemory(type, part(s_.MemoryType(type), pair, i % 2)));
      continue;
    }
    const uint32_t each = 4 / width;  // elements of a word
    Id word = words;
    if (width == 2) word = part(w_.U32(), w_.Do(Spv::Bitcast, w_.Vector(w_.U32(), 2), {words}), i / each);
    const uint32_t shift = 8 * width * (i % each);
    if (shift != 0) word = s_.Int(32, Spv::ShiftRightLogical, word, w_.C32(shift));
    if (i % each != each - 1) word = s_.Int(32, Spv::BitwiseAnd, word, w_.C32((1u << (8 * width)) - 1));
    values.push_back(s_.FromWord(type, word));
  }
  return values;
}

void KernelEmitter::StoreWide(size_t access, const std::vector<Id>& values) {
  const kir::Buf buf = accesses_[access].buf;
  const DType type = PartType(buf);
  const auto width = static_cast<uint32_t>(ByteWidth(type));
  const auto join = [&](Id of, Id a, Id b) { return w_.Do(Spv::CompositeConstruct, of, {a, b}); };
  const auto long_word = [&](Id of, Id a, Id b) {
    return w_.Do(Spv::Bitcast, w_.U64(), {join(w_.Vector(of, 2), a, b)});
  };
  std::vector<Id> words;  // of 32 bits, or elements
  if (width == 4) {
    for (const Id v : values) words.push_back(s_.ToMemory(type, v));
  } else {
    for (uint32_t i = 0; i < kWide; ++i) {
      const uint32_t shift = 8 * width * (i % (4 / width));
      const Id word = s_.ToWord(type, values[i]);
      if (shift == 0) {
        words.push_back(word);
      } else {
        const Id up = s_.Int(32, Spv::ShiftLeftLogical, word, w_.C32(shift));
        words.back() = s_.Int(32, Spv::BitwiseOr, words.back(), up);
      }
    }
  }
  Id all = words[0];
  if (width == 2) all = long_word(w_.U32(), words[0], words[1]);
  if (width == 4) {
    const Id of = s_.MemoryType(type);
    all = join(w_.Vector(w_.U64(), 2), long_word(of, words[0], words[1]), long_word(of, words[2], words[3]));
  }
  w_.Store(WidePointer(access), all, kWide * width);
}

KernelEmitter::WideReads KernelEmitter::ReadWide(const NodeList& nodes, DimId dim, Id first) {
  WideReads reads;
  const size_t mark = Mark();
  dim_value_[dim] = first;
  for (Val v : nodes) {
    const kir::Node& node = k_.nodes[v];
    if (node.op == kir::Op::kRead && IsWideAlong(accesses_[node.attr], dim)) reads.push_back({v, LoadWide(node.attr)});
  }
  dim_value_[dim] = 0;
  Rewind(mark);
  return reads;
}

// The points of an invocation: all loads, then each point, then the stores that move at once. Points are independent,
// so none minds what another one has stored.
void KernelEmitter::EmitWide(const StoreList& stores, DimId dim) {
  const Wanted wanted = WantedBy({}, stores);
  const size_t mark = Mark();
  Precompute(wanted);
  const WideReads reads = ReadWide(wanted.nodes, dim, wide_first_);
  const auto is_wide = [&](const kir::Store& s) {
    const auto same = [&](const kir::Store* other) { return other->buf == s.buf; };
    return s.combine < 0 && IsWideAlong(accesses_[AccessOf(s)], dim) &&
           std::count_if(stores.begin(), stores.end(), same) == 1;  // others of the same buffer act in their order
  };
  std::vector<std::vector<Id>> values(stores.size());
  for (uint32_t i = 0; i < kWide; ++i) {
    const size_t inside = Mark();
    dim_value_[dim] = i == 0 ? wide_first_ : w_.Do(Spv::IAdd, w_.U32(), {wide_first_, w_.C32(i)});
    for (const auto& [v, ids] : reads) Set(v, ids[i]);
    for (const kir::Store* s : stores) kir::ForEachRoot(*s, [&](Val v) { Value(v); });
    for (size_t s = 0; s < stores.size(); ++s) {
      if (is_wide(*stores[s])) {
        values[s].push_back(Value(stores[s]->value));
      } else {
        Act(*stores[s]);
      }
    }
    dim_value_[dim] = 0;
    Rewind(inside);
  }
  dim_value_[dim] = wide_first_;
  for (size_t s = 0; s < stores.size(); ++s) {
    if (!values[s].empty() && !failed()) StoreWide(AccessOf(*stores[s]), values[s]);
  }
  dim_value_[dim] = 0;
  Rewind(mark);
}

void KernelEmitter::FindNeighbours(const NodeList& nodes) {
  neighbours_.clear();
  // Reads whose places differ in a constant: by all else that they are made of.
  struct Group {
    const Access* like;
    int64_t from;  ///< The constant of the first.
    std::array<Val, kWide> nodes;
  };
  std::vector<Group> groups;
  for (Val v : nodes) {
    const kir::Node& node = k_.nodes[v];
    if (node.op != kir::Op::kRead) continue;
    const Access& a = accesses_[node.attr];
    const BufKind kind = k_.buffers[a.buf].kind;
    if (!IsWideType(a) || !a.guards->empty() || (kind != BufKind::kArg && kind != BufKind::kConst)) continue;
    const bool written =
        std::any_of(k_.buffers.begin(), k_.buffers.end(), [&](const kir::Buffer& b) { return b.in_place_of == a.buf; });
    int64_t constant = 0;
    bool whole = !written;
    for (const Summand& s : a.parts) {
      const bool known = s.kind != Summand::Kind::kStart && !s.a.is_param() && !s.b.is_param();
      if (known && s.kind == Summand::Kind::kConstant) {
        constant += s.a.baked * s.b.baked;
      } else {
        whole &= known && s.a.baked * s.b.baked % kWide == 0;
      }
    }
    if (!whole || constant < 0) continue;
    const int64_t from = constant / kWide * kWide;
    const auto like = [&](const Group& g) {
      const auto moving = [](const Access& x) {
        return std::count_if(x.parts.begin(), x.parts.end(),
                             [](const Summand& s) { return s.kind != Summand::Kind::kConstant; });
      };
      const auto has = [&](const Summand& s) {
        return s.kind == Summand::Kind::kConstant || std::any_of(a.parts.begin(), a.parts.end(), [&](const Summand& t) {
                 return t.kind == s.kind && t.dim == s.dim && t.a == s.a && t.b == s.b;
               });
      };
      return g.from == from && g.like->buf == a.buf && moving(*g.like) == moving(a) &&
             std::all_of(g.like->parts.begin(), g.like->parts.end(), has);
    };
    auto found = std::find_if(groups.begin(), groups.end(), like);
    if (found == groups.end()) {
      groups.push_back({&a, from, {}});
      found = groups.end() - 1;
      found->nodes.fill(kir::kNone);
    }
    found->nodes[static_cast<size_t>(constant - from)] = v;
  }
  for (const Group& g : groups) {
    if (std::find(g.nodes.begin(), g.nodes.end(), kir::kNone) != g.nodes.end()) continue;
    for (Val v : g.nodes) neighbours_[v] = g.nodes;
  }
}

bool KernelEmitter::ReadNeighbours(Val v) {
  const auto found = neighbours_.find(v);
  if (found == neighbours_.end()) return false;
  const std::array<Val, kWide> all = found->second;
  const std::vector<Id> ids = LoadWide(k_.nodes[all[0]].attr);
  for (size_t i = 0; i < all.size(); ++i) {
    if (value_[all[i]] == 0) Set(all[i], ids[i]);
  }
  return true;
}

}  // namespace tenon::emit_spirv
