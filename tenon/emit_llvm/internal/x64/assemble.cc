#include "tenon/emit_llvm/internal/x64/assemble.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <span>

#include "tenon/emit_llvm/internal/x64/encodings.h"
#include "tenon/emit_llvm/internal/x64/ops.h"

namespace tenon::emit_llvm::x64 {
namespace {

using LocationKind = Location::Kind;

// An instruction whose registers are the machine's.
struct Machine {
  Op op{};
  uint8_t len = 0;
  uint8_t reg = 0;
  uint8_t vvvv = 0;
  uint8_t rm = 0;
  uint8_t mask = 0;
  bool zeroing = false;
  bool broadcast = false;
  bool has_mem = false;
  bool byte_register = false;
  bool index_is_vector = false;
  bool evex_only = false;  ///< Its VEX form does something else: a mask goes in or out.
  uint8_t mem_bytes = 1;
  // Memory: base 0xff for none.
  uint8_t base = 0xff;
  uint8_t index = 0xff;
  uint8_t scale = 1;
  int32_t disp = 0;
  int32_t pool = -1;
  uint8_t imm_bytes = 0;
  int64_t imm = 0;
};

class Assembler {
 public:
  Assembler(const Function& f, const std::vector<Location>& where) : f_(f), where_(where), block_at_(f.blocks.size()) {}

  std::optional<Code> Run() {
    Prologue();
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      const Block& block = f_.blocks[b];
      // Loops start where the processor starts to read.
      if (std::any_of(block.previous.begin(), block.previous.end(), [&](uint32_t p) { return p >= b; })) Align(32);
      block_at_[b] = Here();
      placed_ = b + 1;
      if (block.previous.size() == 1 && f_.blocks[block.previous[0]].next.size() > 1) EdgeMoves(block.previous[0], b);
      for (const Inst& inst : block.code) {
        switch (inst.kind) {
          case Kind::kEncoded:
            Encoded(inst);
            break;
          case Kind::kCopy:
            Move(f_.classes[inst.reg], std::min(f_.LenOf(inst.reg), f_.LenOf(inst.rm)), where_[inst.reg],
                 where_[inst.rm]);
            break;
          case Kind::kDivide:
            Divide(inst);
            break;
          case Kind::kMultiplyHigh:
            MultiplyHigh(inst);
            break;
          case Kind::kJump:
            EdgeMoves(b, inst.target);
            if (inst.target != b + 1) Jump(inst.target);
            break;
          case Kind::kBranch:
            Branch(b, inst);
            break;
          case Kind::kReturn:
            Epilogue();
            break;
          case Kind::kNothing:
            break;
        }
      }
    }
    for (const Detour& d : detours_) {
      Patch(d.jump_at, Here());
      Moves(d.moves);
      Jump(d.target);
    }
    if (failed_) return std::nullopt;
    for (const auto& [at, block] : jumps_) Patch(at, block_at_[block]);
    const auto text_bytes = static_cast<int64_t>(code_.size());
    code_.resize((code_.size() + 63) / 64 * 64, 0xcc);
    for (const auto& [at, pool, after] : pool_uses_) {
      const auto distance =
          static_cast<int32_t>(static_cast<int64_t>(code_.size()) + pool - (static_cast<int64_t>(at) + 4 + after));
      std::memcpy(code_.data() + at, &distance, 4);
    }
    code_.insert(code_.end(), f_.pool.begin(), f_.pool.end());
    return Code{.bytes = std::move(code_), .text_bytes = text_bytes, .cfi = std::move(cfi_)};
  }

 private:
  struct OneMove {
    RegClass type;
    uint8_t len;  ///< Of vectors.
    Location to;
    Location from;
  };
  struct Detour {
    size_t jump_at;
    uint32_t target;
    std::vector<OneMove> moves;
  };
  struct PoolUse {
    size_t at;
    int32_t pool;
    uint8_t after;
  };

  size_t Here() const { return code_.size(); }
  void Byte(unsigned v) { code_.push_back(static_cast<uint8_t>(v)); }
  void Bytes(int64_t v, unsigned n) {
    for (unsigned i = 0; i < n; ++i) Byte(static_cast<unsigned>(v >> (8 * i)) & 0xff);
  }
  void Patch(size_t at, size_t target) {
    const auto distance = static_cast<int32_t>(static_cast<int64_t>(target) - static_cast<int64_t>(at) - 4);
    std::memcpy(code_.data() + at, &distance, 4);
  }

