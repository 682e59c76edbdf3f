// Products and convolutions that no driver takes, as kernels.

#include "tenon/compiler/fuse/product.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/legality.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/tile_finish.h"
#include "tenon/compiler/fuse/tiled.h"
#include "tenon/compiler/fuse/tracer.h"
#include "tenon/compiler/ir/combiner.h"

namespace tenon::compiler {

using kir::Val;

namespace {

bool Has(const Dims& list, int64_t d) { return std::find(list.begin(), list.end(), d) != list.end(); }
int64_t Extent(const Shape& shape, int64_t d) { return shape.dims[static_cast<size_t>(d)]; }

/// Whether kernels of the program's target compute sums of products of these types.
bool HasTypes(const Program& p, const GraphNode& node) {
  const DType sum = SumTypeOf(node.shape().dtype);
  if (sum == DType::kInvalid || !KernelCanHold(p, sum) || !FitsKernels(p, node)) return false;
  return std::all_of(node.in.begin(), node.in.end(), [&](Ref r) {
    const DType type = p.shape(r).dtype;
    return KernelCanHold(p, type) && (IsComplex(type) == IsComplex(sum)) && (IsFloat(type) || !IsFloat(sum));
  });
}

/// A dim of a product: where it lies in either operand and in the result, -1 where it does not.
struct ProductDim {
  int64_t extent = 1;
  int64_t place[3] = {-1, -1, -1};
};

/// One loop per dim, an axis at its place in each array.
class ProductKernel {
 public:
  /// `finish`: what is done with results, instead of storing them in `z`; may be null.
  ProductKernel(const Program& p, const View& x, const View& y, const View& z, TileFinish* finish)
      : p_(p), finish_(finish) {
    const View* views[] = {&x, &y, &z};
    for (size_t i = 0; i < 3; ++i) {
      at_[i].resize(views[i]->dims.size(), kir::AtOffset(kir::Size::Of(0)));
      type_[i] = views[i]->dtype;
      if (i == 2 && finish != nullptr) {
        finish->AddBuffers(b);
      } else {
        buf_[i] = BufferFor(b, i < 2 ? kir::BufKind::kArg : kir::BufKind::kOut, *views[i]);
      }
    }
  }

  kir::KernelBuilder b;

  kir::DimId AddDim(const ProductDim& dim, kir::DimKind kind) {
    const kir::DimId id = b.AddDim(kir::Size::Of(dim.extent), kind);
    stage_.dims.push_back(id);
    Set(dim, kir::At(id));
    if (kind == kir::DimKind::kReduce) reduced_ |= kir::DimMask{1} << id;
    return id;
  }
  void Set(const ProductDim& dim, const kir::Axis& axis) {
    for (size_t i = 0; i < 3; ++i) {
      if (dim.place[i] >= 0) At(i, dim.place[i]) = axis;
    }
  }
  kir::Axis& At(size_t array, int64_t d) { return at_[array][static_cast<size_t>(d)]; }

  SumOfProducts::Factor Read(size_t array, DType sum, const SmallVector<kir::Guard, 1>& guards = {}) {
    const DType part = PartType(type_[array]), wide = PartType(sum);
    const auto read = [&](int component) {
      kir::Read r;
      r.buf = buf_[array];
      r.at = at_[array];
      r.guard = guards;
      if (!guards.empty()) r.otherwise = b.Const(part, 0);
      return b.Convert(wide, b.Read(r, component));
    };
    return {read(0), IsComplex(sum) ? read(1) : kir::kNone};
  }

  void Store(SumOfProducts::Factor value, SmallVector<kir::Guard, 1> guards) {
    if (finish_ != nullptr) {
      value.re = b.Convert(PartType(type_[2]), value.re);
      return finish_->Add(b, stage_, at_[2], value, guards);
    }
    kir::Store store;
    store.buf = buf_[2];
    store.at = at_[2];
    store.guard = std::move(guards);
    store.value = b.Convert(PartType(type_[2]), value.re);
    stage_.stores.push_back(store);
    if (value.im == kir::kNone) return;
    store.value = value.im;
    store.component = 1;
    stage_.stores.push_back(std::move(store));
  }

  /// What was added so far is the launch's: a workgroup has one point of it, and those of what is added from here on.
  void BeginTile() {
    b.kernel().outer = static_cast<uint8_t>(b.kernel().dims.size());
    stage_.dims.clear();
  }

