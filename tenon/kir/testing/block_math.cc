#include "tenon/kir/testing/block_math.h"

#include <immintrin.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace tenon::kir::testing {
namespace {

constexpr size_t kN = BlockMath::kBlock;

template <class T>
struct MinMax {
  static T Min(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return a;
      if (b != b) return b;
      if (a == b) return std::signbit(a) ? a : b;
    }
    return a < b ? a : b;
  }
  static T Max(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a) return a;
      if (b != b) return b;
      if (a == b) return std::signbit(a) ? b : a;
    }
    return a < b ? b : a;
  }
};

[[noreturn]] void Unsupported(const Node& n) {
  std::fprintf(stderr, "BlockMath: no %s of %s\n", std::string(OpName(n.op)).c_str(),
               std::string(DTypeName(n.type)).c_str());
  std::abort();
}

template <class T, class Fn>
void Map(T* out, Fn fn) {
  for (size_t i = 0; i < kN; ++i) out[i] = fn(i);
}

float Fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
double Fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

template <class T>
bool Arithmetic(Op op, T* r, const T* a, const T* b, const T* c) {
  switch (op) {
    case Op::kAdd:
      Map(r, [=](size_t i) { return a[i] + b[i]; });
      return true;
    case Op::kSub:
      Map(r, [=](size_t i) { return a[i] - b[i]; });
      return true;
    case Op::kMul:
      Map(r, [=](size_t i) { return a[i] * b[i]; });
      return true;
    case Op::kMin:
      Map(r, [=](size_t i) { return MinMax<T>::Min(a[i], b[i]); });
      return true;
    case Op::kMax:
      Map(r, [=](size_t i) { return MinMax<T>::Max(a[i], b[i]); });
      return true;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Op::kDiv:
        Map(r, [=](size_t i) { return a[i] / b[i]; });
        return true;
      case Op::kFma:
        Map(r, [=](size_t i) { return Fma(a[i], b[i], c[i]); });
        return true;
      case Op::kNeg:
        Map(r, [=](size_t i) { return -a[i]; });
        return true;
      case Op::kAbs:
        Map(r, [=](size_t i) { return std::fabs(a[i]); });
        return true;
      case Op::kSqrt:
        Map(r, [=](size_t i) { return std::sqrt(a[i]); });
        return true;
      case Op::kFloor:
        Map(r, [=](size_t i) { return std::floor(a[i]); });
        return true;
      case Op::kTrunc:
        Map(r, [=](size_t i) { return std::trunc(a[i]); });
        return true;
      case Op::kRoundEven:
        Map(r, [=](size_t i) { return std::nearbyint(a[i]); });
        return true;
      default:
        return false;
    }
  } else {
    constexpr T kBits = sizeof(T) * 8;
    using U = std::make_unsigned_t<T>;
    using S = std::make_signed_t<T>;
    switch (op) {
      case Op::kNeg:
        Map(r, [=](size_t i) { return static_cast<T>(0 - static_cast<U>(a[i])); });
        return true;
      case Op::kAnd:
        Map(r, [=](size_t i) { return a[i] & b[i]; });
        return true;
      case Op::kOr:
        Map(r, [=](size_t i) { return a[i] | b[i]; });
        return true;
      case Op::kXor:
        Map(r, [=](size_t i) { return a[i] ^ b[i]; });
        return true;
      case Op::kNot:
        Map(r, [=](size_t i) { return ~a[i]; });
        return true;
      case Op::kShl:
        Map(r, [=](size_t i) {
          return static_cast<U>(b[i]) >= U(kBits) ? T(0) : static_cast<T>(static_cast<U>(a[i]) << (b[i] & (kBits - 1)));
        });
        return true;
      case Op::kShrLogical:
        Map(r, [=](size_t i) {
          return static_cast<U>(b[i]) >= U(kBits) ? T(0) : static_cast<T>(static_cast<U>(a[i]) >> (b[i] & (kBits - 1)));
        });
        return true;
      case Op::kShrArith:
        Map(r, [=](size_t i) {
          return static_cast<T>(static_cast<S>(a[i]) >> (static_cast<U>(b[i]) >= U(kBits) ? kBits - 1 : b[i]));
        });
        return true;
      default:
        return false;
    }
  }
}

template <class T>
void Compare(uint8_t imm, uint32_t* r, const T* a, const T* b) {
  switch (imm) {
    case kEq:
      Map(r, [=](size_t i) { return a[i] == b[i] ? ~0u : 0u; });
      break;
    case kNe:
      Map(r, [=](size_t i) { return a[i] != b[i] ? ~0u : 0u; });
      break;
    case kLt:
      Map(r, [=](size_t i) { return a[i] < b[i] ? ~0u : 0u; });
      break;
    case kLe:
      Map(r, [=](size_t i) { return a[i] <= b[i] ? ~0u : 0u; });
      break;
    case kGt:
      Map(r, [=](size_t i) { return a[i] > b[i] ? ~0u : 0u; });
      break;
    default:
      Map(r, [=](size_t i) { return a[i] >= b[i] ? ~0u : 0u; });
      break;
  }
}

}  // namespace

BlockMath::BlockMath(const Graph& graph) : graph_(graph), lanes_(graph.nodes.size()) {
  for (size_t v = 0; v < graph.nodes.size(); ++v) {
    const Node& n = graph.nodes[v];
    if (n.op != Op::kConst) continue;
    const uint64_t bits = graph.literals[n.attr];
    for (size_t i = 0; i < kN; ++i) {
      if (n.type == DType::kPred) {
        lanes_[v].p[i] = bits ? ~0u : 0u;
      } else if (DTypeBits(n.type) == 64) {
        lanes_[v].q[i] = bits;
      } else {
        lanes_[v].u[i] = static_cast<uint32_t>(bits);
      }
    }
  }
}