  // --- encoding
  void ModRm(const Machine& m) {
    const unsigned field = static_cast<unsigned>(m.reg & 7) << 3;
    if (!m.has_mem) return Byte(0xc0 | field | (m.rm & 7));
    if (m.pool >= 0) {
      Byte(field | 5);
      pool_uses_.push_back({Here(), m.pool, m.imm_bytes});
      return Bytes(0, 4);
    }
    // Displacements of EVEX instructions count in units of what they access.
    const int32_t unit = m.op.space == Space::kEvex ? m.mem_bytes : 1;
    const bool fits = m.disp % unit == 0 && m.disp / unit >= -128 && m.disp / unit <= 127;
    if (m.base == 0xff) {  // index only
      Byte(field | 4);
      Byte(ScaleBits(m.scale) | static_cast<unsigned>(m.index & 7) << 3 | 5);
      return Bytes(m.disp, 4);
    }
    const unsigned mode = m.disp == 0 && (m.base & 7) != 5 ? 0 : fits ? 0x40 : 0x80;
    if (m.index != 0xff || (m.base & 7) == 4) {
      Byte(mode | field | 4);
      Byte(m.index == 0xff ? 0x20u | (m.base & 7)
                           : ScaleBits(m.scale) | static_cast<unsigned>(m.index & 7) << 3 | (m.base & 7));
    } else {
      Byte(mode | field | (m.base & 7));
    }
    if (mode == 0x40) Bytes(m.disp / unit, 1);
    if (mode == 0x80) Bytes(m.disp, 4);
  }
  static unsigned ScaleBits(uint8_t scale) { return scale == 8 ? 0xc0 : scale == 4 ? 0x80 : scale == 2 ? 0x40 : 0; }

  void Emit(Machine m) {
    if (m.op.space == Space::kEvex) {
      const bool readable = !m.has_mem || VexTakesMemory(m.op);
      if (f_.avx2) {
        failed_ |= !readable || !VexOf(m.op, &m.op) || m.broadcast || m.zeroing || m.len > 1;
      } else {
        failed_ |= !HasEvex(m.op);
        // VEX is up to two bytes shorter where it can say the same.
        const bool low = readable && m.reg < 16 && m.vvvv < 16 && (m.has_mem || m.rm < 16);
        if (low && m.len < 2 && !m.broadcast && !m.evex_only && ShorterAsVex(m.op)) VexOf(m.op, &m.op);
      }
    }
    const unsigned b_bit = m.has_mem ? (m.base == 0xff ? 0 : m.base >> 3 & 1) : m.rm >> 3 & 1;
    const unsigned x_bit = m.has_mem ? (m.index == 0xff ? 0 : m.index >> 3 & 1) : m.rm >> 4 & 1;
    const unsigned r_bit = m.reg >> 3 & 1;
    switch (m.op.space) {
      case Space::kLegacy: {
        static constexpr uint8_t kPrefix[] = {0, 0x66, 0xf3, 0xf2};
        if (m.op.prefix != 0) Byte(kPrefix[m.op.prefix]);
        const unsigned rex = 0x40u | m.op.w << 3 | r_bit << 2 | x_bit << 1 | b_bit;
        if (rex != 0x40 || m.byte_register) Byte(rex);
        if (m.op.map >= 1) Byte(0x0f);
        break;
      }
      case Space::kVex:
        if (m.op.map == 1 && m.op.w == 0 && x_bit == 0 && b_bit == 0) {
          Byte(0xc5);
          Byte((r_bit ^ 1) << 7 | static_cast<unsigned>(~m.vvvv & 15) << 3 | static_cast<unsigned>(m.len) << 2 |
               m.op.prefix);
          break;
        }
        Byte(0xc4);
        Byte((r_bit ^ 1) << 7 | (x_bit ^ 1) << 6 | (b_bit ^ 1) << 5 | m.op.map);
        Byte(static_cast<unsigned>(m.op.w) << 7 | static_cast<unsigned>(~m.vvvv & 15) << 3 |
             static_cast<unsigned>(m.len) << 2 | m.op.prefix);
        break;
      case Space::kEvex:
        Byte(0x62);
        Byte((r_bit ^ 1) << 7 | (x_bit ^ 1) << 6 | (b_bit ^ 1) << 5 | (~m.reg >> 4 & 1u) << 4 | m.op.map);
        Byte(static_cast<unsigned>(m.op.w) << 7 | static_cast<unsigned>(~m.vvvv & 15) << 3 | 4u | m.op.prefix);
        Byte(static_cast<unsigned>(m.zeroing) << 7 | static_cast<unsigned>(m.len) << 5 |
             static_cast<unsigned>(m.broadcast) << 4 | (~(m.index_is_vector ? m.index : m.vvvv) >> 4 & 1u) << 3 |
             m.mask);
        break;
    }
    Byte(m.op.opcode);
    ModRm(m);
    Bytes(m.imm, m.imm_bytes);
  }

