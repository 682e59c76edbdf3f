// Allocation replayed: what each place holds is followed through random functions, and whoever reads an operand must
// find the value that the function meant before it was allocated.
#include "tenon/emit_llvm/internal/x64/allocate.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "tenon/emit_llvm/internal/x64/assemble.h"
#include "tenon/emit_llvm/internal/x64/ops.h"

namespace tenon::emit_llvm::x64 {
namespace {

using LocationKind = Location::Kind;

// --- random functions

/// Loops, choices and straight code over a few values of each class that are there where it stands.
class Writer {
 public:
  Writer(uint64_t seed, bool avx2) : random_(seed) {
    f.avx2 = avx2;
    f.blocks.resize(1);
    for (int i = 0; i < 5; ++i) {
      f.arguments.push_back(f.NewReg(RegClass::kGpr));
      here_[0].push_back(f.arguments.back());
    }
    for (int i = 0; i < 6; ++i) {
      const Reg r = f.NewReg(RegClass::kVec);
      f.constants.push_back({r, 4 * i, 1, 4});
      here_[1].push_back(r);
    }
    f.pool.resize(64);
  }

  Function Write() {
    for (int i = 0; i < 8; ++i) Straight();
    Parts(0);
    // Whoever is still there may be wanted at the end.
    for (auto& list : here_) {
      const std::vector<Reg> all = list;
      for (const Reg r : all) {
        if (Below(3) == 0) Use(r);
      }
    }
    Add({.kind = Kind::kReturn});
    for (uint32_t b = 0; b < f.blocks.size(); ++b) {
      for (const uint32_t next : f.blocks[b].next) f.blocks[next].previous.push_back(b);
    }
    return std::move(f);
  }

 private:
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  uint32_t Block() const { return static_cast<uint32_t>(f.blocks.size() - 1); }
  Inst& Add(Inst inst) {
    f.blocks.back().code.push_back(inst);
    return f.blocks.back().code.back();
  }
  uint32_t NewBlock() {
    f.blocks.emplace_back();
    return Block();
  }
  void JumpTo(uint32_t from, uint32_t to) {
    f.blocks[from].code.push_back({.kind = Kind::kJump, .target = to});
    f.blocks[from].next = {to};
  }
  void Branch(uint32_t from, uint32_t target, uint32_t other) {
    f.blocks[from].code.push_back({.kind = Kind::kBranch, .cc = op::kNotEqual, .target = target, .other = other});
    f.blocks[from].next = {target, other};
  }
  void Test() { Add({.op = op::kTest, .reg = Any(RegClass::kGpr), .rm = Any(RegClass::kGpr)}); }

  /// Mostly one of the last ones, sometimes an old one.
  Reg Any(RegClass c) {
    const std::vector<Reg>& list = here_[static_cast<size_t>(c)];
    const auto n = static_cast<uint32_t>(list.size());
    return list[Below(2) == 0 ? Below(n) : n - 1 - Below(std::min<uint32_t>(n, 12))];
  }
  Reg Made(RegClass c) {
    here_[static_cast<size_t>(c)].push_back(f.NewReg(c));
    return here_[static_cast<size_t>(c)].back();
  }
  void Use(Reg r) {
    Inst store{.mem_bytes = 8, .has_mem = true, .reg = r};
    store.op = f.classes[r] == RegClass::kGpr   ? op::kMovStore
               : f.classes[r] == RegClass::kVec ? op::StoreVector(4)
                                                : op::kMoveMaskTo;
    store.mem.base = f.arguments[0];
    Add(store);
  }

