// Lanes that change their places.
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <array>

#include "tenon/emit_llvm/internal/x64/selector.h"

namespace tenon::emit_llvm::x64 {

using llvm::dyn_cast;
using llvm::isa;

void Selector::VisitShuffle(const llvm::ShuffleVectorInst& shuffle) {
  const Shape to = ShapeOf(shuffle.getType());
  const Shape from = ShapeOf(shuffle.getOperand(0)->getType());
  if (failed_) return;
  if (const llvm::Value* const scalar = llvm::getSplatValue(&shuffle)) {
    if (to.kind == Shape::Kind::kMask) return Alias(shuffle, {MaskFromCondition(One(scalar))});
    return Broadcast(shuffle, scalar, to);
  }
  const llvm::ArrayRef<int> mask = shuffle.getShuffleMask();
  if (to.kind == Shape::Kind::kMask) {
    return ShuffleMask(shuffle, from.lanes);
  }
  if (to.kind != Shape::Kind::kVector || from.kind != Shape::Kind::kVector) {
    Fail();
    return;
  }
  const bool one_source = isa<llvm::UndefValue>(shuffle.getOperand(1));
  const auto run_from = [&](int start) {
    for (size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] >= 0 && mask[i] != start + static_cast<int>(i)) return false;
    }
    return true;
  };
  const auto lanes = static_cast<int>(to.lanes);
  if (from.parts == 1 && to.parts == 1 && one_source && to.lanes * 2 == from.lanes) {
    if (run_from(0)) return Alias(shuffle, {One(shuffle.getOperand(0))});
    if (run_from(lanes)) {
      const Reg x = One(shuffle.getOperand(0));
      if (from.len > 0 && to.bits * to.lanes >= 128) return Alias(shuffle, {Half(x, from.len)});
      if (from.lanes * from.bits == 128) {
        // The upper eight bytes of sixteen.
        return RmTo(Result(shuffle)[0], op::Evex(3, 1, 1, 0x05), 0, x, 16, 1);
      }
    }
  }
  if (from.parts == 1 && to.parts == 1 && one_source && to.lanes > from.lanes && run_from(0)) {
    return Alias(shuffle, {One(shuffle.getOperand(0))});  // What lies above is nobody's.
  }
  if (from.parts == 2 && to.parts == 1 && one_source && to.lanes * 2 == from.lanes) {
    if (run_from(0)) return Alias(shuffle, {Get(shuffle.getOperand(0))[0]});
    if (run_from(lanes)) return Alias(shuffle, {Get(shuffle.getOperand(0))[1]});
  }
  if (!ShuffleParts(shuffle, from, to)) ShuffleThroughMemory(shuffle, from, to);
}

bool Selector::ShuffleParts(const llvm::ShuffleVectorInst& shuffle, const Shape& from, const Shape& to) {
  const auto n = static_cast<int>(to.part_lanes());
  if (to.bits != from.bits || n != static_cast<int>(from.part_lanes()) || static_cast<unsigned>(n) * to.bits < 128)
    return false;
  Parts sources;
  for (unsigned operand = 0; operand < 2; ++operand) {
    const llvm::Value* v = shuffle.getOperand(operand);
    const Parts parts = isa<llvm::UndefValue>(v) ? Parts(from.parts, 0) : Get(v);
    sources.append(parts.begin(), parts.end());
  }
  Shape one = to;
  one.parts = 1;
  one.lanes = to.part_lanes();
  // Of two registers at most, each of them.
  struct Picked {
    int first = -1;
    int second = -1;
    llvm::SmallVector<int, 64> picks = {};
  };
  llvm::SmallVector<Picked, 4> parts(to.parts);
  for (unsigned part = 0; part < to.parts; ++part) {
    auto& [first, second, picks] = parts[part];
    for (int i = 0; i < n; ++i) {
      const int m = shuffle.getMaskValue(part * static_cast<unsigned>(n) + static_cast<unsigned>(i));
      const int source = m / n;
      if (m < 0 || sources[static_cast<size_t>(source)] == 0) {
        picks.push_back(-1);
        continue;
      }
      if (first < 0 || first == source) {
        first = source;
        picks.push_back(m % n);
      } else if (second < 0 || second == source) {
        second = source;
        picks.push_back(m % n + n);
      } else {
        return false;
      }
    }
    if (first < 0) return false;
  }
  for (unsigned part = 0; part < to.parts; ++part) {
    const auto& [first, second, picks] = parts[part];
    const Reg a = sources[static_cast<size_t>(first)];
    const Reg b = second < 0 ? a : sources[static_cast<size_t>(second)];
    const Reg result = Result(shuffle)[part];
    bool same = second < 0;
    for (int i = 0; i < n; ++i) same &= picks[static_cast<size_t>(i)] < 0 || picks[static_cast<size_t>(i)] == i;
    if (same) {
      Copy(result, a);
      continue;
    }
    if (Unpack(result, picks, one, a, b)) continue;
    if (avx2_) {
      TwoSourceShuffleAvx2(result, picks, one, a, b);
    } else {
      TwoSourceShuffle(result, picks, one, a, b);
    }
  }
  return true;
}

