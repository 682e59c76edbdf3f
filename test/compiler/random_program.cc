#include "test/compiler/random_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>
#include <vector>

namespace tenon::test {
namespace {

using Dims = std::vector<int64_t>;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  std::string Make(int ops) {
    std::string args;
    const int count = 2 + Pick(2);
    for (int i = 0; i < count; ++i) {
      Dims dims;
      for (int d = Pick(4); d > 0; --d) dims.push_back(Extent());
      args += fmt::format("{}%a{}: {}", i ? ", " : "", i, Type(dims));
      values_.push_back({fmt::format("%a{}", i), dims});
    }
    for (int i = 0; i < ops; ++i) AddOp();
    std::string results;
    std::string types;
    const size_t outs = std::min<size_t>(values_.size(), 1 + static_cast<size_t>(Pick(3)));
    for (size_t i = 0; i < outs; ++i) {
      const Value& v = values_[values_.size() - 1 - i];
      results += (i ? ", " : "") + v.name;
      types += (i ? ", " : "") + Type(v.dims);
    }
    return fmt::format("func.func @main({}) -> ({}) {{\n{}  return {} : {}\n}}\n", args, types, body_, results, types);
  }

 private:
  struct Value {
    std::string name;
    Dims dims;
  };

  int Pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  int64_t Extent() { return std::vector<int64_t>{1, 2, 3, 5, 8, 20, 33}[static_cast<size_t>(Pick(7))]; }
  static std::string Type(const Dims& dims) {
    std::string t = "tensor<";
    for (int64_t d : dims) t += fmt::format("{}x", d);
    return t + "f32>";
  }
  static int64_t Count(const Dims& dims) {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
  const Value Any() {
    return values_[values_.size() - 1 -
                   static_cast<size_t>(Pick(static_cast<int>(std::min<size_t>(values_.size(), 6))))];
  }
  void Emit(const std::string& text, Dims dims) {
    const std::string name = fmt::format("%{}", next_++);
    body_ += fmt::format("  {} = {}\n", name, text);
    values_.push_back({name, std::move(dims)});
  }
  std::string Constant(double v) {
    Emit(fmt::format("stablehlo.constant dense<{:e}> : tensor<f32>", v), {});
    std::string name = values_.back().name;
    values_.pop_back();
    return name;
  }
  /// A value of these dims: an existing one, or a broadcast of a scalar or of a trailing or leading part.
  std::string Like(const Dims& dims) {
    for (int tries = 0; tries < 6; ++tries) {
      const Value v = Any();
      if (v.dims == dims) return v.name;
      if (v.dims.empty() || v.dims.size() >= dims.size()) continue;
      for (const size_t first : {dims.size() - v.dims.size(), size_t{0}}) {
        if (!std::equal(v.dims.begin(), v.dims.end(), dims.begin() + static_cast<long>(first))) continue;
        Dims map;
        for (size_t i = 0; i < v.dims.size(); ++i) map.push_back(static_cast<int64_t>(first + i));
        Emit(fmt::format("stablehlo.broadcast_in_dim {}, dims = [{}] : ({}) -> {}", v.name, fmt::join(map, ", "),
                         Type(v.dims), Type(dims)),
             dims);
        return values_.back().name;
      }
    }
    const std::string c = Constant(0.25 + Pick(5));
    Emit(fmt::format("stablehlo.broadcast_in_dim {}, dims = [] : (tensor<f32>) -> {}", c, Type(dims)), dims);
    return values_.back().name;
  }

  void AddOp() {
    const Value v = Any();
    const size_t rank = v.dims.size();
    switch (Pick(13)) {
      case 0:
      case 1: {
        const char* op[] = {"add", "subtract", "multiply", "maximum", "minimum"};
        const std::string other = Like(v.dims);
        Emit(fmt::format("stablehlo.{} {}, {} : {}", op[Pick(5)], v.name, other, Type(v.dims)), v.dims);
        break;
      }
      case 2: {
        const char* op[] = {"tanh", "negate", "abs", "logistic", "floor"};
        Emit(fmt::format("stablehlo.{} {} : {}", op[Pick(5)], v.name, Type(v.dims)), v.dims);
        break;
      }
      case 3: {
        if (rank == 0) return;
        Dims permutation;
        for (size_t i = 0; i < rank; ++i) permutation.push_back(static_cast<int64_t>(i));
        std::shuffle(permutation.begin(), permutation.end(), random_);
        Dims out;
        for (int64_t p : permutation) out.push_back(v.dims[static_cast<size_t>(p)]);
        Emit(fmt::format("stablehlo.transpose {}, dims = [{}] : ({}) -> {}", v.name, fmt::join(permutation, ", "),
                         Type(v.dims), Type(out)),
             out);
        break;
      }
      case 4:
      case 5: {
        if (rank == 0) return;
        Dims dims;
        Dims out;
        for (size_t i = 0; i < rank; ++i) {
          if (Pick(2) == 0) {
            dims.push_back(static_cast<int64_t>(i));
          } else {
            out.push_back(v.dims[i]);
          }
        }
        if (dims.empty()) return;
        if (Pick(2) == 0) std::reverse(dims.begin(), dims.end());
        const bool sum = Pick(2) == 0;
        const std::string init = Constant(sum ? 0.5 : -3.0);
        Emit(
            fmt::format(
                "stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = [{}] : ({}, tensor<f32>) -> {}",
                v.name, init, sum ? "add" : "maximum", fmt::join(dims, ", "), Type(v.dims), Type(out)),
            out);
        // Back over the rows, as normalisations do.
        if (Pick(2) == 0) {
          Dims map;
          for (size_t i = 0; i < rank; ++i) {
            if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) == dims.end())
              map.push_back(static_cast<int64_t>(i));
          }
          Emit(fmt::format("stablehlo.broadcast_in_dim {}, dims = [{}] : ({}) -> {}", values_.back().name,
                           fmt::join(map, ", "), Type(out), Type(v.dims)),
               v.dims);
          const std::string spread = values_.back().name;
          Emit(fmt::format("stablehlo.subtract {}, {} : {}", v.name, spread, Type(v.dims)), v.dims);
        }
        break;
      }
      case 6: {
        if (rank == 0) return;
        Dims start;
        Dims limit;
        Dims stride;
        Dims out;
        for (int64_t d : v.dims) {
          start.push_back(Pick(static_cast<int>(d)));
          stride.push_back(1 + Pick(2));
          limit.push_back(start.back() + 1 + Pick(static_cast<int>(d - start.back())));
          out.push_back((limit.back() - start.back() + stride.back() - 1) / stride.back());
        }
        std::string ranges;
        for (size_t i = 0; i < rank; ++i)
          ranges += fmt::format("{}{}:{}:{}", i ? ", " : "", start[i], limit[i], stride[i]);
        Emit(fmt::format("stablehlo.slice {} [{}] : ({}) -> {}", v.name, ranges, Type(v.dims), Type(out)), out);
        break;
      }
      case 7: {
        if (rank == 0) return;
        const size_t along = static_cast<size_t>(Pick(static_cast<int>(rank)));
        Dims out = v.dims;
        out[along] *= 2;
        const std::string other = Like(v.dims);
        Emit(fmt::format("stablehlo.concatenate {}, {}, dim = {} : ({}, {}) -> {}", v.name, other, along, Type(v.dims),
                         Type(v.dims), Type(out)),
             out);
        break;
      }
      case 8: {
        if (rank == 0) return;
        Dims low;
        Dims high;
        Dims interior;
        Dims out;
        for (int64_t d : v.dims) {
          low.push_back(Pick(3));
          high.push_back(Pick(3));
          interior.push_back(Pick(4) == 0 ? 1 : 0);
          out.push_back(low.back() + d + (d - 1) * interior.back() + high.back());
        }
        const std::string pad = Constant(1.5);
        Emit(fmt::format("stablehlo.pad {}, {}, low = [{}], high = [{}], interior = [{}] : ({}, tensor<f32>) -> {}",
                         v.name, pad, fmt::join(low, ", "), fmt::join(high, ", "), fmt::join(interior, ", "),
                         Type(v.dims), Type(out)),
             out);
        break;
      }
      case 9: {
        Dims out = {Count(v.dims)};
        if (Pick(2) == 0) {
          for (int64_t f : {2, 3, 5, 4}) {
            if (out.back() % f == 0) {
              out = {f, Count(v.dims) / f};
              break;
            }
          }
        }
        Emit(fmt::format("stablehlo.reshape {} : ({}) -> {}", v.name, Type(v.dims), Type(out)), out);
        break;
      }
      case 10: {
        if (rank == 0) return;
        Emit(fmt::format("stablehlo.reverse {}, dims = [{}] : {}", v.name, Pick(static_cast<int>(rank)), Type(v.dims)),
             v.dims);
        break;
      }
      case 11: {
        if (rank != 2 || Count(v.dims) > 400) return;
        Dims out = {v.dims[0], v.dims[0]};
        Emit(fmt::format("stablehlo.dot_general {0}, {0}, contracting_dims = [1] x [1] : ({1}, {1}) -> {2}", v.name,
                         Type(v.dims), Type(out)),
             out);
        break;
      }
      case 12: {
        if (rank == 0) return;
        Emit(fmt::format("stablehlo.iota dim = {} : {}", Pick(static_cast<int>(rank)), Type(v.dims)), v.dims);
        const std::string iota = values_.back().name;
        Emit(fmt::format("stablehlo.add {}, {} : {}", v.name, iota, Type(v.dims)), v.dims);
        break;
      }
    }
    // Sums of sums grow without bound; keep values where one tolerance fits all.
    Value& last = values_.back();
    if (Count(last.dims) > 20000) values_.pop_back();
  }

  std::mt19937_64 random_;
  std::vector<Value> values_;
  std::string body_;
  int next_ = 0;
};

}  // namespace

std::string RandomProgram(uint64_t seed, int ops) { return Generator(seed).Make(ops); }

}  // namespace tenon::test