  void Straight() {
    const uint8_t len = f.avx2 ? 1 : 2;
    const auto bytes = static_cast<uint8_t>(16u << len);
    Inst inst{.len = len, .mem_bytes = bytes, .def = Slot::kReg};
    switch (Below(f.avx2 || here_[2].empty() ? 9 : 11)) {
      case 0:
      case 1:
      case 2:
        inst.op = op::Float(op::kFAdd, false, false);
        inst.foldable = true;
        inst.commutes = Below(2) == 0;
        inst.vvvv = Any(RegClass::kVec);
        inst.rm = Any(RegClass::kVec);
        inst.reg = Made(RegClass::kVec);
        break;
      case 3:
        inst.op = op::Fma(0xa0, 8, false, false);
        inst.foldable = inst.commutes = true;
        inst.tied = Any(RegClass::kVec);
        inst.vvvv = Any(RegClass::kVec);
        inst.rm = Any(RegClass::kVec);
        inst.reg = Made(RegClass::kVec);
        break;
      case 4:
        inst.op = op::LoadVector(4);
        inst.has_mem = true;
        inst.mem.base = Any(RegClass::kGpr);
        inst.mem.index = Below(2) == 0 ? Any(RegClass::kGpr) : 0;
        inst.mem.scale = 4;
        inst.reg = Made(RegClass::kVec);
        break;
      case 5:
        inst = {.op = op::Legacy(0, 0, 1, 0x03), .foldable = true, .def = Slot::kReg};
        inst.mem_bytes = 8;
        inst.tied = Any(RegClass::kGpr);
        inst.rm = Any(RegClass::kGpr);
        inst.reg = Made(RegClass::kGpr);
        break;
      case 6:
        inst = {.op = op::kLea, .has_mem = true, .def = Slot::kReg};
        inst.mem.base = Any(RegClass::kGpr);
        inst.mem.index = Any(RegClass::kGpr);
        inst.reg = Made(RegClass::kGpr);
        break;
      case 7:
        inst = {.kind = Below(2) == 0 ? Kind::kDivide : Kind::kMultiplyHigh, .def = Slot::kReg};
        inst.op = op::Legacy(0, 0, 1, 0);
        inst.vvvv = Any(RegClass::kGpr);
        inst.rm = Any(RegClass::kGpr);
        inst.reg = Made(RegClass::kGpr);
        break;
      case 8:
        if (!f.avx2 && here_[2].size() < 30) {
          inst.op = op::Evex(1, 0, 0, op::kFCompare);
          inst.imm_bytes = 1;
          inst.vvvv = Any(RegClass::kVec);
          inst.rm = Any(RegClass::kVec);
          inst.foldable = true;
          inst.reg = Made(RegClass::kMask);
          break;
        }
        return Use(Any(Below(2) == 0 ? RegClass::kGpr : RegClass::kVec));
      case 9:
        inst = {.op = op::kMaskAnd, .len = 1, .def = Slot::kReg};
        inst.vvvv = Any(RegClass::kMask);
        inst.rm = Any(RegClass::kMask);
        inst.reg = Made(RegClass::kMask);
        break;
      default:
        inst.op = op::Evex(2, 1, 0, 0x65);
        inst.foldable = true;
        inst.mask = Any(RegClass::kMask);
        inst.vvvv = Any(RegClass::kVec);
        inst.rm = Any(RegClass::kVec);
        inst.reg = Made(RegClass::kVec);
        break;
    }
    Add(inst);
  }

  void Parts(int depth) {
    for (uint32_t n = 2 + Below(3); n > 0; --n) {
      const uint32_t what = depth >= 3 ? 0 : Below(5);
      for (uint32_t i = what < 2 ? 5 + Below(30) : 0; i > 0; --i) Straight();
      if (what == 2) Choice(depth);
      if (what >= 3) Repeat(depth);
    }
  }

  void Choice(int depth) {
    Test();
    const uint32_t from = Block();
    const std::vector<Reg> before[3] = {here_[0], here_[1], here_[2]};
    Reg left[2], right[2];
    const uint32_t begin_left = NewBlock();
    Parts(depth + 1);
    const uint32_t end_left = Block();
    for (size_t c = 0; c < 2; ++c) left[c] = Any(static_cast<RegClass>(c));
    std::copy(before, before + 3, here_);
    const uint32_t begin_right = NewBlock();
    Parts(depth + 1);
    const uint32_t end_right = Block();
    for (size_t c = 0; c < 2; ++c) right[c] = Any(static_cast<RegClass>(c));
    std::copy(before, before + 3, here_);
    Branch(from, begin_left, begin_right);
    const uint32_t join = NewBlock();
    JumpTo(end_left, join);
    JumpTo(end_right, join);
    for (size_t c = 0; c < 2; ++c)
      f.blocks[join].phis.push_back({Made(static_cast<RegClass>(c)), {{end_left, left[c]}, {end_right, right[c]}}});
  }

