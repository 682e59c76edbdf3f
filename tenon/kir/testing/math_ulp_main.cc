// Measures how far math functions are off: kir_math_ulp [--stride N] [NAME...]. For f32 functions of one argument every
// N-th bit pattern (all of them by default); for the others, 64 Mi / N random arguments.

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tenon/kir/math.h"
#include "tenon/kir/testing/block_math.h"
#include "tenon/kir/testing/math_oracle.h"

namespace tenon::kir::testing {
namespace {

struct Worst {
  double ulps = -1;
  uint64_t x = 0, y = 0, got = 0;
  long double wanted = 0;
};

uint64_t RandomBits(DType type, std::mt19937_64& random, int how) {
  const bool f32 = type == DType::kF32;
  const uint64_t r = random();
  if (how == 0) return f32 ? r & 0xffffffff : r;
  // Exponents around zero.
  const uint64_t sign = r >> 63;
  const uint64_t spread = how == 1 ? 16 : 4;
  const uint64_t exponent = (f32 ? 127 : 1023) - spread + random() % (2 * spread);
  return f32 ? sign << 31 | exponent << 23 | (r & 0x7fffff) : sign << 63 | exponent << 52 | (r & 0xfffffffffffff);
}

void Measure(MathId id, uint64_t stride) {
  const std::string name(MathName(id));
  const std::string function = name.substr(0, name.find('.'));
  const Graph& graph = MathGraph(id);
  const DType type = graph.arguments[0];
  if (!Knows(function)) {
    std::printf("%-18s no oracle\n", name.c_str());
    return;
  }
  const int n_args = NumArguments(function);
  const bool exhaustive = type == DType::kF32 && n_args == 1;
  const uint64_t count = exhaustive ? (uint64_t{1} << 32) / stride : (uint64_t{1} << 26) / stride;
  double (*const true_double)(double) = exhaustive ? TrueDouble(function) : nullptr;
  BlockMath block(graph);
  std::mt19937_64 random(7);
  std::vector<uint64_t> x(BlockMath::kBlock), y(BlockMath::kBlock), out(BlockMath::kBlock);
  Worst worst;
  double sum = 0;
  uint64_t counted = 0, wrong = 0;
  for (uint64_t done = 0; done < count; done += BlockMath::kBlock) {
    const size_t n = static_cast<size_t>(std::min<uint64_t>(BlockMath::kBlock, count - done));
    for (size_t i = 0; i < n; ++i) {
      x[i] = exhaustive ? (done + i) * stride + random() % stride
                        : RandomBits(type, random, static_cast<int>((done + i) % 3));
      y[i] = RandomBits(type, random, static_cast<int>((done + i) / 3 % 3));
    }
    const uint64_t* args[] = {x.data(), y.data()};
    block.Run(args, n, out.data());
    for (size_t i = 0; i < n; ++i) {
      if (exhaustive) {
        // The common case, without long double.
        const auto got = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(out[i])));
        const double want = true_double(std::bit_cast<float>(static_cast<uint32_t>(x[i])));
        const uint64_t exponent = std::bit_cast<uint64_t>(want) >> 52 & 0x7ff;
        if (exponent >= 1023 - 125 && exponent < 1023 + 127) {
          const double off = std::fabs(got - want) * std::bit_cast<double>((uint64_t{2 * 1023 + 23} - exponent) << 52);
          if (off < 1e9) {
            sum += off;
            ++counted;
          }
          if (off <= worst.ulps) continue;
        }
      }
      const long double wanted = TrueValue(function, type, ValueOf(type, x[i]), ValueOf(type, y[i]));
      const double off = UlpsOff(type, out[i], wanted);
      if (std::isinf(off)) ++wrong;
      if (off > worst.ulps) worst = {off, x[i], y[i], out[i], wanted};
      if (!exhaustive && off > 0 && !std::isinf(off)) {
        sum += off;
        ++counted;
      }
    }
  }
  std::printf("%-18s %zu nodes, max %.3f ulp at %#llx", name.c_str(), graph.nodes.size(), worst.ulps,
              static_cast<unsigned long long>(worst.x));
  if (n_args == 2) std::printf(", %#llx", static_cast<unsigned long long>(worst.y));
  std::printf(" (%.9Lg", ValueOf(type, worst.x));
  if (n_args == 2) std::printf(", %.9Lg", ValueOf(type, worst.y));
  std::printf(": got %.9Lg, wanted %.9Lg), mean %.3f, %llu of %llu wrong\n", ValueOf(type, worst.got), worst.wanted,
              counted ? sum / static_cast<double>(counted) : 0, static_cast<unsigned long long>(wrong),
              static_cast<unsigned long long>(count));
  std::fflush(stdout);
}

}  // namespace
}  // namespace tenon::kir::testing

int main(int argc, char** argv) {
  using namespace tenon::kir;
  if (!testing::BlockMath::Supported()) {
    std::fprintf(stderr, "needs AVX2 and FMA\n");
    return 1;
  }
  uint64_t stride = 1;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--stride") == 0 && i + 1 < argc) {
      stride = std::max<uint64_t>(1, std::strtoull(argv[++i], nullptr, 10));
    } else {
      names.push_back(argv[i]);
    }
  }
  for (MathId id = 0; id < NumMath(); ++id) {
    bool wanted = names.empty();
    for (const std::string& n : names) wanted |= std::string(MathName(id)).starts_with(n);
    if (wanted) testing::Measure(id, stride);
  }
  return 0;
}