  // --- moves
  void SetMemory(Machine& m, const Location& at) {
    m.has_mem = true;
    if (at.kind == LocationKind::kPool) {
      m.pool = at.at;
    } else {
      m.base = kRsp;
      m.disp = at.at;
    }
  }
  /// Registers, frame slots, constants; `len`: as Inst's, of vectors.
  void Move(RegClass type, uint8_t len, const Location& to, const Location& from) {
    // Copies of constants that are read from where these are need nothing.
    if (to == from || to.kind == LocationKind::kNowhere || to.kind == LocationKind::kPool) return;
    if (from.kind == LocationKind::kNowhere) {
      failed_ = true;
      return;
    }
    if (to.kind != LocationKind::kRegister && from.kind != LocationKind::kRegister) {
      const Location through{LocationKind::kRegister, ThroughOf(type), 0, 0, 0};
      Move(type, len, through, from);
      return Move(type, len, to, through);
    }
    Machine m;
    const bool store = to.kind != LocationKind::kRegister;
    const Location& in_reg = store ? to : from;
    m.reg = store ? from.reg : to.reg;
    if (in_reg.kind == LocationKind::kRegister) {
      m.rm = in_reg.reg;
    } else {
      SetMemory(m, in_reg);
    }
    switch (type) {
      case RegClass::kGpr:
        m.op = store ? op::kMovStore : op::kMov;
        break;
      case RegClass::kMask:
        m.op = store ? op::kMoveMaskTo : op::kMoveToMask;
        break;
      case RegClass::kVec:
        m.len = len;
        m.mem_bytes = static_cast<uint8_t>(16u << len);
        m.op = store ? op::StoreVector(4) : m.has_mem ? op::LoadVector(4) : op::kMoveVector;
        if (from.kind == LocationKind::kPool) {
          if (from.element <= 8) m.mem_bytes = from.element;
          if (from.element == 4) m.op = op::Evex(2, 1, 0, 0x18);
          if (from.element == 8) {
            m.op = len == 0 ? op::Evex(2, 1, 1, 0x59) : op::Evex(2, 1, 1, 0x19);
          }
        }
        break;
    }
    Emit(m);
  }
  std::span<const uint8_t> ScratchVec() const {
    return f_.avx2 ? std::span<const uint8_t>(kScratchVecAvx2) : std::span<const uint8_t>(kScratchVec);
  }
  uint8_t ThroughOf(RegClass type) const {
    return type == RegClass::kGpr ? kScratchGpr[1] : type == RegClass::kVec ? ScratchVec()[1] : kScratchMask[1];
  }
  uint8_t CycleOf(RegClass type) const {
    return type == RegClass::kGpr ? kScratchGpr[0] : type == RegClass::kVec ? ScratchVec()[0] : kScratchMask[0];
  }

