#include "test/compiler/plan_interpreter.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <numbers>
#include <tuple>

#include "tenon/drivers/problem.h"
#include "tenon/drivers/registry.h"
#include "tenon/kernels/families.h"
#include "tenon/kir/builder.h"
#include "tenon/kir/evaluate.h"
#include "tenon/reference/reference.h"

namespace tenon::test {
namespace {

struct Memory {
  char* data = nullptr;
  int64_t size = 0;
};

/// A sum of products: of floats in double, of integers modulo 2^64.
class Sum {
 public:
  explicit Sum(DType type) : type_(type) {}
  void Add(uint64_t x, DType x_type, uint64_t y, DType y_type) {
    if (IsFloat(type_)) {
      real_ += kir::LiteralValue(x_type, x) * kir::LiteralValue(y_type, y);
    } else {
      whole_ += Extended(x_type, x) * Extended(y_type, y);
    }
  }
  uint64_t bits() const {
    return IsFloat(type_) ? kir::LiteralBits(type_, real_) : kir::LiteralBits(type_, static_cast<int64_t>(whole_));
  }

 private:
  static uint64_t Extended(DType type, uint64_t bits) {
    if (!IsSigned(type)) return bits;
    const int unused = 64 - 8 * ByteWidth(type);
    return static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
  }

  DType type_;
  double real_ = 0;
  uint64_t whole_ = 0;
};

class Interpreter {
 public:
  Interpreter(const plan::Plan& plan, std::vector<std::string>& args, std::vector<std::string>& outs, bool donate)
      : plan_(plan),
        args_(args),
        outs_(outs),
        arena_(static_cast<size_t>(plan.arena_bytes) + 64, '\x5a'),
        donate_(donate) {}

  Status Run(const plan::Seq& seq) {
    for (const plan::Step& step : seq) {
      Status s = std::visit([this](const auto& one) { return One(one); }, step.is);
      if (!s.ok()) return s;
    }
    return OkStatus();
  }

 private:
  Memory Base(const plan::Slot& s) {
    switch (s.kind) {
      case plan::SlotKind::kArg:
        return {args_[s.index].data(), static_cast<int64_t>(args_[s.index].size())};
      case plan::SlotKind::kOut: {
        const int32_t alias = plan_.outputs[s.index].alias_input;
        std::string& bytes = donate_ && alias >= 0 ? args_[static_cast<size_t>(alias)] : outs_[s.index];
        return {bytes.data(), static_cast<int64_t>(bytes.size())};
      }
      case plan::SlotKind::kConst: {
        const std::string& bytes = *plan_.constants[s.index].bytes;
        return {const_cast<char*>(bytes.data()), static_cast<int64_t>(bytes.size())};
      }
      case plan::SlotKind::kTemp:
        return {arena_.data(), static_cast<int64_t>(arena_.size())};
    }
    return {};
  }
  char* At(plan::SlotId id) { return Base(plan_.slots[id]).data + plan_.slots[id].offset_bytes; }

  static void ForEach(const plan::Slot& s, const std::function<void(int64_t, int64_t)>& f) {
    int64_t n = 1;
    for (int64_t d : s.dims) n *= d;
    for (int64_t i = 0; i < n; ++i) {
      int64_t rest = i;
      int64_t at = 0;
      for (size_t d = s.dims.size(); d-- > 0;) {
        at += rest % s.dims[d] * s.stride_elems[d];
        rest /= s.dims[d];
      }
      f(i, at);
    }
  }

  std::string Gather(plan::SlotId id) {
    const plan::Slot& s = plan_.slots[id];
    const size_t w = static_cast<size_t>(ByteWidth(s.dtype));
    std::string dense(w * static_cast<size_t>(NumElements(s.dims)), '\0');
    const char* base = At(id);
    ForEach(s, [&](int64_t i, int64_t at) {
      std::memcpy(dense.data() + static_cast<size_t>(i) * w, base + at * static_cast<int64_t>(w), w);
    });
    return dense;
  }
  void Scatter(plan::SlotId id, const std::string& dense) {
    const plan::Slot& s = plan_.slots[id];
    const size_t w = static_cast<size_t>(ByteWidth(s.dtype));
    char* base = At(id);
    ForEach(s, [&](int64_t i, int64_t at) {
      std::memcpy(base + at * static_cast<int64_t>(w), dense.data() + static_cast<size_t>(i) * w, w);
    });
  }

