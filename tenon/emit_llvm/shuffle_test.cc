// Lanes that change their places: every width and length, masks too, against picking one by one.
#include <gtest/gtest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <array>
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

class Shuffles : public ::testing::TestWithParam<isa::IsaLevel> {
 protected:
  void SetUp() override {
    if (GetParam() > isa::DetectedIsa()) GTEST_SKIP() << "this machine lacks " << isa::IsaLevelName(GetParam());
  }

  /// Lanes of a and b, or of a alone, by `mask`; of masks, whether lanes are odd. Expects what picking gives.
  void Check(unsigned bits, unsigned lanes, const std::vector<int>& mask, bool of_masks) {
    llvm::LLVMContext context;
    llvm::Module module("test", context);
    llvm::IRBuilder<> b(context);
    llvm::Type* pointer = b.getPtrTy();
    auto* function = llvm::Function::Create(
        llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, b.getInt64Ty(), b.getInt64Ty(), pointer}, false),
        llvm::Function::ExternalLinkage, "shuffle", module);
    b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
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
    std::optional<Code> code = Compile(*function, GetParam(), &reason);
    if (!code) {
      ++left_;
      return;
    }
    const LoadedCode::Piece piece{"shuffle", code->bytes, code->text_bytes, code->cfi};
    auto loaded = LoadedCode::Place({&piece, 1});
    ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
    std::array<uint8_t, kBytes> in[2];
    std::array<uint8_t, kBytes> out{};
    for (auto& operand : in) {
      for (uint8_t& byte : operand) byte = static_cast<uint8_t>(rng_());
    }
    using Entry = void (*)(const void*, const void*, int64_t, int64_t, void*);
    reinterpret_cast<Entry>((*loaded)->Find("shuffle").address)(in[0].data(), in[1].data(), 0, 0, out.data());
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
INSTANTIATE_TEST_SUITE_P(Levels, Shuffles, ::testing::Values(isa::IsaLevel::kAvx2, isa::IsaLevel::kAvx512),
                         [](const auto& info) { return std::string(isa::IsaLevelName(info.param)); });

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

}  // namespace
}  // namespace tenon::emit_llvm::x64
