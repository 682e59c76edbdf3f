// Networks of shuffles, run on the numbers of the elements.
#include "tenon/emit_llvm/internal/interleave.h"

#include <gtest/gtest.h>

#include "tenon/target/lanes.h"

namespace tenon::emit_llvm {
namespace {

using Vector = std::vector<int>;

std::vector<Vector> Through(const LaneNetwork& network, std::vector<Vector> vectors) {
  for (const LaneNetwork::Step& step : network.steps) {
    const Vector a = vectors.at(static_cast<size_t>(step.a)), b = vectors.at(static_cast<size_t>(step.b));
    const int lanes = static_cast<int>(a.size());
    Vector made;
    for (int pick : step.pick) {
      made.push_back(pick < 0       ? -1
                     : pick < lanes ? a.at(static_cast<size_t>(pick))
                                    : b.at(static_cast<size_t>(pick - lanes)));
    }
    vectors.push_back(made);
  }
  std::vector<Vector> outputs;
  for (int v : network.outputs) outputs.push_back(vectors.at(static_cast<size_t>(v)));
  return outputs;
}

TEST(Interleave, TakesEveryStrideApartAndPutsItTogether) {
  for (const int lanes : {2, 4, 8, 16}) {
    for (int stride = 2; stride <= target::kMaxInterleaved; ++stride) {
      const LaneNetwork network = Interleave(lanes, stride);
      std::vector<Vector> parts;
      for (int c = 0; c < stride; ++c) {
        parts.emplace_back();
        for (int i = 0; i < lanes; ++i) parts.back().push_back(c + i * stride);
      }
      const std::vector<Vector> outputs = Through(network, parts);
      ASSERT_EQ(outputs.size(), static_cast<size_t>(stride));
      for (int e = 0; e < lanes * stride; ++e)
        ASSERT_EQ(outputs[static_cast<size_t>(e / lanes)][static_cast<size_t>(e % lanes)], e) << lanes << " " << stride;
      std::vector<int> all, odd, few = {0, stride - 1};
      for (int c = 0; c < stride; ++c) all.push_back(c);
      for (int c = 0; c < stride; c += 2) odd.push_back(c);
      for (const std::vector<int>& components : {all, odd, few, std::vector<int>{0}}) {
        for (const bool whole : {false, true}) {
          const LaneNetwork apart = Deinterleave(lanes, stride, components, whole);
          const int elements = (lanes - 1) * stride + components.back() + 1;
          ASSERT_EQ(apart.inputs, InterleavedVectors(lanes, stride, components.back()));
          std::vector<Vector> memory;
          for (int v = 0; v < apart.inputs; ++v) {
            const int begin = whole ? std::min(v * lanes, elements - lanes) : v * lanes;
            memory.emplace_back();
            for (int i = 0; i < lanes; ++i) memory.back().push_back(begin + i < elements ? begin + i : -1);
          }
          const std::vector<Vector> taken = Through(apart, memory);
          for (size_t c = 0; c < components.size(); ++c) {
            for (int i = 0; i < lanes; ++i)
              ASSERT_EQ(taken[c][static_cast<size_t>(i)], components[c] + i * stride) << lanes << " " << stride;
          }
        }
      }
    }
  }
}

// What a shared network saves: a transpose of sixteen by sixteen takes 64 shuffles, not 240.
TEST(Interleave, SharesWhatComponentsHaveInCommon) {
  std::vector<int> all;
  for (int c = 0; c < 16; ++c) all.push_back(c);
  EXPECT_EQ(Deinterleave(16, 16, all, true).steps.size(), 64u);
  EXPECT_EQ(Interleave(16, 16).steps.size(), 64u);
  EXPECT_EQ(Deinterleave(16, 4, std::vector<int>{0, 1, 2, 3}, true).steps.size(), 8u);
  EXPECT_EQ(Deinterleave(16, 4, std::vector<int>{2}, true).steps.size(), 3u);
}

// Outputs of any lanes of any inputs, in no more steps than each by itself takes.
TEST(Interleave, CollectsTogether) {
  uint64_t state = 1;
  const auto below = [&](int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<unsigned>(n));
  };
  for (int trial = 0; trial < 500; ++trial) {
    const int lanes = 2 << below(4), inputs = 1 + below(12), outputs = 1 + below(12);
    std::vector<std::vector<LaneFrom>> wanted;
    for (int o = 0; o < outputs; ++o) {
      wanted.emplace_back();
      for (int i = 0; i < lanes; ++i) {
        const bool any = below(10) == 0;
        wanted.back().push_back(any ? LaneFrom{} : LaneFrom{below(inputs), below(lanes)});
      }
    }
    const LaneNetwork network = CollectedTogether(lanes, inputs, wanted);
    ASSERT_EQ(network.inputs, inputs);
    ASSERT_LE(network.steps.size(), Collected(lanes, inputs, wanted).steps.size());
    std::vector<Vector> vectors;
    for (int v = 0; v < inputs; ++v) {
      vectors.emplace_back();
      for (int i = 0; i < lanes; ++i) vectors.back().push_back(v * lanes + i);
    }
    const std::vector<Vector> made = Through(network, vectors);
    for (size_t o = 0; o < wanted.size(); ++o) {
      for (size_t i = 0; i < wanted[o].size(); ++i) {
        if (wanted[o][i].vector < 0) continue;
        ASSERT_EQ(made[o][i], wanted[o][i].vector * lanes + wanted[o][i].lane) << "trial " << trial;
      }
    }
  }
}

// Places as bits that change places: each that goes from a vector's number to its lanes is a round of all vectors.
TEST(Interleave, CollectsPermutationsOfBitsInRounds) {
  for (int common = 0; common <= 4; ++common) {
    // Lanes of the outputs: `common` bits of the inputs' lanes, the others of their numbers.
    const int lanes = 16, vectors = 1 << (4 - common);
    std::vector<std::vector<LaneFrom>> wanted(static_cast<size_t>(vectors));
    for (int o = 0; o < vectors; ++o) {
      for (int i = 0; i < lanes; ++i) {
        const int low = i & ((1 << common) - 1), high = i >> common;
        wanted[static_cast<size_t>(o)].push_back({high, low * vectors + o});
      }
    }
    const LaneNetwork network = CollectedTogether(lanes, vectors, wanted);
    EXPECT_LE(network.steps.size(), static_cast<size_t>(vectors * std::max(1, 4 - common))) << common;
  }
}

TEST(Interleave, KnowsWhatItsLanesComeFrom) {
  const int lanes = 8, stride = 3;
  const LaneNetwork network = Interleave(lanes, stride);
  const std::vector<std::vector<LaneFrom>> origins = LanesOf(network, lanes);
  ASSERT_EQ(origins.size(), static_cast<size_t>(stride));
  for (int e = 0; e < lanes * stride; ++e) {
    const LaneFrom& from = origins[static_cast<size_t>(e / lanes)][static_cast<size_t>(e % lanes)];
    EXPECT_EQ(from.vector, e % stride);
    EXPECT_EQ(from.lane, e / stride);
  }
  std::vector<Vector> parts;
  for (int c = 0; c < stride; ++c) {
    parts.emplace_back();
    for (int i = 0; i < lanes; ++i) parts.back().push_back(c + i * stride);
  }
  EXPECT_EQ(Through(Collected(lanes, stride, origins), parts), Through(network, parts));
}

TEST(Interleave, GroupsWhatDiffersByLessThanTheStride) {
  kir::Kernel k;
  kir::Buffer buffer;
  buffer.type = DType::kF32;
  buffer.extent = {kir::Size::Of(100)};
  buffer.stride = {kir::Size::Of(1)};
  kir::Buffer complex = buffer;
  complex.type = DType::kC64;
  k.buffers = {buffer, buffer, complex};
  const auto access = [&](kir::Buf buf, int64_t coef, int64_t offset) {
    kir::Axis axis;
    axis.terms.push_back({0, kir::Size::Of(coef)});
    axis.offset = kir::Size::Of(offset);
    static const auto none = SmallVector<kir::Guard, 1>();
    return Access{buf,
                  &none,
                  {{.kind = Contribution::Kind::kOffset, .a = axis.offset},
                   {.kind = Contribution::Kind::kDim, .dim = 0, .a = kir::Size::Of(coef)}},
                  1};
  };
  const Access a = access(0, 4, 9), b = access(0, 4, 6), c = access(0, 4, 10), other = access(1, 4, 7),
               far = access(0, 4, 26), contiguous = access(0, 1, 7);
  const Access* all[] = {&a, &b, &contiguous, &c, &other, &far};
  const std::vector<AccessGroup> groups = FindGroups(k, all, {}, 0);
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].members, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(groups[0].components, (std::vector<int>{0, 3}));
  EXPECT_EQ(groups[1].members, (std::vector<size_t>{3}));
  EXPECT_EQ(groups[2].members, (std::vector<size_t>{5}));
  EXPECT_EQ(groups[3].members, (std::vector<size_t>{4}));

  // The parts of complex numbers are elements.
  const Access whole = access(2, 2, 7), next = access(2, 2, 8), side_by_side = access(2, 1, 7);
  const Access* numbers[] = {&whole, &side_by_side, &next, &next, &whole};
  const uint8_t parts[] = {1, 0, 0, 1, 0};
  const std::vector<AccessGroup> of_parts = FindGroups(k, numbers, parts, 0);
  ASSERT_EQ(of_parts.size(), 1u);
  EXPECT_EQ(of_parts[0].stride, 4);
  EXPECT_EQ(of_parts[0].members, (std::vector<size_t>{4, 0, 2, 3}));
  EXPECT_TRUE(of_parts[0].complete());
}

}  // namespace
}  // namespace tenon::emit_llvm
