// Long sorts as kernels: runs of a few elements are put in order by ranks, then pairs of runs become one, pass by pass.
// Every place of a merged run finds out alone which element it gets, by a search for how many of those before it come
// from the first run of its pair.

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/legality.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/sort_keys.h"
#include "tenon/compiler/fuse/tracer.h"

namespace tenon::compiler {

using kir::Val;

namespace {

/// Runs of lines that are sorted, each of the keys [lines..., runs, kept], row-major.
struct Runs {
  int64_t length = 0;        ///< Elements of the line that a run stands for; the last one has what is left.
  int64_t kept = 0;          ///< Of which the first few are there.
  int64_t count = 0;         ///< Per line.
  std::vector<View> arrays;  ///< The keys, and where their elements were in the line if somebody asks.
};

/// What the kernels of one sort are made of.
class MergeMaker {
 public:
  MergeMaker(const Program& p, const GraphNode& node, std::vector<View> operands, bool with_places)
      : p_(p),
        node_(node),
        attrs_(node.attrs<SortAttrs>()),
        along_(static_cast<size_t>(attrs_.dimension)),
        n_(p.shape(node.in[0]).dims[along_]),
        operands_(std::move(operands)),
        with_places_(with_places) {}

  size_t num_keys() const { return attrs_.descending.size(); }
  /// The types of the arrays of a Runs.
  std::vector<DType> Types() const {
    std::vector<DType> types;
    for (size_t i = 0; i < num_keys(); ++i) types.push_back(operands_[i].dtype);
    if (with_places_) types.push_back(DType::kS32);
    return types;
  }
  /// Dims of the arrays of a Runs.
  Dims DimsOf(const Runs& runs) const {
    Dims dims = Lines();
    dims.push_back(runs.count);
    dims.push_back(runs.kept);
    return dims;
  }

  /// The key that a payload is as well.
  std::optional<size_t> KeyThatIs(size_t operand) const {
    for (size_t i = 0; i < num_keys(); ++i) {
      if (node_.in[i] == node_.in[operand]) return i;
    }
    return std::nullopt;
  }

