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

namespace {

/// Inputs that meet two by two, for all outputs that want lanes of any of them.
class Meetings {
 public:
  Meetings(int lanes, LaneNetwork& network, const std::vector<Row>& outputs)
      : lanes_(lanes), network_(network), outputs_(outputs) {}

  /// `wanted`: outputs, which are set; `inputs`: all that these come from.
  void Run(const std::vector<size_t>& wanted, const std::vector<int>& inputs) {
    wanted_ = wanted;
    std::vector<std::vector<Bucket>> groups;
    for (const int input : inputs) {
      Bucket all{.last = wanted.size(), .vector = input};
      for (int lane = 0; lane < lanes_; ++lane) all.at.push_back({{input, lane}, lane});
      groups.push_back({std::move(all)});
    }
    if (groups.size() == 1) groups.push_back(groups[0]);
    while (groups.size() > 1) {
      std::vector<std::vector<Bucket>> met;
      const bool last = groups.size() == 2;
      for (size_t g = 0; g + 1 < groups.size(); g += 2) {
        met.emplace_back();
        Meet(groups[g], groups[g + 1], 0, wanted.size(), last, met.back());
      }
      if (groups.size() % 2 != 0) met.push_back(std::move(groups.back()));
      groups = std::move(met);
    }
  }

 private:
  /// What outputs [first, last) of those that are wanted want of some inputs, in one vector.
  struct Bucket {
    size_t first = 0, last = 0;
    int vector = 0;
    std::vector<std::pair<From, int>> at;  ///< Elements of inputs, and the lanes in which they are.
    int LaneOf(const From& from) const {
      const auto found = std::ranges::find_if(
          at, [&](const auto& e) { return e.first.vector == from.vector && e.first.lane == from.lane; });
      return found == at.end() ? -1 : found->second;
    }
  };

  static const Bucket* Around(const std::vector<Bucket>& buckets, size_t first, size_t last) {
    const auto found =
        std::ranges::find_if(buckets, [&](const Bucket& b) { return b.first <= first && last <= b.last; });
    return found == buckets.end() ? nullptr : &*found;
  }

  /// Elements that the outputs want of two buckets, each once.
  std::vector<From> WantedOf(const Bucket& a, const Bucket& b, size_t first, size_t last) const {
    std::vector<From> elements;
    for (size_t i = first; i < last; ++i) {
      for (const From& from : outputs_[wanted_[i]]) {
        const bool had = std::ranges::any_of(
            elements, [&](const From& e) { return e.vector == from.vector && e.lane == from.lane; });
        if (!had && (a.LaneOf(from) >= 0 || b.LaneOf(from) >= 0)) elements.push_back(from);
      }
    }
    return elements;
  }

  void Meet(const std::vector<Bucket>& a, const std::vector<Bucket>& b, size_t first, size_t last, bool ends,
            std::vector<Bucket>& met) {
    const Bucket* x = Around(a, first, last);
    const Bucket* y = Around(b, first, last);
    if (x != nullptr && y != nullptr && (!ends || last - first == 1)) {
      if (ends) return End(*x, *y, wanted_[first]);
      const std::vector<From> elements = WantedOf(*x, *y, first, last);
      if (elements.size() <= static_cast<size_t>(lanes_)) {
        met.push_back(Together(*x, *y, elements));
        met.back().first = first;
        met.back().last = last;
        return;
      }
    }
    const size_t middle = first + (last - first) / 2;
    Meet(a, b, first, middle, ends, met);
    Meet(a, b, middle, last, ends, met);
  }

