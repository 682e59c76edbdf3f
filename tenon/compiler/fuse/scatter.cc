// Scatters as one kernel: updates in their order, each combined in place where its window is inside.

#include <algorithm>
#include <optional>
#include <vector>

#include "tenon/compiler/fuse/combiner.h"
#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/legality.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/tracer.h"
#include "tenon/compiler/ir/combiner.h"
#include "tenon/target/work.h"

namespace tenon::compiler {
namespace {

bool Has(const Dims& list, int64_t d) { return std::find(list.begin(), list.end(), d) != list.end(); }
int64_t PlaceIn(const Dims& list, int64_t d) {
  const auto it = std::find(list.begin(), list.end(), d);
  return it == list.end() ? -1 : it - list.begin();
}

/// Which dims of the updates lead to places of their own, whatever the indices are, each along one of the operand's
/// first `dims` dims: updates run side by side along them, and one after another along all others.
std::vector<bool> OwnPlaces(const ScatterAttrs& a, int64_t dims, const Shape& operand, const Shape& updates) {
  std::vector<bool> own(updates.rank(), false);
  size_t next_window = 0;
  for (size_t d = 0; d < operand.rank(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (Has(a.inserted_window_dims, dim) || Has(a.input_batching_dims, dim)) continue;
    const auto window = static_cast<size_t>(a.update_window_dims[next_window++]);
    own[window] = dim < dims && !Has(a.scatter_dims_to_operand_dims, dim);
  }
  int64_t place = 0;  // Among the dims of the indices.
  for (size_t d = 0; d < updates.rank(); ++d) {
    if (Has(a.update_window_dims, static_cast<int64_t>(d))) continue;
    place += place == a.index_vector_dim ? 1 : 0;
    const int64_t batch = PlaceIn(a.scatter_indices_batching_dims, place++);
    own[d] = batch >= 0 && a.input_batching_dims[static_cast<size_t>(batch)] < dims;
  }
  return own;
}

/// Owners share out one dim of the operand: each goes through all updates in their order and takes those of its part.
/// The result is that of one chain of updates.
struct Owners {
  int64_t dim = -1;  ///< Of the operand; -1: nothing is shared out.
  int64_t count = 1, part = 0;
};
Owners OwnersOf(const std::vector<int64_t>& dims, const Shape& operand, int64_t wanted) {
  Owners owners;
  int64_t extent = 1;
  for (const int64_t d : dims) {
    if (operand.dims[static_cast<size_t>(d)] <= extent) continue;
    extent = operand.dims[static_cast<size_t>(d)];
    owners.dim = d;
  }
  wanted = std::clamp<int64_t>(wanted, 1, extent);
  owners.part = (extent + wanted - 1) / wanted;
  owners.count = owners.dim < 0 ? 1 : (extent + owners.part - 1) / owners.part;
  return owners;
}

/// The dims that an index places and of which a window has one place, so that all of an update is one owner's; long
/// enough for so many owners to write to memory of their own.
std::vector<int64_t> DimsOfOnePlace(const ScatterAttrs& a, const Shape& operand, const Shape& updates, int64_t owners) {
  std::vector<int64_t> dims;
  int64_t bytes = ByteWidth(operand.dtype) * NumElements(operand.dims);  // Of the dim and those behind it.
  size_t next_window = 0;
  for (size_t d = 0; d < operand.rank(); bytes /= std::max<int64_t>(operand.dims[d++], 1)) {
    const auto dim = static_cast<int64_t>(d);
    if (Has(a.input_batching_dims, dim)) continue;
    const bool is_inserted = Has(a.inserted_window_dims, dim);
    const int64_t span = is_inserted ? 1 : updates.dims[static_cast<size_t>(a.update_window_dims[next_window++])];
    if (span == 1 && Has(a.scatter_dims_to_operand_dims, dim) && bytes >= owners * policy::kOwnedPartBytes)
      dims.push_back(dim);
  }
  return dims;
}

/// Elements of a window that lie in one piece, which lanes take together; 1 where an index moves the last dim.
int64_t WindowRow(const ScatterAttrs& a, const Shape& operand, const Shape& updates) {
  int64_t row = 1;
  size_t next_window = a.update_window_dims.size();
  for (size_t d = operand.rank(); d-- > 0;) {
    const auto dim = static_cast<int64_t>(d);
    if (Has(a.inserted_window_dims, dim) || Has(a.input_batching_dims, dim) || Has(a.scatter_dims_to_operand_dims, dim))
      break;
    const int64_t extent = updates.dims[static_cast<size_t>(a.update_window_dims[--next_window])];
    row *= extent;
    if (extent != operand.dims[d]) break;
  }
  return row;
}

/// What updates cost: elements one after another, or vectors of a window's.
target::Work WorkOf(const ScatterAttrs& a, const Shape& operand, const Shape& updates, int64_t arrays,
                    const target::Target& target) {
  const auto elements = static_cast<double>(NumElements(updates.dims) * arrays);
  target::Work work{.serial = elements * policy::kSerialStepCycles};
  const int64_t row = WindowRow(a, operand, updates);
  const int64_t bytes = ByteWidth(operand.dtype);
  const int64_t lanes = std::max<int64_t>(target.vector_bytes / bytes, 1);
  if (row < lanes) return work;
  work.serial *= static_cast<double>((row + lanes - 1) / lanes) / static_cast<double>(row);
  work.bytes_read = elements * static_cast<double>(bytes);
  work.bytes_cached = 2 * work.bytes_read;
  return work;
}

/// Whether the graph takes what the scatter's arrays and updates hold, and makes what the arrays hold: two parts of
/// each complex element.
bool Combines(const kir::Graph& combiner, const GraphNode& scatter) {
  std::vector<DType> parts;
  for (const Shape& result : scatter.out) {
    for (int part = 0; part < (IsComplex(result.dtype) ? 2 : 1); ++part) parts.push_back(PartType(result.dtype));
  }
  const size_t n = parts.size();
  if (combiner.arguments.size() != 2 * n || combiner.results.size() != n) return false;
  for (size_t i = 0; i < n; ++i) {
    if (combiner.arguments[i] != parts[i] || combiner.arguments[n + i] != parts[i] ||
        combiner.nodes[combiner.results[i]].type != parts[i])
      return false;
  }
  return true;
}

/// Complex numbers as their parts, along one more dim.
Shape PartsOf(Shape shape) {
  shape.dtype = PartType(shape.dtype);
  shape.dims.push_back(2);
  return shape;
}
View PartsOf(View view) {
  view.dtype = PartType(view.dtype);
  view.offset_elems *= 2;
  for (int64_t& stride : view.strides) stride *= 2;
  view.dims.push_back(2);
  view.strides.push_back(1);
  return view;
}
ScatterAttrs PartsOf(ScatterAttrs attrs, const Shape& updates) {
  attrs.update_window_dims.push_back(static_cast<int64_t>(updates.rank()));
  return attrs;
}

}  // namespace

Result<bool> Fuser::EmitScatter(NodeId id, plan::Seq& out) {
  const GraphNode& node = p_[id];
  const size_t count = node.out.size();  // Arrays that are updated, all of one shape.
  if (node.in.size() != 2 * count + 1 || node.blocks.size() != 1 || !FitsKernels(p_, node)) return false;
  // The kernel's buffers: indices, updates and results; what is updated is copied into the results before.
  if (static_cast<int64_t>(node.in.size()) > p_.target->limits.buffers) return false;
  Shape shape = node.shape();
  const Shape& indices_shape = p_.shape(node.in[count]);
  Shape updates_shape = p_.shape(node.in[count + 1]);
  if (!IsInteger(indices_shape.dtype)) return false;
  for (uint32_t i = 0; i < count; ++i) {
    const Shape& result = node.shape(i);
    const Shape& updates = p_.shape(node.in[count + 1 + i]);
    if (!KernelCanHold(result.dtype) || p_.shape(node.in[i]) != result || updates.dtype != result.dtype) return false;
    if (result.dims != shape.dims || updates.dims != updates_shape.dims) return false;
  }
  const Block& block = node.blocks[0];
  const bool overwrite = count == 1 && block.results[0] == Ref{block.args[1], 0};
  Result<kir::Graph> combiner = GraphOfBlock(p_, block);
  if (!overwrite && (!combiner.ok() || !Combines(*combiner, node))) return false;
  ScatterAttrs attrs = node.attrs<ScatterAttrs>();

  TENON_ASSIGN_OR_RETURN(const View indices, ViewOf(node.in[count], out));
  std::vector<View> updates, results;
  for (uint32_t i = 0; i < count; ++i) {
    TENON_ASSIGN_OR_RETURN(const View operand, ViewOf(node.in[i], out));
    TENON_ASSIGN_OR_RETURN(updates.emplace_back(), ViewOf(node.in[count + 1 + i], out));
    results.push_back(NewTemp(node.shape(i)));
    Copy(operand, results.back(), out);
    Bind({id, i}, results.back());
  }
  // Parts that do not meet are neighbours like others, with loops and lanes of their own.
  const auto one_more = [&](const Shape& s) { return static_cast<int64_t>(s.rank()) < p_.target->limits.dims; };
  if (count == 1 && IsComplex(shape.dtype) && one_more(shape) && one_more(updates_shape) &&
      (overwrite || CombinerOp(p_, block) == OpCode::kAdd)) {
    if (!overwrite) combiner = kir::BinaryGraph(kir::Op::kAdd, PartType(shape.dtype));
    attrs = PartsOf(std::move(attrs), updates_shape);
    shape = PartsOf(std::move(shape));
    updates_shape = PartsOf(std::move(updates_shape));
    updates[0] = PartsOf(std::move(updates[0]));
    results[0] = PartsOf(std::move(results[0]));
  }
  const auto& [window_dims, inserted, batching, indices_batching, to_operand, index_vector_dim] = attrs;

  kir::KernelBuilder b;
  const kir::Buf from = BufferFor(b, kir::BufKind::kArg, indices);
  std::vector<kir::Buf> values, to;
  for (const View& view : updates) values.push_back(BufferFor(b, kir::BufKind::kArg, view));
  for (const View& view : results) to.push_back(BufferFor(b, kir::BufKind::kOut, view));
  // Updates one after another; the elements of one never meet.
  SmallVector<kir::Axis, 4> update_at;
  update_at.resize(updates_shape.rank());
  kir::Stage stage;
  SmallVector<kir::Axis, 4>
      scatter_at;  // Places among the updates, in the order of the indices' dims without the vector.
  bool ordered = false;
  Owners owners;
  std::optional<kir::DimId> owner;
  const bool gpu = p_.target->kind == target::Kind::kGpu;
  const target::Work work = WorkOf(attrs, shape, updates_shape, static_cast<int64_t>(count), *p_.target);
  // Cores share out what lies apart in memory, where it is much, and leave neighbours to lanes.
  int64_t shared = gpu ? static_cast<int64_t>(shape.rank()) : 0;
  const double ns = target::TimeNs(*p_.target, work);
  const bool is_much = !gpu && ns >= policy::kSharedScatterNs;
  if (is_much && !to_operand.empty()) shared = *std::min_element(to_operand.begin(), to_operand.end());
  const std::vector<bool> own = OwnPlaces(attrs, shared, shape, updates_shape);
  int64_t own_points = 1;
  for (size_t d = 0; d < own.size(); ++d) own_points *= own[d] ? updates_shape.dims[d] : 1;
  own_points = std::max<int64_t>(own_points, 1);
  if (gpu)
    owners = OwnersOf({to_operand.begin(), to_operand.end()}, shape,
                      p_.target->cores * p_.target->vector_bytes / 4 / own_points);
  if (is_much) {
    int64_t one = 1;
    for (const int64_t d : attrs.update_window_dims) one *= updates_shape.dims[static_cast<size_t>(d)];
    const double each_ns = ns * static_cast<double>(one) / static_cast<double>(NumElements(updates_shape.dims));
    const int64_t wanted = p_.target->cores / own_points;
    if (each_ns >= policy::kOwnedUpdateNs)
      owners = OwnersOf(DimsOfOnePlace(attrs, shape, updates_shape, wanted), shape, wanted);
  }
  if (owners.count > 1) owner = b.AddDim(kir::Size::Of(owners.count));
  for (size_t d = 0; d < own.size(); ++d) {
    if (own[d] && updates_shape.dims[d] != 1) update_at[d] = kir::At(b.AddDim(kir::Size::Of(updates_shape.dims[d])));
  }
  b.kernel().outer = static_cast<uint8_t>(b.kernel().dims.size());
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t d = 0; d < updates_shape.rank(); ++d) {
      if (Has(window_dims, static_cast<int64_t>(d)) != (pass == 1)) continue;
      if (updates_shape.dims[d] == 1) {
        update_at[d] = kir::AtOffset(kir::Size::Of(0));
      } else if (!own[d]) {
        const bool serial = pass == 0 || gpu;
        const kir::DimId dim =
            b.AddDim(kir::Size::Of(updates_shape.dims[d]), serial ? kir::DimKind::kSerial : kir::DimKind::kParallel);
        update_at[d] = kir::At(dim);
        stage.dims.push_back(dim);
        ordered |= pass == 0;
      }
      if (pass == 0) scatter_at.push_back(update_at[d]);
    }
  }
  kir::Store store;
  store.at.resize(shape.rank());
  size_t next_window = 0;
  for (size_t d = 0; d < shape.rank(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    if (const int64_t batch = PlaceIn(batching, dim); batch >= 0) {
      // The place in that batch dim of the indices; the vector's dim does not count.
      const int64_t place = indices_batching[static_cast<size_t>(batch)];
      store.at[d] = scatter_at[static_cast<size_t>(place - (place > index_vector_dim ? 1 : 0))];
      continue;
    }
    const bool is_inserted = Has(inserted, dim);
    const int64_t span = is_inserted ? 1 : updates_shape.dims[static_cast<size_t>(window_dims[next_window])];
    store.at[d] =
        is_inserted ? kir::AtOffset(kir::Size::Of(0)) : update_at[static_cast<size_t>(window_dims[next_window++])];
    const int64_t index = PlaceIn(to_operand, dim);
    if (index < 0) {
      if (span > shape.dims[d]) return Internal("a scatter's window is larger than its operand");
      continue;
    }
    SmallVector<kir::Axis, 4> index_at;
    size_t next = 0;
    for (size_t i = 0; i < indices_shape.rank(); ++i) {
      index_at.push_back(static_cast<int64_t>(i) == index_vector_dim ? kir::AtOffset(kir::Size::Of(index))
                                                                     : scatter_at[next++]);
    }
    const kir::Val start = b.Convert(DType::kS64, b.Read(from, index_at));
    // A window as long as the dim begins where the dim does, or nowhere: its rows may be one with those around them.
    if (span != shape.dims[d]) store.at[d].start = start;
    kir::Guard guard;
    // Windows that are not inside as a whole are dropped.
    guard.e = kir::AtStart(start);
    guard.lo = kir::Size::Of(0);
    guard.hi = kir::Size::Of(std::max<int64_t>(0, shape.dims[d] - span + 1));
    store.guard.push_back(std::move(guard));
    if (!owner || dim != owners.dim) continue;
    kir::Guard mine;
    mine.e = store.at[d];
    mine.e.terms.push_back({*owner, kir::Size::Of(-owners.part)});
    mine.hi = kir::Size::Of(owners.part);
    store.guard.push_back(std::move(mine));
  }
  store.order = ordered ? kir::StoreOrder::kRowMajor : kir::StoreOrder::kDisjoint;
  const auto parts_of = [](const View& view) { return IsComplex(view.dtype) ? 2 : 1; };
  SmallVector<kir::Val, 2> parts;
  for (uint32_t i = 0; i < count; ++i) {
    for (int part = 0; part < parts_of(updates[i]); ++part) parts.push_back(b.Read(values[i], update_at, part));
  }
  if (count == 1 && parts.size() == 1) {
    if (!overwrite) store.combine = static_cast<int32_t>(b.AddGraph(*combiner));
  } else if (!overwrite) {  // What is there, all of it read before anything is stored.
    SmallVector<kir::Val, 4> arguments;
    for (uint32_t i = 0; i < count; ++i) {
      kir::Read before;
      before.buf = to[i];
      before.at = store.at;
      before.guard = store.guard;
      if (!before.guard.empty()) before.otherwise = b.Const(PartType(results[i].dtype), 0);
      for (int part = 0; part < parts_of(results[i]); ++part) arguments.push_back(b.Read(before, part));
    }
    for (const kir::Val part : parts) arguments.push_back(part);
    parts = b.Inline(*combiner, arguments);
  }
  size_t next_part = 0;
  for (uint32_t i = 0; i < count; ++i) {
    store.buf = to[i];
    for (int part = 0; part < parts_of(results[i]); ++part) {
      store.value = parts[next_part++];
      store.component = static_cast<uint8_t>(part);
      stage.stores.push_back(store);
    }
  }
  b.AddStage(std::move(stage));

  MadeKernel made;
  made.kernel = b.Finish();
  std::vector<View> views = {indices};
  made.buffers = {{BoundBuffer::Kind::kRead, node.in[count]}};
  for (uint32_t i = 0; i < count; ++i) {
    made.buffers.push_back({BoundBuffer::Kind::kRead, node.in[count + 1 + i]});
    views.push_back(updates[i]);
  }
  for (uint32_t i = 0; i < count; ++i) {
    made.buffers.push_back({BoundBuffer::Kind::kWrite, {id, i}});
    views.push_back(results[i]);
  }
  AddOwnKernel(std::move(made), views, out, work);
  return true;
}

}  // namespace tenon::compiler
