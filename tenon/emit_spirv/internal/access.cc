// Memory: where elements lie, and guards around accesses to them.
#include <algorithm>

#include "tenon/emit_spirv/internal/kernel_emitter.h"

namespace tenon::emit_spirv {

using kir::BufKind;
using kir::Size;
using kir::Val;

namespace {

/// Keys of starts_, beside ids of types.
enum Start : int64_t { kLocalIndex = -1, kGroupIndex = -2, kGroupCount = -3, kScratchAddress = -4 };
/// The same in their upper half, with a buffer below: where it lies, where in scratch memory, and the pointer to
/// elements of some width.
enum StartOfBuffer : int64_t { kBufferAddress = 1 << 16, kBufferInScratch, kBufferOfBytes };

__extension__ typedef __int128 Int128;

/// What a number surely lies in.
struct Interval {
  Int128 lo = 0, hi = 0;
  void Add(Int128 l, Int128 h) {
    lo += l;
    hi += h;
  }
};

}  // namespace

DType KernelEmitter::PartType(kir::Buf buf) const {
  const DType type = k_.buffers[buf].type;
  return IsComplex(type) ? RealPartOf(type) : type;
}

void KernelEmitter::MakeAccess(Access& access, kir::Buf buf, const SmallVector<kir::Axis, 4>& at,
                               const SmallVector<kir::Guard, 1>& guards) const {
  access.buf = buf;
  access.guards = &guards;
  const kir::Buffer& b = k_.buffers[buf];
  int64_t constant = 0;
  const auto add = [&](Summand s) {
    if (!s.a.is_param() && !s.b.is_param()) {
      s.a = Size::Of(s.a.baked * s.b.baked);
      s.b = Size::Of(1);
      if (s.a.baked == 0) return;
      if (s.kind == Summand::Kind::kConstant) {
        constant += s.a.baked;
        return;
      }
      for (Summand& other : access.parts) {
        if (other.kind == s.kind && other.dim == s.dim && other.start == s.start && !other.a.is_param() &&
            !other.b.is_param()) {
          other.a.baked += s.a.baked;
          return;
        }
      }
    }
    access.parts.push_back(s);
  };
  // Places that fit 32 bits wherever they are may be reckoned in 32 bits, whatever their summands are.
  Int128 span = 1;
  bool known = true;
  for (size_t i = 0; i < at.size(); ++i) {
    add({Summand::Kind::kConstant, 0, kir::kNone, at[i].offset, b.stride[i]});
    for (const kir::Term& t : at[i].terms) add({Summand::Kind::kDim, t.dim, kir::kNone, t.coef, b.stride[i]});
    if (at[i].start != kir::kNone) add({Summand::Kind::kStart, 0, at[i].start, Size::Of(1), b.stride[i]});
    known &= !b.extent[i].is_param() && !b.stride[i].is_param();
    const Int128 stride = b.stride[i].baked;
    span += Int128{std::max<int64_t>(b.extent[i].baked - 1, 0)} * (stride < 0 ? -stride : stride);
  }
  if (constant != 0) {
    access.parts.push_back({Summand::Kind::kConstant, 0, kir::kNone, Size::Of(constant), Size::Of(1)});
  }
  access.wide = !known || span * (IsComplex(b.type) ? 2 : 1) > INT32_MAX;
  if (b.kind == BufKind::kLocal) access.wide = false;
}

Id KernelEmitter::SizeId(const Size& size, int bits) {
  if (!size.is_param()) return w_.CInt(bits, static_cast<uint64_t>(size.baked));
  Id& id = starts_[{w_.function(), (int64_t{size.param} << 8) | bits}];
  if (id == 0) {
    id = w_.AtStart([&] {
      const Id wide = FrameWord(2, static_cast<uint32_t>(size.param));
      return bits == 64 ? wide : w_.Do(Spv::UConvert, w_.U32(), {wide});
    });
  }
  return id;
}

void KernelEmitter::Extend(size_t index) {
  Access& a = accesses_[index];
  const int bits = a.wide ? 64 : 32;
  Id sum = a.sum;
  uint64_t done = a.done;
  for (size_t i = 0; i < a.parts.size() && i < 64; ++i) {
    const Summand& p = a.parts[i];
    if (done >> i & 1) continue;
    Id value = 0;
    if (p.kind == Summand::Kind::kDim) {
      if (dim_value_[p.dim] == 0) continue;
      value = a.wide ? w_.Do(Spv::UConvert, w_.U64(), {dim_value_[p.dim]}) : dim_value_[p.dim];
    } else if (p.kind == Summand::Kind::kStart) {
      if (value_[p.start] == 0) continue;
      const DType type = k_.nodes[p.start].type;
      value = a.wide ? s_.Wide(type, value_[p.start]) : s_.Low(type, value_[p.start]);
    }
    for (const Size* factor : {&p.a, &p.b}) {
      if (*factor == Size::Of(1) && value != 0) continue;
      const Id f = SizeId(*factor, bits);
      value = value == 0 ? f : s_.Int(bits, Spv::IMul, value, f);
    }
    sum = sum == 0 ? value : s_.Int(bits, Spv::IAdd, sum, value);
    done |= uint64_t{1} << i;
  }
  if (done == a.done) return;
  trail_.push_back({true, index, a.sum, a.done});
  a.sum = sum;
  a.done = done;
}

Id KernelEmitter::Place(size_t index, int component) {
  Access& a = accesses_[index];
  for (const Summand& p : a.parts) {
    if (p.kind == Summand::Kind::kStart) Value(p.start);
  }
  Extend(index);
  const int bits = a.wide ? 64 : 32;
  if (a.parts.size() > 64) Fail(Unimplemented("an access has more than 64 summands"));  // structural: bits of a mask
  Id place = a.sum == 0 ? w_.CInt(bits, 0) : a.sum;
  if (IsComplex(k_.buffers[a.buf].type)) {
    place = s_.Int(bits, Spv::ShiftLeftLogical, place, w_.CInt(bits, 1));
    if (component != 0) place = s_.Int(bits, Spv::BitwiseOr, place, w_.CInt(bits, 1));
  }
  return place;
}

Id KernelEmitter::FrameWord(uint32_t first_member, uint32_t index) {
  const Id frame = w_.PushConstant(0);
  const Id words = w_.BufferOf(w_.U64(), 8, false);
  const Id base = w_.Do(Spv::ConvertUToPtr, w_.Pointer(spv::StoragePhysicalStorageBuffer, words), {frame});
  const Id at = w_.Do(Spv::IAdd, w_.U32(), {w_.PushConstant(first_member), w_.C32(index)});
  const Id pointer =
      w_.Do(Spv::AccessChain, w_.Pointer(spv::StoragePhysicalStorageBuffer, w_.U64()), {base, w_.C32(0), at});
  return w_.Load(w_.U64(), pointer, 8);
}

// The buffer as an array of `element`, of so many bytes.
Id KernelEmitter::Base(kir::Buf buf, Id element, int64_t bytes) {
  const auto of = [&](int64_t kind) -> Id& { return starts_[{w_.function(), (kind << 32) + buf}]; };
  if (of(kBufferAddress) == 0) of(kBufferAddress) = w_.AtStart([&] { return FrameWord(1, buf); });
  Id& id = of(kBufferOfBytes + bytes);
  if (id == 0) {
    const bool shared = k_.buffers[buf].kind != BufKind::kArg && k_.buffers[buf].kind != BufKind::kConst;
    const Id record = w_.BufferOf(element, static_cast<uint32_t>(bytes), shared);
    const Id address = of(kBufferAddress);
    id = w_.AtStart(
        [&] { return w_.Do(Spv::ConvertUToPtr, w_.Pointer(spv::StoragePhysicalStorageBuffer, record), {address}); });
  }
  return id;
}

// Scratch memory as an array of `type`; `byte_offset` 0: from its beginning.
Id KernelEmitter::Scratch(Id type, int64_t bytes_of_type, Id byte_offset) {
  Id& address = starts_[{w_.function(), kScratchAddress}];
  if (address == 0) {
    address = w_.AtStart([&] { return FrameWord(1, static_cast<uint32_t>(k_.buffers.size())); });
  }
  const Id record = w_.BufferOf(type, static_cast<uint32_t>(bytes_of_type), true);
  Id from = address;
  if (byte_offset != 0) from = s_.Int(64, Spv::IAdd, from, byte_offset);
  return w_.Do(Spv::ConvertUToPtr, w_.Pointer(spv::StoragePhysicalStorageBuffer, record), {from});
}

Id KernelEmitter::WorkgroupWords(DType type, int64_t elements, int which, bool narrow) {
  Id& id = words_[{static_cast<int>(type), elements, which}];
  if (id == 0) {
    id = w_.Workgroup(narrow ? TileType(type) : s_.LocalType(type), static_cast<uint32_t>(elements));
    local_bytes_ += elements * (narrow ? ByteWidth(type) : s_.RegisterBits(type) == 64 ? 8 : 4);
  }
  w_.Uses(id);
  return id;
}

Id KernelEmitter::Pointer(size_t index, int component, Id condition) {
  const kir::Buf buf = accesses_[index].buf;
  Id place = Place(index, component);
  if (condition != 0) {
    const int bits = accesses_[index].wide ? 64 : 32;
    place = s_.Select(w_.Int(bits), s_.Again(condition), place, w_.CInt(bits, 0));
  }
  const DType type = PartType(buf);
  if (k_.buffers[buf].kind != BufKind::kLocal) {
    const Id base = Base(buf, s_.MemoryType(type), ByteWidth(type));
    return w_.Do(Spv::AccessChain, w_.Pointer(spv::StoragePhysicalStorageBuffer, s_.MemoryType(type)),
                 {base, w_.C32(0), place});
  }
  const Local& local = locals_[buf];
  if (local.words != 0) {
    return w_.Do(Spv::AccessChain, w_.Pointer(spv::StorageWorkgroup, s_.LocalType(type)), {local.words, place});
  }
  Id& base = starts_[{w_.function(), (int64_t{kBufferInScratch} << 32) + buf}];
  if (base == 0) {
    // The ids that it needs first, as they are made at the start too.
    if (local.per_group != 0) GroupIndex();
    if (local.per_invocation != 0) LocalIndex();
    Scratch(w_.U32(), 4, 0);
    base = w_.AtStart([&] {
      Id offset = w_.C64(static_cast<uint64_t>(local.scratch));
      const auto more = [&](Id which, int64_t bytes) {
        const Id wide = w_.Do(Spv::UConvert, w_.U64(), {which});
        offset = s_.Int(64, Spv::IAdd, offset, s_.Int(64, Spv::IMul, wide, w_.C64(static_cast<uint64_t>(bytes))));
      };
      if (local.per_group != 0) more(GroupIndex(), local.per_group);
      if (local.per_invocation != 0) more(LocalIndex(), local.per_invocation);
      return Scratch(s_.MemoryType(type), ByteWidth(type), offset);
    });
  }
  return w_.Do(Spv::AccessChain, w_.Pointer(spv::StoragePhysicalStorageBuffer, s_.MemoryType(type)),
               {base, w_.C32(0), place});
}

Id KernelEmitter::LoadFrom(kir::Buf buf, Id pointer) {
  const DType type = PartType(buf);
  if (k_.buffers[buf].kind == BufKind::kLocal && locals_[buf].words != 0) {
    return s_.FromLocal(type, w_.Load(s_.LocalType(type), pointer));
  }
  const bool is_signal = k_.buffers[buf].kind == BufKind::kSignal;
  return s_.FromMemory(type, w_.Load(s_.MemoryType(type), pointer, static_cast<uint32_t>(ByteWidth(type)), is_signal));
}

void KernelEmitter::StoreTo(kir::Buf buf, Id pointer, Id value) {
  const DType type = PartType(buf);
  if (k_.buffers[buf].kind == BufKind::kLocal && locals_[buf].words != 0) {
    w_.Store(pointer, s_.ToLocal(type, value));
  } else {
    w_.Store(pointer, s_.ToMemory(type, value), static_cast<uint32_t>(ByteWidth(type)));
  }
}

Id KernelEmitter::Read(const kir::Node& node) {
  const kir::Read& read = k_.reads[node.attr];
  if (k_.buffers[read.buf].kind == BufKind::kSignal && part_->team) return ReadSignal(node);
  for (const kir::Axis& a : read.at) {
    if (a.start != kir::kNone) Value(a.start);
  }
  const Id otherwise = read.otherwise != kir::kNone ? Value(read.otherwise) : 0;
  Id condition = 0;
  const std::optional<bool> known = Guards(read.guard, &condition);
  if (known && !*known) return otherwise;
  const auto load = [&] { return LoadFrom(read.buf, Pointer(node.attr, node.imm)); };
  if (known) return load();
  if (target_.device.loads_beside_branches) {
    const Id pointer = Pointer(node.attr, node.imm, condition);
    return w_.IfElse(
        condition, s_.RegisterType(node.type), [&] { return LoadFrom(read.buf, pointer); }, [&] { return otherwise; });
  }
  const size_t mark = Mark();
  const Id id = w_.IfElse(condition, s_.RegisterType(node.type), load, [&] { return otherwise; });
  Rewind(mark);
  return id;
}

// One invocation looks, so that the whole team sees the same.
Id KernelEmitter::ReadSignal(const kir::Node& node) {
  const Id words = WorkgroupWords(DType::kPred, 1, -1);
  const Id word = w_.Do(Spv::AccessChain, w_.Pointer(spv::StorageWorkgroup, w_.U32()), {words, w_.C32(0)});
  w_.Barrier();
  const size_t mark = Mark();
  w_.If(IsFirst(), [&] {
    const kir::Read& read = k_.reads[node.attr];
    w_.Store(word, s_.ToLocal(DType::kPred, LoadFrom(read.buf, Pointer(node.attr, 0))));
  });
  Rewind(mark);
  w_.Barrier();
  return s_.FromLocal(DType::kPred, w_.Load(w_.U32(), word));
}

void KernelEmitter::Act(const kir::Store& store) {
  Id condition = 0;
  const std::optional<bool> known = Guards(store.guard, &condition);
  if (known && !*known) return;
  const bool loads = store.combine >= 0 && !known && target_.device.loads_beside_branches;
  const Id before = loads ? Pointer(AccessOf(store), store.component, condition) : 0;
  const auto act = [&] {
    const Id pointer = loads ? before : Pointer(AccessOf(store), store.component);
    Id value = Value(store.value);
    if (store.combine >= 0) {
      const Id args[] = {LoadFrom(store.buf, pointer), value};
      value = InlineGraph(k_.graphs[static_cast<size_t>(store.combine)], args)[0];
    }
    StoreTo(store.buf, pointer, value);
  };
  if (known) return act();
  const size_t mark = Mark();
  w_.If(condition, act);
  Rewind(mark);
}

std::optional<bool> KernelEmitter::Guards(const SmallVector<kir::Guard, 1>& guards, Id* condition) {
  *condition = 0;
  for (const kir::Guard& g : guards) {
    Id holds = 0;
    const std::optional<bool> known = GuardHolds(g, &holds);
    if (known && !*known) return false;
    if (!known) *condition = *condition == 0 ? holds : s_.And(*condition, holds);
  }
  if (*condition == 0) return true;
  return std::nullopt;
}

Id KernelEmitter::AxisValue(const kir::Axis& axis, int bits) {
  Id sum = 0;
  const auto add = [&](Id v) { sum = sum == 0 ? v : s_.Int(bits, Spv::IAdd, sum, v); };
  for (const kir::Term& t : axis.terms) {
    Id v = dim_value_[t.dim];
    if (bits == 64) v = w_.Do(Spv::UConvert, w_.U64(), {v});
    if (t.coef != Size::Of(1)) v = s_.Int(bits, Spv::IMul, v, SizeId(t.coef, bits));
    add(v);
  }
  if (axis.start != kir::kNone) {
    const DType type = k_.nodes[axis.start].type;
    const Id v = Value(axis.start);
    add(bits == 64 ? s_.Wide(type, v) : s_.Low(type, v));
  }
  if (sum == 0 || axis.offset != Size::Of(0)) add(SizeId(axis.offset, bits));
  return sum;
}

std::optional<bool> KernelEmitter::GuardHolds(const kir::Guard& guard, Id* condition) {
  // What e lies in decides how wide it has to be, and which ends need a look.
  Interval e;
  bool bounded = !guard.e.offset.is_param();
  if (bounded) e.Add(guard.e.offset.baked, guard.e.offset.baked);
  for (const kir::Term& t : guard.e.terms) {
    const Size& extent = k_.dims[t.dim].extent;
    if (t.coef.is_param() || extent.is_param()) {
      bounded = false;
      continue;
    }
    const Int128 far = Int128{t.coef.baked} * std::max<int64_t>(extent.baked - 1, 0);
    e.Add(std::min<Int128>(far, 0), std::max<Int128>(far, 0));
  }
  if (guard.e.start != kir::kNone) {
    const DType type = k_.nodes[guard.e.start].type;
    const int width = DTypeBits(type);
    // The highest bit of 64 is taken for a sign, whatever the type says.
    const bool has_sign = IsSigned(type) || width == 64;
    const Int128 end = Int128{1} << (has_sign ? width - 1 : width);
    e.Add(has_sign ? -end : 0, end - 1);
  }
  const bool narrow = bounded && e.lo >= INT32_MIN && e.hi <= INT32_MAX;
  const int bits = narrow ? 32 : 64;
  const bool lo_known = bounded && !guard.lo.is_param(), hi_known = bounded && !guard.hi.is_param();
  if ((lo_known && guard.lo.baked > e.hi) || (hi_known && guard.hi.baked <= e.lo)) return false;
  const bool look_lo = !(lo_known && guard.lo.baked <= e.lo);
  const bool look_hi = !(hi_known && guard.hi.baked > e.hi);
  if (!look_lo && !look_hi && guard.mod <= 1) return true;
  // An end that is a parameter may need 64 bits even where e does not.
  const bool ends_fit = !(look_lo && guard.lo.is_param()) && !(look_hi && guard.hi.is_param()) &&
                        (guard.mod <= 1 || (guard.lo.baked >= INT32_MIN && guard.mod <= INT32_MAX));
  const int used = narrow && ends_fit ? 32 : 64;
  Id value = AxisValue(guard.e, used == 32 ? 32 : bits);
  if (bits != used) value = s_.SignExtend(value);
  const auto both = [&](Id holds) { *condition = *condition == 0 ? holds : s_.And(*condition, holds); };
  *condition = 0;
  if (look_lo) both(s_.Compare(Spv::SGreaterThanEqual, value, SizeId(guard.lo, used)));
  if (look_hi) both(s_.Compare(Spv::SLessThan, value, SizeId(guard.hi, used)));
  if (guard.mod > 1) {
    const Id from = s_.Int(used, Spv::ISub, value, SizeId(guard.lo, used));
    const Id rest = s_.Int(used, Spv::UMod, from, w_.CInt(used, static_cast<uint64_t>(guard.mod)));
    both(s_.Compare(Spv::IEqual, rest, w_.CInt(used, 0)));
  }
  return std::nullopt;
}

Id KernelEmitter::LocalIndex() {
  Id& id = starts_[{w_.function(), kLocalIndex}];
  if (id == 0) {
    const Id u3 = w_.Vector(w_.U32(), 3);
    const Id variable = w_.BuiltIn(spv::BuiltInLocalInvocationId, u3);
    id = w_.AtStart([&] { return w_.Do(Spv::CompositeExtract, w_.U32(), {w_.Load(u3, variable), 0}); });
  }
  return id;
}

Id KernelEmitter::GroupIndex() {
  Id& id = starts_[{w_.function(), kGroupIndex}];
  if (id == 0) {
    const Id u3 = w_.Vector(w_.U32(), 3);
    const Id which = w_.BuiltIn(spv::BuiltInWorkgroupId, u3), count = w_.BuiltIn(spv::BuiltInNumWorkgroups, u3);
    id = w_.AtStart([&] {
      const Id w = w_.Load(u3, which);
      const Id along = w_.Do(Spv::CompositeExtract, w_.U32(), {w_.Load(u3, count), 0});
      const Id y = w_.Do(Spv::CompositeExtract, w_.U32(), {w, 1});
      const Id rows = w_.Do(Spv::IMul, w_.U32(), {y, along});
      return w_.Do(Spv::IAdd, w_.U32(), {rows, w_.Do(Spv::CompositeExtract, w_.U32(), {w, 0})});
    });
  }
  return id;
}

Id KernelEmitter::GroupCount() {
  Id& id = starts_[{w_.function(), kGroupCount}];
  if (id == 0) {
    const Id u3 = w_.Vector(w_.U32(), 3);
    const Id count = w_.BuiltIn(spv::BuiltInNumWorkgroups, u3);
    id = w_.AtStart([&] {
      const Id n = w_.Load(u3, count);
      return w_.Do(Spv::IMul, w_.U32(),
                   {w_.Do(Spv::CompositeExtract, w_.U32(), {n, 0}), w_.Do(Spv::CompositeExtract, w_.U32(), {n, 1})});
    });
  }
  return id;
}

Id KernelEmitter::IsFirst() { return s_.Compare(Spv::IEqual, LocalIndex(), w_.C32(0)); }

}  // namespace tenon::emit_spirv
