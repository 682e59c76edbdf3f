// Properties that hold for all kernels, tried on random ones.

#include "tenon/kir/testing/random_kernel.h"

#include <gtest/gtest.h>

#include <random>

namespace tenon::kir {
namespace {

using testing::RandomKernel;
using testing::RandomKernelOptions;
using testing::Sample;

constexpr uint64_t kSeeds = 1500;

RandomKernelOptions AllTypes() {
  RandomKernelOptions o;
  o.types = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kF8E4M3FN, DType::kF8E5M2,
             DType::kS8,  DType::kS16, DType::kS32, DType::kS64,  DType::kU8,       DType::kU16,
             DType::kU32, DType::kU64, DType::kS4,  DType::kU4,   DType::kPred};
  o.complex = true;
  o.float_rem = true;
  return o;
}

TEST(RandomKernels, VerifyEvaluateAndStayInBounds) {
  const RandomKernelOptions options[] = {{}, AllTypes()};
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Sample s = RandomKernel(seed, options[seed % 2]);
    const Status verified = Verify(s.kernel);
    ASSERT_TRUE(verified.ok()) << "seed " << seed << ": " << verified.ToString() << "\n" << Print(s.kernel);
    testing::Memory once = s.memory, twice = s.memory;
    const Status status = Evaluate(s.kernel, once.Refs(), s.params);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.ToString() << "\n" << Print(s.kernel);
    ASSERT_TRUE(Evaluate(s.kernel, twice.Refs(), s.params).ok());
    ASSERT_EQ(testing::FirstDifference(s.kernel, s.params, once, twice), "");
  }
}

TEST(RandomKernels, AreReproducible) {
  const Sample a = RandomKernel(42), b = RandomKernel(42), c = RandomKernel(43);
  EXPECT_EQ(a.kernel, b.kernel);
  EXPECT_NE(Print(a.kernel), Print(c.kernel));
}

TEST(RandomKernels, TextAndHashRoundTrip) {
  const RandomKernelOptions options = AllTypes();
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Kernel k = RandomKernel(seed, options).kernel;
    const std::string text = Print(k);
    const Result<Kernel> back = Parse(text);
    ASSERT_TRUE(back.ok()) << back.status().ToString() << "\n" << text;
    ASSERT_EQ(*back, k) << text;
    ASSERT_EQ(Print(*back), text);
    ASSERT_EQ(Hash(*back), Hash(k));
  }
}

// Changes one small thing somewhere in the kernel.
void Mutate(Kernel& k, std::mt19937_64& random) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % std::max<size_t>(n, 1)); };
  const auto odd = [&]() -> uint32_t {
    const uint32_t values[] = {
        0, 1, 2, 3, 7, 31, 32, 255, 256, 65535, 0x7fffffff, 0xffffffff, static_cast<uint32_t>(random())};
    return values[below(std::size(values))];
  };
  const auto size = [&](Size& s) {
    if (random() % 2) {
      s.param = static_cast<int32_t>(odd());
    } else {
      s.baked = static_cast<int32_t>(odd());
    }
  };
  const auto axis = [&](Axis& a) {
    switch (random() % 3) {
      case 0:
        a.start = odd();
        break;
      case 1:
        size(a.offset);
        break;
      default:
        if (!a.terms.empty()) a.terms[below(a.terms.size())].dim = static_cast<DimId>(odd());
    }
  };
  Stage* stage = nullptr;
  Loop* loop = nullptr;
  if (!k.seq.empty()) {
    Step& step = k.seq[below(k.seq.size())];
    stage = std::get_if<Stage>(&step.is);
    loop = std::get_if<Loop>(&step.is);
  }
  switch (random() % 12) {
    case 0:
    case 1:
    case 2:
    case 3: {
      if (k.nodes.empty()) return;
      Node& n = k.nodes[below(k.nodes.size())];
      switch (random() % 5) {
        case 0:
          n.op = static_cast<Op>(odd());
          break;
        case 1:
          n.type = static_cast<DType>(random() % 40);
          break;
        case 2:
          n.imm = static_cast<uint8_t>(odd());
          break;
        case 3:
          n.attr = odd();
          break;
        default:
          if (!n.in.empty()) n.in[below(n.in.size())] = odd();
      }
      return;
    }
    case 4:
      if (!k.reads.empty()) {
        Read& r = k.reads[below(k.reads.size())];
        if (random() % 3 == 0)
          r.buf = static_cast<Buf>(odd());
        else if (random() % 2)
          r.otherwise = odd();
        else if (!r.at.empty())
          axis(r.at[below(r.at.size())]);
      }
      return;
    case 5:
      if (!k.buffers.empty()) {
        Buffer& b = k.buffers[below(k.buffers.size())];
        switch (random() % 5) {
          case 0:
            b.kind = static_cast<BufKind>(random() % 7);
            break;
          case 1:
            b.type = static_cast<DType>(random() % 40);
            break;
          case 2:
            b.in_place_of = static_cast<Buf>(odd());
            break;
          case 3:
            b.extent.push_back(Size::Of(3));
            break;
          default:
            if (!b.extent.empty()) size(b.extent[below(b.extent.size())]);
        }
      }
      return;
    case 6:
      if (!k.dims.empty()) {
        Dim& d = k.dims[below(k.dims.size())];
        if (random() % 2)
          d.kind = static_cast<DimKind>(random() % 5);
        else
          size(d.extent);
      }
      return;
    case 7:
      k.outer = static_cast<uint8_t>(odd());
      return;
    case 8:
      k.split.dims = odd();
      size(k.split.grain);
      return;
    case 9:
      if (!k.graphs.empty()) {
        Graph& g = k.graphs[below(k.graphs.size())];
        if (random() % 2)
          g.results.push_back(odd());
        else if (!g.nodes.empty())
          g.nodes[below(g.nodes.size())].attr = odd();
      }
      return;
    case 10:
      if (stage != nullptr && !stage->reduces.empty()) {
        Reduce& r = stage->reduces[below(stage->reduces.size())];
        switch (random() % 5) {
          case 0:
            r.dims = odd();
            break;
          case 1:
            r.in.push_back(odd());
            break;
          case 2:
            r.combiner = odd();
            break;
          case 3:
            r.identity.clear();
            break;
          default:
            r.id = odd();
        }
      } else if (loop != nullptr) {
        switch (random() % 4) {
          case 0:
            loop->condition = odd();
            break;
          case 1:
            loop->next[below(loop->next.size())] = odd();
            break;
          case 2:
            loop->init.push_back(odd());
            break;
          default:
            loop->id = odd();
        }
      }
      return;
    default:
      if (stage != nullptr && !stage->stores.empty() && random() % 2) {
        Store& s = stage->stores[below(stage->stores.size())];
        switch (random() % 5) {
          case 0:
            s.buf = static_cast<Buf>(odd());
            break;
          case 1:
            s.value = odd();
            break;
          case 2:
            s.combine = static_cast<int32_t>(odd());
            break;
          case 3:
            s.component = static_cast<uint8_t>(odd());
            break;
          default:
            if (!s.at.empty()) axis(s.at[below(s.at.size())]);
        }
      } else if (stage != nullptr) {
        if (random() % 2)
          stage->dims.push_back(static_cast<DimId>(odd()));
        else if (!stage->dims.empty())
          stage->dims[below(stage->dims.size())] = static_cast<DimId>(odd());
      }
  }
}