  /// The question stands at the end or at the beginning.
  void Repeat(int depth) {
    const uint32_t from = Block();
    const bool late = Below(2) == 0;
    std::vector<std::pair<Reg, Reg>> carried;  // What comes in, and by what name.
    for (uint32_t i = 1 + Below(4); i > 0; --i) {
      const auto c = static_cast<RegClass>(Below(f.avx2 || here_[2].empty() ? 2 : 3));
      const Reg in = Any(c);
      carried.emplace_back(in, f.NewReg(c));
    }
    const uint32_t header = NewBlock();
    JumpTo(from, header);
    for (const auto& [in, name] : carried) here_[static_cast<size_t>(f.classes[name])].push_back(name);
    std::vector<Reg> before[3];
    uint32_t body = header;
    if (!late) {
      Test();
      std::copy(here_, here_ + 3, before);
      body = NewBlock();
    }
    Parts(depth + 1);
    if (late) Test();
    const uint32_t latch = Block();
    for (const auto& [in, name] : carried)
      f.blocks[header].phis.push_back({name, {{from, in}, {latch, Any(f.classes[name])}}});
    const uint32_t exit = NewBlock();
    if (late) {
      Branch(latch, header, exit);
    } else {
      Branch(header, body, exit);
      JumpTo(latch, header);
      std::copy(before, before + 3, here_);
    }
  }

  std::mt19937_64 random_;
  Function f;
  std::vector<Reg> here_[3];
};

// --- the replay

/// What lies where; 0: nobody knows.
struct State {
  std::map<std::pair<RegClass, uint8_t>, Reg> registers;
  std::map<int32_t, std::pair<int32_t, Reg>> frame;  ///< By offset: bytes and value.
  friend bool operator==(const State&, const State&) = default;

  Reg Read(RegClass c, const Location& at) const {
    if (at.kind == LocationKind::kRegister) {
      const auto it = registers.find({c, at.reg});
      return it == registers.end() ? 0 : it->second;
    }
    const auto it = frame.find(at.at);
    return it == frame.end() ? 0 : it->second.second;
  }
  void Write(RegClass c, uint8_t len, const Location& at, Reg value) {
    if (at.kind == LocationKind::kRegister) registers[{c, at.reg}] = value;
    if (at.kind != LocationKind::kFrame) return;
    const int32_t bytes = c == RegClass::kVec ? Location::FrameBytes(len) : 8;
    std::erase_if(frame, [&](const auto& o) { return o.first < at.at + bytes && at.at < o.first + o.second.first; });
    frame[at.at] = {bytes, value};
  }
  /// A new value of that name: the one of the last round is gone.
  void Forget(Reg value) {
    std::erase_if(registers, [&](const auto& o) { return o.second == value; });
    std::erase_if(frame, [&](const auto& o) { return o.second.second == value; });
  }
  void Meet(const State& o) {
    std::erase_if(registers, [&](const auto& x) {
      const auto it = o.registers.find(x.first);
      return it == o.registers.end() || it->second != x.second;
    });
    std::erase_if(frame, [&](const auto& x) {
      const auto it = o.frame.find(x.first);
      return it == o.frame.end() || it->second != x.second;
    });
  }
};

class Replay {
 public:
  Replay(const Function& meant, const Function& f, const std::vector<Location>& where)
      : meant_(meant), f_(f), where_(where) {}