  Status One(const plan::KernelStep& s) {
    std::vector<kir::BufferRef> refs;
    for (plan::SlotId id : s.buffers) {
      if (id == plan::kNoSlot) {
        refs.push_back({});
        continue;
      }
      const Memory m = Base(plan_.slots[id]);
      refs.push_back({At(id), m.data, m.size});
    }
    return kir::Evaluate(plan_.kernels[s.kernel], refs, s.params);
  }
  Status One(const plan::DriverStep& s) {
    if (s.driver == "sort") return Sort(s);
    if (s.driver == "linalg") return Linalg(s);
    if (s.driver == "conv") return Convolution(s);
    if (s.driver == "fft") return FourierTransform(s);
    if (s.driver != "gemm") return Unimplemented("driver " + s.driver);
    TENON_RETURN_IF_ERROR(Contract(s));
    for (const auto& [name, hook] : s.hooks) {
      if (name != "finish") return Unimplemented("hook " + name);
      TENON_RETURN_IF_ERROR(Finish(s, hook));
    }
    return OkStatus();
  }

  // Small tiles of the dense result, one after the other.
  Status Finish(const plan::DriverStep& s, const plan::Hook& hook) {
    const plan::DriverArrays arrays = plan::ArraysOf(plan_, s);
    TENON_ASSIGN_OR_RETURN(const drivers::Facts facts,
                           kernels::CpuFamilies().Describe(s.driver, s.config, arrays.operands()));
    const auto point = std::find_if(facts.hooks.begin(), facts.hooks.end(),
                                    [](const drivers::HookPoint& p) { return p.name == "finish"; });
    const plan::Slot& out = plan_.slots[s.outputs[0]];
    if (!(out.stride_elems == RowMajorStridesElems(out.dims))) return Unimplemented("a hook on a strided result");
    const Memory memory = Base(out);
    constexpr int64_t kTileRows = 3, kTileCols = 5;
    for (int64_t batch = 0; batch < point->batch; ++batch) {
      for (int64_t row = 0; row < point->rows; row += kTileRows) {
        for (int64_t col = 0; col < point->cols; col += kTileCols) {
          const int64_t rows = std::min(kTileRows, point->rows - row), cols = std::min(kTileCols, point->cols - col);
          char* const tile =
              At(s.outputs[0]) + ((batch * point->rows + row) * point->cols + col) * ByteWidth(out.dtype);
          std::vector<kir::BufferRef> refs;
          for (plan::SlotId id : hook.buffers) {
            if (id == plan::kNoSlot) {
              refs.push_back({tile, memory.data, memory.size});
              continue;
            }
            const Memory m = Base(plan_.slots[id]);
            refs.push_back({At(id), m.data, m.size});
          }
          std::vector<int64_t> params(hook.params.begin(), hook.params.end());
          for (int64_t p : {batch, row, col, rows, cols, point->cols, int64_t{1}}) params.push_back(p);
          TENON_RETURN_IF_ERROR(kir::Evaluate(plan_.kernels[hook.kernel], refs, params));
        }
      }
    }
    return OkStatus();
  }

