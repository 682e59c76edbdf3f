// Sorts as kernels. Short lines go by ranks: an element's place is the number of those that come before it. Of long
// ones runs are put in order so, then pairs of runs become one, pass by pass: every place of a merged run finds out
// alone which element it gets, by a search for how many of those before it come from the first run of its pair.

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
class SortMaker {
 public:
  SortMaker(const Program& p, const GraphNode& node, std::vector<View> operands)
      : p_(p),
        node_(node),
        attrs_(node.attrs<SortAttrs>()),
        along_(static_cast<size_t>(attrs_.dimension)),
        n_(p.shape(node.in[0]).dims[along_]),
        operands_(std::move(operands)) {
    with_places_ = std::ranges::any_of(attrs_.is_position, [](uint8_t is) { return is != 0; });
    for (size_t i = num_keys(); i < node.in.size(); ++i) with_places_ |= !KeyThatIs(i).has_value();
  }

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

  struct Made {
    MadeKernel kernel;
    std::vector<View> views;
  };
  /// Ranks the elements of the operands' runs of `length`: into `to`, or where that is null, of lines that are one run,
  /// into the sort's `results`.
  Made Rank(int64_t length, const Runs* to, const std::vector<View>& results) {
    Kernel k(*this);
    for (size_t i = 0; i < num_keys(); ++i) k.Source(operands_[i]);
    const bool ragged = n_ % length != 0;
    // The dims of the operands in their order, the last one the others of the run.
    std::optional<kir::DimId> run;
    kir::DimId own = 0;
    const SmallVector<kir::Axis, 4> line = k.AddLine([&] {
      if (length < n_) run = k.Loop((n_ + length - 1) / length);
      own = k.Loop(length);
    });
    const kir::DimId each = k.b.AddDim(kir::Size::Of(length), kir::DimKind::kReduce);
    const auto axis = [&](kir::DimId d) {
      kir::Axis a;
      if (run) a.terms.push_back({*run, kir::Size::Of(length)});
      a.terms.push_back({d, kir::Size::Of(1)});
      return a;
    };
    const auto number = [&](kir::DimId d) {
      return run ? k.b.Add(k.b.Mul(k.b.Index(*run), k.b.ConstS64(length)), k.b.Index(d)) : k.b.Index(d);
    };
    const auto at = [&](kir::DimId d) {
      Element e = k.Read(InLine(line, axis(d)), ragged ? std::optional(Below(axis(d), n_)) : std::nullopt);
      e.place = number(d);
      return e;
    };
    const Element element = at(own), other = at(each);
    kir::Stage& stage = k.stage;
    stage.dims.push_back(each);
    Val before =
        ComesBefore(k.b, attrs_, other.keys, element.keys, k.b.Compare(kir::kLt, k.b.Index(each), k.b.Index(own)));
    if (ragged) before = k.b.And(before, k.b.Compare(kir::kLt, other.place, k.b.ConstS64(n_)));
    const Val rank =
        k.b.AddReduce(stage, kir::DimMask{1} << each, kir::Op::kAdd, k.b.Convert(DType::kS32, before), k.b.ConstS32(0));
    const Val place = k.b.Convert(DType::kS64, rank);
    // Of the first few, when not all are wanted; a rank is a place otherwise.
    const auto store_at = [&](int64_t kept, kir::Store& store) {
      if (ragged) store.guard.push_back(Below(axis(own), n_));
      if (kept < length) store.guard.push_back(Below(kir::AtStart(place), kept));
      return kir::AtStart(Clamped(k.b, place, kept - 1));
    };
    if (to != nullptr) {
      kir::Store store;
      store.at = line;
      store.at.push_back(kir::At(*run));
      store.at.push_back(store_at(to->kept, store));
      k.StoreRuns(element, *to, store);
    } else {
      k.StoreResults(element, InLine(line, axis(own)), results, [&](const View& result, kir::Store& store) {
        store.at = InLine(line, store_at(result.dims[along_], store));
      });
    }
    return k.Finish();
  }