  /// Elements stay in their lanes where these are free.
  Bucket Together(const Bucket& x, const Bucket& y, const std::vector<From>& elements) {
    Bucket met;
    LaneNetwork::Step step{x.vector, y.vector, std::vector<int>(static_cast<size_t>(lanes_), -1)};
    std::vector<From> left;
    const auto pick = [&](const From& from) {
      const int lane = x.LaneOf(from);
      return lane >= 0 ? lane : y.LaneOf(from) + lanes_;
    };
    bool of_x = false, of_y = false;
    for (const From& from : elements) {
      const int source = pick(from), lane = source % lanes_;
      (source < lanes_ ? of_x : of_y) = true;
      if (step.pick[static_cast<size_t>(lane)] >= 0) {
        left.push_back(from);
        continue;
      }
      step.pick[static_cast<size_t>(lane)] = source;
      met.at.emplace_back(from, lane);
    }
    if (!of_x || !of_y) {
      Bucket same = of_y ? y : x;
      return same;
    }
    size_t lane = 0;
    for (const From& from : left) {
      while (step.pick[lane] >= 0) ++lane;
      step.pick[lane] = pick(from);
      met.at.emplace_back(from, static_cast<int>(lane));
    }
    met.vector = Add(std::move(step));
    return met;
  }

  /// The lanes that the output has.
  void End(const Bucket& x, const Bucket& y, size_t output) {
    LaneNetwork::Step step{x.vector, y.vector, {}};
    bool is_x = true, is_y = true, of_x = false, of_y = false;
    for (const From& from : outputs_[output]) {
      const int in_x = from.vector < 0 ? -1 : x.LaneOf(from), in_y = from.vector < 0 ? -1 : y.LaneOf(from);
      const int lane = static_cast<int>(step.pick.size());
      const bool takes_x = in_x >= 0;
      is_x = is_x && (from.vector < 0 || in_x == lane);
      is_y = is_y && (from.vector < 0 || in_y == lane);
      of_x = of_x || takes_x;
      of_y = of_y || (!takes_x && in_y >= 0);
      step.pick.push_back(takes_x ? in_x : in_y < 0 ? -1 : in_y + lanes_);
    }
    int& made = network_.outputs[output];
    if (is_x || is_y) {
      made = is_x ? x.vector : y.vector;
      return;
    }
    if (!of_y) step.b = step.a;
    if (!of_x) {
      step.a = step.b;
      for (int& p : step.pick) p = p < 0 ? p : p - lanes_;
    }
    made = Add(std::move(step));
  }

  int Add(LaneNetwork::Step step) {
    network_.steps.push_back(std::move(step));
    return network_.inputs + static_cast<int>(network_.steps.size()) - 1;
  }

  const int lanes_;
  LaneNetwork& network_;
  const std::vector<Row>& outputs_;
  std::vector<size_t> wanted_;
};

}  // namespace

LaneNetwork CollectedTogether(int lanes, int inputs, const std::vector<std::vector<LaneFrom>>& outputs) {
  LaneNetwork network{.inputs = inputs, .steps = {}, .outputs = std::vector<int>(outputs.size(), 0)};
  std::vector<bool> done(outputs.size(), false);
  for (size_t first = 0; first < outputs.size(); ++first) {
    if (done[first]) continue;
    // Outputs that have inputs in common, and these.
    std::vector<size_t> wanted = {first};
    std::vector<int> sources;
    done[first] = true;
    for (size_t i = 0; i < wanted.size(); ++i) {
      for (const From& from : outputs[wanted[i]]) {
        if (from.vector < 0 || std::ranges::find(sources, from.vector) != sources.end()) continue;
        sources.push_back(from.vector);
        for (size_t other = 0; other < outputs.size(); ++other) {
          const bool shares =
              std::ranges::any_of(outputs[other], [&](const From& f) { return f.vector == from.vector; });
          if (done[other] || !shares) continue;
          done[other] = true;
          wanted.push_back(other);
        }
      }
    }
    if (sources.empty()) continue;
    std::ranges::sort(wanted);
    std::ranges::sort(sources);
    Meetings(lanes, network, outputs).Run(wanted, sources);
  }
  LaneNetwork one_by_one = Collected(lanes, inputs, outputs);
  return one_by_one.steps.size() <= network.steps.size() ? std::move(one_by_one) : std::move(network);
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