// Whatever happens to a kernel, Verify says yes or no; and what it lets pass evaluates to a Status.
TEST(RandomKernels, MutatedOnesAreVerifiedWithoutHarm) {
  std::mt19937_64 random(3);
  int refused = 0, accepted = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Sample s = RandomKernel(seed % 500);
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < changes; ++i) Mutate(s.kernel, random);
    const Status status = Verify(s.kernel);
    ++(status.ok() ? accepted : refused);
    (void)Hash(s.kernel);
    if (!status.ok()) {
      ASSERT_FALSE(status.message().empty());
      continue;
    }
    const Result<Kernel> back = Parse(Print(s.kernel));
    ASSERT_TRUE(back.ok()) << back.status().ToString() << Print(s.kernel);
    ASSERT_EQ(*back, s.kernel);
    // Big extents would take long; only the small ones run.
    int64_t points = 1;
    bool small = true;
    s.params.resize(s.kernel.num_params);
    for (const Dim& d : s.kernel.dims) {
      const int64_t extent = d.extent.Value(s.params.data());
      small = small && extent >= 0 && extent < 1000;
      if (small) points *= std::max<int64_t>(extent, 1);
    }
    bool same_buffers = true;
    for (size_t i = 0; i < s.kernel.buffers.size(); ++i) {
      same_buffers = same_buffers && (s.kernel.buffers[i].kind == BufKind::kLocal) != s.memory.blocks[i].present;
      if (s.kernel.buffers[i].kind == BufKind::kLocal)
        same_buffers = same_buffers && LocalBytes(s.kernel, s.params.data()) < 1 << 20;
    }
    bool loops = false;
    for (const Step& step : s.kernel.seq) loops = loops || std::holds_alternative<Loop>(step.is);
    if (small && points < 20000 && same_buffers && !loops) (void)Evaluate(s.kernel, s.memory.Refs(), s.params);
  }
  EXPECT_GT(refused, 1500);
  EXPECT_GT(accepted, 100);
}

TEST(RandomKernels, GarbageTextIsRefusedWithoutHarm) {
  std::mt19937_64 random(5);
  const std::string alphabet =
      "kernel v1 params outer dim d0 b1 %2 r3 g4 #5.0 p6 { } [ ] ( ) , = if else <= < mod && + - * 0x7f 1.5e9 stage "
      "loop \n";
  for (int i = 0; i < 20000; ++i) {
    std::string text = Print(RandomKernel(static_cast<uint64_t>(i % 40)).kernel);
    const int changes = 1 + static_cast<int>(random() % 6);
    for (int c = 0; c < changes && !text.empty(); ++c) {
      const size_t at = random() % text.size();
      switch (random() % 5) {
        case 0:
          text.erase(at, 1 + random() % 8);
          break;
        case 1:
          text.insert(at, 1, static_cast<char>(random()));
          break;
        case 2:
          text[at] = alphabet[random() % alphabet.size()];
          break;
        case 3: {
          const size_t from = random() % alphabet.size();
          text.insert(at, alphabet.substr(from, random() % 9));
          break;
        }
        default:
          text.resize(at);
      }
    }
    const Result<Kernel> k = Parse(text);
    if (k.ok()) (void)Verify(*k);
  }
  std::string noise;
  for (int i = 0; i < 2000; ++i) {
    noise.clear();
    for (uint64_t n = random() % 200; n > 0; --n) noise += static_cast<char>(random());
    EXPECT_FALSE(Parse(noise).ok());
  }
  std::string deep = "kernel v1 params 0 outer 0 {";
  for (int i = 0; i < 100000; ++i) deep += "loop #1 () init () next () {";
  EXPECT_FALSE(Parse(deep).ok());
}

}  // namespace
}  // namespace tenon::kir