  /// Merges the runs of `from` in pairs: into `to`, or where that is null into the sort's `results`.
  Made Merge(const Runs& from, const Runs* to, const std::vector<View>& results) {
    Kernel k(*this);
    kir::KernelBuilder& b = k.b;
    for (const View& view : from.arrays) k.Source(view);
    SmallVector<kir::Axis, 4> line = k.AddLine([] {});
    const kir::DimId pair = k.Loop((from.count + 1) / 2);
    const kir::DimId own = k.Loop(to != nullptr ? to->kept : results[0].dims[along_]);
    k.stage.dims.clear();
    b.kernel().outer = static_cast<uint8_t>(b.kernel().dims.size());
    // The two runs and how many elements they have.
    const auto run = [&](int side) { return b.Add(b.Mul(b.Index(pair), b.ConstS64(2)), b.ConstS64(side)); };
    const auto count = [&](int side) {
      return Clamped(b, b.Sub(b.ConstS64(n_), b.Mul(run(side), b.ConstS64(from.length))), from.kept);
    };
    const auto read = [&](int side, Val place) {
      SmallVector<kir::Axis, 4> at = line;
      at.push_back(kir::AtStart(Clamped(b, run(side), from.count - 1)));
      at.push_back(kir::AtStart(Clamped(b, place, from.kept - 1)));
      return k.Read(at, std::nullopt);
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
    search.trip_count = kir::Size::Of(std::bit_width(static_cast<uint64_t>(from.kept)));
    b.AddLoop(std::move(search));
    const Val from_second = b.Sub(place, low);
    const Element first = read(0, low), second = read(1, from_second);
    const Val is_second = b.Or(b.Compare(kir::kGe, low, count(0)),
                               b.And(b.Compare(kir::kLt, from_second, count(1)), second_is_first(first, second)));
    const Element element = Chosen(b, is_second, second, first);
    kir::Store store;
    if (to != nullptr) {
      store.at = line;
      store.at.push_back(kir::At(pair));
      store.at.push_back(kir::At(own));
      k.StoreRuns(element, *to, store);
    } else {
      const Val source = with_places_ ? Clamped(b, element.place, n_ - 1) : kir::kNone;
      k.StoreResults(element, InLine(line, kir::AtStart(source)), results,
                     [&](const View&, kir::Store& s) { s.at = InLine(line, kir::At(own)); });
    }
    return k.Finish();
  }

 private:
  struct Element {
    std::vector<Val> read;   ///< By key.
    std::vector<Val> keys;   ///< As integers.
    Val place = kir::kNone;  ///< In its line.
  };

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
  Element Chosen(kir::KernelBuilder& b, Val is_first, const Element& first, const Element& second) const {
    Element e;
    for (size_t i = 0; i < num_keys(); ++i) e.read.push_back(b.Select(is_first, first.read[i], second.read[i]));
    if (with_places_) e.place = b.Select(is_first, first.place, second.place);
    return e;
  }

  /// A kernel in the making: of one stage, which is its last step.
  class Kernel {
   public:
    explicit Kernel(const SortMaker& of) : of_(of) {}
    kir::KernelBuilder b;
    kir::Stage stage;

    kir::DimId Loop(int64_t extent) {
      stage.dims.push_back(b.AddDim(kir::Size::Of(extent)));
      return stage.dims.back();
    }
    /// Loops over the lines, and what `along` adds where the dim that is sorted along stands.
    template <class F>
    SmallVector<kir::Axis, 4> AddLine(const F& along) {
      SmallVector<kir::Axis, 4> line;
      const Dims lines = of_.Lines();
      for (size_t d = 0; d <= lines.size(); ++d) {
        if (d == of_.along_) along();
        if (d == lines.size()) break;
        line.push_back(lines[d] == 1 ? kir::AtOffset(kir::Size::Of(0)) : kir::At(Loop(lines[d])));
      }
      return line;
    }
    /// The next of the arrays that Read reads: the keys, then where their elements were if it is known.
    void Source(const View& view) { sources_.push_back(Buffer(view, BoundBuffer::Kind::kRead)); }
    Element Read(const SmallVector<kir::Axis, 4>& at, const std::optional<kir::Guard>& guard) {
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
      for (size_t i = 0; i < of_.num_keys(); ++i) e.read.push_back(read(sources_[i]));
      e.keys = SortKeys(b, of_.p_, of_.node_, e.read);
      if (sources_.size() > of_.num_keys()) e.place = b.Convert(DType::kS64, read(sources_[of_.num_keys()]));
      return e;
    }
    void StoreRuns(const Element& element, const Runs& to, kir::Store store) {
      for (size_t i = 0; i < to.arrays.size(); ++i) {
        store.buf = Buffer(to.arrays[i], BoundBuffer::Kind::kWrite);
        store.value = i < of_.num_keys() ? element.read[i] : b.Convert(DType::kS32, element.place);
        stage.stores.push_back(store);
      }
    }
    /// `source`: where the element's payloads are. `place`: places its store in a result.
    template <class F>
    void StoreResults(const Element& element, const SmallVector<kir::Axis, 4>& source, const std::vector<View>& results,
                      const F& place) {
      size_t payload = of_.num_keys();
      for (size_t i = 0; i < results.size(); ++i) {
        kir::Store store;
        store.buf = Buffer(results[i], BoundBuffer::Kind::kWrite);
        place(results[i], store);
        if (of_.attrs_.is_position[i] != 0) {
          store.value = b.Convert(results[i].dtype, element.place);
          stage.stores.push_back(std::move(store));
          continue;
        }
        const size_t operand = payload++;
        if (const std::optional<size_t> key = of_.KeyThatIs(operand)) {
          store.value = element.read[*key];
          stage.stores.push_back(std::move(store));
          continue;
        }
        const kir::Buf from = Buffer(of_.operands_[operand], BoundBuffer::Kind::kRead);
        for (const uint8_t component : {0, 1}) {
          if (component == 1 && !IsComplex(results[i].dtype)) break;
          store.component = component;
          store.value = b.Read(from, source, component);
          stage.stores.push_back(store);
        }
      }
    }
    Made Finish() {
      b.AddStage(std::move(stage));
      made_.kernel.kernel = b.Finish();
      return std::move(made_);
    }

   private:
    kir::Buf Buffer(const View& view, BoundBuffer::Kind kind) {
      made_.views.push_back(view);
      made_.kernel.buffers.emplace_back().kind = kind;
      return BufferFor(b, kind == BoundBuffer::Kind::kRead ? kir::BufKind::kArg : kir::BufKind::kOut, view);
    }

    const SortMaker& of_;
    Made made_;
    std::vector<kir::Buf> sources_;
  };

  const Program& p_;
  const GraphNode& node_;
  const SortAttrs& attrs_;
  const size_t along_;
  const int64_t n_;
  const std::vector<View> operands_;
  bool with_places_;  ///< Somebody asks where elements were.
};

/// Whether runs of the sort can be kept: a place is one of 32 bits, a run and its pair are one more dim each, and there
/// are keys and places on either side of a kernel, and what is moved.
bool CanMerge(const Program& p, const GraphNode& node) {
  const auto& attrs = node.attrs<SortAttrs>();
  const Shape& shape = p.shape(node.in[0]);
  const int64_t n = shape.dims[static_cast<size_t>(attrs.dimension)];
  const size_t most_buffers = 2 * attrs.descending.size() + node.in.size() + node.out.size() + 2;
  return n > policy::kRankedRun && n <= INT32_MAX && static_cast<int64_t>(shape.rank()) + 2 <= p.target->limits.dims &&
         static_cast<int64_t>(most_buffers) <= p.target->limits.buffers &&
         std::ranges::all_of(node.out, [&](const Shape& s) { return s.dims == node.shape().dims; });
}

}  // namespace