  /// One kernel: runs `to`, or the sort's `results` where there is no `to`, from the operands where there is no `from`.
  struct Made {
    MadeKernel kernel;
    std::vector<View> views;
  };
  Made Make(const Runs* from, const Runs* to, const std::vector<View>& results) {
    kir::KernelBuilder b;
    Made made;
    const auto buffer = [&](const View& view, BoundBuffer::Kind kind) {
      made.views.push_back(view);
      made.kernel.buffers.emplace_back().kind = kind;
      return BufferFor(b, kind == BoundBuffer::Kind::kRead ? kir::BufKind::kArg : kir::BufKind::kOut, view);
    };
    SmallVector<kir::DimId, 4> dims;
    const auto loop = [&](int64_t extent) {
      dims.push_back(b.AddDim(kir::Size::Of(extent)));
      return dims.back();
    };
    SmallVector<kir::Axis, 4> line;
    for (const int64_t extent : Lines()) line.push_back(extent == 1 ? AtZero() : kir::At(loop(extent)));

    kir::Stage stage;
    std::vector<kir::Buf> sources;
    kir::Store store;
    Element element;
    if (from == nullptr) {
      for (size_t i = 0; i < num_keys(); ++i) sources.push_back(buffer(operands_[i], BoundBuffer::Kind::kRead));
      const kir::DimId run = loop(to->count), own = loop(policy::kRankedRun);
      const kir::DimId each = b.AddDim(kir::Size::Of(policy::kRankedRun), kir::DimKind::kReduce);
      const auto axis = [&](kir::DimId d) {
        kir::Axis a = kir::At(run, kir::Size::Of(policy::kRankedRun));
        a.terms.push_back({d, kir::Size::Of(1)});
        return a;
      };
      const auto number = [&](kir::DimId d) {
        return b.Add(b.Mul(b.Index(run), b.ConstS64(policy::kRankedRun)), b.Index(d));
      };
      element = ReadAt(b, sources, InLine(line, axis(own)), Below(axis(own), n_));
      element.place = number(own);
      const Element other = ReadAt(b, sources, InLine(line, axis(each)), Below(axis(each), n_));
      Val before = ComesBefore(b, attrs_, other.keys, element.keys, b.Compare(kir::kLt, b.Index(each), b.Index(own)));
      before = b.And(before, b.Compare(kir::kLt, number(each), b.ConstS64(n_)));
      for (const kir::DimId d : dims) stage.dims.push_back(d);
      stage.dims.push_back(each);
      const Val rank =
          b.AddReduce(stage, kir::DimMask{1} << each, kir::Op::kAdd, b.Convert(DType::kS32, before), b.ConstS32(0));
      const Val place = b.Convert(DType::kS64, rank);
      store.guard.push_back(Below(axis(own), n_));
      if (to->kept < policy::kRankedRun) store.guard.push_back(Below(kir::AtStart(place), to->kept));
      store.at = line;
      store.at.push_back(kir::At(run));
      store.at.push_back(kir::AtStart(Clamped(b, place, to->kept - 1)));
    } else {
      for (const View& view : from->arrays) sources.push_back(buffer(view, BoundBuffer::Kind::kRead));
      const kir::DimId pair = loop((from->count + 1) / 2);
      const kir::DimId own = loop(to != nullptr ? to->kept : results[0].dims[along_]);
      b.kernel().outer = static_cast<uint8_t>(b.kernel().dims.size());
      // The two runs and how many elements they have.
      const auto run = [&](int side) { return b.Add(b.Mul(b.Index(pair), b.ConstS64(2)), b.ConstS64(side)); };
      const auto count = [&](int side) {
        return Clamped(b, b.Sub(b.ConstS64(n_), b.Mul(run(side), b.ConstS64(from->length))), from->kept);
      };
      const auto read = [&](int side, Val place) {
        SmallVector<kir::Axis, 4> at = line;
        at.push_back(kir::AtStart(Clamped(b, run(side), from->count - 1)));
        at.push_back(kir::AtStart(Clamped(b, place, from->kept - 1)));
        return ReadAt(b, sources, at, std::nullopt);
      };
      const Val place = b.Index(own);
      // Of equals, those of the first run come first.
      const auto second_is_first = [&](const Element& first, const Element& second) {
        return ComesBefore(b, attrs_, second.keys, first.keys, b.ConstPred(false));
      };
      kir::Loop search;
      search.id = b.NewId();
      search.types = {DType::kS64, DType::kS64};
      search.init = {b.Max(b.Sub(place, count(1)), b.ConstS64(0)), b.Min(place, count(0))};
      const Val low = b.Carried(search.id, 0, DType::kS64), high = b.Carried(search.id, 1, DType::kS64);
      const Val middle = b.ShrArith(b.Add(low, high), b.ConstS64(1));
      const Val rest = b.Sub(b.Sub(place, middle), b.ConstS64(1));
      const Val fewer = second_is_first(read(0, middle), read(1, rest));
      const Val goes_on = b.Compare(kir::kLt, low, high);
      search.next = {b.Select(b.And(goes_on, b.Not(fewer)), b.Add(middle, b.ConstS64(1)), low),
                     b.Select(b.And(goes_on, fewer), middle, high)};
      search.trip_count = kir::Size::Of(std::bit_width(static_cast<uint64_t>(from->kept)));
      b.AddLoop(std::move(search));
      const Val from_second = b.Sub(place, low);
      const Element first = read(0, low), second = read(1, from_second);
      const Val is_second = b.Or(b.Compare(kir::kGe, low, count(0)),
                                 b.And(b.Compare(kir::kLt, from_second, count(1)), second_is_first(first, second)));
      element = Chosen(b, is_second, second, first);
      store.at = line;
      if (to != nullptr) store.at.push_back(kir::At(pair));
      store.at.push_back(kir::At(own));
      if (to == nullptr) store.at = InLine(line, kir::At(own));
    }
    if (to != nullptr) {
      for (size_t i = 0; i < to->arrays.size(); ++i) {
        store.buf = buffer(to->arrays[i], BoundBuffer::Kind::kWrite);
        store.value = i < num_keys() ? element.read[i] : b.Convert(DType::kS32, element.place);
        stage.stores.push_back(store);
      }
    } else {
      AddResults(b, store, element, line, results, buffer, stage);
    }
    b.AddStage(std::move(stage));
    made.kernel.kernel = b.Finish();
    return made;
  }

