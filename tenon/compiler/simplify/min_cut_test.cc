#include "tenon/compiler/simplify/min_cut.h"

#include <gtest/gtest.h>

#include <random>

namespace tenon::compiler {
namespace {

struct Edge {
  size_t from, to;
  int64_t cost;
};

int64_t CostOf(const std::vector<Edge>& edges, const std::vector<bool>& with_source) {
  int64_t cost = 0;
  for (const Edge& e : edges) cost += with_source[e.from] && !with_source[e.to] ? e.cost : 0;
  return cost;
}

TEST(MinCut, IsTheBestOfAllCuts) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const size_t nodes = 2 + random() % 9;
    MinCut network;
    for (size_t i = 2; i < nodes; ++i) EXPECT_EQ(network.AddNode(), i);
    std::vector<Edge> edges;
    for (size_t i = random() % (3 * nodes); i > 0; --i) {
      const size_t from = random() % nodes, to = random() % nodes;
      if (from != to) edges.push_back({from, to, static_cast<int64_t>(random() % 20)});
    }
    for (const Edge& e : edges) network.AddEdge(e.from, e.to, e.cost);
    const std::optional<std::vector<bool>> cut = network.Run(1'000'000);
    ASSERT_TRUE(cut.has_value());
    EXPECT_TRUE((*cut)[MinCut::kSource]);
    EXPECT_FALSE((*cut)[MinCut::kSink]);
    int64_t least = MinCut::kInfinite;
    for (size_t set = 0; set < size_t{1} << (nodes - 2); ++set) {
      std::vector<bool> with_source(nodes);
      with_source[MinCut::kSource] = true;
      for (size_t i = 2; i < nodes; ++i) with_source[i] = (set >> (i - 2) & 1) != 0;
      least = std::min(least, CostOf(edges, with_source));
    }
    EXPECT_EQ(CostOf(edges, *cut), least) << "round " << round;
    EXPECT_EQ(network.cost(), least);
  }
}

TEST(MinCut, GivesUpInTime) {
  MinCut network;
  size_t last = MinCut::kSource;
  for (int i = 0; i < 1000; ++i) {
    const size_t next = network.AddNode();
    network.AddEdge(last, next, 1 + i % 3);
    last = next;
  }
  network.AddEdge(last, MinCut::kSink, 5);
  EXPECT_FALSE(network.Run(100).has_value());
  EXPECT_TRUE(network.Run(100'000).has_value());
}

}  // namespace
}  // namespace tenon::compiler
