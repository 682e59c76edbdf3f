#include "tenon/conformance/areas/op_case.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>

#include "tenon/base/element_name.h"

namespace tenon::conformance {

namespace {

// Formats by exponent and mantissa bits; IEEE with infinities.
struct Format {
  int exponent, mantissa;
};

Format FormatOf(DType type) {
  switch (type) {
    case DType::kF16:
      return {5, 10};
    case DType::kBF16:
      return {8, 7};
    case DType::kF32:
    case DType::kC64:
      return {8, 23};
    default:
      return {11, 52};
  }
}

uint16_t EncodeSmall(double value, Format f) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  int bias = (1 << (f.exponent - 1)) - 1;
  uint16_t infinity = static_cast<uint16_t>(((1 << f.exponent) - 1) << f.mantissa);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | (1 << (f.mantissa - 1)));
  value = std::fabs(value);
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  int exponent = std::max(std::ilogb(value), 1 - bias);
  double units = std::nearbyint(std::ldexp(value, f.mantissa - exponent));  // Ties go to even in the default mode.
  if (units >= std::ldexp(1.0, f.mantissa + 1)) {
    units /= 2;
    ++exponent;
  }
  if (exponent > bias) return sign | infinity;
  auto fraction = static_cast<uint32_t>(units);
  bool normal = fraction >> f.mantissa != 0;
  uint32_t biased = normal ? static_cast<uint32_t>(exponent + bias) : 0;
  return static_cast<uint16_t>(sign | biased << f.mantissa | (fraction & ((1u << f.mantissa) - 1)));
}

double DecodeSmall(uint16_t bits, Format f) {
  int bias = (1 << (f.exponent - 1)) - 1;
  int exponent = (bits & 0x7fff) >> f.mantissa;
  int fraction = bits & ((1 << f.mantissa) - 1);
  double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << f.exponent) - 1)
    return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - f.mantissa);
  return sign * std::ldexp(fraction + (1 << f.mantissa), exponent - bias - f.mantissa);
}

template <class T>
void Append(Bytes& bytes, T value) {
  const char* p = reinterpret_cast<const char*>(&value);
  bytes.insert(bytes.end(), p, p + sizeof(T));
}

template <class T>
T At(const Bytes& bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

double Allowed(const OpCase& op, DType type, double want) {
  if (!IsFloat(type) && !IsComplex(type)) return 0;
  double unit = Epsilon(type) * std::fabs(want);
  switch (op.bound) {
    case Bound::kExact:
      return op.slack;
    case Bound::kRounded:
      return 0.5 * unit + op.slack;
    case Bound::kFunction:
      return (type == DType::kF16 || type == DType::kBF16 ? 1 : 16) * std::max(unit, Epsilon(type) * 1e-3) + op.slack;
  }
  return 0;
}

void RunOp(Env& env, const OpCase& op) {
  std::string parameters, results;
  for (size_t i = 0; i < op.arguments.size(); ++i) {
    parameters +=
        fmt::format("{}%arg{}: {}", i == 0 ? "" : ", ", i, TensorType(op.arguments[i].type, op.arguments[i].dims));
  }
  for (size_t i = 0; i < op.results.size(); ++i)
    results += (i == 0 ? "" : ", ") + TensorType(op.results[i].type, op.results[i].dims);
  Loaded loaded = env.Compile(fmt::format("module @op {{\n  func.func public @main({}) -> ({}) {{\n    {}\n  }}\n}}\n",
                                          parameters, results, op.body));
  std::vector<Buffer> buffers;
  std::vector<PJRT_Buffer*> arguments;
  for (const Value& argument : op.arguments) {
    Bytes bytes = Encode(argument);
    buffers.push_back(env.Upload(static_cast<PJRT_Buffer_Type>(argument.type), bytes.data(), argument.dims));
    arguments.push_back(buffers.back());
  }
  std::vector<Buffer> out = env.Execute(loaded, arguments);
  env.Equal(out.size(), op.results.size(), "results");
  for (size_t r = 0; r < out.size(); ++r) {
    const Value& want = op.results[r];
    env.Equal(env.BufferType(out[r]), static_cast<PJRT_Buffer_Type>(want.type), "type of the result");
    env.Expect(env.BufferDims(out[r]) == want.dims, "the result has other extents");
    std::vector<double> got = Decode(want.type, env.Download(out[r]));
    env.Equal(got.size(), want.numbers.size(), "elements");
    for (size_t i = 0; i < got.size(); ++i) {
      double w = want.numbers[i];
      bool same = std::isnan(w)   ? std::isnan(got[i])
                  : std::isinf(w) ? got[i] == w
                                  : std::fabs(got[i] - w) <= Allowed(op, want.type, w);
      if (!same)
        env.Fail(fmt::format("element {} of result {}: got {:.17g}, wanted {:.17g} within {:.3g}", i, r, got[i], w,
                             Allowed(op, want.type, w)));
    }
  }
}

}  // namespace

