#include "test/fuzz_programs/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/fuzz_programs/ops.h"

namespace tenon::fuzz {
namespace {

struct Family {
  int weight;
  void (*add)(Builder&);
};

constexpr Family kFamilies[] = {
    {9, AddBinary},
    {5, AddUnary},
    {6, AddConvert},
    {2, AddBitcast},
    {4, AddCompare},
    {5, AddSelect},
    {3, AddComplex},
    {1, AddTranscendental},
    {2, AddDiamonds},
    {4, AddTranspose},
    {4, AddBroadcast},
    {4, AddReshape},
    {4, AddReverse},
    {5, AddSlice},
    {5, AddConcatenate},
    {5, AddPad},
    {3, AddRoll},
    {6, AddSeams},
    {1, AddSeamChain},
    {3, AddIota},
    {1, AddRandomBits},
    {1, AddMap},
    {1, AddBarrier},
    {2, AddWrittenOutReduce},
    {1, AddScatterOfTwo},
    {5, AddDynamicSlice},
    {5, AddDynamicUpdate},
    {5, AddGather},
    {5, AddScatter},
    {8, AddReduce},
    {3, AddArgReduce},
    {2, AddVariadicReduce},
    {4, AddReduceWindow},
    {2, AddSelectAndScatter},
    {1, AddManyRowSums},
    {3, AddSort},
    {1, AddTopK},
    {5, AddDot},
    {2, AddConvolution},
    {2, AddFft},
    {1, AddCholesky},
    {1, AddTriangularSolve},
    {2, AddDynamicShape},
    {1, AddQuantized},
    {1, AddRequantized},
    {1, AddQuantizedProduct},
    {1, AddQuantizedConvolution},
    {1, AddQuantizedChain},
    {1, AddRandomLoop},
    {1, AddClientOp},
    {3, AddOrderedReduce},
    {2, AddOrderedWindow},
    {1, AddComposite},
    {1, AddManyParts},
    {1, AddCollective},
    {1, AddOldLookup},
    {6, AddWhile},
    {1, AddShiftLoop},
    {2, AddMappedShiftLoop},
    {1, AddRecurrence},
    {2, AddTrips},
    {2, AddIf},
    {2, AddCase},
    {2, AddCall},
    {4, AddRegionReduce},
    {3, AddRegionWindow},
    {3, AddRegionScatter},
    {2, AddRegionMap},
    {1, AddRegionSelectAndScatter},
    {2, AddComplexFunction},
    {1, AddComplexSort},
    {1, AddComplexBits},
    {3, AddDressedProduct},
    {2, AddDressedConvolution},
    {2, AddScan},
    {1, AddRaggedDot},
    {1, AddRandomNumbers},
    {1, AddClientPair},
    {1, AddScales},
    {2, AddPieceChain},
    {1, AddFunction},
    {1, AddFloatPredicate},
    {2, AddExactQuotient},
    {1, AddBatchNorm},
    {2, AddOldProduct},
    {1, AddOldBroadcast},
    {1, AddTuple},
    {1, AddWideCollective},
    {1, AddNamedTopK},
    {2, AddMixedDot},
    {10, AddRewritten},
};

/// What one program is like: small mostly, now and then large in one respect.
Limits LimitsOf(uint64_t seed) {
  Random random(seed ^ 0x5eed0f11);
  Limits limits;
  limits.elements = random.OneOf<int64_t>({60, 200, 200, 600, 600, 600, 2000});
  limits.work = 20 * limits.elements;
  if (random.Chance(40)) {
    const bool huge = random.Chance(4);
    limits.elements = huge ? 300'000 : 140'000;
    limits.work = huge ? 900'000 : 400'000;
    limits.large_extents = true;
  }
  if (random.Chance(60)) {
    limits.elements = random.OneOf<int64_t>({20'000, 150'000, 150'000, 1'200'000});
    limits.work = 4 * limits.elements;
    limits.rank = random.OneOf<int64_t>({3, 4, 5, 7, 9});
    limits.large_extents = limits.filling = true;
  }
  limits.approximate = random.Chance(6);
  limits.specials = random.Chance(8);
  limits.rare_types = random.Chance(4);
  limits.rounds = random.Chance(3);
  if (!limits.filling && random.Chance(10)) limits.rank = 8;
  if (random.Chance(8)) limits.depth = 4;
  return limits;
}

double ArgumentBound(const Type& type) { return type.bits <= 8 ? 2 : type.bits == 16 ? 4 : 8; }

}  // namespace

void Builder::AddOp() {
  static const int64_t total = [] {
    int64_t sum = 0;
    for (const Family& f : kFamilies) sum += f.weight;
    return sum;
  }();
  if (limits.approximate && random.Chance(5)) {
    if (random.Chance(4)) return AddComplexFunction(*this);
    if (random.Chance(3)) return AddFunction(*this);
    if (random.Chance(8)) return AddBatchNorm(*this);
    if (random.Chance(8)) return AddAttention(*this);
    if (random.Chance(6)) return AddRowNorm(*this);
    if (random.Chance(6)) return AddActivation(*this);
    return random.Chance(6) ? AddFft(*this) : AddTranscendental(*this);
  }
  int64_t at = random.Pick(total);
  for (const Family& f : kFamilies) {
    if ((at -= f.weight) < 0) return f.add(*this);
  }
}

std::string GenerateProgram(uint64_t seed) {
  Builder b(seed, LimitsOf(seed));
  Conditions conditions{.data_seed = seed, .specials = b.limits.specials};
  std::vector<Value> arguments;
  const bool many = !b.limits.filling && b.random.Chance(40);
  for (int64_t n = many ? 20 + b.random.Pick(50) : 1 + b.random.Pick(5); n > 0; --n) {
    Value v{fmt::format("%arg{}", arguments.size()),
            arguments.empty() && b.random.Chance(2) ? TypeOf(DType::kF32) : b.AnyType(),
            {},
            {}};
    v.dims = arguments.size() > 1 && b.random.Chance(3) ? b.random.OneOf(arguments).dims : b.AnyDims(b.limits.rank);
    v.is.bound = v.type.is_int() ? std::ldexp(1.0, v.type.bits) : v.type.is_bool() ? 1 : ArgumentBound(v.type);
    v.is.special = b.limits.specials && v.type.is_float();
    arguments.push_back(v);
    b.values().push_back(v);
  }
  const bool large = b.limits.elements > 10'000;
  const int64_t ops = b.limits.filling      ? 1 + b.random.Pick(5)
                      : large               ? 2 + b.random.Pick(10)
                      : b.random.Chance(80) ? 80 + b.random.Pick(120)
                      : b.random.Chance(12) ? 25 + b.random.Pick(40)
                                            : 2 + b.random.Pick(18);
  for (int64_t i = 0; i < ops; ++i) b.AddOp();
  // Outputs: the last values mostly, inner ones, arguments, the same one twice.
  std::vector<Value> outputs;
  for (int64_t n = 1 + b.random.Pick(many ? 80 : b.random.Chance(2) ? 4 : 12); n > 0; --n) {
    const auto last = static_cast<int64_t>(b.values().size()) - 1;
    const int64_t back = b.random.Chance(2) ? static_cast<int64_t>(outputs.size()) : b.random.Pick(last + 1);
    outputs.push_back(b.values()[static_cast<size_t>(last - std::min(last, back))]);
  }
  // Arguments that calls give away, some for an output that they fit.
  std::string parameters;
  std::vector<bool> taken(outputs.size(), false);
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string attribute;
    if (b.random.Chance(4)) {
      attribute = " {jax.buffer_donor = true}";
      for (size_t o = 0; o < outputs.size(); ++o) {
        if (taken[o] || !(outputs[o].type == arguments[i].type) || outputs[o].dims != arguments[i].dims) continue;
        taken[o] = true;
        attribute = fmt::format(" {{tf.aliasing_output = {} : i32}}", o);
        break;
      }
    }
    parameters += fmt::format("{}{}: {}{}", i ? ", " : "", arguments[i].name, Text(arguments[i]), attribute);
  }
  for (const Value& o : outputs) {
    // Twice what the bound says, which counts one implementation's error.
    conditions.outputs.push_back({.absolute = 2 * o.is.error, .any_zero = !o.is.zero_sign || !o.is.exact()});
  }
  std::string functions;
  for (const std::string& f : b.functions) functions += f;
  return fmt::format("{}\nfunc.func @main({}) -> ({}) {{\n{}  return {} : {}\n}}\n{}", Print(conditions), parameters,
                     Types(outputs), b.body(), Names(outputs), Types(outputs), functions);
}

}  // namespace tenon::fuzz
