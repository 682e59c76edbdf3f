#include "tenon/compiler/fuse/index_map.h"

#include <algorithm>

namespace tenon::compiler {

size_t HashOf(const IndexMap& map) {
  uint64_t h = map.size() + 1;
  auto mix = [&](uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  };
  for (const Index& ix : map) {
    for (const IndexTerm& t : ix.terms) {
      mix(t.dim + 1);
      mix(static_cast<uint64_t>(t.coef));
    }
    mix(static_cast<uint64_t>(ix.offset) + 77);
    mix(ix.start);
  }
  return h;
}

Index Plus(const Index& a, const Index& b) {
  Index sum;
  sum.offset = a.offset + b.offset;
  sum.start = a.start != kir::kNone ? a.start : b.start;
  size_t i = 0;
  size_t j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].dim < b.terms[j].dim)) {
      sum.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[j].dim < a.terms[i].dim) {
      sum.terms.push_back(b.terms[j++]);
    } else {
      const int64_t coef = a.terms[i].coef + b.terms[j].coef;
      if (coef != 0) sum.terms.push_back({a.terms[i].dim, coef});
      ++i;
      ++j;
    }
  }
  return sum;
}

Index Times(const Index& ix, int64_t factor) {
  Index product;
  if (factor == 0) return product;
  product.offset = ix.offset * factor;
  for (const IndexTerm& t : ix.terms) product.terms.push_back({t.dim, t.coef * factor});
  return product;
}

IndexRange RangeOf(const Index& ix, std::span<const int64_t> extents) {
  IndexRange r{ix.offset, ix.offset};
  for (const IndexTerm& t : ix.terms) {
    const int64_t reach = t.coef * std::max<int64_t>(extents[t.dim] - 1, 0);
    (reach < 0 ? r.low : r.high) += reach;
  }
  return r;
}

namespace {

// Takes `ix`, a position in the row-major array `parts`, apart into one index per part.
bool TakeApart(const Index& ix, std::span<const int64_t> parts, std::span<const int64_t> extents, IndexMap& out,
               std::optional<CutDemand>& cut) {
  const size_t first = out.size();
  if (parts.size() == 1) {
    out.push_back(ix);
    return true;
  }
  if (ix.start != kir::kNone) return false;
  SmallVector<int64_t, 6> stride(parts.size());
  int64_t s = 1;
  for (size_t i = parts.size(); i-- > 0;) {
    stride[i] = s;
    s *= parts[i];
  }
  for (size_t i = 0; i < parts.size(); ++i) out.push_back(Index());
  int64_t offset = ix.offset;
  if (offset < 0) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    out[first + i].offset = offset / stride[i];
    offset %= stride[i];
  }
  for (const IndexTerm& t : ix.terms) {
    if (t.coef < 0) return false;
    size_t i = 0;
    while (i + 1 < parts.size() && (stride[i] > t.coef || t.coef % stride[i] != 0)) ++i;
    out[first + i] = Plus(out[first + i], Index::Dim(t.dim, t.coef / stride[i]));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (RangeOf(out[first + i], extents).high < parts[i]) continue;
    // A single dim that runs over several parts can be cut at their borders.
    if (ix.terms.size() == 1 && ix.terms[0].coef == 1 && ix.offset == 0 && extents[ix.terms[0].dim] == s) {
      CutDemand demand{ix.terms[0].dim, {}};
      for (int64_t p : parts) {
        if (p != 1) demand.extents.push_back(p);
      }
      if (demand.extents.size() > 1) cut = demand;
    } else {
      // One of several dims spans parts: cut the first that does, if the parts divide it.
      for (const IndexTerm& t : ix.terms) {
        const int64_t n = extents[t.dim];
        for (size_t k = 0; k < parts.size(); ++k) {
          if (t.coef % stride[k] != 0 && stride[k] % t.coef == 0 && stride[k] / t.coef > 1 && n > stride[k] / t.coef &&
              n % (stride[k] / t.coef) == 0) {
            cut = CutDemand{t.dim, Dims{n / (stride[k] / t.coef), stride[k] / t.coef}};
            return false;
          }
        }
      }
    }
    return false;
  }
  return true;
}

}  // namespace

std::optional<IndexMap> ThroughReshape(const IndexMap& result, const Dims& from, const Dims& to,
                                       std::span<const int64_t> extents, std::optional<CutDemand>& cut) {
  IndexMap map;
  size_t i = 0;
  size_t j = 0;
  while (i < from.size() || j < to.size()) {
    // The next smallest groups of equal size.
    size_t i_end = i;
    size_t j_end = j;
    int64_t a = 1;
    int64_t b = 1;
    if (i_end < from.size()) a = from[i_end++];
    if (j_end < to.size()) b = to[j_end++];
    while (a != b) {
      if (a < b) {
        if (i_end == from.size()) return std::nullopt;
        a *= from[i_end++];
      } else {
        if (j_end == to.size()) return std::nullopt;
        b *= to[j_end++];
      }
    }
    if (a == 1) {  // Extents of one: nothing to tell.
      for (; i < i_end; ++i) map.push_back(Index());
      j = j_end;
      continue;
    }
    // Position within the group, row-major over the result's dims.
    Index position;
    int64_t stride = 1;
    for (size_t k = j_end; k-- > j;) {
      if (to[k] != 1) {
        if (result[k].start != kir::kNone && (stride != 1 || position.start != kir::kNone)) return std::nullopt;
        Index scaled = Times(result[k], stride);
        scaled.start = result[k].start;
        position = Plus(position, scaled);
      }
      stride *= to[k];
    }
    // Extents of one take index zero; the rest share the position.
    SmallVector<int64_t, 6> parts;
    for (size_t k = i; k < i_end; ++k) {
      if (from[k] != 1) parts.push_back(from[k]);
    }
    IndexMap pieces;
    if (!TakeApart(position, std::span<const int64_t>(parts.data(), parts.size()), extents, pieces, cut))
      return std::nullopt;
    size_t piece = 0;
    for (size_t k = i; k < i_end; ++k) map.push_back(from[k] == 1 ? Index() : pieces[piece++]);
    i = i_end;
    j = j_end;
  }
  return map;
}

}  // namespace tenon::compiler
