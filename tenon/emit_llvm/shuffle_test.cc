// Lanes that change their places: every width and length, masks too, against picking one by one. With what a machine
// has beside its level, and without it.
#include <gtest/gtest.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tenon/emit_llvm/internal/loader.h"
#include "tenon/emit_llvm/internal/x64/x64.h"

namespace tenon::emit_llvm::x64 {
namespace {

constexpr int kBytes = 128;  // Of each operand and of the result at most.

/// A level, and whether there is anything beside it.
using Machine = std::pair<isa::IsaLevel, bool>;

class Shuffles : public ::testing::TestWithParam<Machine> {
 protected:
  void SetUp() override {
    if (level() > isa::DetectedIsa()) GTEST_SKIP() << "this machine lacks " << isa::IsaLevelName(level());
    if (GetParam().second && extras() == isa::IsaExtras()) GTEST_SKIP() << "this machine has no more than its level";
  }
  static isa::IsaLevel level() { return GetParam().first; }
  static isa::IsaExtras extras() { return GetParam().second ? isa::ExtrasFor(level()) : isa::IsaExtras(); }

  /// A function of two operands and a result in memory.
  static llvm::Function* NewFunction(llvm::Module& module, llvm::IRBuilder<>& b) {
    llvm::Type* pointer = b.getPtrTy();
    auto* function = llvm::Function::Create(
        llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, b.getInt64Ty(), b.getInt64Ty(), pointer}, false),
        llvm::Function::ExternalLinkage, "shuffle", module);
    b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
    return function;
  }

  /// Compiles and calls it.
  static void Run(const Code& code, const void* x, const void* y, void* out) {
    const LoadedCode::Piece piece{"shuffle", code.bytes, code.text_bytes, code.cfi};
    auto loaded = LoadedCode::Place({&piece, 1});
    ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
    using Entry = void (*)(const void*, const void*, int64_t, int64_t, void*);
    reinterpret_cast<Entry>((*loaded)->Find("shuffle").address)(x, y, 0, 0, out);
  }

  /// Lanes of a and b, or of a alone, by `mask`; of masks, whether lanes are odd. Expects what picking gives.
  void Check(unsigned bits, unsigned lanes, const std::vector<int>& mask, bool of_masks) {
    llvm::LLVMContext context;
    llvm::Module module("test", context);
    llvm::IRBuilder<> b(context);
    llvm::Function* const function = NewFunction(module, b);
    auto* type = llvm::FixedVectorType::get(b.getIntNTy(bits), lanes);
    const auto load = [&](unsigned argument) -> llvm::Value* {
      return b.CreateAlignedLoad(type, function->getArg(argument), llvm::Align(1));
    };
    llvm::Value* x = load(0);
    llvm::Value* y = load(1);
    if (of_masks) {
      x = b.CreateTrunc(x, type->getWithNewBitWidth(1));
      y = b.CreateTrunc(y, type->getWithNewBitWidth(1));
    }
    bool one = true;
    for (const int m : mask) one &= m < static_cast<int>(lanes);
    llvm::Value* made = b.CreateShuffleVector(x, one ? llvm::PoisonValue::get(x->getType()) : y, mask);
    if (of_masks) made = b.CreateZExt(made, made->getType()->getWithNewBitWidth(bits));
    b.CreateAlignedStore(made, function->getArg(4), llvm::Align(1));
    b.CreateRetVoid();

    std::string what = std::to_string(lanes) + " lanes of " + std::to_string(bits) + (of_masks ? ", masks:" : " bits:");
    for (const int m : mask) what += " " + std::to_string(m);
    std::string reason;
    std::optional<Code> code = Compile(*function, level(), extras(), &reason);
    if (!code) {
      ++left_;
      return;
    }
    std::array<uint8_t, kBytes> in[2];
    std::array<uint8_t, kBytes> out{};
    for (auto& operand : in) {
      for (uint8_t& byte : operand) byte = static_cast<uint8_t>(rng_());
    }
    Run(*code, in[0].data(), in[1].data(), out.data());
    const unsigned bytes = bits / 8;
    for (size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] < 0) continue;
      const auto m = static_cast<unsigned>(mask[i]);
      uint64_t want = 0;
      uint64_t got = 0;
      std::memcpy(&want, in[m / lanes].data() + m % lanes * bytes, bytes);
      std::memcpy(&got, out.data() + i * bytes, bytes);
      ASSERT_EQ(of_masks ? want & 1 : want, got) << what << ", lane " << i;
    }
    ++checked_;
  }

  std::mt19937 rng_{5};
  int checked_ = 0;
  int left_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Levels, Shuffles,
                         ::testing::Values(Machine(isa::IsaLevel::kAvx2, false), Machine(isa::IsaLevel::kAvx512, false),
                                           Machine(isa::IsaLevel::kAvx512, true)),
                         [](const auto& info) {
                           return std::string(isa::IsaLevelName(info.param.first)) + (info.param.second ? "more" : "");
                         });