  // By the definition, element by element.
  Status Contract(const plan::DriverStep& s) {
    TENON_ASSIGN_OR_RETURN(const drivers::Contraction n, drivers::FromConfig<drivers::Contraction>(s.config));
    const plan::Slot &a = plan_.slots[s.inputs[0]], &b = plan_.slots[s.inputs[1]], &c = plan_.slots[s.outputs[0]];
    const auto load = [&](plan::SlotId id, int64_t at) {
      const plan::Slot& slot = plan_.slots[id];
      uint64_t bits = 0;
      std::memcpy(&bits, At(id) + at * ByteWidth(slot.dtype), static_cast<size_t>(ByteWidth(slot.dtype)));
      return bits;
    };
    const auto has = [](const Dims& list, size_t d) {
      return std::find(list.begin(), list.end(), static_cast<int64_t>(d)) != list.end();
    };
    int64_t terms = 1;
    for (int64_t d : n.lhs_contracting) terms *= a.dims[static_cast<size_t>(d)];
    ForEach(c, [&](int64_t i, int64_t to) {
      Dims place = c.dims;
      for (size_t d = place.size(); d-- > 0; i /= c.dims[d]) place[d] = i % c.dims[d];
      // Where the sum's terms begin in both operands.
      int64_t from_a = 0, from_b = 0;
      size_t next = 0;
      for (; next < n.lhs_batch.size(); ++next) {
        from_a += place[next] * a.stride_elems[static_cast<size_t>(n.lhs_batch[next])];
        from_b += place[next] * b.stride_elems[static_cast<size_t>(n.rhs_batch[next])];
      }
      for (size_t d = 0; d < a.dims.size(); ++d) {
        if (!has(n.lhs_batch, d) && !has(n.lhs_contracting, d)) from_a += place[next++] * a.stride_elems[d];
      }
      for (size_t d = 0; d < b.dims.size(); ++d) {
        if (!has(n.rhs_batch, d) && !has(n.rhs_contracting, d)) from_b += place[next++] * b.stride_elems[d];
      }
      Sum sum(c.dtype);
      for (int64_t p = 0; p < terms; ++p) {
        int64_t at_a = from_a, at_b = from_b, rest = p;
        for (size_t x = n.lhs_contracting.size(); x-- > 0;) {
          const auto da = static_cast<size_t>(n.lhs_contracting[x]), db = static_cast<size_t>(n.rhs_contracting[x]);
          at_a += rest % a.dims[da] * a.stride_elems[da];
          at_b += rest % a.dims[da] * b.stride_elems[db];
          rest /= a.dims[da];
        }
        sum.Add(load(s.inputs[0], at_a), a.dtype, load(s.inputs[1], at_b), b.dtype);
      }
      const uint64_t bits = sum.bits();
      std::memcpy(At(s.outputs[0]) + to * ByteWidth(c.dtype), &bits, static_cast<size_t>(ByteWidth(c.dtype)));
    });
    return OkStatus();
  }
  // By the definition, in double, one axis after the other.
  Status FourierTransform(const plan::DriverStep& s) {
    const plan::Slot& in = plan_.slots[s.inputs[0]];
    const plan::Slot& out = plan_.slots[s.outputs[0]];
    TENON_ASSIGN_OR_RETURN(const drivers::FourierTransform fft,
                           drivers::FromConfig<drivers::FourierTransform>(s.config));
    using Kind = drivers::FourierTransform::Kind;
    const bool real_in = fft.kind == Kind::kRealForward, real_out = fft.kind == Kind::kRealInverse;
    const bool inverse = real_out || fft.kind == Kind::kInverse;
    std::vector<std::complex<double>> x;
    const std::string from = Gather(s.inputs[0]);
    const DType part = RealPartOf(real_in ? out.dtype : in.dtype);
    const auto width = static_cast<size_t>(ByteWidth(part));
    const auto number = [&](size_t i) {
      uint64_t bits = 0;
      std::memcpy(&bits, from.data() + i * width, width);
      return kir::LiteralValue(part, bits);
    };
    for (size_t i = 0; i < from.size() / (real_in ? width : 2 * width); ++i)
      x.push_back(real_in ? number(i) : std::complex(number(2 * i), number(2 * i + 1)));
    Dims dims = in.dims;
    const size_t first = dims.size() - fft.lengths.size();
    for (size_t axis = first; axis < dims.size(); ++axis) {
      const int64_t n = fft.lengths[axis - first], have = dims[axis];
      int64_t inner = 1;
      for (size_t d = axis + 1; d < dims.size(); ++d) inner *= dims[d];
      const int64_t lines = static_cast<int64_t>(x.size()) / have;
      const int64_t keep = real_in && axis + 1 == dims.size() ? n / 2 + 1 : n;
      std::vector<std::complex<double>> y(static_cast<size_t>(lines * keep));
      for (int64_t line = 0; line < lines; ++line) {
        const auto at = [&](int64_t j, int64_t extent) {
          return static_cast<size_t>((line / inner * extent + j) * inner + line % inner);
        };
        for (int64_t k = 0; k < keep; ++k) {
          std::complex<double> sum = 0;
          for (int64_t j = 0; j < n; ++j) {
            const auto value = j < have ? x[at(j, have)] : std::conj(x[at(n - j, have)]);
            sum += value * std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(j * k % n) /
                                               static_cast<double>(n));
          }
          y[at(k, keep)] = inverse ? sum / static_cast<double>(n) : sum;
        }
      }
      x = y;
      dims[axis] = keep;
    }
    std::string to;
    const auto put = [&](double v) {
      const uint64_t bits = kir::LiteralBits(part, v);
      to.append(reinterpret_cast<const char*>(&bits), width);
    };
    for (const auto& c : x) {
      put(c.real());
      if (!real_out) put(c.imag());
    }
    Scatter(s.outputs[0], to);
    return OkStatus();
  }