  kir::Stage& stage() { return stage_; }
  kir::DimMask reduced() const { return reduced_; }
  bool fused() const { return p_.target->numerics.fused_multiply_add; }
  kir::Kernel Finish() {
    b.AddStage(std::move(stage_));
    return b.Finish();
  }

 private:
  const Program& p_;
  const TileFinish* finish_;
  kir::Stage stage_;
  kir::DimMask reduced_ = 0;
  kir::Buf buf_[3] = {};
  SmallVector<kir::Axis, 4> at_[3];
  DType type_[3] = {};
};

struct DotDims {
  std::vector<ProductDim> batch, rows, columns, summed;  ///< Without those of extent 1.
  int64_t Count(const std::vector<ProductDim>& dims) const {
    int64_t n = 1;
    for (const ProductDim& d : dims) n *= d.extent;
    return n;
  }
};

DotDims DimsOf(const Program& p, const GraphNode& node) {
  const auto& numbers = node.attrs<DotAttrs>();
  DotDims dims;
  int64_t next = 0;
  const auto add = [](std::vector<ProductDim>& list, const ProductDim& dim) {
    if (dim.extent != 1) list.push_back(dim);
  };
  const Shape& lhs = p.shape(node.in[0]);
  const Shape& rhs = p.shape(node.in[1]);
  for (size_t i = 0; i < numbers.lhs_batching_dimensions.size(); ++i) {
    const int64_t d = numbers.lhs_batching_dimensions[i];
    add(dims.batch, {Extent(lhs, d), {d, numbers.rhs_batching_dimensions[i], next++}});
  }
  for (size_t side = 0; side < 2; ++side) {
    const Shape& shape = side == 0 ? lhs : rhs;
    for (int64_t d = 0; d < static_cast<int64_t>(shape.rank()); ++d) {
      if (Has(BatchingDims(numbers, side), d) || Has(ContractingDims(numbers, side), d)) continue;
      ProductDim dim{Extent(shape, d), {-1, -1, next++}};
      dim.place[side] = d;
      add(side == 0 ? dims.rows : dims.columns, dim);
    }
  }
  for (size_t i = 0; i < numbers.lhs_contracting_dimensions.size(); ++i) {
    const int64_t d = numbers.lhs_contracting_dimensions[i];
    add(dims.summed, {Extent(lhs, d), {d, numbers.rhs_contracting_dimensions[i], -1}});
  }
  return dims;
}

/// The innermost dim of the list, taken out of it.
ProductDim TakeLast(std::vector<ProductDim>& dims) {
  if (dims.empty()) return {};
  const ProductDim last = dims.back();
  dims.pop_back();
  return last;
}

}  // namespace

bool HasProductKernel(const Program& program, const GraphNode& node) {
  if (program.target->kind == target::Kind::kCpu || node.op != OpCode::kDot || !HasTypes(program, node)) return false;
  if (NumElements(node.shape().dims) == 0) return false;
  const DotDims dims = DimsOf(program, node);
  // Few results of many terms: each is worth the lanes of a sum.
  const int64_t results = NumElements(node.shape().dims), terms = dims.Count(dims.summed);
  return results >= program.target->cores * policy::kPointsPerCore / 4 || terms < policy::kManyTerms;
}

/// The tile of a matrix unit of the target for sums of `terms` products of what these arrays hold; nothing where there
/// is no such unit, or too little for it.
std::optional<Tile> Fuser::UnitTile(const View& x, const View& y, DType sum, int64_t rows, int64_t columns,
                                    int64_t terms) const {
  const target::MatrixUnit* const unit = target::FindMatrixUnit(p_.target->device, x.dtype, sum);
  if (x.dtype != y.dtype || unit == nullptr) return std::nullopt;
  return MatrixTile(*unit, rows, columns, terms, *p_.target);
}

/// What is done with the product inside its kernel, whose points compute so many results of sums; nothing where that is
/// too much for one kernel. A single product has no sum: what is done with it would be rounded together with it.
std::optional<TileFinish> Fuser::FinishOf(NodeId id, const MadeKernel* finish, int64_t own, int64_t terms) const {
  if (finish == nullptr || terms < 2) return std::nullopt;
  std::optional<TileFinish> made = TileFinish::Of(*finish, {id, 0}, p_.shape({id, 0}));
  if (made && made->ops() * own > policy::kMostFinishOps) made.reset();
  return made;
}

Status Fuser::AddProductKernel(NodeId id, kir::Kernel kernel, std::vector<View> views, const TileFinish* finish,
                               bool cleared, plan::Seq& out) {
  const GraphNode& node = p_[id];
  MadeKernel made;
  made.kernel = std::move(kernel);
  made.buffers = {{BoundBuffer::Kind::kRead, node.in[0]}, {BoundBuffer::Kind::kRead, node.in[1]}};
  const std::vector<BoundBuffer> stored =
      finish != nullptr ? finish->buffers() : std::vector<BoundBuffer>{{BoundBuffer::Kind::kWrite, {id, 0}}};
  for (const BoundBuffer& b : stored) {
    made.buffers.push_back(b);
    if (b.kind == BoundBuffer::Kind::kRead) {
      TENON_ASSIGN_OR_RETURN(View view, KernelViewOf(b.value, out));
      views.push_back(std::move(view));
      continue;
    }
    View view = NewTemp(p_.shape(b.value));
    if (!b.strides.empty()) view.strides = b.strides;
    if (cleared) Clear(view, out);
    Bind(b.value, view);
    views.push_back(std::move(view));
  }
  AddOwnKernel(std::move(made), views, out);
  return OkStatus();
}

Result<bool> Fuser::EmitProduct(NodeId id, const MadeKernel* finish, bool* finished, plan::Seq& out) {
  const GraphNode& node = p_[id];
  if (p_.target->kind == target::Kind::kCpu || !HasTypes(p_, node) || NumElements(node.shape().dims) == 0) return false;
  TENON_ASSIGN_OR_RETURN(const View x, KernelViewOf(node.in[0], out));
  TENON_ASSIGN_OR_RETURN(const View y, KernelViewOf(node.in[1], out));
  const View z = DenseView(0, node.shape());
  DotDims dims = DimsOf(p_, node);
  const DType sum = SumTypeOf(node.shape().dtype);

  const ProductDim row = TakeLast(dims.rows), column = TakeLast(dims.columns);
  const int64_t batch = dims.Count(dims.batch) * dims.Count(dims.rows) * dims.Count(dims.columns);
  const int64_t terms = dims.Count(dims.summed);
  const std::optional<Tile> by_unit = UnitTile(x, y, sum, row.extent, column.extent, terms);
  const Tile tile = by_unit.value_or(ChooseTile(batch, row.extent, column.extent, *p_.target));
  std::optional<TileFinish> own_finish = FinishOf(id, finish, tile.rows.Own() * tile.columns.Own(), terms);
  ProductKernel k(p_, x, y, z, own_finish ? &*own_finish : nullptr);
  TiledDim rows(k.b, row.extent, tile.rows), columns(k.b, column.extent, tile.columns);
  // Points beside one another go through the rows, for which the same columns are read again while a cache has them.
  for (const auto* list : {&dims.batch, &dims.columns}) {
    for (const ProductDim& dim : *list) k.AddDim(dim, kir::DimKind::kParallel);
  }
  columns.AddSpans(k.stage());
  for (const ProductDim& dim : dims.rows) k.AddDim(dim, kir::DimKind::kParallel);
  rows.AddSpans(k.stage());
  if (by_unit) k.BeginTile();
  rows.AddLanes(k.stage());
  columns.AddLanes(k.stage());
  for (const ProductDim& dim : dims.summed) k.AddDim(dim, kir::DimKind::kReduce);

  std::vector<SumOfProducts::Factor> ys;
  for (int64_t j = 0; j < columns.own(); ++j) {
    if (column.place[1] >= 0) k.At(1, column.place[1]) = columns.At(j);
    ys.push_back(k.Read(1, sum));
  }
  SumOfProducts sums(k.b, sum, k.fused(), by_unit.has_value());
  for (int64_t i = 0; i < rows.own(); ++i) {
    if (row.place[0] >= 0) k.At(0, row.place[0]) = rows.At(i);
    const SumOfProducts::Factor a = k.Read(0, sum);
    for (int64_t j = 0; j < columns.own(); ++j) {
      const SumOfProducts::Factor value = sums.Add(k.stage(), k.reduced(), a, ys[static_cast<size_t>(j)]);
      kir::Store guarded;
      rows.AddGuard(i, guarded);
      columns.AddGuard(j, guarded);
      if (row.place[2] >= 0) k.At(2, row.place[2]) = rows.Place(i);
      if (column.place[2] >= 0) k.At(2, column.place[2]) = columns.Place(j);
      k.Store(value, std::move(guarded.guard));
    }
  }
  TENON_RETURN_IF_ERROR(AddProductKernel(id, k.Finish(), {x, y}, own_finish ? &*own_finish : nullptr,
                                         rows.ragged() || columns.ragged(), out));
  if (finished != nullptr) *finished = own_finish.has_value();
  return true;
}

Result<bool> Fuser::EmitConvolution(NodeId id, const MadeKernel* finish, bool* finished, plan::Seq& out) {
  const GraphNode& node = p_[id];
  const auto& a = node.attrs<ConvolutionAttrs>();
  if (!HasTypes(p_, node) || NumElements(node.shape().dims) == 0 ||
      (a.batch_group_count != 1 && a.feature_group_count != 1))
    return false;
  const Shape& in = p_.shape(node.in[0]);
  const Shape& weights = p_.shape(node.in[1]);
  const Shape& result = node.shape();
  TENON_ASSIGN_OR_RETURN(const View x, KernelViewOf(node.in[0], out));
  TENON_ASSIGN_OR_RETURN(const View y, KernelViewOf(node.in[1], out));
  const View z = DenseView(0, result);
  const DType sum = SumTypeOf(result.dtype);
  const size_t spatial = a.input_spatial_dimensions.size();
  // Groups of features, or of batches, whose results are features one behind the other.
  const int64_t groups = a.feature_group_count * a.batch_group_count;
  const bool of_batches = a.batch_group_count != 1;
  const int64_t group_in = Extent(weights, a.kernel_input_feature_dimension);
  const int64_t group_out = Extent(weights, a.kernel_output_feature_dimension) / groups;
  // The two tiled dims: features of a group, and the last spatial one that is any; the one that lies side by side in
  // memory has the lanes.
  size_t wide = spatial;
  for (size_t s = 0; s < spatial; ++s) {
    if (Extent(result, a.output_spatial_dimensions[s]) > 1) wide = s;
  }
  const int64_t width = wide < spatial ? Extent(result, a.output_spatial_dimensions[wide]) : 1;
  const bool features_last = wide == spatial || a.output_feature_dimension > a.output_spatial_dimensions[wide];
  const int64_t batch = NumElements(result.dims) / (group_out * width);
  const int64_t terms = NumElements(weights.dims) / Extent(weights, a.kernel_output_feature_dimension);
  const int64_t tile_rows = features_last ? width : group_out, tile_columns = features_last ? group_out : width;
  const std::optional<Tile> by_unit = UnitTile(x, y, sum, tile_rows, tile_columns, terms);
  const Tile tile = by_unit.value_or(ChooseTile(batch, tile_rows, tile_columns, *p_.target));
  std::optional<TileFinish> own_finish = FinishOf(id, finish, tile.rows.Own() * tile.columns.Own(), terms);
  ProductKernel k(p_, x, y, z, own_finish ? &*own_finish : nullptr);
  TiledDim features(k.b, group_out, features_last ? tile.columns : tile.rows);
  TiledDim places(k.b, width, features_last ? tile.rows : tile.columns);

  const auto loop = [&](int64_t extent, kir::DimKind kind) -> std::optional<kir::DimId> {
    if (extent == 1) return std::nullopt;
    return k.AddDim({extent, {}}, kind);
  };
  const auto at = [](std::optional<kir::DimId> dim, int64_t coef, int64_t offset = 0) {
    return dim ? kir::At(*dim, kir::Size::Of(coef), kir::Size::Of(offset)) : kir::AtOffset(kir::Size::Of(offset));
  };
  const auto n = loop(Extent(result, a.output_batch_dimension), kir::DimKind::kParallel);
  const auto group = loop(groups, kir::DimKind::kParallel);
  std::vector<std::optional<kir::DimId>> outs(spatial), taps(spatial);
  if (!features_last) features.AddSpans(k.stage());
  for (size_t s = 0; s < spatial; ++s) {
    if (s != wide) outs[s] = loop(Extent(result, a.output_spatial_dimensions[s]), kir::DimKind::kParallel);
  }
  places.AddSpans(k.stage());
  if (features_last) features.AddSpans(k.stage());
  if (by_unit) k.BeginTile();
  (features_last ? places : features).AddLanes(k.stage());
  (features_last ? features : places).AddLanes(k.stage());
  for (size_t s = 0; s < spatial; ++s)
    taps[s] = loop(Extent(weights, a.kernel_spatial_dimensions[s]), kir::DimKind::kReduce);
  const auto channel = loop(group_in, kir::DimKind::kReduce);

  const auto with = [](kir::Axis axis, const kir::Axis& more) {
    for (const kir::Term& t : more.terms) axis.terms.push_back(t);
    axis.offset.baked += more.offset.baked;
    return axis;
  };
  // Weights do not depend on the place, inputs not on the feature.
  k.At(0, a.input_batch_dimension) = at(n, 1);
  k.At(0, a.input_feature_dimension) = at(channel, 1);
  kir::Axis& grouped = k.At(0, of_batches ? a.input_batch_dimension : a.input_feature_dimension);
  grouped = with(grouped, at(group, of_batches ? Extent(result, a.output_batch_dimension) : group_in));
  k.At(1, a.kernel_input_feature_dimension) = at(channel, 1);
  k.At(2, a.output_batch_dimension) = at(n, 1);
  for (size_t s = 0; s < spatial; ++s) {
    const int64_t taps_here = Extent(weights, a.kernel_spatial_dimensions[s]);
    const bool reversed = a.window_reversal[s] != 0;
    k.At(1, a.kernel_spatial_dimensions[s]) = at(taps[s], reversed ? -1 : 1, reversed ? taps_here - 1 : 0);
  }
  std::vector<SumOfProducts::Factor> xs;
  for (int64_t i = 0; i < places.own(); ++i) {
    SmallVector<kir::Guard, 1> guards;
    for (size_t s = 0; s < spatial; ++s) {
      const int64_t extent = Extent(in, a.input_spatial_dimensions[s]);
      const int64_t stride = a.window_strides[s], low = a.padding_low[s], holes = a.lhs_dilation[s];
      const int64_t taps_here = Extent(weights, a.kernel_spatial_dimensions[s]);
      const int64_t out_extent = Extent(result, a.output_spatial_dimensions[s]);
      kir::Axis axis =
          with(s == wide ? places.At(i, stride, -low) : at(outs[s], stride, -low), at(taps[s], a.rhs_dilation[s]));
      const int64_t first = -low, last = (out_extent - 1) * stride - low + (taps_here - 1) * a.rhs_dilation[s];
      if (first < 0 || last > (extent - 1) * holes || holes > 1) {
        kir::Guard guard;
        guard.e = axis;
        guard.hi = kir::Size::Of((extent - 1) * holes + 1);
        guard.mod = holes;
        guards.push_back(std::move(guard));
      }
      if (holes > 1) {
        Val place = axis.start == kir::kNone ? k.b.ConstS64(0) : axis.start;
        for (const kir::Term& t : axis.terms)
          place = k.b.Add(place, k.b.Mul(k.b.Index(t.dim), k.b.ConstS64(t.coef.baked)));
        place = k.b.Add(place, k.b.ConstS64(axis.offset.baked));
        // Inside where the guard holds; the clamp says so to whoever checks the kernel.
        place = k.b.Div(place, k.b.ConstS64(holes));
        axis = kir::AtStart(k.b.Max(k.b.Min(place, k.b.ConstS64(extent - 1)), k.b.ConstS64(0)));
      }
      k.At(0, a.input_spatial_dimensions[s]) = axis;
    }
    xs.push_back(k.Read(0, sum, guards));
  }
  SumOfProducts sums(k.b, sum, k.fused(), by_unit.has_value());
  for (size_t s = 0; s < spatial; ++s) k.At(2, a.output_spatial_dimensions[s]) = at(outs[s], 1);
  for (int64_t j = 0; j < features.own(); ++j) {
    k.At(1, a.kernel_output_feature_dimension) = with(features.At(j), at(group, group_out));
    const SumOfProducts::Factor weight = k.Read(1, sum);
    k.At(2, a.output_feature_dimension) = with(features.Place(j), at(group, group_out));
    for (int64_t i = 0; i < places.own(); ++i) {
      kir::Store guarded;
      features.AddGuard(j, guarded);
      places.AddGuard(i, guarded);
      if (wide < spatial) k.At(2, a.output_spatial_dimensions[wide]) = places.Place(i);
      k.Store(sums.Add(k.stage(), k.reduced(), xs[static_cast<size_t>(i)], weight), std::move(guarded.guard));
    }
  }
  TENON_RETURN_IF_ERROR(AddProductKernel(id, k.Finish(), {x, y}, own_finish ? &*own_finish : nullptr,
                                         features.ragged() || places.ragged(), out));
  if (finished != nullptr) *finished = own_finish.has_value();
  return true;
}

}  // namespace tenon::compiler
