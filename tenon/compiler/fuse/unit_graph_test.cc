#include "tenon/compiler/fuse/unit_graph.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tenon::compiler {
namespace {

using Vertex = UnitGraph::Vertex;

/// The same graph as sets, with questions answered by walking all of it.
struct Plain {
  std::vector<int> name;             // By vertex: the unit that it has become.
  std::vector<std::set<int>> after;  // By unit.

  bool Reaches(int from, int to) const {
    std::vector<int> open = {from};
    std::set<int> seen;
    while (!open.empty()) {
      const int at = open.back();
      open.pop_back();
      for (int next : after[static_cast<size_t>(at)]) {
        if (next == to) return true;
        if (seen.insert(next).second) open.push_back(next);
      }
    }
    return false;
  }
};

class UnitGraphTest : public testing::TestWithParam<unsigned> {};

TEST_P(UnitGraphTest, AgreesWithWalkingTheWholeGraph) {
  std::mt19937 rng(GetParam());
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(rng); };
  UnitGraph graph;
  Plain plain;
  int linked = 0, refused = 0;
  for (int step = 0; step < 600; ++step) {
    const size_t n = plain.name.size();
    const size_t what = n < 4 ? 0 : below(4);
    int64_t budget = 1 << 20;
    if (what <= 1) {
      std::vector<Vertex> to;
      for (size_t i = n == 0 ? 0 : below(4); i-- > 0;) to.push_back(static_cast<Vertex>(below(n)));
      ASSERT_EQ(graph.Add(to), n);
      plain.name.push_back(static_cast<int>(n));
      plain.after.emplace_back();
      for (Vertex v : to) plain.after[n].insert(plain.name[v]);
      continue;
    }
    const auto a = static_cast<Vertex>(below(n)), b = static_cast<Vertex>(below(n));
    const int x = plain.name[a], y = plain.name[b];
    bool legal = false;
    if (what == 2) {
      legal = x == y || !plain.Reaches(y, x);
      const Vertex to[] = {b};
      ASSERT_EQ(graph.Link(a, to, budget), legal);
      if (legal && x != y) plain.after[static_cast<size_t>(x)].insert(y);
    } else {
      legal = x == y || (!plain.Reaches(x, y) && !plain.Reaches(y, x));
      ASSERT_EQ(graph.Contract(a, b, budget), legal);
      if (legal && x != y) {
        for (int& name : plain.name) name = name == y ? x : name;
        plain.after[static_cast<size_t>(x)].merge(plain.after[static_cast<size_t>(y)]);
        for (auto& after : plain.after) {
          if (after.erase(y) != 0) after.insert(x);
        }
      }
    }
    ++(legal ? linked : refused);
    // Numbers rise along every edge, and equal names mean one unit.
    for (size_t u = 0; u < n; ++u) {
      for (size_t v = 0; v < n; ++v) {
        const int p = plain.name[u], q = plain.name[v];
        ASSERT_EQ(graph.Find(static_cast<Vertex>(u)) == graph.Find(static_cast<Vertex>(v)), p == q);
        if (!plain.after[static_cast<size_t>(p)].contains(q)) continue;
        ASSERT_LT(graph.NumberOf(static_cast<Vertex>(u)), graph.NumberOf(static_cast<Vertex>(v)));
      }
    }
  }
  EXPECT_GT(linked, 50);
  EXPECT_GT(refused, 10);
}

INSTANTIATE_TEST_SUITE_P(Random, UnitGraphTest, testing::Range(0u, 12u));

TEST(UnitGraph, ASpentBudgetChangesNothing) {
  UnitGraph graph;
  const Vertex last = graph.Add({});
  Vertex v = last;
  for (int i = 0; i < 100; ++i) v = graph.Add(std::vector<Vertex>{v});
  const Vertex other = graph.Add({});
  int64_t budget = 10;
  EXPECT_FALSE(graph.Contract(other, last, budget));
  EXPECT_LT(budget, 0);
  budget = 1000;
  EXPECT_TRUE(graph.Contract(other, last, budget));
}

}  // namespace
}  // namespace tenon::compiler