 private:
  struct Element {
    std::vector<Val> read;   ///< By key.
    std::vector<Val> keys;   ///< As integers.
    Val place = kir::kNone;  ///< In its line.
  };

  static kir::Axis AtZero() { return kir::AtOffset(kir::Size::Of(0)); }
  static Val Clamped(kir::KernelBuilder& b, Val v, int64_t most) {
    return b.Max(b.Min(v, b.ConstS64(most)), b.ConstS64(0));
  }
  static kir::Guard Below(kir::Axis e, int64_t end) {
    kir::Guard guard;
    guard.e = std::move(e);
    guard.hi = kir::Size::Of(end);
    return guard;
  }
  /// Extents of the dims that are not sorted along.
  Dims Lines() const {
    Dims dims = p_.shape(node_.in[0]).dims;
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(along_));
    return dims;
  }
  SmallVector<kir::Axis, 4> InLine(const SmallVector<kir::Axis, 4>& line, const kir::Axis& place) const {
    SmallVector<kir::Axis, 4> at;
    for (size_t d = 0; d <= line.size(); ++d) at.push_back(d == along_ ? place : line[d < along_ ? d : d - 1]);
    return at;
  }
  /// From the keys, or from all arrays of a Runs.
  Element ReadAt(kir::KernelBuilder& b, const std::vector<kir::Buf>& from, const SmallVector<kir::Axis, 4>& at,
                 const std::optional<kir::Guard>& guard) const {
    const auto read = [&](kir::Buf buf) {
      kir::Read r;
      r.buf = buf;
      r.at = at;
      if (guard) {
        r.guard.push_back(*guard);
        r.otherwise = b.ConstBits(b.kernel().buffers[buf].type, 0);
      }
      return b.Read(r);
    };
    Element e;
    for (size_t i = 0; i < num_keys(); ++i) e.read.push_back(read(from[i]));
    e.keys = SortKeys(b, p_, node_, e.read);
    if (from.size() > num_keys()) e.place = b.Convert(DType::kS64, read(from[num_keys()]));
    return e;
  }
  Element Chosen(kir::KernelBuilder& b, Val is_first, const Element& first, const Element& second) const {
    Element e;
    for (size_t i = 0; i < num_keys(); ++i) e.read.push_back(b.Select(is_first, first.read[i], second.read[i]));
    if (with_places_) e.place = b.Select(is_first, first.place, second.place);
    return e;
  }
  template <class AddBuffer>
  void AddResults(kir::KernelBuilder& b, kir::Store& store, const Element& self, const SmallVector<kir::Axis, 4>& line,
                  const std::vector<View>& results, const AddBuffer& buffer, kir::Stage& stage) const {
    size_t payload = num_keys();
    for (size_t i = 0; i < results.size(); ++i) {
      store.buf = buffer(results[i], BoundBuffer::Kind::kWrite);
      store.component = 0;
      if (attrs_.is_position[i] != 0) {
        store.value = b.Convert(results[i].dtype, self.place);
        stage.stores.push_back(store);
        continue;
      }
      const size_t operand = payload++;
      if (const std::optional<size_t> key = KeyThatIs(operand)) {
        store.value = self.read[*key];
        stage.stores.push_back(store);
        continue;
      }
      const kir::Buf from = buffer(operands_[operand], BoundBuffer::Kind::kRead);
      const SmallVector<kir::Axis, 4> at = InLine(line, kir::AtStart(Clamped(b, self.place, n_ - 1)));
      for (const uint8_t component : {0, 1}) {
        if (component == 1 && !IsComplex(results[i].dtype)) break;
        store.component = component;
        store.value = b.Read(from, at, component);
        stage.stores.push_back(store);
      }
    }
  }

