#include "tenon/compiler/ir/trips.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace tenon::compiler {
namespace {

constexpr kir::Cmp kDirections[] = {kir::kEq, kir::kNe, kir::kLt, kir::kLe, kir::kGt, kir::kGe};

/// `for (x = start; x ? limit; x = x +/- step)`, or `limit ? x`, as a graph.
struct Loop {
  DType type;
  uint64_t start, limit, step;
  kir::Cmp direction;
  bool limit_first = false;
  bool subtract = false;
  bool step_first = false;
};

int64_t TripsOf(const Loop& l) {
  Program p;
  const size_t width = static_cast<size_t>(ByteWidth(l.type));
  const auto add = [&](OpCode op, SmallVector<Ref, 3> in, DType type, Attributes attributes = {}) {
    GraphNode node;
    node.op = op;
    node.in = std::move(in);
    node.out = {{type, {}}};
    node.attributes = std::move(attributes);
    return Ref{p.Add(std::move(node)), 0};
  };
  const auto constant = [&](uint64_t bits) {
    const Ref r = add(OpCode::kConstant, {}, l.type);
    p[r.node].literal = MakeLiteral(std::string(reinterpret_cast<const char*>(&bits), width), true);
    return r;
  };
  GraphNode loop;
  loop.op = OpCode::kWhile;
  loop.in = {constant(l.start)};
  loop.out = {{l.type, {}}};
  loop.blocks.resize(2);
  for (Block& block : loop.blocks) block.args = {add(OpCode::kParameter, {}, l.type).node};
  const Ref here{loop.blocks[0].args[0], 0}, self{loop.blocks[1].args[0], 0}, limit = constant(l.limit);
  loop.blocks[0].results = {add(OpCode::kCompare,
                                l.limit_first ? SmallVector<Ref, 3>{limit, here} : SmallVector<Ref, 3>{here, limit},
                                DType::kPred, CompareAttrs{l.direction})};
  const Ref step = constant(l.step);
  loop.blocks[1].results = {add(l.subtract ? OpCode::kSubtract : OpCode::kAdd,
                                l.step_first ? SmallVector<Ref, 3>{step, self} : SmallVector<Ref, 3>{self, step},
                                l.type)};
  return KnownTrips(p, loop);
}

template <class T>
bool Holds(kir::Cmp direction, T a, T b) {
  switch (direction) {
    case kir::kEq:
      return a == b;
    case kir::kNe:
      return a != b;
    case kir::kLt:
      return a < b;
    case kir::kLe:
      return a <= b;
    case kir::kGt:
      return a > b;
    case kir::kGe:
      return a >= b;
  }
  return false;
}

struct Simulated {
  int64_t trips = -1;  ///< -1: for ever.
  bool wraps = false;  ///< On the way.
};

/// Of eight bits: more than 256 trips never end.
template <class T>
Simulated Simulate(const Loop& l) {
  const T limit = static_cast<T>(l.limit), step = static_cast<T>(l.step);
  T x = static_cast<T>(l.start);
  Simulated s;
  for (int64_t trips = 0; trips <= 256; ++trips) {
    if (l.limit_first ? !Holds(l.direction, limit, x) : !Holds(l.direction, x, limit)) {
      s.trips = trips;
      return s;
    }
    const int next = l.subtract ? x - step : x + step;
    s.wraps |= next != static_cast<T>(next);
    x = static_cast<T>(next);
  }
  return s;
}

// All loops of eight bits whose numbers are near zero, near the ends, or in between: the count is that of running them,
// or unknown, and it is known wherever counting takes no wrap-around.
TEST(Trips, EveryLoopOfEightBits) {
  const std::vector<uint64_t> numbers = {0,   1,   2,   3,   7,   10,  63,  64,  65, 127,
                                         128, 129, 130, 192, 193, 250, 253, 254, 255};
  int known = 0;
  for (DType type : {DType::kS8, DType::kU8}) {
    for (uint64_t start : numbers) {
      for (uint64_t limit : numbers) {
        for (uint64_t step : numbers) {
          for (kir::Cmp direction : kDirections) {
            for (int form = 0; form < 4; ++form) {
              const Loop l{type, start, limit, step, direction, (form & 1) != 0, (form & 2) != 0};
              const Simulated s = type == DType::kS8 ? Simulate<int8_t>(l) : Simulate<uint8_t>(l);
              const int64_t trips = TripsOf(l);
              known += trips >= 0;
              const bool right = trips == s.trips || (trips == -1 && s.wraps);
              ASSERT_TRUE(right) << DTypeName(type) << " start " << start << " limit " << limit << " step " << step
                                 << " direction " << direction << " form " << form << ": " << trips << ", not "
                                 << s.trips;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(known, 100000);
}

TEST(Trips, EndsOfEveryType) {
  EXPECT_EQ(TripsOf({DType::kU64, 0, 0xC000000000000000, uint64_t{1} << 62, kir::kLt}), 3);
  EXPECT_EQ(TripsOf({DType::kU64, 0, 0xC000000000000001, uint64_t{1} << 62, kir::kLt}), -1);  // Wraps around.
  EXPECT_EQ(TripsOf({DType::kU64, ~uint64_t{0} - 4, ~uint64_t{0}, 1, kir::kLt}), 4);
  EXPECT_EQ(TripsOf({DType::kU64, ~uint64_t{0} - 4, ~uint64_t{0}, 1, kir::kLe}), -1);  // For ever.
  EXPECT_EQ(TripsOf({DType::kU64, ~uint64_t{0}, 5, 1, kir::kNe}), 6);
  EXPECT_EQ(TripsOf({DType::kU64, 0, ~uint64_t{0}, 1, kir::kLt}), -1);  // Too many to be worth a number.
  EXPECT_EQ(TripsOf({DType::kU64, 10, 0, 1, kir::kGt, false, true}), 10);
  EXPECT_EQ(TripsOf({DType::kU64, 10, 0, ~uint64_t{0}, kir::kGt}), 10);  // Adds -1.
  EXPECT_EQ(TripsOf({DType::kU64, 10, 0, 1, kir::kGe, false, true}), -1);
  const uint64_t lowest = uint64_t{1} << 63;
  EXPECT_EQ(TripsOf({DType::kS64, lowest, 0, uint64_t{1} << 62, kir::kLt}), 2);
  EXPECT_EQ(TripsOf({DType::kS64, lowest, ~lowest, uint64_t{1} << 62, kir::kLt}), -1);
  EXPECT_EQ(TripsOf({DType::kS64, ~lowest, lowest, lowest, kir::kGt, false, false}), -1);
  EXPECT_EQ(TripsOf({DType::kS32, 0xfffffffb, 5, 3, kir::kLt}), 4);  // From -5.
  EXPECT_EQ(TripsOf({DType::kU32, 0xfffffffb, 5, 3, kir::kLt}), 0);
  EXPECT_EQ(TripsOf({DType::kU32, 0, 0xfffffffb, 0x10000000, kir::kLt}), -1);  // Wraps around.
  EXPECT_EQ(TripsOf({DType::kU32, 0, 0xf0000000, 0x10000000, kir::kLt}), 15);
  EXPECT_EQ(TripsOf({DType::kU16, 0, 60000, 30000, kir::kLt}), 2);
  EXPECT_EQ(TripsOf({DType::kS16, 0x8000, 0x7fff, 1, kir::kLt}), 65535);
  // A constant less the carry is no counter.
  EXPECT_EQ(TripsOf({DType::kS32, 0, 5, 1, kir::kLt, false, true, true}), -1);
  EXPECT_EQ(TripsOf({DType::kS32, 0, 5, 1, kir::kLt, false, false, true}), 5);
}

}  // namespace
}  // namespace tenon::compiler
