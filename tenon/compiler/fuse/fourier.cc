// Fourier transforms as kernels, for targets on which no driver of their own takes them: Stockham's passes, each a sum
// of a few terms per element; lengths with large primes by a convolution with a chirp, as Bluestein has it.

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <numeric>
#include <vector>

#include "tenon/compiler/fuse/fuser.h"
#include "tenon/compiler/fuse/legality.h"
#include "tenon/compiler/fuse/policy.h"
#include "tenon/compiler/fuse/tiled.h"
#include "tenon/compiler/fuse/tracer.h"

namespace tenon::compiler {

using kir::Val;

namespace {

/// The length as factors that are sums of their own, large ones first; none where it has a larger prime.
std::vector<int64_t> RadicesOf(int64_t n) {
  std::vector<int64_t> radices;
  while (n > 1) {
    int64_t radix = std::min(n, policy::kMostRadix);
    while (radix > 1 && n % radix != 0) --radix;
    if (radix == 1) return {};
    radices.push_back(radix);
    n /= radix;
  }
  return radices;
}

using Numbers = std::vector<std::complex<double>>;

/// exp(-2 pi i j / n), or of the inverse the conjugate.
std::complex<double> Root(int64_t j, int64_t n, bool inverse) {
  const double angle = 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(n);
  double re = std::cos(angle), im = std::sin(angle);
  if (4 * j % n == 0) {  // Exactly.
    const int64_t quarter = 4 * j / n;
    re = quarter == 0 ? 1 : quarter == 2 ? -1 : 0;
    im = quarter == 1 ? 1 : quarter == 3 ? -1 : 0;
  }
  return {re, inverse ? im : -im};
}
Numbers Roots(int64_t n, bool inverse) {
  Numbers roots;
  for (int64_t j = 0; j < n; ++j) roots.push_back(Root(j, n, inverse));
  return roots;
}
/// exp(-pi i j^2 / n) for all j, or of the inverse the conjugates.
Numbers Chirp(int64_t n, bool inverse) {
  Numbers chirp;
  for (int64_t j = 0; j < n; ++j) chirp.push_back(Root(j * j % (2 * n), 2 * n, inverse));
  return chirp;
}

/// The transform of numbers, a power of two of them. `roots`: of unity, of a multiple of that order.
Numbers Transformed(const Numbers& x, const Numbers& roots) {
  const size_t n = x.size();
  if (n == 1) return x;
  Numbers even, odd;
  for (size_t i = 0; i < n; i += 2) {
    even.push_back(x[i]);
    odd.push_back(x[i + 1]);
  }
  even = Transformed(even, roots);
  odd = Transformed(odd, roots);
  Numbers y(n);
  for (size_t i = 0; i < n / 2; ++i) {
    const std::complex<double> turned = roots[i * (roots.size() / n)] * odd[i];
    y[i] = even[i] + turned;
    y[i + n / 2] = even[i] - turned;
  }
  return y;
}

/// The elements of a constant.
template <class T>
std::string Elements(const Numbers& numbers) {
  std::string bytes(numbers.size() * 2 * sizeof(T), '\0');
  for (size_t j = 0; j < numbers.size(); ++j) {
    const T parts[2] = {static_cast<T>(numbers[j].real()), static_cast<T>(numbers[j].imag())};
    std::memcpy(bytes.data() + j * sizeof(parts), parts, sizeof(parts));
  }
  return bytes;
}

/// The length of the transforms by which a chirp is convolved with an array of that length.
int64_t ChirpedLength(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1))); }

/// A dense array around the dim that is transformed.
struct Around {
  int64_t before = 1, length = 1, after = 1;
};
Around AroundOf(const Dims& dims, size_t along) {
  Around a;
  for (size_t d = 0; d < dims.size(); ++d) (d < along ? a.before : d == along ? a.length : a.after) *= dims[d];
  return a;
}
View As(View view, const Around& a) {
  view.dims = {a.before, a.length, a.after};
  view.strides = RowMajorStridesElems(view.dims);
  return view;
}

}  // namespace

/// A kernel of one stage, which writes the last of its buffers; `views`: of all.
void Fuser::AddPass(kir::KernelBuilder& b, kir::Stage stage, const std::vector<View>& views, plan::Seq& out) {
  b.AddStage(std::move(stage));
  MadeKernel made;
  made.kernel = b.Finish();
  made.buffers.resize(views.size());
  made.buffers.back().kind = BoundBuffer::Kind::kWrite;
  AddOwnKernel(std::move(made), views, out);
}