bool Selector::Unpack(Reg to, llvm::ArrayRef<int> mask, const Shape& s, Reg a, Reg b) {
  const int n = static_cast<int>(s.lanes);
  const int per = static_cast<int>(128 / s.bits);
  const auto matches = [&](auto want) {
    for (int i = 0; i < n; ++i) {
      if (mask[static_cast<size_t>(i)] >= 0 && mask[static_cast<size_t>(i)] != want(i)) return false;
    }
    return true;
  };
  // Within 128-bit blocks: groups interleaved, the first one from either.
  for (const bool turned : {false, true}) {
    for (int high = 0; high < 2; ++high) {
      for (int group = 1; group * 2 <= per; group *= 2) {
        const bool unpack = matches([&](int i) {
          const int block = i / per * per;
          const int j = i % per / group;  // which group of the result
          return block + (j / 2 + high * (per / group / 2)) * group + i % group + ((j + (turned ? 1 : 0)) % 2) * n;
        });
        if (!unpack) continue;
        const unsigned bits = static_cast<unsigned>(group) * s.bits;
        Shape groups = s;
        groups.bits = bits;
        groups.lanes = s.lanes / static_cast<unsigned>(group);
        const uint8_t bytes = static_cast<uint8_t>((high != 0 ? 0x68 : 0x60) + (bits == 16 ? 1 : 0));
        RvmTo(
            to,
            bits < 32 ? op::Evex(1, 1, 0, bytes) : op::Evex(1, bits == 64 ? 1 : 0, bits == 64, high != 0 ? 0x15 : 0x14),
            groups, turned ? b : a, turned ? a : b);
        return true;
      }
    }
  }
  return false;
}

bool Selector::StaysInBlocks(llvm::ArrayRef<int> mask, const Shape& s) {
  const auto n = static_cast<int>(s.lanes);
  const int per = n >> s.len;
  for (int i = 0; i < n; ++i) {
    const int m = mask[static_cast<size_t>(i)];
    if (m >= 0 && (m >= n || m / per != i / per)) return false;
  }
  return true;
}