  /// What is wrong first; empty: nothing.
  std::string Run() {
    std::vector<std::optional<State>> in(f_.blocks.size());
    in[0].emplace();
    for (size_t i = 0; i < f_.arguments.size(); ++i)
      in[0]->Write(RegClass::kGpr, 0, where_[f_.arguments[i]], f_.arguments[i]);
    for (const Constant& c : f_.constants) in[0]->Write(RegClass::kVec, f_.LenOf(c.reg), where_[c.reg], c.reg);
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
        if (!in[b]) continue;
        State state = *in[b];
        Block(b, state, false);
        for (const uint32_t next : f_.blocks[b].next) {
          State there = state;
          Edge(b, next, there, false);
          if (!in[next]) {
            in[next] = std::move(there);
            changed = true;
            continue;
          }
          const State before = *in[next];
          in[next]->Meet(there);
          changed |= !(before == *in[next]);
        }
      }
    }
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (!in[b]) return "block " + std::to_string(b) + " is not reached";
      State state = *in[b];
      Block(b, state, true);
      for (const uint32_t next : f_.blocks[b].next) {
        State there = state;
        Edge(b, next, there, true);
      }
    }
    return wrong_;
  }

 private:
  void Wrong(const std::string& what, uint32_t block) {
    if (wrong_.empty()) wrong_ = "block " + std::to_string(block) + ": " + what;
  }
  Reg Content(const State& state, Reg r) const {
    const Location& at = where_[r];
    if (at.kind != LocationKind::kPool) return state.Read(f_.classes[r], at);
    for (const Constant& c : f_.constants) {
      if (c.pool == at.at && c.element == at.element) return c.reg;
    }
    return 0;
  }
  void Expect(const State& state, Reg r, Reg wanted, uint32_t block) {
    const Reg got = Content(state, r);
    if (got != wanted)
      Wrong("%" + std::to_string(wanted) + " as %" + std::to_string(r) + " lies where %" + std::to_string(got) + " is",
            block);
  }

  /// The same instruction but for the names of its operands.
  bool Same(Inst meant, Inst inst) const {
    std::vector<Reg> wanted, got;
    meant.ForUses([&](Reg& r) { wanted.push_back(r); });
    inst.ForUses([&](Reg& r) { got.push_back(f_.ValueOf(r)); });
    const Reg defined = inst.Defined() == 0 ? 0 : f_.ValueOf(inst.Defined());
    return meant.kind == inst.kind && meant.op.opcode == inst.op.opcode && wanted == got && meant.Defined() == defined;
  }

  void Block(uint32_t b, State& state, bool check) {
    const std::vector<Inst>& meant = meant_.blocks[b].code;
    size_t next = 0;
    for (const Inst& inst : f_.blocks[b].code) {
      if (next >= meant.size() || !Same(meant[next], inst)) {
        // One that was put in moves whatever is there.
        if (inst.kind != Kind::kCopy) return Wrong("an instruction that nobody wrote", b);
        if (where_[inst.reg] == where_[inst.rm]) continue;
        if (where_[inst.reg].kind == LocationKind::kPool) {
          // Constants are there from the start.
          if (check) Expect(state, inst.rm, f_.ValueOf(inst.reg), b);
          continue;
        }
        state.Write(f_.classes[inst.reg], f_.LenOf(inst.reg), where_[inst.reg], Content(state, inst.rm));
        continue;
      }
      Inst wanted = meant[next++];
      Inst now = inst;
      const Reg d = now.Defined();
      // What a result holds before is moved there first.
      if (now.tied != 0) {
        if (check) Expect(state, now.tied, wanted.tied, b);
        if (where_[d].kind == LocationKind::kRegister)
          state.Write(f_.classes[d], f_.LenOf(d), where_[d], Content(state, now.tied));
      }
      std::vector<Reg> values;
      wanted.ForUses([&](Reg& r) { values.push_back(&r == &wanted.tied ? 0 : r); });
      size_t i = 0;
      now.ForUses([&](Reg& r) {
        if (check && values[i] != 0) Expect(state, r, values[i], b);
        ++i;
      });
      if (d == 0) continue;
      if (where_[d].kind == LocationKind::kPool) Wrong("constants are written", b);
      state.Forget(wanted.Defined());
      state.Write(f_.classes[d], f_.LenOf(d), where_[d], wanted.Defined());
    }
    if (next != meant.size()) Wrong("an instruction is missing", b);
  }

  void Edge(uint32_t from, uint32_t to, State& state, bool check) {
    std::vector<std::pair<Reg, Reg>> moved;  // Where to, and what for.
    for (size_t p = 0; p < f_.blocks[to].phis.size(); ++p) {
      const Phi& phi = f_.blocks[to].phis[p];
      const Phi& wanted = meant_.blocks[to].phis[p];
      for (size_t i = 0; i < phi.from.size(); ++i) {
        if (phi.from[i].first != from) continue;
        if (check) Expect(state, phi.from[i].second, wanted.from[i].second, from);
        moved.emplace_back(phi.result, wanted.result);
      }
    }
    for (const auto& [result, meant] : moved) state.Forget(meant);
    for (const auto& [result, meant] : moved) state.Write(f_.classes[result], f_.LenOf(result), where_[result], meant);
  }

  const Function& meant_;
  const Function& f_;
  const std::vector<Location>& where_;
  std::string wrong_;
};

