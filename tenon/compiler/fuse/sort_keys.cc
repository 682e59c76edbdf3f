#include "tenon/compiler/fuse/sort_keys.h"

#include <algorithm>
#include <cmath>

#include "tenon/compiler/fuse/legality.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/scalar_ops.h"

namespace tenon::compiler {

using kir::Val;

namespace {

/// Whether elements of the type have an order as integers of their width.
bool HasKey(const Program& p, DType type) {
  if (IsComplex(type) || DTypeBits(type) != 8 * ByteWidth(type)) return type == DType::kPred;
  return !IsFloat(type) || KernelCanHold(p, MovedAs(p, type));
}

DType SignedOf(int width) {
  return width == 1 ? DType::kS8 : width == 2 ? DType::kS16 : width == 4 ? DType::kS32 : DType::kS64;
}

/// What compares as elements of the key do: floats by their bits, turned below zero.
Val KeyOf(kir::KernelBuilder& b, Val read, DType type, bool by_value) {
  if (type == DType::kPred) return b.Convert(DType::kS32, read);
  if (!IsFloat(type)) return read;
  const DType bits = SignedOf(ByteWidth(type));
  const int width = DTypeBits(type);
  Val x = b.Bitcast(bits, read);
  if (by_value) {
    const Val minus_zero = b.ConstBits(bits, uint64_t{1} << (width - 1));
    x = b.Select(b.Compare(kir::kEq, x, minus_zero), b.Const(bits, 0), x);
    const Val nan = b.ConstBits(bits, (uint64_t{1} << (width - 1)) - 1);
    x = b.Select(b.Compare(kir::kNe, read, read), nan, x);
  }
  const Val magnitude = b.ConstBits(bits, (uint64_t{1} << (width - 1)) - 1);
  return b.Xor(x, b.And(b.ShrArith(x, b.Const(bits, width - 1)), magnitude));
}

}  // namespace

bool HasSortKeys(const Program& p, const GraphNode& sort) {
  const size_t num_keys = sort.attrs<SortAttrs>().descending.size();
  for (size_t i = 0; i < sort.in.size(); ++i) {
    const DType type = p.shape(sort.in[i]).dtype;
    if (!KernelCanHold(p, MovedAs(p, type)) || (i < num_keys && !HasKey(p, type))) return false;
  }
  return std::ranges::all_of(sort.out, [&](const Shape& s) { return KernelCanHold(p, MovedAs(p, s.dtype)); });
}

std::vector<Val> SortKeys(kir::KernelBuilder& b, const Program& p, const GraphNode& sort,
                          const std::vector<Val>& read) {
  const auto& attrs = sort.attrs<SortAttrs>();
  std::vector<Val> keys;
  for (size_t i = 0; i < attrs.descending.size(); ++i)
    keys.push_back(KeyOf(b, read[i], p.shape(sort.in[i]).dtype, attrs.by_value[i] != 0));
  return keys;
}

Val ComesBefore(kir::KernelBuilder& b, const SortAttrs& attrs, const std::vector<Val>& its,
                const std::vector<Val>& others, Val tied) {
  for (size_t i = its.size(); i-- > 0;) {
    const Val first = b.Compare(attrs.descending[i] != 0 ? kir::kGt : kir::kLt, its[i], others[i]);
    tied = b.Or(first, b.And(b.Compare(kir::kEq, its[i], others[i]), tied));
  }
  return tied;
}

SortTimes TimesOfSort(const Program& p, const GraphNode& sort) {
  const target::Target& t = *p.target;
  const Shape& shape = p.shape(sort.in[0]);
  const auto elements = static_cast<double>(NumElements(shape.dims));
  const auto n = static_cast<double>(shape.dims[static_cast<size_t>(sort.attrs<SortAttrs>().dimension)]);
  // What takes one operation per element: half of a multiply-add.
  const double each_ns = elements / (static_cast<double>(t.cores) * t.core_flops_per_ns / 2);
  const double run = policy::kRankedRun, passes = std::max(0.0, std::ceil(std::log2(n / run)));
  // A search looks at one more element from pass to pass.
  const double searched = passes * (std::log2(run) + 1 + passes / 2);
  double bytes = 0;
  for (Ref r : sort.in) bytes += static_cast<double>(SizeBytes(p.shape(r)));
  for (const Shape& s : sort.out) bytes += static_cast<double>(SizeBytes(s));
  const bool shared = t.spaces.empty() || t.spaces[0].host_visible;
  SortTimes times;
  times.ranks = t.launch_ns + each_ns * n * policy::kRankLookOps;
  times.merges =
      (passes + 1) * t.launch_ns + each_ns * (run * policy::kRankLookOps + searched * policy::kSearchLookOps);
  times.host = policy::kHostTripNs + elements * std::log2(std::max(n, 2.0)) * policy::kHostSortNs +
               (shared ? 0 : bytes / policy::kHostBytesPerNs);
  return times;
}

}  // namespace tenon::compiler