  // By the definition, in double.
  Status Convolution(const plan::DriverStep& s) {
    TENON_ASSIGN_OR_RETURN(const drivers::Convolution n, drivers::FromConfig<drivers::Convolution>(s.config));
    const plan::Slot& in = plan_.slots[s.inputs[0]];
    const plan::Slot& weights = plan_.slots[s.inputs[1]];
    const plan::Slot& out = plan_.slots[s.outputs[0]];
    const size_t spatial = n.in_spatial.size();
    const auto load = [&](plan::SlotId id, const Dims& at) {
      const plan::Slot& slot = plan_.slots[id];
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d) offset += at[d] * slot.stride_elems[d];
      uint64_t bits = 0;
      std::memcpy(&bits, At(id) + offset * ByteWidth(slot.dtype), static_cast<size_t>(ByteWidth(slot.dtype)));
      return bits;
    };
    const auto of = [](auto& dims, int64_t d) -> auto& { return dims[static_cast<size_t>(d)]; };
    const int64_t channels = of(weights.dims, n.weight_in),
                  per_group = of(out.dims, n.out_feature) / (n.feature_groups * n.batch_groups);
    int64_t taps = channels;
    for (int64_t d : n.weight_spatial) taps *= of(weights.dims, d);
    ForEach(out, [&](int64_t i, int64_t offset) {
      Dims place = out.dims;
      for (size_t d = place.size(); d-- > 0; i /= out.dims[d]) place[d] = i % out.dims[d];
      const int64_t result = of(place, n.out_feature), group = result / per_group;
      Sum sum(out.dtype);
      for (int64_t tap = 0; tap < taps; ++tap) {
        Dims from = in.dims, weight = weights.dims;
        const int64_t channel = tap % channels;
        int64_t rest = tap / channels;
        of(from, n.in_batch) = of(place, n.out_batch) + (n.batch_groups > 1 ? group * of(out.dims, n.out_batch) : 0);
        of(from, n.in_feature) = channel + (n.feature_groups > 1 ? group * channels : 0);
        of(weight, n.weight_in) = channel;
        of(weight, n.weight_out) = result;
        bool exists = true;
        for (size_t d = 0; d < spatial; ++d) {
          const int64_t window = of(weights.dims, n.weight_spatial[d]);
          const int64_t k = rest % window;
          rest /= window;
          const int64_t p = of(place, n.out_spatial[d]) * n.strides[d] - n.low[d] +
                            (n.reversed[d] != 0 ? window - 1 - k : k) * n.window_dilation[d];
          exists &= p >= 0 && p % n.in_dilation[d] == 0 && p / n.in_dilation[d] < of(in.dims, n.in_spatial[d]);
          of(from, n.in_spatial[d]) = p / n.in_dilation[d];
          of(weight, n.weight_spatial[d]) = k;
        }
        if (exists) sum.Add(load(s.inputs[0], from), in.dtype, load(s.inputs[1], weight), weights.dtype);
      }
      const uint64_t bits = sum.bits();
      std::memcpy(At(s.outputs[0]) + offset * ByteWidth(out.dtype), &bits, static_cast<size_t>(ByteWidth(out.dtype)));
    });
    return OkStatus();
  }