void Selector::TwoSourceShuffle(Reg to, llvm::ArrayRef<int> mask, const Shape& s, Reg a, Reg b) {
  const int n = static_cast<int>(s.lanes);
  if (s.bits == 8 && (!extras_.avx512_vbmi || StaysInBlocks(mask, s))) return ShuffleBytes(to, mask, s, a, b);
  const int per = static_cast<int>(128 / s.bits);
  // Whole 128-bit blocks, half of them of each source.
  int blocks[4] = {0, 0, 0, 0};
  bool whole = s.len > 0;
  for (int i = 0; i < n && whole; ++i) {
    const int m = mask[static_cast<size_t>(i)];
    if (m < 0) {
      whole = false;
      break;
    }
    if (i % per == 0) blocks[i / per] = m / per;
    whole &= m == blocks[i / per] * per + i % per;
  }
  const int count = n / per;
  for (int i = 0; i < count && whole; ++i) whole &= (blocks[i] >= count) == (i >= count / 2);
  if (whole) {
    int imm = 0;
    for (int i = 0; i < count; ++i) imm |= blocks[i] % count << (count == 4 ? 2 * i : i);
    return RvmTo(to, op::Evex(3, 1, s.wide(), 0x23), s, a, b, imm);
  }
  std::string index;
  bool first_only = s.len > 0;
  for (int i = 0; i < n; ++i) {
    const uint64_t m = static_cast<uint64_t>(std::max(mask[static_cast<size_t>(i)], 0));
    first_only &= m < static_cast<uint64_t>(n);
    index.append(reinterpret_cast<const char*>(&m), s.bytes());
  }
  PermuteBy(to, s, ConstantReg(index, s.part_bytes(), s.len), a, first_only ? a : b);
}

void Selector::PermuteBy(Reg to, const Shape& s, Reg keys, Reg a, Reg b) {
  const bool narrow = s.bits < 32;
  const bool words = s.bits == 16;
  Inst m{.len = s.len, .mem_bytes = s.part_bytes(), .foldable = true, .def = Slot::kReg, .reg = to};
  if (a == b && s.len > 0) {
    m.op = narrow ? op::Evex(2, 1, words, 0x8d) : op::Evex(2, 1, s.wide(), 0x16);
    m.vvvv = keys;
    m.rm = a;
  } else {
    m.op = narrow ? op::Evex(2, 1, words, 0x75) : op::Evex(2, 1, s.wide(), 0x77);
    m.vvvv = a;
    m.rm = b;
    m.tied = keys;
  }
  Add(m);
}

void Selector::PermuteByKeys(const llvm::IntrinsicInst& call) {
  const Shape s = ShapeOf(call.getType());
  if (failed_ || s.kind != Shape::Kind::kVector || s.parts != 1) {
    Fail();
    return;
  }
  const Reg to = Result(call)[0], low = One(call.getArgOperand(0)), keys = One(call.getArgOperand(1));
  if (avx2_) return RvmTo(to, op::Vex(2, 1, 0, 0x16), s, keys, low);  // vpermps
  PermuteBy(to, s, keys, low, One(call.getArgOperand(2)));
}