  /// Whether `m` reads what `writer` writes. Registers of one number are one only in one class; a place in the frame
  /// may hold an integer before and a mask afterwards.
  static bool Reads(const OneMove& m, const OneMove& writer) {
    return m.from == writer.to && (m.type == writer.type || m.from.kind == LocationKind::kFrame);
  }
  /// All at once: every `from` is read before any `to` is written.
  void Moves(std::vector<OneMove> moves) {
    std::erase_if(moves, [](const OneMove& m) { return m.to == m.from || m.to.kind == LocationKind::kNowhere; });
    while (!moves.empty()) {
      const auto ready = std::find_if(moves.begin(), moves.end(), [&](const OneMove& writer) {
        return std::none_of(moves.begin(), moves.end(), [&](const OneMove& m) { return Reads(m, writer); });
      });
      if (ready != moves.end()) {
        Move(ready->type, ready->len, ready->to, ready->from);
        moves.erase(ready);
        continue;
      }
      // Cycles: what the first one overwrites waits in a scratch register of its own class.
      const OneMove writer = moves[0];
      RegClass type = writer.type;
      uint8_t len = 0;
      for (OneMove& m : moves) {
        if (!Reads(m, writer)) continue;
        type = m.type;
        len = std::max(len, m.len);
        m.from = {LocationKind::kRegister, CycleOf(type), 0, 0, 0};
      }
      Move(type, len, {LocationKind::kRegister, CycleOf(type), 0, 0, 0}, writer.to);
    }
  }
  std::vector<OneMove> MovesOf(uint32_t from, uint32_t to) const {
    std::vector<OneMove> moves;
    for (const Phi& phi : f_.blocks[to].phis) {
      for (const auto& [block, value] : phi.from) {
        if (block != from) continue;
        const OneMove m{f_.classes[phi.result], std::min(f_.LenOf(phi.result), f_.LenOf(value)), where_[phi.result],
                        where_[value]};
        if (!(m.to == m.from) && m.to.kind != LocationKind::kNowhere) moves.push_back(m);
        break;
      }
    }
    return moves;
  }
  void EdgeMoves(uint32_t from, uint32_t to) { Moves(MovesOf(from, to)); }
  /// Moves that must happen on the edge itself.
  std::vector<OneMove> OnEdge(uint32_t from, uint32_t to) const {
    if (f_.blocks[to].previous.size() == 1) return {};  // at the start of `to`
    return MovesOf(from, to);
  }