bool BlockMath::Supported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

void BlockMath::Run(std::span<const uint64_t* const> arguments, size_t n, uint64_t* out) {
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);
  const auto& nodes = graph_.nodes;
  for (size_t v = 0; v < nodes.size(); ++v) {
    const Node& node = nodes[v];
    Lane& r = lanes_[v];
    const Lane& a = lanes_[!node.in.empty() ? node.in[0] : 0];
    const Lane& b = lanes_[node.in.size() > 1 ? node.in[1] : 0];
    const Lane& c = lanes_[node.in.size() > 2 ? node.in[2] : 0];
    const bool wide = DTypeBits(node.type) == 64;
    bool done = true;
    switch (node.op) {
      case Op::kConst:
        break;
      case Op::kArgument: {
        const uint64_t* from = arguments[node.imm];
        for (size_t i = 0; i < kN; ++i) {
          const uint64_t bits = from[i < n ? i : 0];
          if (wide) {
            r.q[i] = bits;
          } else {
            r.u[i] = static_cast<uint32_t>(bits);
          }
        }
        break;
      }
      case Op::kCompare:
        switch (nodes[node.in[0]].type) {
          case DType::kF32:
            Compare(node.imm, r.p, a.f, b.f);
            break;
          case DType::kF64:
            Compare(node.imm, r.p, a.d, b.d);
            break;
          case DType::kS32:
            Compare(node.imm, r.p, a.i, b.i);
            break;
          case DType::kU32:
            Compare(node.imm, r.p, a.u, b.u);
            break;
          case DType::kS64:
            Compare(node.imm, r.p, a.l, b.l);
            break;
          case DType::kU64:
            Compare(node.imm, r.p, a.q, b.q);
            break;
          default:
            done = false;
        }
        break;
      case Op::kSelect:
        if (wide) {
          Map(r.q, [&](size_t i) { return a.p[i] ? b.q[i] : c.q[i]; });
        } else {
          Map(r.u, [&](size_t i) { return a.p[i] ? b.u[i] : c.u[i]; });
        }
        break;
      case Op::kBitcast:
        if (wide) {
          Map(r.q, [&](size_t i) { return a.q[i]; });
        } else {
          Map(r.u, [&](size_t i) { return a.u[i]; });
        }
        break;
      case Op::kConvert: {
        const DType from = nodes[node.in[0]].type, to = node.type;
        if (from == DType::kS32 && to == DType::kF32)
          Map(r.f, [&](size_t i) { return static_cast<float>(a.i[i]); });
        else if (from == DType::kS32 && to == DType::kF64)
          Map(r.d, [&](size_t i) { return static_cast<double>(a.i[i]); });
        else if (from == DType::kS64 && to == DType::kF32)
          Map(r.f, [&](size_t i) { return static_cast<float>(a.l[i]); });
        else if (from == DType::kS64 && to == DType::kF64)
          Map(r.d, [&](size_t i) { return static_cast<double>(a.l[i]); });
        else if (from == DType::kF32 && to == DType::kF64)
          Map(r.d, [&](size_t i) { return static_cast<double>(a.f[i]); });
        else if (from == DType::kF64 && to == DType::kF32)
          Map(r.f, [&](size_t i) { return static_cast<float>(a.d[i]); });
        else if (DTypeBits(from) == 64 && !wide)
          Map(r.u, [&](size_t i) { return static_cast<uint32_t>(a.q[i]); });
        else if (from == DType::kU32 && wide)
          Map(r.q, [&](size_t i) { return static_cast<uint64_t>(a.u[i]); });
        else if (from == DType::kS32 && wide)
          Map(r.l, [&](size_t i) { return static_cast<int64_t>(a.i[i]); });
        else
          done = false;
        break;
      }
      default:
        switch (node.type) {
          case DType::kF32:
            done = Arithmetic(node.op, r.f, a.f, b.f, c.f);
            break;
          case DType::kF64:
            done = Arithmetic(node.op, r.d, a.d, b.d, c.d);
            break;
          case DType::kS32:
            done = Arithmetic(node.op, r.u, a.u, b.u, c.u) || Arithmetic(node.op, r.i, a.i, b.i, c.i);
            break;
          case DType::kU32:
            done = Arithmetic(node.op, r.u, a.u, b.u, c.u);
            break;
          case DType::kS64:
            done = Arithmetic(node.op, r.q, a.q, b.q, c.q) || Arithmetic(node.op, r.l, a.l, b.l, c.l);
            break;
          case DType::kU64:
            done = Arithmetic(node.op, r.q, a.q, b.q, c.q);
            break;
          case DType::kPred:
            done = node.op == Op::kNot ? (Map(r.p, [&](size_t i) { return ~a.p[i]; }), true)
                                       : Arithmetic(node.op, r.p, a.p, b.p, c.p);
            if (node.op != Op::kAnd && node.op != Op::kOr && node.op != Op::kXor && node.op != Op::kNot) done = false;
            break;
          default:
            done = false;
        }
    }
    if (!done) Unsupported(node);
  }
  const Val result = graph_.results[0];
  for (size_t i = 0; i < n; ++i) {
    out[i] = DTypeBits(nodes[result].type) == 64 ? lanes_[result].q[i] : lanes_[result].u[i];
  }
  _mm_setcsr(saved);
}

}  // namespace tenon::kir::testing