  // Whether element i of the dense array comes before element j: total order for floats, NaNs by their bits, or both
  // zeros alike and all NaNs, when asked.
  static bool Before(DType type, const std::string& dense, int64_t i, int64_t j, bool by_value) {
    const auto width = static_cast<size_t>(ByteWidth(type));
    const auto bits = [&](int64_t at) {
      uint64_t v = 0;
      std::memcpy(&v, dense.data() + static_cast<size_t>(at) * width, width);
      return v;
    };
    if (IsFloat(type)) {
      const auto rank = [&](int64_t at) {
        const double v = kir::LiteralValue(type, bits(at));
        const bool negative = (bits(at) >> (8 * width - 1)) != 0 && !(by_value && std::isnan(v));
        const double magnitude = std::isnan(v) ? 2 : std::isinf(v) ? 1 : 0;
        const auto code = std::isnan(v) && !by_value ? static_cast<int64_t>(bits(at) & (~uint64_t{0} >> 1)) : 0;
        return std::tuple(negative ? -magnitude : magnitude, magnitude == 0 ? v : 0.0, v == 0 && !by_value && !negative,
                          negative ? -code : code);
      };
      return rank(i) < rank(j);
    }
    const int unused = 64 - 8 * static_cast<int>(width);
    if (IsSigned(type)) return static_cast<int64_t>(bits(i) << unused) < static_cast<int64_t>(bits(j) << unused);
    return bits(i) < bits(j);
  }