// --- tests

constexpr Registers kFew{.gprs = 5, .vecs = 6, .masks = 2};

TEST(X64Allocation, EveryOperandIsWhereItsValueIs) {
  int split = 0, spilled = 0;
  for (const bool avx2 : {false, true}) {
    for (const Registers& registers : {Registers(), kFew}) {
      for (uint64_t seed = 0; seed < 60; ++seed) {
        const Function meant = Writer(seed, avx2).Write();
        Function f = meant;
        const std::vector<Location> where = Allocate(f, registers);
        ASSERT_EQ(where.size(), f.classes.size());
        ASSERT_EQ(Replay(meant, f, where).Run(), "") << "seed " << seed << (avx2 ? ", AVX2" : "");
        for (size_t r = 1; r < where.size(); ++r) {
          if (where[r].kind != LocationKind::kRegister || f.classes[r] != RegClass::kVec) continue;
          ASSERT_LT(where[r].reg, std::min<size_t>(registers.vecs, avx2 ? 13 : 29));
        }
        split += f.classes.size() > meant.classes.size();
        spilled += CountSpills(f, where).places > 0;
      }
    }
  }
  // Both happen, or nothing was tested.
  EXPECT_GT(spilled, 120);
  EXPECT_GT(split, 80);
}

TEST(X64Allocation, TheReplaySeesWhatIsWrong) {
  int seen = 0, tried = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Function meant = Writer(seed, true).Write();
    Function f = meant;
    std::vector<Location> where = Allocate(f, kFew);
    // Some value lies where another one does.
    std::mt19937_64 random(seed);
    std::vector<Reg> vectors;
    for (Reg r = 1; r < where.size(); ++r) {
      if (f.classes[r] == RegClass::kVec && where[r].kind == LocationKind::kRegister) vectors.push_back(r);
    }
    for (int i = 0; i < 3; ++i) {
      const Reg r = vectors[random() % vectors.size()];
      std::vector<Location> odd = where;
      odd[r].reg = static_cast<uint8_t>((odd[r].reg + 1 + random() % (kFew.vecs - 1)) % kFew.vecs);
      seen += !Replay(meant, f, odd).Run().empty();
      ++tried;
    }
  }
  EXPECT_GT(seen, tried / 3) << "of " << tried;
}

/// Whether any instruction of the block reads or writes a place in the frame.
bool TouchesTheFrame(const Function& f, const std::vector<Location>& where, uint32_t block) {
  bool touches = false;
  for (Inst inst : f.blocks[block].code) {
    const auto look = [&](Reg r) { touches |= where[r].kind == LocationKind::kFrame; };
    inst.ForUses(look);
    if (inst.Defined() != 0) look(inst.Defined());
  }
  return touches;
}