double Epsilon(DType type) { return std::ldexp(1.0, -FormatOf(type).mantissa); }

std::string TensorType(DType type, const Dims& dims) {
  std::string text = "tensor<";
  for (int64_t d : dims) text += std::to_string(d) + "x";
  return text + std::string(ElementName(type)) + ">";
}

Bytes Encode(const Value& value) {
  Bytes bytes;
  for (double x : value.numbers) {
    switch (value.type) {
      case DType::kPred:
        Append<uint8_t>(bytes, x != 0);
        break;
      case DType::kS8:
        Append<int8_t>(bytes, static_cast<int8_t>(x));
        break;
      case DType::kS16:
        Append<int16_t>(bytes, static_cast<int16_t>(x));
        break;
      case DType::kS32:
        Append<int32_t>(bytes, static_cast<int32_t>(x));
        break;
      case DType::kS64:
        Append<int64_t>(bytes, static_cast<int64_t>(x));
        break;
      case DType::kU8:
        Append<uint8_t>(bytes, static_cast<uint8_t>(x));
        break;
      case DType::kU16:
        Append<uint16_t>(bytes, static_cast<uint16_t>(x));
        break;
      case DType::kU32:
        Append<uint32_t>(bytes, static_cast<uint32_t>(x));
        break;
      case DType::kU64:
        Append<uint64_t>(bytes, static_cast<uint64_t>(x));
        break;
      case DType::kF32:
      case DType::kC64:
        Append<float>(bytes, static_cast<float>(x));
        break;
      case DType::kF64:
      case DType::kC128:
        Append<double>(bytes, x);
        break;
      default:
        Append<uint16_t>(bytes, EncodeSmall(x, FormatOf(value.type)));
        break;
    }
  }
  return bytes;
}

std::vector<double> Decode(DType type, const Bytes& bytes) {
  size_t width = static_cast<size_t>(IsComplex(type) ? ByteWidth(RealPartOf(type)) : ByteWidth(type));
  std::vector<double> numbers;
  for (size_t i = 0; i < bytes.size() / width; ++i) {
    switch (type) {
      case DType::kPred:
        numbers.push_back(At<uint8_t>(bytes, i));
        break;
      case DType::kS8:
        numbers.push_back(At<int8_t>(bytes, i));
        break;
      case DType::kS16:
        numbers.push_back(At<int16_t>(bytes, i));
        break;
      case DType::kS32:
        numbers.push_back(At<int32_t>(bytes, i));
        break;
      case DType::kS64:
        numbers.push_back(static_cast<double>(At<int64_t>(bytes, i)));
        break;
      case DType::kU8:
        numbers.push_back(At<uint8_t>(bytes, i));
        break;
      case DType::kU16:
        numbers.push_back(At<uint16_t>(bytes, i));
        break;
      case DType::kU32:
        numbers.push_back(At<uint32_t>(bytes, i));
        break;
      case DType::kU64:
        numbers.push_back(static_cast<double>(At<uint64_t>(bytes, i)));
        break;
      case DType::kF32:
      case DType::kC64:
        numbers.push_back(static_cast<double>(At<float>(bytes, i)));
        break;
      case DType::kF64:
      case DType::kC128:
        numbers.push_back(At<double>(bytes, i));
        break;
      default:
        numbers.push_back(DecodeSmall(At<uint16_t>(bytes, i), FormatOf(type)));
        break;
    }
  }
  return numbers;
}

OpCase OneOp(std::string name, const std::string& op, std::vector<Value> arguments, std::vector<Value> results,
             const std::string& attributes, Bound bound) {
  std::string operands, types, result_types;
  for (size_t i = 0; i < arguments.size(); ++i) {
    operands += fmt::format("{}%arg{}", i == 0 ? "" : ", ", i);
    types += (i == 0 ? "" : ", ") + TensorType(arguments[i].type, arguments[i].dims);
  }
  for (size_t i = 0; i < results.size(); ++i)
    result_types += (i == 0 ? "" : ", ") + TensorType(results[i].type, results[i].dims);
  std::string body = results.size() == 1 ? fmt::format("%r = \"stablehlo.{}\"({}) {} : ({}) -> {}\n    return %r : {}",
                                                       op, operands, attributes, types, result_types, result_types)
                                         : "";
  return {std::move(name), std::move(arguments), std::move(results), std::move(body), bound, 0};
}

void AddOp(Suite& suite, OpCase op) {
  std::string name = "op." + op.name;
  size_t dot = op.name.find('.');
  std::string rule =
      fmt::format("{} of {} gives what the specification says", op.name.substr(0, dot), op.name.substr(dot + 1));
  auto shared = std::make_shared<OpCase>(std::move(op));
  suite.Add(name, Needs::kClient, rule, kStableHlo, [shared](Env& env) { RunOp(env, *shared); });
}

void AddOpTests(Suite& suite) {
  AddElementwiseOps(suite);
  AddShapeOps(suite);
  AddStructuredOps(suite);
}

}  // namespace tenon::conformance