void Selector::TwoSourceShuffleAvx2(Reg to, llvm::ArrayRef<int> mask, const Shape& s, Reg a, Reg b) {
  const int n = static_cast<int>(s.lanes);
  if (s.len == 0 || s.bits < 32) return ShuffleBytes(to, mask, s, a, b);
  const int per = n / 2;
  // Whole 128-bit blocks.
  int block[2] = {-1, -1};
  bool whole = true;
  for (int i = 0; i < n; ++i) {
    const int m = mask[static_cast<size_t>(i)];
    if (m < 0) continue;
    int& from = block[i / per];
    if (from < 0) from = m / per;
    whole &= m == from * per + i % per;
  }
  if (whole) {
    RvmTo(to, op::Vex(3, 1, 0, 0x06), s, a, b, std::max(block[0], 0) | std::max(block[1], 0) << 4);
    return;
  }
  // Lanes of both, and one permutation, where no two lanes have the same place.
  llvm::SmallVector<int, 8> place(static_cast<size_t>(n), -1);
  llvm::SmallVector<int, 8> moved(static_cast<size_t>(n), -1);
  bool apart = true;
  bool both[2] = {false, false};
  bool kept[2] = {true, true};  // Whether a source's lanes stay where they are.
  for (int i = 0; i < n; ++i) {
    const int m = mask[static_cast<size_t>(i)];
    if (m < 0) continue;
    int& source = place[static_cast<size_t>(m % n)];
    apart &= source < 0 || source == m / n;
    source = m / n;
    moved[static_cast<size_t>(i)] = m % n;
    both[m / n] = true;
    kept[m / n] &= m % n == i;
  }
  if (!both[0] || !both[1]) return PermuteTo(to, s, moved, both[0] ? a : b);
  const Op blend = op::Vex(3, 1, 0, s.bits == 64 ? 0x0d : 0x0c);
  if (apart && !kept[0] && !kept[1]) {
    int of_b = 0;
    for (int i = 0; i < n; ++i) of_b |= (place[static_cast<size_t>(i)] == 1 ? 1 : 0) << i;
    return PermuteTo(to, s, moved, Rvm(blend, s, a, b, of_b));
  }
  if (PairsOfBoth(to, mask, s, a, b)) return;
  // One permutation of each source, then lanes of both.
  int of_b = 0;
  const auto permuted = [&](Reg r, int source) {
    llvm::SmallVector<int, 8> own(static_cast<size_t>(n), -1);
    for (int i = 0; i < n; ++i) {
      const int m = mask[static_cast<size_t>(i)];
      if (m < 0 || m / n != source) continue;
      own[static_cast<size_t>(i)] = m % n;
      if (source == 1) of_b |= 1 << i;
    }
    if (kept[source]) return r;
    const Reg p = New(RegClass::kVec);
    PermuteTo(p, s, own, r);
    return p;
  };
  const Reg x = permuted(a, 0);
  const Reg y = permuted(b, 1);
  RvmTo(to, blend, s, x, y, of_b);
}

void Selector::PermuteTo(Reg to, const Shape& s, llvm::ArrayRef<int> lanes, Reg x) {
  const int n = static_cast<int>(s.lanes);
  const auto matches = [&](auto want) {
    for (int i = 0; i < n; ++i) {
      const int lane = lanes[static_cast<size_t>(i)];
      if (lane >= 0 && lane != want(i)) return false;
    }
    return true;
  };
  if (matches([](int i) { return i; })) return Copy(to, x);
  if (s.bits == 32) {
    // Within 128-bit blocks, alike in both.
    int lane[4] = {-1, -1, -1, -1};
    for (int i = 0; i < n; ++i) {
      if (lanes[static_cast<size_t>(i)] >= 0) lane[i % 4] = lanes[static_cast<size_t>(i)] % 4;
    }
    if (matches([&](int i) { return i / 4 * 4 + lane[i % 4]; })) {
      int imm = 0;
      for (int i = 0; i < 4; ++i) imm |= std::max(lane[i], 0) << (2 * i);
      return RmTo(to, op::Evex(3, 1, 0, 0x04), s.len, x, s.part_bytes(), imm);  // vpermilps
    }
  }
  // Lanes of 64 bits.
  const int per = n / 4;
  int quarter[4] = {-1, -1, -1, -1};
  for (int i = 0; i < n; ++i) {
    if (lanes[static_cast<size_t>(i)] >= 0) quarter[i / per] = lanes[static_cast<size_t>(i)] / per;
  }
  if (matches([&](int i) { return quarter[i / per] * per + i % per; })) {
    int imm = 0;
    for (int i = 0; i < 4; ++i) imm |= std::max(quarter[i], 0) << (2 * i);
    return PermuteBlocksTo(to, x, imm);
  }
  std::string index;
  for (int i = 0; i < n; ++i) {
    const auto lane = static_cast<uint32_t>(lanes[static_cast<size_t>(i)] >= 0 ? lanes[static_cast<size_t>(i)] : i);
    index.append(reinterpret_cast<const char*>(&lane), 4);
  }
  RvmTo(to, op::Vex(2, 1, 0, 0x16), s, ConstantReg(index, 32, 1), x);  // vpermps
}