TEST(X64Allocation, LoopsHaveTheirValuesInRegisters) {
  // Forty vectors that are read at the end; one loop uses ten of them, another one other ten.
  for (const bool avx2 : {false, true}) {
    Function f;
    f.avx2 = avx2;
    f.blocks.resize(5);
    const Reg pointer = f.NewReg(RegClass::kGpr);
    f.arguments.push_back(pointer);
    constexpr int kLive = 40, kInLoop = 10;
    std::vector<Reg> live;
    const auto add = [&](uint32_t block, Inst inst) { f.blocks[block].code.push_back(inst); };
    const auto load = [&](uint32_t block) {
      Inst inst{.op = op::LoadVector(4), .len = 1, .mem_bytes = 32, .has_mem = true, .def = Slot::kReg};
      inst.reg = f.NewReg(RegClass::kVec);
      inst.mem.base = pointer;
      add(block, inst);
      return inst.reg;
    };
    const auto store = [&](uint32_t block, Reg r) {
      Inst inst{.op = op::StoreVector(4), .len = 1, .mem_bytes = 32, .has_mem = true, .reg = r};
      inst.mem.base = pointer;
      add(block, inst);
    };
    for (int i = 0; i < kLive; ++i) live.push_back(load(0));
    add(0, {.kind = Kind::kJump, .target = 1});
    f.blocks[0].next = {1};
    for (const uint32_t loop : {1u, 3u}) {
      for (int i = 0; i < kInLoop; ++i) store(loop, live[loop * kInLoop + static_cast<uint32_t>(i)]);
      add(loop, {.op = op::kTest, .reg = pointer, .rm = pointer});
      add(loop, {.kind = Kind::kBranch, .cc = op::kNotEqual, .target = loop, .other = loop + 1});
      f.blocks[loop].next = {loop, loop + 1};
      f.blocks[loop].previous = {loop - 1, loop};
    }
    add(2, {.kind = Kind::kJump, .target = 3});
    f.blocks[2].next = {3};
    f.blocks[2].previous = {1};
    f.blocks[4].previous = {3};
    for (const Reg r : live) store(4, r);
    add(4, {.kind = Kind::kReturn});

    const Function meant = f;
    const std::vector<Location> where = Allocate(f, {.vecs = 12});
    EXPECT_EQ(Replay(meant, f, where).Run(), "");
    EXPECT_FALSE(TouchesTheFrame(f, where, 1));
    EXPECT_FALSE(TouchesTheFrame(f, where, 3));
    EXPECT_LE(CountSpills(f, where).places, kLive);
    EXPECT_TRUE(Assemble(f, where).has_value());
  }
}

TEST(X64Allocation, ConstantsWaitInMemoryForTheLoopThatUsesThem) {
  // Twenty constants in a loop behind twenty others that are wanted before it.
  Function f;
  f.avx2 = true;
  f.blocks.resize(3);
  f.pool.resize(256);
  const Reg pointer = f.NewReg(RegClass::kGpr);
  f.arguments.push_back(pointer);
  std::vector<Reg> constants;
  for (int i = 0; i < 18; ++i) {
    constants.push_back(f.NewReg(RegClass::kVec));
    f.constants.push_back({constants.back(), 4 * i, 1, 4});
  }
  const auto store = [&](uint32_t block, Reg r) {
    Inst inst{.op = op::StoreVector(4), .len = 1, .mem_bytes = 32, .has_mem = true, .reg = r};
    inst.mem.base = pointer;
    f.blocks[block].code.push_back(inst);
  };
  for (int times = 0; times < 20; ++times) {
    for (int i = 0; i < 9; ++i) store(0, constants[static_cast<size_t>(i)]);
  }
  f.blocks[0].code.push_back({.kind = Kind::kJump, .target = 1});
  f.blocks[0].next = {1};
  for (int i = 9; i < 18; ++i) store(1, constants[static_cast<size_t>(i)]);
  f.blocks[1].code.push_back({.op = op::kTest, .reg = pointer, .rm = pointer});
  f.blocks[1].code.push_back({.kind = Kind::kBranch, .cc = op::kNotEqual, .target = 1, .other = 2});
  f.blocks[1].next = {1, 2};
  f.blocks[1].previous = {0, 1};
  f.blocks[2].previous = {1};
  f.blocks[2].code.push_back({.kind = Kind::kReturn});
  const Function meant = f;
  const std::vector<Location> where = Allocate(f);
  EXPECT_EQ(Replay(meant, f, where).Run(), "");
  for (Inst inst : f.blocks[1].code) {
    inst.ForUses([&](Reg& r) { EXPECT_EQ(where[r].kind, LocationKind::kRegister) << r; });
  }
}

}  // namespace
}  // namespace tenon::emit_llvm::x64