  // Textbook Cholesky and substitution in f64.
  Status Linalg(const plan::DriverStep& s) {
    TENON_ASSIGN_OR_RETURN(const drivers::Factorisation config, drivers::FromConfig<drivers::Factorisation>(s.config));
    using Kind = drivers::Factorisation::Kind;
    if (config.kind == Kind::kLu) return Unimplemented("LU");
    const plan::Slot& slot = plan_.slots[s.outputs[0]];
    const auto numbers = [&](plan::SlotId id) {
      const std::string bytes = Gather(id);
      std::vector<double> v(bytes.size() / static_cast<size_t>(ByteWidth(slot.dtype)));
      for (size_t i = 0; i < v.size(); ++i) {
        uint64_t bits = 0;
        std::memcpy(&bits, bytes.data() + i * static_cast<size_t>(ByteWidth(slot.dtype)),
                    static_cast<size_t>(ByteWidth(slot.dtype)));
        v[i] = kir::LiteralValue(slot.dtype, bits);
      }
      return v;
    };
    std::vector<double> x = numbers(s.inputs[0]);
    const auto rows = static_cast<size_t>(slot.dims[slot.dims.size() - 2]),
               cols = static_cast<size_t>(slot.dims.back());
    const size_t matrices = rows * cols == 0 ? 0 : x.size() / (rows * cols);
    const std::vector<double> a = config.kind == Kind::kTriangularSolve ? numbers(s.inputs[1]) : std::vector<double>();
    std::vector<int32_t> info(matrices, 0);
    for (size_t b = 0; b < matrices; ++b) {
      double* m = x.data() + b * rows * cols;
      if (config.kind == Kind::kCholesky) {
        const auto at = [&](size_t i, size_t j) -> double& { return config.lower ? m[i * cols + j] : m[j * cols + i]; };
        for (size_t j = 0; j < rows && info[b] == 0; ++j) {
          for (size_t k = 0; k < j; ++k) at(j, j) -= at(j, k) * at(j, k);
          if (!(at(j, j) > 0)) info[b] = static_cast<int32_t>(j + 1);
          at(j, j) = std::sqrt(at(j, j));
          for (size_t i = j + 1; i < rows; ++i) {
            for (size_t k = 0; k < j; ++k) at(i, j) -= at(i, k) * at(j, k);
            at(i, j) /= at(j, j);
          }
        }
        if (!config.has_info && info[b] != 0) std::fill(m, m + rows * cols, std::nan(""));
        continue;
      }
      const size_t n = config.left ? rows : cols, others = config.left ? cols : rows;
      const double* t = a.data() + b * n * n;
      const bool swap = config.transpose == config.left;
      const bool forwards = config.lower != swap;
      for (size_t o = 0; o < others; ++o) {
        const auto unknown = [&](size_t i) -> double& { return config.left ? m[i * cols + o] : m[o * cols + i]; };
        for (size_t step = 0; step < n; ++step) {
          const size_t i = forwards ? step : n - 1 - step;
          for (size_t before = 0; before < step; ++before) {
            const size_t k = forwards ? before : n - 1 - before;
            unknown(i) -= (swap ? t[k * n + i] : t[i * n + k]) * unknown(k);
          }
          if (!config.unit_diagonal) unknown(i) /= t[i * n + i];
        }
      }
    }
    std::string bytes(x.size() * static_cast<size_t>(ByteWidth(slot.dtype)), '\0');
    for (size_t i = 0; i < x.size(); ++i) {
      const uint64_t bits = kir::LiteralBits(slot.dtype, x[i]);
      std::memcpy(bytes.data() + i * static_cast<size_t>(ByteWidth(slot.dtype)), &bits,
                  static_cast<size_t>(ByteWidth(slot.dtype)));
    }
    Scatter(s.outputs[0], bytes);
    if (config.has_info)
      Scatter(s.outputs[1], std::string(reinterpret_cast<const char*>(info.data()), 4 * info.size()));
    return OkStatus();
  }