  // --- control flow
  void Align(size_t to) {
    static constexpr uint8_t kNops[8][8] = {{0x90},
                                            {0x66, 0x90},
                                            {0x0f, 0x1f, 0x00},
                                            {0x0f, 0x1f, 0x40, 0x00},
                                            {0x0f, 0x1f, 0x44, 0x00, 0x00},
                                            {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
                                            {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
                                            {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}};
    while (Here() % to != 0) {
      const size_t n = std::min<size_t>(8, to - Here() % to);
      code_.insert(code_.end(), kNops[n - 1], kNops[n - 1] + n);
    }
  }
  /// Back to `target` in two bytes, if it was placed and is near enough.
  bool ShortJump(unsigned opcode, uint32_t target) {
    if (target >= placed_) return false;
    const auto distance = static_cast<int64_t>(block_at_[target]) - static_cast<int64_t>(Here()) - 2;
    if (distance < -128) return false;
    Byte(opcode);
    Byte(static_cast<unsigned>(distance) & 0xff);
    return true;
  }
  void Jump(uint32_t target) {
    if (ShortJump(0xeb, target)) return;
    Byte(0xe9);
    jumps_.emplace_back(Here(), target);
    Bytes(0, 4);
  }
  size_t ConditionalJump(uint8_t cc) {
    Byte(0x0f);
    Byte(0x80u + cc);
    Bytes(0, 4);
    return Here() - 4;
  }
  void Branch(uint32_t b, const Inst& inst) {
    uint8_t cc = inst.cc;
    uint32_t target = inst.target;
    uint32_t other = inst.other;
    std::vector<OneMove> to_target = OnEdge(b, target);
    std::vector<OneMove> to_other = OnEdge(b, other);
    // What loops goes straight on, moves included; who leaves may make a detour.
    if ((!to_target.empty() && (to_other.empty() || (target <= b && other > b))) ||
        (to_target.empty() == to_other.empty() && target == b + 1)) {
      std::swap(target, other);
      std::swap(to_target, to_other);
      cc ^= 1;
    }
    if (!to_target.empty()) {
      detours_.push_back({ConditionalJump(cc), target, std::move(to_target)});
    } else if (!ShortJump(0x70u + cc, target)) {
      jumps_.emplace_back(ConditionalJump(cc), target);
    }
    Moves(std::move(to_other));
    if (other != b + 1) Jump(other);
  }

  static constexpr uint8_t kSaved[] = {3, 12, 13, 14, 15};
  void Push(uint8_t reg) {
    if (reg >= 8) Byte(0x41);
    Byte(0x50u + (reg & 7));
  }
  void Pop(uint8_t reg) {
    if (reg >= 8) Byte(0x41);
    Byte(0x58u + (reg & 7));
  }
  void Prologue() {
    for (uint8_t r : kSaved) {
      for (size_t v = 1; v < where_.size(); ++v) {
        if (f_.classes[v] == RegClass::kGpr && where_[v].kind == LocationKind::kRegister && where_[v].reg == r) {
          saved_.push_back(r);
          break;
        }
      }
    }
    for (uint8_t r : saved_) {
      Push(r);
      Pushed(r);
    }
    if (f_.frame_bytes > 0) {
      Push(kRbp);
      Pushed(kRbp);
      Bytes(0xe58948, 3);  // mov rbp, rsp
      Advance();
      Cfi({0x0d, 6});      // the caller's stack pointer is told from rbp
      Bytes(0xec8148, 3);  // sub rsp, imm32
      Bytes(f_.frame_bytes, 4);
      Bytes(0xc0e48348, 4);  // and rsp, -64
    }
    std::vector<OneMove> moves;
    for (size_t i = 0; i < f_.arguments.size(); ++i) {
      moves.push_back(
          {RegClass::kGpr, 0, where_[f_.arguments[i]], {LocationKind::kRegister, kArgumentGpr[i], 0, 0, 0}});
    }
    Moves(std::move(moves));
    for (const Constant& c : f_.constants) {
      Move(f_.classes[c.reg], f_.LenOf(c.reg),
           where_[c.reg].kind == LocationKind::kRegister ? where_[c.reg] : Location(),
           {LocationKind::kPool, 0, c.element, c.len, c.pool});
    }
  }
  void Epilogue() {
    Advance();
    Cfi({0x0a});  // remember
    unsigned depth = 8 * static_cast<unsigned>(saved_.size() + 1);
    if (f_.frame_bytes > 0) {
      Bytes(0xec8948, 3);  // mov rsp, rbp
      Pop(kRbp);
      Advance();
      Cfi({0xc0 | 6, 0x0c, 7, depth});
    }
    for (size_t i = saved_.size(); i-- > 0;) {
      Pop(saved_[i]);
      Advance();
      depth -= 8;
      Cfi({0xc0u | saved_[i], 0x0e, depth});
    }
    Bytes(0x77f8c5, 3);  // vzeroupper
    Byte(0xc3);
    Advance();
    Cfi({0x0b});  // as remembered
  }

  // --- unwinding: DWARF's instructions, see its standard, 6.4.2
  void Cfi(std::initializer_list<unsigned> bytes) {
    for (const unsigned b : bytes) cfi_.push_back(static_cast<uint8_t>(b));
  }
  /// What follows holds from here on.
  void Advance() {
    if (Here() == cfi_at_) return;
    Cfi({0x04});
    const auto by = static_cast<uint32_t>(Here() - cfi_at_);
    for (unsigned i = 0; i < 4; ++i) cfi_.push_back(static_cast<uint8_t>(by >> (8 * i)));
    cfi_at_ = Here();
  }
  void Pushed(uint8_t reg) {
    ++pushed_;
    Advance();
    // Registers have other numbers there; of those that are saved, rbp only.
    Cfi({0x0e, 8 * (pushed_ + 1), 0x80u | (reg == kRbp ? 6u : reg), pushed_ + 1});
  }

  // --- instructions
  void Divide(const Inst& inst) {
    const Location rax{LocationKind::kRegister, 0, 0, 0, 0};
    const Location rdx{LocationKind::kRegister, 2, 0, 0, 0};
    Move(RegClass::kGpr, 0, rax, where_[inst.vvvv]);
    if (inst.cc == 0) {
      Bytes(0xd231, 2);  // xor edx, edx
    } else if (inst.op.w != 0) {
      Bytes(0x9948, 2);  // cqo
    } else {
      Byte(0x99);  // cdq
    }
    Machine m;
    m.op = op::Legacy(0, 0, inst.op.w, 0xf7);
    m.reg = inst.cc == 0 ? 6 : 7;
    if (where_[inst.rm].kind == LocationKind::kRegister) {
      m.rm = where_[inst.rm].reg;
    } else {
      SetMemory(m, where_[inst.rm]);
    }
    Emit(m);
    Move(RegClass::kGpr, 0, where_[inst.reg], inst.imm != 0 ? rdx : rax);
  }

  void MultiplyHigh(const Inst& inst) {
    Move(RegClass::kGpr, 0, {LocationKind::kRegister, kScratchGpr[1], 0, 0, 0}, where_[inst.vvvv]);
    const bool in_register = where_[inst.reg].kind == LocationKind::kRegister;
    Machine m;
    m.op = op::kMulx;
    m.reg = m.vvvv = in_register ? where_[inst.reg].reg : kScratchGpr[0];
    if (where_[inst.rm].kind == LocationKind::kRegister) {
      m.rm = where_[inst.rm].reg;
    } else {
      SetMemory(m, where_[inst.rm]);
    }
    Emit(m);
    if (!in_register) Move(RegClass::kGpr, 0, where_[inst.reg], {LocationKind::kRegister, m.reg, 0, 0, 0});
  }

  struct Scratch {
    size_t used[3] = {0, 0, 0};
  };
  uint8_t Load(Reg r, Scratch& scratch) {
    const Location& at = where_[r];
    if (at.kind == LocationKind::kRegister) return at.reg;
    const RegClass type = f_.classes[r];
    size_t& n = scratch.used[static_cast<size_t>(type)];
    const std::span<const uint8_t> spare = type == RegClass::kGpr   ? std::span<const uint8_t>(kScratchGpr)
                                           : type == RegClass::kVec ? ScratchVec()
                                                                    : std::span<const uint8_t>(kScratchMask);
    // The last ones first: the first is where the result goes.
    if (n >= spare.size()) {
      failed_ = true;
      return spare[0];
    }
    // Mask 0 masks nothing, so the other one comes first there.
    const uint8_t reg = type == RegClass::kMask ? spare[n++] : spare[spare.size() - 1 - n++];
    Move(type, f_.LenOf(r), {LocationKind::kRegister, reg, 0, 0, 0}, at);
    return reg;
  }

  void Encoded(const Inst& written) {
    Inst inst = written;
    if (inst.commutes && !inst.has_mem && where_[inst.vvvv].kind != LocationKind::kRegister &&
        where_[inst.rm].kind == LocationKind::kRegister) {
      std::swap(inst.vvvv, inst.rm);
      // 213 is to = vvvv * to + rm, 132 is to = to * rm + vvvv; what else commutes keeps its name.
      if (inst.op.map == 2 && inst.op.opcode >= 0x96 && inst.op.opcode <= 0xaf)
        inst.op.opcode = static_cast<uint8_t>(inst.op.opcode ^ 0x30);
    }
    Machine m;
    m.op = inst.op;
    m.len = inst.len;
    m.imm = inst.imm;
    m.imm_bytes = inst.imm_bytes;
    m.zeroing = inst.zeroing;
    m.broadcast = inst.broadcast;
    m.byte_register = inst.byte_register;
    m.evex_only =
        inst.mask != 0 || inst.uses_up_mask || (inst.Defined() != 0 && f_.classes[inst.Defined()] == RegClass::kMask);
    m.mem_bytes = std::max<uint8_t>(1, inst.broadcast ? inst.element : inst.mem_bytes);
    m.reg = inst.digit;
    Scratch scratch;
    // A result that lives in memory is made in a scratch register that no operand of a two-address instruction uses.
    const Reg defined = inst.Defined();
    uint8_t result = 0;
    const bool result_in_memory = defined != 0 && where_[defined].kind != LocationKind::kRegister;
    if (defined != 0) {
      const RegClass type = f_.classes[defined];
      result = result_in_memory ? CycleOf(type) : where_[defined].reg;
    }
    if (inst.uses_up_mask && f_.avx2) {
      // The mask is the second source.
      m.vvvv = ScratchVec()[1];
      if (inst.mask == 0) {
        Machine ones;
        ones.op = op::Vex(1, 1, 0, 0x76);
        ones.len = 1;
        ones.reg = ones.vvvv = ones.rm = m.vvvv;
        Emit(ones);
      } else {
        Move(RegClass::kVec, f_.LenOf(inst.mask), {LocationKind::kRegister, m.vvvv, 0, 0, 0}, where_[inst.mask]);
      }
    } else if (inst.mask_in_immediate) {
      m.imm = Load(inst.mask, scratch) << 4;
    } else if (inst.uses_up_mask) {
      m.index_is_vector = true;
      m.mask = kScratchMask[0];
      if (inst.mask == 0) {
        Bytes(0xff46c4c5, 4);  // kxnorw k7, k7, k7
      } else {
        Move(RegClass::kMask, 0, {LocationKind::kRegister, kScratchMask[0], 0, 0, 0}, where_[inst.mask]);
      }
    } else if (inst.mask != 0) {
      m.mask = Load(inst.mask, scratch);
    }
    if (inst.has_mem) {
      m.has_mem = true;
      m.scale = inst.mem.scale;
      m.disp = inst.mem.disp;
      m.pool = inst.mem.pool;
      if (TooManySpilled(inst)) {
        // The address is summed up first, so that it takes one register only.
        Machine lea;
        lea.op = op::kLea;
        lea.has_mem = true;
        lea.reg = kScratchGpr[1];
        lea.base = Load(inst.mem.base, scratch);
        lea.index = Load(inst.mem.index, scratch);
        lea.scale = m.scale;
        lea.disp = m.disp;
        Emit(lea);
        scratch.used[static_cast<size_t>(RegClass::kGpr)] = 1;
        m.base = kScratchGpr[1];
        m.scale = 1;
        m.disp = 0;
        inst.mem.base = inst.mem.index = 0;
      }
      if (inst.mem.base != 0) m.base = Load(inst.mem.base, scratch);
      if (inst.mem.frame >= 0) {
        m.base = kRsp;
        m.disp += inst.mem.frame;
      }
      if (inst.mem.index != 0) m.index = Load(inst.mem.index, scratch);
    }
    if (inst.reg != 0) m.reg = inst.def == Slot::kReg ? result : Load(inst.reg, scratch);
    if (inst.vvvv != 0) m.vvvv = inst.def == Slot::kVvvv ? result : Load(inst.vvvv, scratch);
    if (inst.rm != 0 && inst.def == Slot::kRm) {
      m.rm = result;
    } else if (inst.rm != 0) {
      const Location& at = where_[inst.rm];
      if (at.kind != LocationKind::kRegister && inst.foldable && CanFold(inst, at, inst.rm)) {
        SetMemory(m, at);
        if (at.kind == LocationKind::kPool && at.element < inst.mem_bytes) {
          m.broadcast = true;
          m.mem_bytes = at.element;
        }
      } else {
        m.rm = Load(inst.rm, scratch);
      }
    }
    if (inst.tied != 0) {
      const RegClass type = f_.classes[defined];
      // Its scratch register must not hold an operand.
      const size_t limit = (type == RegClass::kGpr   ? std::size(kScratchGpr)
                            : type == RegClass::kVec ? std::size(kScratchVec)
                                                     : 1u) -
                           1;
      if (result_in_memory && scratch.used[static_cast<size_t>(type)] > limit) failed_ = true;
      Move(type, std::min(f_.LenOf(defined), f_.LenOf(inst.tied)), {LocationKind::kRegister, result, 0, 0, 0},
           where_[inst.tied]);
    }
    Emit(m);
    if (result_in_memory)
      Move(f_.classes[defined], f_.LenOf(defined), where_[defined], {LocationKind::kRegister, result, 0, 0, 0});
  }
  /// Whether an instruction wants three scratch registers for integers, two of them for its address.
  bool TooManySpilled(const Inst& inst) const {
    if (inst.uses_up_mask || inst.mem.base == 0 || inst.mem.index == 0) return false;
    const auto spilled = [&](Reg r) {
      return r != 0 && f_.classes[r] == RegClass::kGpr && where_[r].kind != LocationKind::kRegister;
    };
    const Reg defined = inst.Defined();
    const bool third = (inst.def != Slot::kReg && spilled(inst.reg)) || (inst.tied != 0 && spilled(defined));
    return third && spilled(inst.mem.base) && spilled(inst.mem.index);
  }
  bool CanFold(const Inst& inst, const Location& at, Reg r) const {
    if (at.kind == LocationKind::kFrame)
      return f_.classes[r] != RegClass::kVec || inst.mem_bytes <= Location::FrameBytes(f_.LenOf(r));
    // A constant is as long as what it was made for; shorter reads of it are fine.
    if (at.element >= inst.mem_bytes) return true;
    return inst.element != 0 && inst.element == at.element;
  }

  const Function& f_;
  const std::vector<Location>& where_;
  std::vector<uint8_t> code_;
  std::vector<size_t> block_at_;
  uint32_t placed_ = 0;  ///< Blocks before this one have their places in `block_at_`.
  std::vector<std::pair<size_t, uint32_t>> jumps_;
  std::vector<Detour> detours_;
  std::vector<PoolUse> pool_uses_;
  std::vector<uint8_t> saved_;
  std::vector<uint8_t> cfi_;
  size_t cfi_at_ = 0;
  unsigned pushed_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<Code> Assemble(const Function& function, const std::vector<Location>& where) {
  return Assembler(function, where).Run();
}

}  // namespace tenon::emit_llvm::x64
