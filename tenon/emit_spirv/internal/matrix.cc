// Sums of products by the device's matrix units. A workgroup makes a tile of sums: it puts some terms of the factors
// into its memory, whatever these are computed of, each of its subgroups multiplies its share of them, and what is done
// with the sums is done by all invocations, element by element, from memory again.
#include <algorithm>

#include "tenon/emit_spirv/internal/kernel_emitter.h"

namespace tenon::emit_spirv {

using kir::DimId;
using kir::DimKind;
using kir::Op;
using kir::Val;

namespace {

/// What tiles are for: beside the numbers of locals and of other workgroup memory.
enum : int { kTileX = INT32_MIN, kTileY, kTileSums };

}  // namespace

std::optional<KernelEmitter::MatrixSum> KernelEmitter::FindMatrixSum(const kir::Stage& stage) const {
  if (stage.reduces.size() != 1 || stage.reduces[0].order != kir::ReduceOrder::kMatrix || !stage.domain.empty())
    return std::nullopt;
  MatrixSum m;
  m.reduce = &stage.reduces[0];
  for (const kir::Store& s : stage.stores) {
    if (!UsesOwn(s, stage)) return std::nullopt;
  }
  // The type in which the factors are at hand, before they were widened to the sum's.
  const auto narrow = [&](Val v) { return k_.nodes[v].op == Op::kConvert ? k_.nodes[v].in[0] : v; };
  m.x = narrow(m.reduce->in[0]);
  m.y = narrow(m.reduce->in[1]);
  if (k_.nodes[m.x].type != k_.nodes[m.y].type) return std::nullopt;
  m.unit = target::FindMatrixUnit(target_.device, k_.nodes[m.x].type, k_.nodes[m.reduce->in[0]].type);
  if (m.unit == nullptr) return std::nullopt;
  const kir::Node& init = k_.nodes[m.reduce->init[0]];
  if (init.op != Op::kConst || k_.literals[init.attr] != 0) return std::nullopt;

  SmallVector<DimId, 4> free;
  for (const DimId d : stage.dims) {
    if (k_.dims[d].kind != DimKind::kReduce) free.push_back(d);
  }
  if (free.size() != 2) return std::nullopt;
  const auto follows = [&](Val v, DimId d) { return (deps_[v] >> d & 1) != 0; };
  const bool in_order = follows(m.x, free[0]);
  m.row = free[in_order ? 0 : 1];
  m.column = free[in_order ? 1 : 0];
  if (follows(m.x, m.column) || follows(m.y, m.row)) return std::nullopt;
  const kir::Size rows = k_.dims[m.row].extent, columns = k_.dims[m.column].extent;
  if (rows.is_param() || columns.is_param()) return std::nullopt;
  m.rows = rows.baked;
  m.columns = columns.baked;
  const bool whole = m.rows % m.unit->m == 0 && m.columns % m.unit->n == 0 && m.unit->Depth() % m.unit->k == 0;
  if (!whole || m.unit->TileBytes(m.rows, m.columns) > target_.device.local_bytes) return std::nullopt;
  return m;
}

int64_t KernelEmitter::MatrixTrips(const MatrixSum& m, int64_t terms, int64_t group_size) const {
  const int64_t depth = m.unit->Depth();
  const auto shared = [&](int64_t elements) { return elements / group_size + 2; };
  return (terms / depth + 1) * (shared(m.rows * depth) + shared(m.columns * depth)) + shared(m.rows * m.columns);
}

Id KernelEmitter::TileType(DType type) {
  if (type == DType::kF16) return w_.Float(16);
  if (ByteWidth(type) > 1) return s_.RegisterType(type);
  w_.Capability(spv::CapabilityInt8);
  return w_.Int(8);
}

Id KernelEmitter::SubgroupBuiltIn(uint32_t which) {
  w_.Capability(spv::CapabilityGroupNonUniform);
  return w_.Load(w_.U32(), w_.BuiltIn(which, w_.U32()));
}

void KernelEmitter::FillTile(const MatrixSum& m, bool of_x, Id tile, const DimList& reduced, Id first, Id terms) {
  const DType type = m.unit->in;
  const DimId place = of_x ? m.row : m.column;
  const int64_t inner = of_x ? m.unit->Depth() : m.columns;
  const int64_t elements = m.unit->Depth() * (of_x ? m.rows : m.columns);
  const Id inside = w_.C32(static_cast<uint32_t>(inner));
  const auto fill = [&](Id flat) {
    const size_t mark = Mark();
    const Id outer_place = w_.Do(Spv::UDiv, w_.U32(), {flat, inside});
    const Id inner_place = w_.Do(Spv::UMod, w_.U32(), {flat, inside});
    const Id term = w_.Do(Spv::IAdd, w_.U32(), {first, of_x ? inner_place : outer_place});
    dim_value_[place] = of_x ? outer_place : inner_place;
    const Id register_type = s_.RegisterType(type);
    Id value = w_.IfElse(
        s_.Compare(Spv::ULessThan, term, terms), register_type,
        [&] {
          BindFlat(reduced, term);
          const Id made = Value(of_x ? m.x : m.y);
          for (DimId d : reduced) dim_value_[d] = 0;
          return made;
        },
        [&] { return w_.Null(register_type); });
    dim_value_[place] = 0;
    Rewind(mark);
    if (type == DType::kF16) value = w_.Exact(Spv::FConvert, TileType(type), {value});
    if (ByteWidth(type) == 1) value = w_.Do(Spv::UConvert, TileType(type), {value});
    w_.Store(w_.Do(Spv::AccessChain, w_.Pointer(spv::StorageWorkgroup, TileType(type)), {tile, flat}), value);
  };
  w_.For(LocalIndex(), w_.C32(static_cast<uint32_t>(elements)), w_.C32(static_cast<uint32_t>(part_->group_size)), fill);
}

void KernelEmitter::EmitMatrixSum(const MatrixSum& m, const DimList& free, const DimList& reduced,
                                  const StoreList& after) {
  const target::MatrixUnit& unit = *m.unit;
  const DType out = unit.out;
  const int64_t depth = unit.Depth();
  const Id xs = WorkgroupWords(unit.in, m.rows * depth, kTileX, true);
  const Id ys = WorkgroupWords(unit.in, depth * m.columns, kTileY, true);
  const Id sums = WorkgroupWords(out, m.rows * m.columns, kTileSums, true);
  const Id in_pointer = w_.Pointer(spv::StorageWorkgroup, TileType(unit.in));
  const Id out_pointer = w_.Pointer(spv::StorageWorkgroup, TileType(out));
  const Id x_type = w_.Matrix(TileType(unit.in), unit.m, unit.k, spv::MatrixUseA);
  const Id y_type = w_.Matrix(TileType(unit.in), unit.k, unit.n, spv::MatrixUseB);
  const Id sum_type = w_.Matrix(TileType(out), unit.m, unit.n, spv::MatrixUseAccumulator);
  const auto c = [&](int64_t value) { return w_.C32(static_cast<uint32_t>(value)); };
  const auto times = [&](Id id, int64_t n) { return w_.Do(Spv::IMul, w_.U32(), {id, c(n)}); };
  const auto plus = [&](Id a, Id b) { return w_.Do(Spv::IAdd, w_.U32(), {a, b}); };

  // Each subgroup has every so many of the tile's units; the fewest subgroups that there may be decide how many.
  const int64_t least = std::max<int64_t>(1, part_->group_size / target_.device.most_subgroup);
  const int64_t own = (m.Units() + least - 1) / least;
  const bool surely = m.Units() % least == 0 && target_.device.least_subgroup == target_.device.most_subgroup;
  const Id subgroup = SubgroupBuiltIn(spv::BuiltInSubgroupId), subgroups = SubgroupBuiltIn(spv::BuiltInNumSubgroups);
  const auto for_own = [&](const std::function<void(int64_t i, Id row, Id column)>& body) {
    for (int64_t i = 0; i < own; ++i) {
      const Id which = plus(subgroup, times(subgroups, i));
      const auto at_unit = [&] {
        const Id row = times(w_.Do(Spv::UDiv, w_.U32(), {which, c(m.columns / unit.n)}), unit.m);
        const Id column = times(w_.Do(Spv::UMod, w_.U32(), {which, c(m.columns / unit.n)}), unit.n);
        body(i, row, column);
      };
      if (surely) {
        at_unit();
      } else {
        w_.If(s_.Compare(Spv::ULessThan, which, c(m.Units())), at_unit);
      }
    }
  };
  std::vector<Id> acc;
  for (int64_t i = 0; i < own; ++i) {
    acc.push_back(w_.Variable(sum_type));
    w_.Store(acc.back(), w_.Null(sum_type));
  }

  Id terms = c(1);
  for (DimId d : reduced) terms = w_.Do(Spv::IMul, w_.U32(), {terms, Length(BoundsOf(d))});
  const Id row_major = c(spv::MatrixRowMajor);
  const uint32_t signs = IsSigned(unit.in) ? spv::MatrixAllSigned : 0;
  w_.For(c(0), terms, c(depth), [&](Id first) {
    FillTile(m, true, xs, reduced, first, terms);
    FillTile(m, false, ys, reduced, first, terms);
    w_.Barrier();
    for_own([&](int64_t i, Id row, Id column) {
      Id sum = w_.Load(sum_type, acc[static_cast<size_t>(i)]);
      for (int64_t k = 0; k < depth; k += unit.k) {
        const Id x_at = plus(times(row, depth), c(k)), y_at = plus(column, c(k * m.columns));
        const Id x =
            w_.Do(Spv::CooperativeMatrixLoadKHR, x_type,
                  {w_.Do(Spv::AccessChain, in_pointer, {xs, x_at}), row_major, c(depth), spv::AccessNonPrivatePointer});
        const Id y = w_.Do(
            Spv::CooperativeMatrixLoadKHR, y_type,
            {w_.Do(Spv::AccessChain, in_pointer, {ys, y_at}), row_major, c(m.columns), spv::AccessNonPrivatePointer});
        sum = w_.Do(Spv::CooperativeMatrixMulAddKHR, sum_type, {x, y, sum, signs});
      }
      w_.Store(acc[static_cast<size_t>(i)], sum);
    });
    w_.Barrier();
  });
  for_own([&](int64_t i, Id row, Id column) {
    const Id to = w_.Do(Spv::AccessChain, out_pointer, {sums, plus(times(row, m.columns), column)});
    const Id sum = w_.Load(sum_type, acc[static_cast<size_t>(i)]);
    w_.Do(Spv::CooperativeMatrixStoreKHR, {to, sum, row_major, c(m.columns), spv::AccessNonPrivatePointer});
  });
  w_.Barrier();
  ForTeam(free, {}, [&] {
    const Id at = plus(times(dim_value_[m.row], m.columns), dim_value_[m.column]);
    const Id sum = w_.Load(TileType(out), w_.Do(Spv::AccessChain, out_pointer, {sums, at}));
    results_[m.reduce->id] = {sum, sum};
    EmitPoint(after);
  });
}

}  // namespace tenon::emit_spirv