/// Masks of the kinds that there are short ways for, and others.
std::vector<int> MaskOf(int kind, int lanes, std::mt19937& rng) {
  std::vector<int> mask;
  const auto below = [&](int n) { return static_cast<int>(rng() % static_cast<uint32_t>(n)); };
  const int stride = 1 + below(4);
  const int start = below(lanes);
  const int block = std::max(1, lanes / 2);
  const int quarter = std::max(1, lanes / 4);
  int order[4], from[4];
  for (int i = 0; i < 4; ++i) order[i] = below(4), from[i] = below(8);
  for (int i = 0; i < lanes; ++i) {
    int m = 0;
    switch (kind) {
      case 0:  // Any.
        m = below(2 * lanes);
        break;
      case 1:  // Every stride-th lane of both.
        m = (start + i * stride) % (2 * lanes);
        break;
      case 2:  // Interleaved.
        m = (start + i / 2) % lanes + i % 2 * lanes;
        break;
      case 3:  // Backwards, of one.
        m = lanes - 1 - i;
        break;
      case 4:  // Within blocks, of one, alike in all.
        m = i / block * block + order[i % 4] % block;
        break;
      case 5:  // Quarters of both.
        m = from[i / quarter % 4] * quarter % (2 * lanes) + i % quarter;
        break;
      case 6:  // Pairs, each of one block of either.
        m = from[i / 2 % 4] * block % (2 * lanes) + order[i % 2 + from[i / 2 % 4] % 2 * 2] % block;
        break;
      default:  // Each lane where it is, of either.
        m = i + below(2) * lanes;
        break;
    }
    if (kind != 3 && below(8) == 0) m = -1;
    mask.push_back(m);
  }
  mask[static_cast<size_t>(below(lanes))] = start;  // One at least is asked for.
  return mask;
}

TEST_P(Shuffles, OfAllWidthsAndLengths) {
  for (const unsigned bits : {8u, 16u, 32u, 64u}) {
    for (unsigned lanes = 128 / bits; lanes * bits <= 1024; lanes *= 2) {
      for (int kind = 0; kind < 8; ++kind) {
        for (int round = 0; round < 12; ++round) Check(bits, lanes, MaskOf(kind, static_cast<int>(lanes), rng_), false);
      }
    }
  }
  EXPECT_EQ(left_, 0);
  EXPECT_GT(checked_, 1000);
}

TEST_P(Shuffles, OfMasks) {
  for (const unsigned lanes : {4u, 8u, 16u, 32u}) {
    for (int kind = 0; kind < 8; ++kind) {
      for (int round = 0; round < 12; ++round)
        Check(std::min(64u, 256 / lanes), lanes, MaskOf(kind, static_cast<int>(lanes), rng_), true);
    }
  }
  EXPECT_EQ(left_, 0);
  EXPECT_GT(checked_, 300);
}

// Which are made of shuffles where no instruction counts.
TEST_P(Shuffles, CountBits) {
  for (const unsigned bits : {8u, 16u, 32u, 64u}) {
    for (unsigned lanes = 128 / bits; lanes * bits <= 1024; lanes *= 2) {
      llvm::LLVMContext context;
      llvm::Module module("test", context);
      llvm::IRBuilder<> b(context);
      llvm::Function* const function = NewFunction(module, b);
      auto* type = llvm::FixedVectorType::get(b.getIntNTy(bits), lanes);
      llvm::Value* x = b.CreateAlignedLoad(type, function->getArg(0), llvm::Align(1));
      b.CreateAlignedStore(b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x), function->getArg(4), llvm::Align(1));
      b.CreateRetVoid();
      std::string reason;
      std::optional<Code> code = Compile(*function, level(), extras(), &reason);
      ASSERT_TRUE(code) << reason;
      std::array<uint8_t, kBytes> in, out{};
      for (uint8_t& byte : in) byte = static_cast<uint8_t>(rng_());
      Run(*code, in.data(), in.data(), out.data());
      for (size_t at = 0; at < lanes * bits / 8; at += bits / 8) {
        uint64_t of = 0, got = 0;
        std::memcpy(&of, in.data() + at, bits / 8);
        std::memcpy(&got, out.data() + at, bits / 8);
        ASSERT_EQ(got, static_cast<uint64_t>(std::popcount(of))) << lanes << " lanes of " << bits;
      }
    }
  }
}