bool Selector::PairsOfBoth(Reg to, llvm::ArrayRef<int> mask, const Shape& s, Reg a, Reg b) {
  if (s.bits != 32) return false;
  // What vshufps makes has two pairs in each 128-bit block, the first one of `a`, the second one of `b`, of the same
  // lanes in both blocks. They are put where they belong.
  int lane[4] = {-1, -1, -1, -1};
  int slot[4] = {-1, -1, -1, -1};
  for (int i = 0; i < 8; ++i) {
    const int m = mask[static_cast<size_t>(i)];
    if (m < 0) continue;
    const int source = m / 8;
    const int from = m % 8 / 4 * 2 + source;  // The pair's place: of 64 bits.
    int& wanted = lane[2 * source + i % 2];
    if ((slot[i / 2] >= 0 && slot[i / 2] != from) || (wanted >= 0 && wanted != m % 4)) return false;
    slot[i / 2] = from;
    wanted = m % 4;
  }
  int picks = 0;
  int order = 0;
  bool same = true;
  for (int i = 0; i < 4; ++i) {
    picks |= std::max(lane[i], 0) << (2 * i);
    order |= (slot[i] >= 0 ? slot[i] : i) << (2 * i);
    same &= slot[i] < 0 || slot[i] == i;
  }
  const Op shuffle = op::Evex(1, 0, 0, 0xc6);
  if (same) {
    RvmTo(to, shuffle, s, a, b, picks);
  } else {
    PermuteBlocksTo(to, Rvm(shuffle, s, a, b, picks), order);
  }
  return true;
}

void Selector::ShuffleBytes(Reg to, llvm::ArrayRef<int> mask, const Shape& s, Reg a, Reg b) {
  // The bytes of each source where they belong, zeros elsewhere.
  const auto n = static_cast<int>(s.lanes);
  const int per = n >> s.len;  // Lanes of a block of 128 bits.
  const uint64_t whole = ~uint64_t{0} >> (64 - s.part_bytes());
  uint64_t filled = 0;
  Parts placed;
  for (const int source : {0, 1}) {
    const Reg r = source == 0 ? a : b;
    // The source's blocks that each of the result's takes bytes from: one of them at a time is put there.
    std::array<llvm::SmallVector<int, 4>, 4> wanted;
    const auto block_of = [&](int i) {
      const int m = mask[static_cast<size_t>(i)];
      return m < 0 || m / n != source ? -1 : m % n / per;
    };
    size_t rounds = 0;
    uint64_t mine = 0;
    bool stays = true;
    for (int i = 0; i < n; ++i) {
      const int block = block_of(i);
      if (block < 0) continue;
      auto& blocks_of = wanted[static_cast<size_t>(i / per)];
      if (!llvm::is_contained(blocks_of, block)) blocks_of.push_back(block);
      rounds = std::max(rounds, blocks_of.size());
      mine |= ((uint64_t{1} << s.bytes()) - 1) << (static_cast<unsigned>(i) * s.bytes());
      stays &= mask[static_cast<size_t>(i)] % n == i;
    }
    filled |= mine;
    if (rounds > 0 && stays && (zero_bytes_.lookup(r) | mine) == whole) {
      placed.push_back(r);  // What was put together before, and has only zeros besides.
      continue;
    }
    for (size_t round = 0; round < rounds; ++round) {
      std::string index;
      std::array<int, 4> from{0, 1, 2, 3};
      for (int i = 0; i < n; ++i) {
        const auto& blocks_of = wanted[static_cast<size_t>(i / per)];
        const bool there = round < blocks_of.size();
        if (there) from[static_cast<size_t>(i / per)] = blocks_of[round];
        const bool here = there && block_of(i) == blocks_of[round];
        const int lane = here ? mask[static_cast<size_t>(i)] % per : 0;
        for (unsigned byte = 0; byte < s.bytes(); ++byte)
          index.push_back(here ? static_cast<char>(static_cast<unsigned>(lane) * s.bytes() + byte) : '\x80');
      }
      placed.push_back(
          Rvm(op::Evex(2, 1, 0, 0x00), s, BlocksOf(r, s, from), ConstantReg(index, s.part_bytes(), s.len)));
    }
  }
  Reg all = placed[0];
  for (size_t i = 1; i < placed.size(); ++i) {
    const Reg joined = i + 1 == placed.size() ? to : New(RegClass::kVec);
    RvmTo(joined, op::Evex(1, 1, 0, 0xeb), s, all, placed[i]);
    all = joined;
  }
  if (placed.size() == 1) Copy(to, all);
  zero_bytes_[to] = ~filled & whole;
}