Result<bool> Fuser::EmitSort(NodeId id, plan::Seq& out) {
  const GraphNode& node = p_[id];
  const auto& attrs = node.attrs<SortAttrs>();
  const auto along = static_cast<size_t>(attrs.dimension);
  const Shape& shape = p_.shape(node.in[0]);
  const int64_t n = shape.dims[along];
  if (n < 2 || NumElements(shape.dims) == 0 || NumElements(node.shape().dims) == 0) return false;
  if (!FitsKernels(p_, node) || !HasSortKeys(p_, node)) return false;
  const SortTimes times = TimesOfSort(p_, node);
  const bool by_ranks = times.ranks <= std::min(times.merges, times.host);
  if (!by_ranks && (times.merges > times.host || !CanMerge(p_, node))) return false;

  std::vector<View> operands;
  for (Ref r : node.in) {
    TENON_ASSIGN_OR_RETURN(View view, KernelViewOf(r, out));
    if (IsFloat(view.dtype)) view.dtype = MovedAs(p_, view.dtype);
    operands.push_back(std::move(view));
  }
  SortMaker maker(p_, node, std::move(operands));
  std::vector<View> results;
  for (uint32_t i = 0; i < node.out.size(); ++i) {
    View view = NewTemp(node.shape(i));
    // Ranks reach every place, which no one who looks at the kernel alone can tell.
    if (by_ranks) Clear(view, out);
    Bind({id, i}, view);
    if (IsFloat(view.dtype)) view.dtype = MovedAs(p_, view.dtype);
    results.push_back(std::move(view));
  }
  const auto add = [&](SortMaker::Made made) { AddOwnKernel(std::move(made.kernel), made.views, out); };
  if (by_ranks) {
    add(maker.Rank(n, nullptr, results));
    return true;
  }
  const int64_t wanted = node.shape().dims[along];
  const auto runs_of = [&](int64_t length) {
    Runs runs{length, std::min(length, wanted), (n + length - 1) / length, {}};
    for (const DType type : maker.Types()) runs.arrays.push_back(NewTemp({type, maker.DimsOf(runs)}));
    return runs;
  };
  Runs runs = runs_of(policy::kRankedRun);
  for (const View& array : runs.arrays) Clear(array, out);
  add(maker.Rank(policy::kRankedRun, &runs, results));
  while (runs.count > 2) {
    Runs longer = runs_of(2 * runs.length);
    add(maker.Merge(runs, &longer, results));
    runs = std::move(longer);
  }
  add(maker.Merge(runs, nullptr, results));
  return true;
}

}  // namespace tenon::compiler