  const Program& p_;
  const GraphNode& node_;
  const SortAttrs& attrs_;
  const size_t along_;
  const int64_t n_;
  const std::vector<View> operands_;
  const bool with_places_;
};

}  // namespace

Result<bool> Fuser::EmitMerges(NodeId id, plan::Seq& out) {
  const GraphNode& node = p_[id];
  const auto& attrs = node.attrs<SortAttrs>();
  const auto along = static_cast<size_t>(attrs.dimension);
  const Shape& shape = p_.shape(node.in[0]);
  const int64_t n = shape.dims[along];
  if (n <= policy::kRankedRun || NumElements(node.shape().dims) == 0) return false;
  // A place is one of 32 bits, and a run one more dim, as the side of its pair is.
  if (n > INT32_MAX || static_cast<int64_t>(shape.rank()) + 2 > p_.target->limits.dims) return false;
  if (!FitsKernels(p_, node) || !HasSortKeys(p_, node)) return false;
  if (std::ranges::any_of(node.out, [&](const Shape& s) { return s.dims != node.shape().dims; })) return false;
  // Keys and places on either side, and what is moved.
  const size_t most_buffers = 2 * attrs.descending.size() + node.in.size() + node.out.size() + 2;
  if (static_cast<int64_t>(most_buffers) > p_.target->limits.buffers) return false;
  const SortTimes times = TimesOfSort(p_, node);
  if (times.merges > times.host) return false;

  std::vector<View> operands;
  for (Ref r : node.in) {
    TENON_ASSIGN_OR_RETURN(View view, KernelViewOf(r, out));
    if (IsFloat(view.dtype)) view.dtype = MovedAs(p_, view.dtype);
    operands.push_back(std::move(view));
  }
  MergeMaker keys_only(p_, node, operands, false);
  bool with_places = std::ranges::any_of(attrs.is_position, [](uint8_t is) { return is != 0; });
  for (size_t i = keys_only.num_keys(); i < node.in.size(); ++i) with_places |= !keys_only.KeyThatIs(i).has_value();
  MergeMaker maker(p_, node, std::move(operands), with_places);

  std::vector<View> results;
  for (uint32_t i = 0; i < node.out.size(); ++i) {
    View view = NewTemp(node.shape(i));
    Bind({id, i}, view);
    if (IsFloat(view.dtype)) view.dtype = MovedAs(p_, view.dtype);
    results.push_back(std::move(view));
  }
  const int64_t wanted = node.shape().dims[along];
  std::optional<Runs> from;
  for (int64_t length = policy::kRankedRun;; length *= 2) {
    Runs to;
    to.length = length;
    to.kept = std::min(length, wanted);
    to.count = (n + length - 1) / length;
    const bool last = to.count == 1;
    for (const DType type : last ? std::vector<DType>{} : maker.Types()) {
      to.arrays.push_back(NewTemp({type, maker.DimsOf(to)}));
      // Ranks reach every place, which no one who looks at the kernel alone can tell.
      if (!from) Clear(to.arrays.back(), out);
    }
    auto made = maker.Make(from ? &*from : nullptr, last ? nullptr : &to, results);
    AddOwnKernel(std::move(made.kernel), made.views, out);
    if (last) return true;
    from = std::move(to);
  }
}

}  // namespace tenon::compiler