  Status Sort(const plan::DriverStep& s) {
    TENON_ASSIGN_OR_RETURN(const drivers::Ordering config, drivers::FromConfig<drivers::Ordering>(s.config));
    const plan::Slot& first = plan_.slots[s.inputs[0]];
    const auto dim = static_cast<size_t>(config.dimension);
    std::vector<std::string> in, out;
    for (plan::SlotId id : s.inputs) in.push_back(Gather(id));
    for (plan::SlotId id : s.outputs) out.push_back(Gather(id));
    int64_t inner = 1, outer = 1;
    for (size_t d = 0; d < first.dims.size(); ++d)
      (d < dim ? outer : d > dim ? inner : outer) *= d == dim ? 1 : first.dims[d];
    const int64_t n = first.dims[dim];
    const int64_t take = plan_.slots[s.outputs[0]].dims[dim];
    for (int64_t row = 0; row < outer * inner; ++row) {
      const auto at = [&](int64_t i, int64_t length) { return (row / inner * length + i) * inner + row % inner; };
      std::vector<int64_t> order(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) order[static_cast<size_t>(i)] = i;
      std::sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
        for (size_t k = 0; k < config.descending.size(); ++k) {
          const DType type = plan_.slots[s.inputs[k]].dtype;
          const auto before = [&](int64_t a, int64_t b) {
            return Before(type, in[k], at(a, n), at(b, n), config.by_value[k] != 0);
          };
          if (before(x, y)) return config.descending[k] == 0;
          if (before(y, x)) return config.descending[k] != 0;
        }
        return x < y;
      });
      size_t next = config.descending.size();
      for (size_t p = 0; p < config.is_position.size(); ++p) {
        const auto width = static_cast<size_t>(ByteWidth(plan_.slots[s.outputs[p]].dtype));
        for (int64_t i = 0; i < take; ++i) {
          const int64_t from = order[static_cast<size_t>(i)];
          const char* bytes = config.is_position[p] != 0 ? reinterpret_cast<const char*>(&from)
                                                         : in[next].data() + static_cast<size_t>(at(from, n)) * width;
          std::memcpy(out[p].data() + static_cast<size_t>(at(i, take)) * width, bytes, width);
        }
        next += config.is_position[p] != 0 ? 0 : 1;
      }
    }
    for (size_t p = 0; p < config.is_position.size(); ++p) Scatter(s.outputs[p], out[p]);
    return OkStatus();
  }

  Status One(const plan::CopyStep& s) {
    Scatter(s.to, Gather(s.from));
    return OkStatus();
  }
  Status One(const plan::WhileStep& s) {
    for (int64_t trip = 0; s.trip_count < 0 || trip < s.trip_count; ++trip) {
      if (trip > 100000) return Internal("a loop does not end");
      if (s.trip_count < 0) {
        TENON_RETURN_IF_ERROR(Run(s.condition));
        if (*At(s.predicate) == 0) break;
      }
      TENON_RETURN_IF_ERROR(Run(s.body));
      std::vector<std::string> next;
      for (const auto& [from, to] : s.carry) next.push_back(Gather(from));
      for (size_t i = 0; i < next.size(); ++i) Scatter(s.carry[i].second, next[i]);
    }
    return OkStatus();
  }
  Status One(const plan::CaseStep& s) {
    int64_t i;
    const int64_t last = static_cast<int64_t>(s.branches.size()) - 1;
    if (plan_.slots[s.index].dtype == DType::kPred) {
      i = *At(s.index) != 0;
    } else {
      int32_t v;
      std::memcpy(&v, At(s.index), 4);
      i = v < 0 || v > last ? last : v;
    }
    return Run(s.branches[static_cast<size_t>(i)]);
  }
  Status One(const plan::CustomCallStep& s) { return Unimplemented("custom call " + s.target); }
  Status One(const plan::EvaluateStep& s) {
    TENON_ASSIGN_OR_RETURN(auto program, reference::Program::Load(*s.program));
    std::vector<reference::Value> in;
    for (plan::SlotId id : s.operands) {
      if (id == plan::kNoSlot) {
        in.push_back(reference::Value::Token());
        continue;
      }
      const std::string dense = Gather(id);
      TENON_ASSIGN_OR_RETURN(reference::Value v, reference::Value::Copy({plan_.slots[id].dtype, plan_.slots[id].dims},
                                                                        std::as_bytes(std::span(dense))));
      in.push_back(std::move(v));
    }
    TENON_ASSIGN_OR_RETURN(std::vector<reference::Value> out, program->Run(in));
    for (size_t i = 0; i < s.results.size(); ++i) {
      if (s.results[i] == plan::kNoSlot) continue;
      Scatter(s.results[i],
              std::string(reinterpret_cast<const char*>(out[i].bytes()), static_cast<size_t>(out[i].size_bytes())));
    }
    return OkStatus();
  }

  const plan::Plan& plan_;
  std::vector<std::string>& args_;
  std::vector<std::string>& outs_;
  std::string arena_;
  bool donate_;
};

}  // namespace

Result<std::vector<std::string>> RunPlan(const plan::Plan& plan, std::vector<std::string> arguments, bool donate) {
  std::vector<std::string> outs;
  for (const plan::Output& out : plan.outputs) {
    outs.push_back(std::string(static_cast<size_t>(SizeBytes(out.shape)), '\x77'));
    if (out.alias_contents && !donate) outs.back() = arguments[static_cast<size_t>(out.alias_input)];
  }
  TENON_RETURN_IF_ERROR(Interpreter(plan, arguments, outs, donate).Run(plan.steps));
  for (size_t i = 0; donate && i < outs.size(); ++i) {
    if (plan.outputs[i].alias_input >= 0) outs[i] = arguments[static_cast<size_t>(plan.outputs[i].alias_input)];
  }
  return outs;
}

}  // namespace tenon::test