Reg Selector::BlocksOf(Reg r, const Shape& s, const std::array<int, 4>& from) {
  const int blocks = 1 << s.len;
  bool same = true;
  int imm = 0;
  for (int i = 0; i < blocks; ++i) {
    const int block = from[static_cast<size_t>(i)];
    same &= block == i;
    imm |= block << (avx2_ ? 4 * i : blocks == 4 ? 2 * i : i);
  }
  if (same) return r;
  // vperm2f128, vshuff64x2
  return Rvm(avx2_ ? op::Vex(3, 1, 0, 0x06) : op::Evex(3, 1, 1, 0x23), s, r, r, imm);
}

void Selector::ShuffleThroughMemory(const llvm::ShuffleVectorInst& shuffle, const Shape& from, const Shape& to) {
  const auto temporary = [&](const Shape& s) {
    const int32_t at = f_.frame_bytes;
    f_.frame_bytes += static_cast<int32_t>((s.part_bytes() * s.parts + 63) / 64 * 64);
    return at;
  };
  const auto move = [&](Op o, const Shape& s, int32_t at, unsigned part, Reg r, Slot def) {
    Inst m{.op = o, .len = s.len, .mem_bytes = s.part_bytes(), .has_mem = true, .def = def, .reg = r};
    m.mem.frame = at + static_cast<int32_t>(s.part_bytes() * part);
    Add(m);
  };
  int32_t sources[2] = {0, 0};
  for (unsigned source = 0; source < 2; ++source) {
    if (isa<llvm::UndefValue>(shuffle.getOperand(source))) continue;
    sources[source] = temporary(from);
    const Parts x = Get(shuffle.getOperand(source));
    for (unsigned part = 0; part < from.parts; ++part)
      move(op::StoreVector(4), from, sources[source], part, x[part], Slot::kNone);
  }
  const int32_t result = temporary(to);
  for (unsigned lane = 0; lane < to.lanes; ++lane) {
    const int picked = shuffle.getMaskValue(lane);
    if (picked < 0) continue;
    const unsigned source = static_cast<unsigned>(picked) / from.lanes;
    if (isa<llvm::UndefValue>(shuffle.getOperand(source))) continue;
    Inst load{.mem_bytes = static_cast<uint8_t>(to.bytes()), .has_mem = true, .def = Slot::kReg};
    load.op = to.bits == 64 ? op::kMov : to.bits == 32 ? op::kMov32 : to.bits == 16 ? op::kMovzx16 : op::kMovzx8;
    load.reg = New(RegClass::kGpr);
    load.mem.frame = sources[source] + static_cast<int32_t>(static_cast<unsigned>(picked) % from.lanes * to.bytes());
    const Reg element = Add(load).reg;
    Inst store{.mem_bytes = static_cast<uint8_t>(to.bytes()), .has_mem = true, .reg = element};
    store.op = to.bits == 64   ? op::kMovStore
               : to.bits == 32 ? op::kMovStore32
               : to.bits == 16 ? op::kMovStore16
                               : op::kMovStore8;
    store.byte_register = to.bits == 8;
    store.mem.frame = result + static_cast<int32_t>(lane * to.bytes());
    Add(store);
  }
  for (unsigned part = 0; part < to.parts; ++part)
    move(op::LoadVector(4), to, result, part, Result(shuffle)[part], Slot::kReg);
}

}  // namespace tenon::emit_llvm::x64
