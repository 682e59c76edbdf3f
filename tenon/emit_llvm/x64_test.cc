// The emitter's own code generator: its encodings are read back by LLVM's disassembler; what kernels compute is the
// business of the other tests, which run on it where the machine can.
#include <gtest/gtest.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <map>
#include <random>

#include "tenon/emit_llvm/emit.h"
#include "tenon/emit_llvm/internal/x64/allocate.h"
#include "tenon/emit_llvm/internal/x64/assemble.h"
#include "tenon/emit_llvm/internal/x64/encodings.h"
#include "tenon/emit_llvm/internal/x64/ops.h"
#include "tenon/emit_llvm/testing/kernels.h"

extern "C" void LLVMInitializeX86Disassembler();

namespace tenon::emit_llvm::x64 {
namespace {

/// Bytes as assembly, one line per instruction, in Intel's order (destination first).
class Reader {
 public:
  Reader() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    const llvm::Triple triple("x86_64-unknown-linux-gnu");
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    registers_.reset(target->createMCRegInfo(triple));
    assembly_.reset(target->createMCAsmInfo(*registers_, triple, options_));
    subtarget_.reset(target->createMCSubtargetInfo(triple, "x86-64-v4", "+avx512vbmi,+avx512bitalg,+avx512vpopcntdq"));
    instructions_.reset(target->createMCInstrInfo());
    context_ = std::make_unique<llvm::MCContext>(triple, assembly_.get(), registers_.get(), subtarget_.get());
    disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
    printer_.reset(target->createMCInstPrinter(triple, 1, *assembly_, *instructions_, *registers_));
  }

  std::vector<std::string> Read(const std::vector<uint8_t>& bytes) {
    std::vector<std::string> lines;
    for (size_t at = 0; at < bytes.size();) {
      llvm::MCInst inst;
      uint64_t size = 0;
      if (disassembler_->getInstruction(inst, size, {bytes.data() + at, bytes.size() - at}, at, llvm::nulls()) !=
          llvm::MCDisassembler::Success) {
        lines.push_back("(unreadable)");
        break;
      }
      std::string text;
      llvm::raw_string_ostream os(text);
      printer_->printInst(&inst, at, "", *subtarget_, os);
      for (char& c : text) c = c == '\t' ? ' ' : c;
      text = text.substr(text.find_first_not_of(' '));
      lines.push_back(text.substr(0, text.find(" #")));
      if (lines.back() == "ret") break;
      at += size;
    }
    return lines;
  }