View Fuser::ComplexTable(const std::vector<std::complex<double>>& numbers, DType type) {
  const std::string bytes = type == DType::kC64 ? Elements<float>(numbers) : Elements<double>(numbers);
  return DenseView(ConstantBuffer(MakeLiteral(bytes, false), type), {type, {static_cast<int64_t>(numbers.size())}});
}

/// The elements of a dense complex array, each times that of the table which stands at its place along the dim, and
/// times `scale`; from the table's end on zeros. In memory of its own, of so many places along the dim.
View Fuser::EmitTimesTable(const View& from, size_t along, const View& table, int64_t length, double scale, bool real,
                           plan::Seq& out) {
  const DType part = PartType(from.dtype);
  Shape shape{real ? part : from.dtype, from.dims};
  shape.dims[along] = length;
  const View to = NewTemp(shape);
  const Around source = AroundOf(from.dims, along), target = AroundOf(shape.dims, along);
  kir::KernelBuilder b;
  const kir::Buf in = BufferFor(b, kir::BufKind::kArg, As(from, source));
  const kir::Buf factors = BufferFor(b, kir::BufKind::kArg, table);
  kir::Store store;
  store.buf = BufferFor(b, kir::BufKind::kOut, As(to, target));
  kir::Stage stage;
  for (const int64_t extent : {target.before, target.length, target.after}) {
    stage.dims.push_back(b.AddDim(kir::Size::Of(extent)));
    store.at.push_back(kir::At(stage.dims.back()));
  }
  kir::Guard inside;
  inside.e = store.at[1];
  inside.hi = kir::Size::Of(std::min(source.length, table.dims[0]));
  const auto read = [&](kir::Buf buf, SmallVector<kir::Axis, 4> at, int component) {
    kir::Read r;
    r.buf = buf;
    r.at = std::move(at);
    if (inside.hi.baked < length) {
      r.guard.push_back(inside);
      r.otherwise = b.Const(part, 0);
    }
    return b.Read(r, component);
  };
  const Val re = read(in, store.at, 0), im = read(in, store.at, 1);
  const SmallVector<kir::Axis, 4> place(1, store.at[1]);
  const Val table_re = read(factors, place, 0), table_im = read(factors, place, 1);
  const Val factor = b.Const(part, scale);
  store.value = b.Mul(b.Sub(b.Mul(re, table_re), b.Mul(im, table_im)), factor);
  stage.stores.push_back(store);
  if (!real) {
    store.value = b.Mul(b.Add(b.Mul(re, table_im), b.Mul(im, table_re)), factor);
    store.component = 1;
    stage.stores.push_back(std::move(store));
  }
  AddPass(b, std::move(stage), {As(from, source), table, As(to, target)}, out);
  return to;
}

/// As EmitTransform, of any length: jk = (j^2 + k^2 - (j-k)^2) / 2, so what is left between two products with a chirp
/// is a convolution.
Result<View> Fuser::EmitChirped(const View& from, size_t along, bool inverse, bool real, plan::Seq& out) {
  const int64_t n = from.dims[along], length = ChirpedLength(n);
  const Numbers chirp = Chirp(n, inverse);
  Numbers window(static_cast<size_t>(length));
  for (int64_t j = 0; j < n; ++j)
    window[static_cast<size_t>(j)] = window[static_cast<size_t>((length - j) % length)] =
        std::conj(chirp[static_cast<size_t>(j)]);
  window = Transformed(window, Roots(length, false));
  const View factors = ComplexTable(chirp, from.dtype);
  View x = EmitTimesTable(from, along, factors, length, 1, false, out);
  TENON_ASSIGN_OR_RETURN(x, EmitTransform(x, along, false, false, out));
  x = EmitTimesTable(x, along, ComplexTable(window, from.dtype), length, 1, false, out);
  TENON_ASSIGN_OR_RETURN(x, EmitTransform(x, along, true, false, out));
  return EmitTimesTable(x, along, factors, n, inverse ? 1.0 / static_cast<double>(n) : 1.0, real, out);
}

