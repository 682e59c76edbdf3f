#include "tenon/emit_llvm/internal/interleave.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "tenon/target/lanes.h"

namespace tenon::emit_llvm {
namespace {

int SmallestFactor(int n) {
  for (int p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

using From = LaneFrom;

class Maker {
 public:
  Maker(int lanes, int inputs) : lanes_(lanes) { network.inputs = inputs; }

  /// The vector whose lanes are `from`: two of the vectors named there meet, then the next one joins.
  int Collect(const std::vector<From>& from) {
    std::vector<int> sources;
    for (const From& f : from) {
      if (f.vector >= 0 && std::find(sources.begin(), sources.end(), f.vector) == sources.end())
        sources.push_back(f.vector);
    }
    if (sources.empty()) return 0;
    if (sources.size() == 1) {
      bool same = true;
      for (size_t i = 0; i < from.size(); ++i) same &= from[i].vector < 0 || from[i].lane == static_cast<int>(i);
      if (same) return sources[0];
      sources.push_back(sources[0]);
    }
    int made = sources[0];
    for (size_t s = 1; s < sources.size(); ++s) {
      LaneNetwork::Step step{made, sources[s], std::vector<int>(from.size(), -1)};
      for (size_t i = 0; i < from.size(); ++i) {
        if (from[i].vector < 0) continue;
        const auto at = std::find(sources.begin(), sources.end(), from[i].vector) - sources.begin();
        if (at == static_cast<long>(s) && sources[s] != sources[0]) {
          step.pick[i] = from[i].lane + lanes_;
        } else if (at < static_cast<long>(s)) {
          step.pick[i] = s == 1 ? from[i].lane : static_cast<int>(i);
        }
      }
      made = network.inputs + static_cast<int>(network.steps.size());
      network.steps.push_back(std::move(step));
    }
    return made;
  }

  LaneNetwork network;

 private:
  int lanes_;
};

/// A row of elements, each somewhere in the network.
using Row = std::vector<From>;

/// Takes `row` apart into every stride-th element: outputs by component, where wanted.
void TakeApart(Maker& maker, const Row& row, int lanes, int stride, const std::vector<std::pair<int, size_t>>& wanted,
               std::vector<int>& outputs) {
  if (stride == 1) {
    Row first(row.begin(), row.begin() + std::min<long>(lanes, static_cast<long>(row.size())));
    first.resize(static_cast<size_t>(lanes));
    const int made = maker.Collect(first);
    for (const auto& [component, output] : wanted) outputs[output] = made;
    return;
  }
  const int p = SmallestFactor(stride);
  for (int c = 0; c < p; ++c) {
    std::vector<std::pair<int, size_t>> below;
    for (const auto& [component, output] : wanted) {
      if (component % p == c) below.emplace_back(component / p, output);
    }
    if (below.empty()) continue;
    Row every;
    for (size_t i = static_cast<size_t>(c); i < row.size(); i += static_cast<size_t>(p)) every.push_back(row[i]);
    if (stride != p) {
      // As vectors of its own.
      for (size_t begin = 0; begin < every.size(); begin += static_cast<size_t>(lanes)) {
        Row part(every.begin() + static_cast<long>(begin),
                 every.begin() + static_cast<long>(std::min(every.size(), begin + static_cast<size_t>(lanes))));
        const size_t n = part.size();
        part.resize(static_cast<size_t>(lanes));
        const int made = maker.Collect(part);
        for (size_t i = 0; i < n; ++i) every[begin + i] = {made, static_cast<int>(i)};
      }
    }
    TakeApart(maker, every, lanes, stride / p, below, outputs);
  }
}

Row InputRow(int lanes, int elements, bool whole) {
  Row row;
  const int last = (elements + lanes - 1) / lanes - 1;
  for (int e = 0; e < elements; ++e) {
    const bool shifted = whole && e / lanes == last;
    row.push_back({e / lanes, shifted ? e - (elements - lanes) : e % lanes});
  }
  return row;
}

/// The offset of an access: what is known of it now, and the rest.
std::pair<int64_t, std::vector<std::pair<int32_t, int32_t>>> OffsetOf(const Access& access) {
  int64_t known = 0;
  std::vector<std::pair<int32_t, int32_t>> rest;
  for (const Contribution& part : access.parts) {
    if (part.kind != Contribution::Kind::kOffset) continue;
    if (const std::optional<int64_t> factor = part.ConstFactor()) {
      known += *factor;
    } else {
      rest.emplace_back(part.a.is_param() ? part.a.param : -1 - static_cast<int32_t>(part.a.baked),
                        part.b.is_param() ? part.b.param : -1 - static_cast<int32_t>(part.b.baked));
    }
  }
  return {known, std::move(rest)};
}

bool SameTerms(const Access& x, const Access& y) {
  const auto next = [](const Access& a, size_t& i) {
    while (i < a.parts.size() && a.parts[i].kind == Contribution::Kind::kOffset) ++i;
    return i < a.parts.size();
  };
  size_t i = 0, j = 0;
  while (true) {
    const bool more = next(x, i);
    if (more != next(y, j)) return false;
    if (!more) return true;
    const Contribution& a = x.parts[i++];
    const Contribution& b = y.parts[j++];
    if (a.kind != b.kind || a.dim != b.dim || a.start != b.start || !(a.a == b.a) || !(a.b == b.b)) return false;
  }
}

}  // namespace

int InterleavedVectors(int lanes, int stride, int last_component) {
  return ((lanes - 1) * stride + last_component + lanes) / lanes;
}

LaneNetwork Deinterleave(int lanes, int stride, std::span<const int> components, bool whole) {
  const int elements = (lanes - 1) * stride + components.back() + 1;
  const int inputs = (elements + lanes - 1) / lanes;
  const Row row = InputRow(lanes, elements, whole);
  // One by one, or all together by the factors of the stride.
  Maker direct(lanes, inputs);
  for (int c : components) {
    Row lane;
    for (int i = 0; i < lanes; ++i) lane.push_back(row[static_cast<size_t>(c + i * stride)]);
    direct.network.outputs.push_back(direct.Collect(lane));
  }
  Maker shared(lanes, inputs);
  std::vector<std::pair<int, size_t>> wanted;
  for (size_t i = 0; i < components.size(); ++i) wanted.emplace_back(components[i], i);
  shared.network.outputs.resize(components.size());
  TakeApart(shared, row, lanes, stride, wanted, shared.network.outputs);
  return shared.network.steps.size() < direct.network.steps.size() ? std::move(shared.network)
                                                                   : std::move(direct.network);
}

LaneNetwork Interleave(int lanes, int stride) {
  Maker maker(lanes, stride);
  // rows[c]: the elements whose number is c modulo the number of rows; rows become fewer and longer.
  std::vector<Row> rows(static_cast<size_t>(stride));
  for (int c = 0; c < stride; ++c) {
    for (int i = 0; i < lanes; ++i) rows[static_cast<size_t>(c)].push_back({c, i});
  }
  while (rows.size() > 1) {
    const auto p = static_cast<size_t>(SmallestFactor(static_cast<int>(rows.size())));
    const size_t left = rows.size() / p;
    std::vector<Row> joined(left);
    for (size_t c = 0; c < left; ++c) {
      Row& row = joined[c];
      for (size_t i = 0; i < rows[c].size(); ++i) {
        for (size_t k = 0; k < p; ++k) row.push_back(rows[c + k * left][i]);
      }
      for (size_t begin = 0; begin < row.size(); begin += static_cast<size_t>(lanes)) {
        const int made =
            maker.Collect(Row(row.begin() + static_cast<long>(begin), row.begin() + static_cast<long>(begin) + lanes));
        for (int i = 0; i < lanes; ++i) row[begin + static_cast<size_t>(i)] = {made, i};
      }
    }
    rows = std::move(joined);
  }
  for (size_t begin = 0; begin < rows[0].size(); begin += static_cast<size_t>(lanes))
    maker.network.outputs.push_back(rows[0][begin].vector);
  return std::move(maker.network);
}

std::vector<std::vector<LaneFrom>> LanesOf(const LaneNetwork& network, int lanes) {
  std::vector<Row> rows;
  for (int v = 0; v < network.inputs; ++v) {
    Row& row = rows.emplace_back();
    for (int i = 0; i < lanes; ++i) row.push_back({v, i});
  }
  for (const LaneNetwork::Step& step : network.steps) {
    Row made;
    for (const int pick : step.pick) {
      const Row& row = rows[static_cast<size_t>(pick < lanes ? step.a : step.b)];
      made.push_back(pick < 0 ? From{} : row[static_cast<size_t>(pick % lanes)]);
    }
    rows.push_back(std::move(made));
  }
  std::vector<Row> outputs;
  for (const int v : network.outputs) outputs.push_back(rows[static_cast<size_t>(v)]);
  return outputs;
}

LaneNetwork Collected(int lanes, int inputs, const std::vector<std::vector<LaneFrom>>& outputs) {
  Maker maker(lanes, inputs);
  for (const Row& row : outputs) maker.network.outputs.push_back(maker.Collect(row));
  return std::move(maker.network);
}

bool GroupPays(const AccessGroup& group, int lanes) {
  const auto members = static_cast<int>(group.members.size());
  return target::InterleavedMove(lanes, static_cast<int>(group.stride), members) < static_cast<double>(members) * lanes;
}

std::optional<int64_t> ApartAlong(const kir::Kernel& kernel, const Access& access, kir::DimId dim) {
  const std::optional<int64_t> stride = ConstStride(access, dim);
  if (!stride || std::abs(*stride) < 2) return std::nullopt;
  const int64_t parts = IsComplex(kernel.buffers[access.buf].type) ? 2 * *stride : *stride;
  return std::abs(parts) > target::kMaxInterleaved ? std::nullopt : std::optional(parts);
}

std::vector<AccessGroup> FindGroups(const kir::Kernel& kernel, std::span<const Access* const> accesses,
                                    std::span<const uint8_t> parts, kir::DimId dim) {
  struct Place {
    int64_t known;
    size_t index;
  };
  struct Set {
    const Access* like;
    int64_t stride;
    std::vector<std::pair<int32_t, int32_t>> rest;
    std::vector<Place> places;
  };
  std::vector<Set> sets;
  for (size_t i = 0; i < accesses.size(); ++i) {
    const Access* access = accesses[i];
    const std::optional<int64_t> apart = ApartAlong(kernel, *access, dim);
    if (!apart) continue;
    const int64_t stride = *apart;
    auto [known, rest] = OffsetOf(*access);
    auto set = std::find_if(sets.begin(), sets.end(), [&, r = &rest](const Set& s) {
      return s.like->buf == access->buf && s.stride == stride && s.rest == *r && SameTerms(*s.like, *access);
    });
    if (set == sets.end()) set = sets.insert(sets.end(), Set{access, stride, std::move(rest), {}});
    if (IsComplex(kernel.buffers[access->buf].type)) known *= 2;
    set->places.push_back({parts.empty() ? known : known + parts[i], i});
  }
  std::vector<AccessGroup> groups;
  for (Set& set : sets) {
    std::sort(set.places.begin(), set.places.end(),
              [](const Place& a, const Place& b) { return std::tie(a.known, a.index) < std::tie(b.known, b.index); });
    AccessGroup group;
    int64_t first = 0;
    for (const Place& place : set.places) {
      if (!group.members.empty() && place.known - first >= std::abs(set.stride)) {
        groups.push_back(std::move(group));
        group = {};
      }
      if (group.members.empty()) first = place.known;
      group.stride = std::abs(set.stride);
      group.down = set.stride < 0;
      group.members.push_back(place.index);
      group.components.push_back(static_cast<int>(place.known - first));
    }
    if (!group.members.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace tenon::emit_llvm