 private:
  llvm::MCTargetOptions options_;
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembly_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

/// A function of one block whose registers lie where the test says.
struct Program {
  Function f;
  std::vector<Location> where{Location()};
  Program() { f.blocks.resize(1); }
  Reg In(RegClass c, uint8_t number) {
    where.push_back({Location::Kind::kRegister, number, 0, 0, 0});
    return f.NewReg(c);
  }
  Reg Gpr(uint8_t n) { return In(RegClass::kGpr, n); }
  Reg Vec(uint8_t n) { return In(RegClass::kVec, n); }
  Reg Mask(uint8_t n) { return In(RegClass::kMask, n); }
  Reg Spilled(RegClass c, int32_t at) {
    where.push_back({Location::Kind::kFrame, 0, 0, 0, at});
    return f.NewReg(c);
  }
  Reg Constant(int32_t at, uint8_t element) {
    where.push_back({Location::Kind::kPool, 0, element, 2, at});
    return f.NewReg(RegClass::kVec);
  }
  Program& Add(Inst inst) {
    f.blocks[0].code.push_back(inst);
    return *this;
  }
  std::string Text() {
    static Reader& reader = *new Reader;
    f.blocks[0].code.push_back({.kind = Kind::kReturn});
    const auto bytes = Assemble(f, where);
    if (!bytes) return "(not assembled)";
    std::string text;
    for (const std::string& line : reader.Read(bytes->bytes)) {
      if (!line.starts_with("push") && !line.starts_with("pop"))
        text += line + "\n";  // of registers that the caller wants back
    }
    const size_t end = text.find("vzeroupper");
    return end == std::string::npos ? text : text.substr(0, end);
  }
};

Inst Three(Op o, Reg to, Reg a, Reg b, uint8_t len = 2) {
  return {.op = o,
          .len = len,
          .mem_bytes = static_cast<uint8_t>(16u << len),
          .element = 4,
          .foldable = true,
          .def = Slot::kReg,
          .reg = to,
          .vvvv = a,
          .rm = b};
}

TEST(X64Encoding, VectorRegistersOfEveryNumber) {
  for (uint8_t n : {0, 7, 8, 15, 16, 23, 24, 31}) {
    Program p;
    p.Add(Three(op::Float(op::kFAdd, false, false), p.Vec(n), p.Vec(static_cast<uint8_t>(31 - n)),
                p.Vec(static_cast<uint8_t>((n + 9) % 32))));
    EXPECT_EQ(p.Text(), "vaddps zmm" + std::to_string(n) + ", zmm" + std::to_string(31 - n) + ", zmm" +
                            std::to_string((n + 9) % 32) + "\n");
  }
}

TEST(X64Encoding, Lengths) {
  for (uint8_t len : {0, 1, 2}) {
    Program p;
    p.Add(Three(op::Float(op::kFMul, false, true), p.Vec(1), p.Vec(2), p.Vec(20), len));
    const std::string name(1, "xyz"[len]);
    EXPECT_EQ(p.Text(), "vmulpd " + name + "mm1, " + name + "mm2, " + name + "mm20\n");
  }
}

TEST(X64Encoding, Addresses) {
  for (uint8_t base : {1, 3, 7, 11, 12, 13, 15}) {
    static const char* const kNames[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                         "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    for (int32_t disp : {0, 64, 8128, 8192, -8192, -8256, 4, 1000000}) {
      Program p;
      Inst load{
          .op = op::LoadVector(4), .len = 2, .mem_bytes = 64, .has_mem = true, .def = Slot::kReg, .reg = p.Vec(17)};
      load.mem.base = p.Gpr(base);
      load.mem.disp = disp;
      p.Add(load);
      load.mem.index = p.Gpr(9);
      load.mem.scale = 4;
      p.Add(load);
      const std::string tail = disp == 0 ? "]\n" : (disp < 0 ? " - " : " + ") + std::to_string(std::abs(disp)) + "]\n";
      EXPECT_EQ(p.Text(), "vmovups zmm17, zmmword ptr [" + std::string(kNames[base]) + tail +
                              "vmovups zmm17, zmmword ptr [" + kNames[base] + " + 4*r9" + tail);
    }
  }
}

TEST(X64Encoding, MasksAndBroadcasts) {
  Program p;
  p.f.pool.resize(64);
  Inst load{.op = op::LoadVector(4),
            .len = 2,
            .mem_bytes = 64,
            .zeroing = true,
            .has_mem = true,
            .def = Slot::kReg,
            .reg = p.Vec(3),
            .mask = p.Mask(5)};
  load.mem.base = p.Gpr(6);
  p.Add(load);
  p.Add(Three(op::Evex(2, 1, 0, 0x65), p.Vec(1), p.Vec(2), p.Vec(30)));
  p.f.blocks[0].code.back().mask = p.Mask(2);
  p.Add({.op = op::MaskTest(16), .reg = p.Mask(1), .rm = p.Mask(4)});
  p.Add({.op = op::kMaskFromGpr, .def = Slot::kReg, .reg = p.Mask(6), .rm = p.Gpr(14)});
  p.Add({.op = op::kMaskUnpack8, .len = 1, .def = Slot::kReg, .reg = p.Mask(1), .vvvv = p.Mask(2), .rm = p.Mask(3)});
  EXPECT_EQ(p.Text(),
            "vmovups zmm3 {k5} {z}, zmmword ptr [rsi]\nvblendmps zmm1 {k2}, zmm2, zmm30\nkortestw k1, k4\nkmovq k6, "
            "r14\nkunpckbw k1, k2, k3\n");
}

TEST(X64Encoding, Prefetches) {
  Program p;
  Inst m{.op = op::kPrefetch, .digit = 1, .mem_bytes = 1, .has_mem = true};
  m.mem.base = p.Gpr(12);
  p.Add(m);
  m.mem.index = p.Gpr(9);
  m.mem.disp = 64;
  p.Add(m);
  EXPECT_EQ(p.Text(), "prefetcht0 byte ptr [r12]\nprefetcht0 byte ptr [r12 + r9 + 64]\n");
}

TEST(X64Encoding, SpilledOperandsBecomeMemory) {
  Program p;
  p.f.frame_bytes = 128;
  p.f.pool.resize(8);
  p.Add(Three(op::Float(op::kFAdd, false, false), p.Vec(1), p.Vec(2), p.Spilled(RegClass::kVec, 64)));
  const std::string text = p.Text();
  EXPECT_NE(text.find("vaddps zmm1, zmm2, zmmword ptr [rsp + 64]\n"), std::string::npos) << text;

  Program c;
  c.f.pool.resize(8);
  c.Add(Three(op::Float(op::kFAdd, false, false), c.Vec(1), c.Vec(2), c.Constant(4, 4)));
  EXPECT_EQ(c.Text(), "vaddps zmm1, zmm2, dword ptr [rip + 58]{1to16}\n");
}

TEST(X64Encoding, FusedMultiplyAddChangesItsFormWithItsOperands) {
  Program p;
  p.f.pool.resize(8);
  Inst fma = Three(op::Fma(0xa0, 8, false, false), p.Vec(1), p.Constant(0, 4), p.Vec(7));
  fma.tied = p.Vec(1);
  fma.commutes = true;
  p.Add(fma);
  // to = c * to + z7, with the constant in memory.
  EXPECT_EQ(p.Text(), "vfmadd132ps zmm1, zmm7, dword ptr [rip + 54]{1to16}\n");
}

TEST(X64Encoding, TwoAddressOperationsMoveWhatTheyOverwrite) {
  Program p;
  p.Add({.op = op::Legacy(0, 0, 1, 0x2b),
         .foldable = true,
         .def = Slot::kReg,
         .reg = p.Gpr(8),
         .rm = p.Gpr(11),
         .tied = p.Gpr(3)});
  EXPECT_NE(p.Text().find("mov r8, rbx\nsub r8, r11\n"), std::string::npos);
}

TEST(X64Encoding, EdgeMovesOfACycle) {
  // Block 1 loops and exchanges two values each time.
  Program p;
  p.f.blocks.resize(3);
  const Reg a = p.Gpr(8);
  const Reg b = p.Gpr(9);
  p.f.blocks[0].code.push_back({.kind = Kind::kJump, .target = 1});
  p.f.blocks[0].next = {1};
  p.f.blocks[1].previous = {0, 1};
  p.f.blocks[1].phis = {{a, {{0, a}, {1, b}}}, {b, {{0, b}, {1, a}}}};
  p.f.blocks[1].code.push_back({.op = op::kTest, .reg = a, .rm = b});
  p.f.blocks[1].code.push_back({.kind = Kind::kBranch, .cc = op::kNotEqual, .target = 1, .other = 2});
  p.f.blocks[1].next = {1, 2};
  p.f.blocks[2].previous = {1};
  p.f.blocks[2].code.push_back({.kind = Kind::kReturn});
  p.f.blocks[0].code.insert(p.f.blocks[0].code.begin(), Inst{.op = op::kMov, .def = Slot::kReg, .reg = a, .rm = b});
  const auto bytes = Assemble(p.f, p.where);
  ASSERT_TRUE(bytes.has_value());
  std::string text;
  for (const std::string& line : Reader().Read(bytes->bytes)) text += line + "\n";
  EXPECT_NE(text.find("mov rax, r8\nmov r8, r9\nmov r9, rax\n"), std::string::npos) << text;
}

/// What may lie on an edge, by how the disassembler names it. In the frame, integers and masks have the same places.
struct Place {
  RegClass type;
  Location at;
  std::string name;
};
std::vector<Place> PlacesOnEdges() {
  using Kind = Location::Kind;
  std::vector<Place> places;
  for (uint8_t n = 0; n < 4; ++n) {
    places.push_back({RegClass::kGpr, {Kind::kRegister, static_cast<uint8_t>(8 + n)}, "r" + std::to_string(8 + n)});
    places.push_back({RegClass::kMask, {Kind::kRegister, static_cast<uint8_t>(1 + n)}, "k" + std::to_string(1 + n)});
    places.push_back({RegClass::kVec, {Kind::kRegister, n}, "zmm" + std::to_string(n)});
    const std::string small = "[rsp + " + std::to_string(64 + 8 * n) + "]";
    places.push_back({RegClass::kGpr, {Kind::kFrame, 0, 0, 0, 64 + 8 * n}, small});
    places.push_back({RegClass::kMask, {Kind::kFrame, 0, 0, 0, 64 + 8 * n}, small});
    places.push_back(
        {RegClass::kVec, {Kind::kFrame, 0, 0, 0, 128 + 64 * n}, "[rsp + " + std::to_string(128 + 64 * n) + "]"});
  }
  return places;
}

// Values lie anywhere before an edge, their copies anywhere behind it: the moves are followed one by one.
TEST(X64Encoding, EdgeMovesHappenAllAtOnce) {
  Reader reader;
  std::vector<Place> places = PlacesOnEdges();
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    Program p;
    p.f.frame_bytes = 384;
    p.f.blocks.resize(2);
    p.f.blocks[0].code.push_back({.kind = Kind::kJump, .target = 1});
    p.f.blocks[0].next = {1};
    p.f.blocks[1].previous = {0};
    p.f.blocks[1].code.push_back({.kind = Kind::kReturn});
    const auto draw = [&] {
      std::shuffle(places.begin(), places.end(), random);
      std::map<std::string, Reg> there;
      for (size_t i = 0; i < places.size() / 2; ++i) {
        if (there.contains(places[i].name)) continue;
        p.where.push_back(places[i].at);
        there[places[i].name] = p.f.NewReg(places[i].type);
      }
      return there;
    };
    std::map<std::string, Reg> held = draw();
    std::map<std::string, Reg> wanted;
    for (const auto& [name, result] : draw()) {
      std::vector<Reg> values;
      for (const auto& [from, value] : held) {
        if (p.f.classes[value] == p.f.classes[result]) values.push_back(value);
      }
      if (values.empty()) continue;
      wanted[name] = values[random() % values.size()];
      p.f.blocks[1].phis.push_back({result, {{0, wanted[name]}}});
    }
    const auto code = Assemble(p.f, p.where);
    ASSERT_TRUE(code.has_value());
    std::string text;
    for (const std::string& line : reader.Read(code->bytes)) {
      text += line + "\n";
      const size_t first = line.find(' '), second = line.find(", ");
      if (second == std::string::npos || line.substr(0, first).find("mov") == std::string::npos) continue;
      const auto name = [](const std::string& operand) {
        const size_t bracket = operand.find('[');
        return bracket == std::string::npos ? operand : operand.substr(bracket);
      };
      held[name(line.substr(first + 1, second - first - 1))] = held[name(line.substr(second + 2))];
    }
    for (const auto& [where, value] : wanted)
      ASSERT_EQ(held[where], value) << where << " in round " << round << "\n" << text;
  }
}

TEST(X64Encoding, GathersAndScattersOfEveryRegister) {
  for (const uint8_t n : {1, 9, 17, 25}) {
    Program p;
    Inst gather{.op = op::Evex(2, 1, 0, 0x93),
                .len = 2,
                .mem_bytes = 4,
                .has_mem = true,
                .uses_up_mask = true,
                .def = Slot::kReg,
                .reg = p.Vec(3)};
    gather.tied = gather.reg;
    gather.mem.base = p.Gpr(6);
    gather.mem.index = p.Vec(n);
    gather.mem.disp = 508;
    gather.mask = p.Mask(2);
    p.Add(gather);
    Inst scatter{.op = op::Evex(2, 1, 1, 0xa3), .len = 2, .mem_bytes = 8, .has_mem = true, .uses_up_mask = true};
    scatter.reg = p.Vec(static_cast<uint8_t>(n + 1));
    scatter.mem = gather.mem;
    scatter.mem.disp = 0;
    p.Add(scatter);
    const std::string z = std::to_string(n);
    EXPECT_EQ(p.Text(), "kmovq k7, k2\nvgatherqps ymm3 {k7}, dword ptr [rsi + zmm" + z +
                            " + 508]\nkxnorw k7, k7, k7\nvscatterqpd qword ptr [rsi + zmm" + z + "] {k7}, zmm" +
                            std::to_string(n + 1) + "\n");
  }
  for (const bool wide : {false, true}) {
    Program p;
    Inst gather{.op = op::Evex(2, 1, wide, 0x92),
                .len = 2,
                .mem_bytes = static_cast<uint8_t>(wide ? 8 : 4),
                .has_mem = true,
                .uses_up_mask = true,
                .def = Slot::kReg,
                .reg = p.Vec(3)};
    gather.tied = gather.reg;
    gather.mem.base = p.Gpr(6);
    gather.mem.index = p.Vec(20);
    gather.mem.scale = 4;
    p.Add(gather);
    gather.op.opcode = 0xa2;
    gather.def = Slot::kNone;
    gather.tied = 0;
    p.Add(gather);
    const std::string unit = wide ? "q" : "d";
    const std::string name = wide ? "dpd" : "dps";
    const std::string at = unit + "word ptr [rsi + 4*" + (wide ? "ymm20]" : "zmm20]");
    EXPECT_EQ(p.Text(), "kxnorw k7, k7, k7\nvgather" + name + " zmm3 {k7}, " + at + "\nkxnorw k7, k7, k7\nvscatter" +
                            name + " " + at + " {k7}, zmm3\n");
  }
}

TEST(X64Encoding, DivisionBothWays) {
  Program p;
  const Reg x = p.Gpr(8);
  const Reg y = p.Gpr(9);
  Inst divide{
      .kind = Kind::kDivide, .op = op::Legacy(0, 0, 1, 0), .def = Slot::kReg, .reg = p.Gpr(10), .vvvv = x, .rm = y};
  p.Add(divide);
  divide.cc = 1;
  p.Add(divide);
  divide.op.w = 0;
  divide.imm = 1;
  p.Add(divide);
  p.Add({.kind = Kind::kMultiplyHigh, .def = Slot::kReg, .reg = p.Gpr(11), .vvvv = x, .rm = y});
  EXPECT_EQ(p.Text(),
            "mov rax, r8\nxor edx, edx\ndiv r9\nmov r10, rax\nmov rax, r8\ncqo\nidiv r9\nmov r10, rax\n"
            "mov rax, r8\ncdq\nidiv r9d\nmov r10, rdx\nmov rdx, r8\nmulx r11, r11, r9\n");
}

/// One instruction of a row of the table, with EVEX or VEX, whose registers are low or high, and whose rm is a register
/// or memory at `disp`.
struct Written {
  std::string text;
  std::string wanted;  ///< The operands that must stand behind the name, in order.
};
Written Write(const Encoding& e, bool vex, uint8_t len, bool high, bool memory, int32_t disp, uint8_t mem_bytes) {
  Program p;
  p.f.avx2 = vex;
  p.f.frame_bytes = 0;
  const auto number = [&](uint8_t low) { return static_cast<uint8_t>(high ? low + (vex ? 9 : 22) : low); };
  const auto vec = [&](uint8_t n) { return p.Vec(n); };
  const std::string name(1, "xyz"[len]);
  Inst m{.op = {Space::kEvex, e.map, e.prefix, e.w, e.opcode}, .len = len, .mem_bytes = mem_bytes};
  if (e.evex == nullptr) m.op = {Space::kVex, e.map, e.prefix, e.w, e.opcode};
  if (e.imm) {
    m.imm_bytes = 1;
    m.imm = 1;
  }
  const uint8_t a = number(1), b = number(2), c = number(3);
  const auto text = [&](uint8_t n) { return "mm" + std::to_string(n); };
  std::string wanted;
  const bool to_mask = e.form == Form::kCompare && !vex;
  switch (e.form) {
    case Form::kRvm:
    case Form::kCompare:
      m.def = Slot::kReg;
      m.reg = to_mask ? p.Mask(5) : vec(a);
      m.vvvv = vec(b);
      wanted = (to_mask ? std::string("k5") : text(a)) + "," + text(b);
      if (!memory) m.rm = vec(c), wanted += "," + text(c);
      break;
    case Form::kRm:
      m.def = Slot::kReg;
      m.reg = vec(a);
      wanted = text(a);
      if (!memory) m.rm = vec(c), wanted += "," + text(c);
      break;
    case Form::kMr:
      m.reg = vec(a);
      wanted = text(a);
      if (!memory) m.def = Slot::kRm, m.rm = vec(c), wanted = text(c) + "," + wanted;
      break;
    case Form::kVm:
      m.def = Slot::kVvvv;
      m.vvvv = vec(b);
      m.digit = static_cast<uint8_t>(e.digit);
      m.rm = vec(c);
      wanted = text(b) + "," + text(c);
      break;
    case Form::kFromGpr:
      m.def = Slot::kReg;
      m.reg = vec(a);
      m.rm = p.Gpr(high ? 11 : 6);
      wanted = text(a) + "," + (high ? "r11" : "si");
      break;
    case Form::kMixed:
      m.def = Slot::kReg;
      m.reg = vec(a);
      m.vvvv = vec(b);
      m.rm = p.Gpr(high ? 11 : 6);
      wanted = text(a) + "," + text(b) + "," + (high ? "r11" : "si");
      break;
    case Form::kToGpr:
      m.def = Slot::kRm;
      m.reg = vec(a);
      m.rm = p.Gpr(high ? 11 : 6);
      wanted = std::string(high ? "r11" : "si") + "," + text(a);
      break;
    default:
      break;
  }
  if (memory) {
    m.has_mem = true;
    m.mem.base = p.Gpr(high ? 13 : 7);
    m.mem.disp = disp;
  }
  p.Add(m);
  return {p.Text(), wanted};
}

/// What LLVM says that an instruction reads or writes in memory, in bytes.
uint8_t MemoryBytes(const std::string& text) {
  for (const auto& [name, bytes] : {std::pair<const char*, uint8_t>{"zmmword ptr", 64},
                                    {"ymmword ptr", 32},
                                    {"xmmword ptr", 16},
                                    {"qword ptr", 8},
                                    {"dword ptr", 4},
                                    {"byte ptr", 1},
                                    {"word ptr", 2}}) {
    if (text.find(name) != std::string::npos) return bytes;
  }
  return 1;
}

TEST(X64Encoding, EveryRowOfTheTableReadsAsItsName) {
  int checked = 0;
  for (const Encoding& e : Encodings()) {
    if (e.form == Form::kOther || e.form == Form::kLanes) continue;
    const bool scalar = e.form == Form::kFromGpr || e.form == Form::kMixed || e.form == Form::kToGpr;
    for (const bool vex : {false, true}) {
      const char* name = vex ? e.vex : e.evex;
      if (name == nullptr) continue;
      const std::string_view mnemonic(name);
      const bool one = scalar || mnemonic.ends_with("ss") || mnemonic.ends_with("sd");
      for (uint8_t len = 0; len <= (one ? 0 : vex ? 1 : 2); ++len) {
        for (const bool high : {false, true}) {
          // Broadcasts from integer registers exist at every length; moves do not.
          for (const int32_t disp : {-1, 0, 64, 1000, 100000}) {
            const bool memory = disp >= 0;
            if (memory && (scalar || e.form == Form::kVm)) continue;
            const uint8_t bytes = memory ? MemoryBytes(Write(e, vex, len, high, true, 0, 16).text) : 16;
            const Written got = Write(e, vex, len, high, memory, memory ? disp : 0, bytes);
            std::string_view rest = got.text;
            // Comparisons are printed with their predicate in the name.
            const std::string stem = mnemonic.starts_with("vcmp")             ? "vcmp"
                                     : mnemonic.starts_with("vpcmpu")         ? "vpcmp"
                                     : mnemonic.starts_with("vpcmp") && e.imm ? "vpcmp"
                                                                              : std::string(mnemonic) + " ";
            // The shorter form is taken where it says the same.
            const bool shorter =
                !vex && !high && len < 2 && e.vex != nullptr && rest.starts_with(std::string(e.vex) + " ");
            EXPECT_TRUE(shorter || rest.starts_with(stem)) << name << (vex ? " VEX" : " EVEX") << " reads " << got.text;
            for (std::string_view want = got.wanted; !want.empty();) {
              const size_t comma = want.find(',');
              const std::string_view part = want.substr(0, comma);
              const size_t at = rest.find(part);
              EXPECT_NE(at, std::string_view::npos) << name << " lacks " << got.wanted << ": " << got.text;
              if (at == std::string_view::npos) break;
              rest = rest.substr(at + part.size());
              want = comma == std::string_view::npos ? std::string_view() : want.substr(comma + 1);
            }
            if (memory) {
              const std::string address =
                  std::string(high ? "[r13" : "[rdi") + (disp == 0 ? "]" : " + " + std::to_string(disp) + "]");
              EXPECT_NE(got.text.find(address), std::string::npos) << name << " at " << disp << ": " << got.text;
            }
            EXPECT_EQ(std::count(got.text.begin(), got.text.end(), '\n'), 1) << got.text;
            ++checked;
          }
        }
      }
    }
  }
  EXPECT_GT(checked, 5000);
}

TEST(X64Allocation, PlacesInTheFrameServeOneValueAfterTheOther) {
  // Ten rounds of fifty vectors that live at once: as many places as one round needs beyond the registers.
  for (const bool avx2 : {false, true}) {
    Function f;
    f.avx2 = avx2;
    f.blocks.resize(1);
    std::vector<Inst>& code = f.blocks[0].code;
    const Reg pointer = f.NewReg(RegClass::kGpr);
    f.arguments.push_back(pointer);
    constexpr int kRounds = 10, kLive = 50;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<Reg> live;
      for (int i = 0; i < kLive; ++i) {
        Inst load{.op = op::LoadVector(4), .len = 1, .mem_bytes = 32, .has_mem = true, .def = Slot::kReg};
        load.reg = f.NewReg(RegClass::kVec);
        load.mem.base = pointer;
        code.push_back(load);
        live.push_back(load.reg);
      }
      for (const Reg r : live) {
        Inst store{.op = op::StoreVector(4), .len = 1, .mem_bytes = 32, .has_mem = true, .reg = r};
        store.mem.base = pointer;
        code.push_back(store);
      }
    }
    code.push_back({.kind = Kind::kReturn});
    const std::vector<Location> where = Allocate(f);
    int spilled = 0;
    for (const Location& at : where) spilled += at.kind == Location::Kind::kFrame;
    EXPECT_GE(spilled, kRounds * 20);
    EXPECT_LE(f.frame_bytes, avx2 ? 20 * 64 : 22 * 64);
    EXPECT_TRUE(Assemble(f, where).has_value());
  }
}