/// Transforms a dense complex array along one dim. The result is in memory of its own, of the real part alone when
/// `real`.
Result<View> Fuser::EmitTransform(const View& from, size_t along, bool inverse, bool real, plan::Seq& out) {
  const Around around = AroundOf(from.dims, along);
  const int64_t n = around.length;
  const DType part = PartType(from.dtype);
  const std::vector<int64_t> radices = RadicesOf(n);
  if (radices.empty()) return EmitChirped(from, along, inverse, real, out);
  const View table = ComplexTable(Roots(n, inverse), from.dtype);
  View x = from;
  int64_t left = n, stride = 1;
  for (size_t pass = 0; pass < radices.size(); ++pass) {
    const int64_t radix = radices[pass], rest = left / radix;
    const bool last = pass + 1 == radices.size();
    const View y = NewTemp({last && real ? part : from.dtype, from.dims});
    kir::KernelBuilder b;
    const kir::Buf in = BufferFor(b, kir::BufKind::kArg, As(x, around));
    const kir::Buf roots = BufferFor(b, kir::BufKind::kArg, table);
    const kir::Buf to = BufferFor(b, kir::BufKind::kOut, As(y, around));
    kir::Stage stage;
    const auto loop = [&](int64_t extent, kir::DimKind kind) -> std::optional<kir::DimId> {
      if (extent == 1) return std::nullopt;
      stage.dims.push_back(b.AddDim(kir::Size::Of(extent), kind));
      return stage.dims.back();
    };
    const auto add = [](kir::Axis& axis, std::optional<kir::DimId> dim, int64_t coef) {
      if (dim) axis.terms.push_back({*dim, kir::Size::Of(coef)});
    };
    const auto before = loop(around.before, kir::DimKind::kParallel);
    const auto p = loop(rest, kir::DimKind::kParallel);
    const DimTile tile = {std::gcd(radix, policy::kTileOwn), 1, 1};
    TiledDim k(b, radix, tile);
    k.AddSpans(stage);
    const auto q = loop(stride, kir::DimKind::kParallel);
    const auto after = loop(around.after, kir::DimKind::kParallel);
    const kir::DimId t = b.AddDim(kir::Size::Of(radix), kir::DimKind::kReduce);
    stage.dims.push_back(t);

    SmallVector<kir::Axis, 4> at(3, kir::AtOffset(kir::Size::Of(0)));
    add(at[0], before, 1);
    add(at[2], after, 1);
    SmallVector<kir::Axis, 4> read_at = at;
    add(read_at[1], p, stride);
    add(read_at[1], t, rest * stride);
    add(read_at[1], q, 1);
    const SumOfProducts::Factor term = {b.Read(in, read_at, 0), b.Read(in, read_at, 1)};
    const auto root = [&](Val place) -> SumOfProducts::Factor {
      place = b.Max(b.Min(place, b.ConstS64(n - 1)), b.ConstS64(0));  // Inside; said to whoever checks the kernel.
      const SmallVector<kir::Axis, 4> root_at(1, kir::AtStart(place));
      return {b.Read(roots, root_at, 0), b.Read(roots, root_at, 1)};
    };
    SumOfProducts sums(b, from.dtype, false);
    for (int64_t i = 0; i < k.own(); ++i) {
      const kir::Axis place = k.Place(i);
      Val number = b.ConstS64(place.offset.baked);
      for (const kir::Term& term_of : place.terms)
        number = b.Add(number, b.Mul(b.Index(term_of.dim), b.ConstS64(term_of.coef.baked)));
      const Val turns = b.Rem(b.Mul(b.Index(t), number), b.ConstS64(radix));
      SumOfProducts::Factor sum =
          sums.Add(stage, kir::DimMask{1} << t, term, root(b.Mul(turns, b.ConstS64(n / radix))));
      if (p) {
        const auto w = root(b.Mul(b.Mul(b.Index(*p), number), b.ConstS64(stride)));
        sum = {b.Sub(b.Mul(sum.re, w.re), b.Mul(sum.im, w.im)), b.Add(b.Mul(sum.re, w.im), b.Mul(sum.im, w.re))};
      }
      if (last && inverse) {
        const Val scale = b.Const(part, 1.0 / static_cast<double>(n));
        sum = {b.Mul(sum.re, scale), b.Mul(sum.im, scale)};
      }
      kir::Store store;
      store.buf = to;
      store.at = at;
      add(store.at[1], p, radix * stride);
      for (const kir::Term& term_of : place.terms) add(store.at[1], term_of.dim, term_of.coef.baked * stride);
      add(store.at[1], q, 1);
      store.at[1].offset = kir::Size::Of(place.offset.baked * stride);
      store.value = sum.re;
      stage.stores.push_back(store);
      if (last && real) continue;
      store.value = sum.im;
      store.component = 1;
      stage.stores.push_back(std::move(store));
    }
    AddPass(b, std::move(stage), {As(x, around), table, As(y, around)}, out);
    x = y;
    left = rest;
    stride *= radix;
  }
  return x;
}