/// Leaves something behind where the frame of what is called next will be.
[[gnu::noinline]] void FillStack() {
  volatile uint8_t bytes[4096];
  for (volatile uint8_t& byte : bytes) byte = 0xa5;
}

// Lanes that nobody asked for are zero where registers made a vector, and anything where it went through memory.
TEST_P(Shuffles, OfLanesThatNobodyAskedFor) {
  constexpr int kBlock = 16, kRegister = 2 * kBlock, kLanes = 2 * kRegister;
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  llvm::IRBuilder<> b(context);
  llvm::Function* const function = NewFunction(module, b);
  auto* type = llvm::FixedVectorType::get(b.getInt8Ty(), kLanes);
  llvm::Value* const x = b.CreateAlignedLoad(type, function->getArg(0), llvm::Align(1));
  llvm::Value* const y = b.CreateAlignedLoad(type, function->getArg(1), llvm::Align(1));
  // Half of the first register, and one that three others have a part in.
  std::vector<int> first, second;
  for (int i = 0; i < kLanes; ++i) {
    const int of_three[] = {0, kRegister, kLanes};
    first.push_back(i < kBlock ? kBlock - 1 - i : i < kRegister ? -1 : of_three[i % 3] + i % kRegister);
    second.push_back(i < kBlock || i >= kRegister ? i : kLanes + kRegister + kBlock - 1 - i);
  }
  b.CreateAlignedStore(b.CreateShuffleVector(b.CreateShuffleVector(x, y, first), y, second), function->getArg(4),
                       llvm::Align(1));
  b.CreateRetVoid();
  std::string reason;
  std::optional<Code> code = Compile(*function, level(), extras(), &reason);
  ASSERT_TRUE(code) << reason;
  std::array<uint8_t, kBytes> in[2], out{};
  for (auto& operand : in) {
    for (uint8_t& byte : operand) byte = static_cast<uint8_t>(rng_());
  }
  FillStack();
  Run(*code, in[0].data(), in[1].data(), out.data());
  for (int i = kBlock; i < kRegister; ++i)
    ASSERT_EQ(out[static_cast<size_t>(i)], in[1][static_cast<size_t>(kRegister + kBlock - 1 - i)]) << "lane " << i;
}

// Places that a gather makes longer by itself are read where they stand, before something else is written there.
TEST_P(Shuffles, FromPlacesThatAreOverwritten) {
  constexpr unsigned kLanes = 8;
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  llvm::IRBuilder<> b(context);
  llvm::Function* const function = NewFunction(module, b);
  auto* type = llvm::FixedVectorType::get(b.getInt32Ty(), kLanes);
  llvm::Type* const wide = type->getWithNewBitWidth(64);
  llvm::Value* const places = b.CreateAlignedLoad(type, function->getArg(1), llvm::Align(4));
  llvm::Value* const offsets = b.CreateMul(b.CreateSExt(places, wide), llvm::ConstantInt::get(wide, 4));
  llvm::Value* const pointers = b.CreateGEP(b.getInt8Ty(), function->getArg(0), offsets);
  b.CreateAlignedStore(llvm::Constant::getNullValue(type), function->getArg(1), llvm::Align(4));
  llvm::Value* const all = llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(kLanes), b.getTrue());
  b.CreateAlignedStore(b.CreateMaskedGather(type, pointers, llvm::Align(4), all, llvm::Constant::getNullValue(type)),
                       function->getArg(4), llvm::Align(4));
  b.CreateRetVoid();
  std::string reason;
  std::optional<Code> code = Compile(*function, level(), extras(), &reason);
  ASSERT_TRUE(code) << reason;
  std::array<int32_t, kLanes> from, out{};
  std::array<int32_t, kLanes> at = {7, 0, 3, 3, 1, 6, 2, 5};
  const std::array<int32_t, kLanes> wanted = {107, 100, 103, 103, 101, 106, 102, 105};
  for (unsigned i = 0; i < kLanes; ++i) from[i] = 100 + static_cast<int32_t>(i);
  Run(*code, from.data(), at.data(), out.data());
  EXPECT_EQ(out, wanted);
}

}  // namespace
}  // namespace tenon::emit_llvm::x64