TEST(X64Selection, MakesTheCommonKernels) {
  using kir::ReduceOrder;
  namespace k = emit_llvm::testing;
  for (const kir::Kernel& kernel :
       {k::AddKernel(DType::kF32), k::AddKernel(DType::kF64), k::AddKernel(DType::kS32), k::ChainKernel(),
        k::RowSumKernel(DType::kF32, ReduceOrder::kLanes),
        k::ColumnSumKernel(DType::kF32, ReduceOrder::kSequential, false), k::SoftmaxKernel(),
        k::ArgmaxKernel(DType::kS32), k::TransposeKernel(DType::kF32, true), k::TransposeKernel(DType::kF64, false),
        k::TransposeKernel(DType::kBF16, false), k::TransposeKernel(DType::kS16, false),
        k::TransposeKernel(DType::kU8, false), k::LogisticKernel(10), k::LorenzKernel(10)}) {
    const auto compiled = CompileKernel(kernel, {.isa = isa::IsaLevel::kAvx512});
    ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
    EXPECT_EQ((*compiled)->llvm_reason, "") << kir::Print(kernel);
    const auto other = CompileKernel(kernel, {.isa = isa::IsaLevel::kAvx2});
    ASSERT_TRUE(other.ok()) << other.status().ToString();
    EXPECT_EQ((*other)->llvm_reason, "") << kir::Print(kernel);
  }
}

}  // namespace
}  // namespace tenon::emit_llvm::x64