/// A dense complex array of `shape` from a real one, or from the first half of a spectrum that is mirrored along
/// the last dim.
View Fuser::EmitSpectrum(const View& from, const Shape& shape, plan::Seq& out) {
  const View to = NewTemp(shape);
  const DType part = PartType(shape.dtype);
  kir::KernelBuilder b;
  const kir::Buf in = BufferFor(b, kir::BufKind::kArg, from);
  kir::Store store;
  store.buf = BufferFor(b, kir::BufKind::kOut, to);
  kir::Stage stage;
  for (const int64_t extent : shape.dims) {
    kir::Axis axis = kir::AtOffset(kir::Size::Of(0));
    if (extent != 1) {
      stage.dims.push_back(b.AddDim(kir::Size::Of(extent)));
      axis = kir::At(stage.dims.back());
    }
    store.at.push_back(axis);
  }
  SmallVector<kir::Axis, 4> read_at = store.at;
  Val re, im;
  const int64_t n = shape.dims.back(), half = from.dims.back();
  if (!IsComplex(from.dtype)) {
    re = b.Read(in, read_at);
    im = b.Const(part, 0);
  } else if (half == n) {
    re = b.Read(in, read_at, 0);
    im = b.Read(in, read_at, 1);
  } else {
    const Val place = b.Index(stage.dims.back());
    const Val mirrored = b.Compare(kir::kGe, place, b.ConstS64(half));
    const Val source = b.Select(mirrored, b.Sub(b.ConstS64(n), place), place);
    read_at.back() = kir::AtStart(b.Max(b.Min(source, b.ConstS64(half - 1)), b.ConstS64(0)));
    re = b.Read(in, read_at, 0);
    im = b.Read(in, read_at, 1);
    im = b.Select(mirrored, b.Neg(im), im);
  }
  for (const Val value : {re, im}) {
    store.value = value;
    stage.stores.push_back(store);
    store.component = 1;
  }
  AddPass(b, std::move(stage), {from, to}, out);
  return to;
}

Result<bool> Fuser::EmitFourier(NodeId id, plan::Seq& out) {
  const GraphNode& node = p_[id];
  const auto& attrs = node.attrs<FftAttrs>();
  const Shape& operand = p_.shape(node.in[0]);
  const size_t rank = operand.rank(), axes = attrs.fft_length.size();
  if (axes == 0 || axes > rank || NumElements(node.shape().dims) == 0 || NumElements(operand.dims) == 0) return false;
  const bool real = attrs.fft_type == FftType::kRfft, real_back = attrs.fft_type == FftType::kIrfft;
  const bool inverse = attrs.fft_type == FftType::kIfft || real_back;
  const DType part = PartType(node.shape().dtype);
  const DType complex = part == DType::kF32 ? DType::kC64 : DType::kC128;
  if (!KernelCanHold(p_, complex) || !FitsKernels(p_, node)) return false;
  for (const int64_t n : attrs.fft_length) {
    if (n < 2 || (RadicesOf(n).empty() ? ChirpedLength(n) : n) > policy::kMostTransformed) return false;
  }
  TENON_ASSIGN_OR_RETURN(View x, KernelViewOf(node.in[0], out));
  const auto transform = [&](size_t along, bool to_real) -> Status {
    TENON_ASSIGN_OR_RETURN(x, EmitTransform(x, along, inverse, to_real, out));
    return OkStatus();
  };
  const int64_t n = attrs.fft_length.back();
  // The halved dim goes first, and comes back last.
  if (!real_back) {
    if (real || !IsDense(x)) x = EmitSpectrum(x, {complex, operand.dims}, out);
    TENON_RETURN_IF_ERROR(transform(rank - 1, false));
    if (real) {
      View half = x;
      half.dims = node.shape().dims;
      if (half.dims.back() > n) return Internal("a spectrum that is longer than its array");
      x = NewTemp(node.shape());
      Copy(half, x, out);
    }
    for (size_t i = 1; i < axes; ++i) TENON_RETURN_IF_ERROR(transform(rank - 1 - i, false));
  } else {
    if (!IsDense(x)) x = EmitSpectrum(x, operand, out);
    for (size_t i = 1; i < axes; ++i) TENON_RETURN_IF_ERROR(transform(rank - 1 - i, false));
    Shape whole{complex, operand.dims};
    whole.dims.back() = n;
    x = EmitSpectrum(x, whole, out);
    TENON_RETURN_IF_ERROR(transform(rank - 1, true));
  }
  Bind({id, 0}, x);
  return true;
}

}  // namespace tenon::compiler
