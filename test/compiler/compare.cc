#include "test/compiler/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tenon/base/environment.h"
#include "tenon/kernels/families.h"
#include "tenon/kir/builder.h"
#include "tenon/reference/reference.h"
#include "tenon/runtime/outside_plan.h"
#include "test/compiler/plan_interpreter.h"

namespace tenon::test {
namespace {

std::string RandomBytes(const Shape& shape, std::mt19937_64& random) {
  const DType part = IsComplex(shape.dtype) ? RealPartOf(shape.dtype) : shape.dtype;
  const size_t width = static_cast<size_t>(ByteWidth(part));
  const size_t count = static_cast<size_t>(SizeBytes(shape)) / std::max<size_t>(width, 1);
  std::string bytes(count * width, '\0');
  std::normal_distribution<double> normal;
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits;
    if (IsFloat(part)) {
      bits = kir::LiteralBits(part, normal(random));
    } else if (part == DType::kPred) {
      bits = random() & 1;
    } else {
      bits = kir::LiteralBits(part, static_cast<int64_t>(random() % 10));
    }
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

/// Row-major bytes in the order that these strides (a permutation of dense ones) put them.
std::string InLayout(const std::string& dense, const Shape& shape, const Dims& strides) {
  const size_t width = static_cast<size_t>(ByteWidth(shape.dtype));
  std::string placed(dense.size(), '\0');
  for (size_t i = 0; width > 0 && i < dense.size() / width; ++i) {
    int64_t rest = static_cast<int64_t>(i);
    int64_t at = 0;
    for (size_t d = shape.rank(); d-- > 0;) {
      at += rest % shape.dims[d] * strides[d];
      rest /= shape.dims[d];
    }
    placed.replace(static_cast<size_t>(at) * width, width, dense, i * width, width);
  }
  return placed;
}

}  // namespace

compiler::CompileOptions CpuOptions() {
  compiler::CompileOptions options;
  options.drivers = &kernels::CpuFamilies();
  options.verify = IsAskedFor("TENON_VERIFY");
  return options;
}

Status CompileFor(std::string_view target, compiler::CompileOptions& options) {
  TENON_ASSIGN_OR_RETURN(options.target, target::TargetByName(target));
  const bool cpu = options.target.kind == target::Kind::kCpu;
  options.drivers = cpu ? &kernels::CpuFamilies() : &kernels::HostFamilies();
  return OkStatus();
}

Status CompareWithReference(std::string_view program, const compiler::CompiledProgram& compiled, uint64_t seed,
                            const Tolerance& tolerance) {
  Result<std::unique_ptr<reference::Program>> oracle = reference::Program::Load(program);
  if (!oracle.ok()) return Unimplemented("reference: " + std::string(oracle.status().message()));
  std::mt19937_64 random(seed);
  std::vector<std::string> arguments;
  std::vector<reference::Value> values;
  for (const plan::Input& in : compiled.plan.inputs) {
    if (in.shape.dtype == DType::kToken) {
      arguments.push_back({});
      values.push_back(reference::Value::Token());
      continue;
    }
    const std::string dense = RandomBytes(in.shape, random);
    TENON_ASSIGN_OR_RETURN(reference::Value v, reference::Value::Copy(in.shape, std::as_bytes(std::span(dense))));
    arguments.push_back(InLayout(dense, in.shape, in.stride_elems));
    values.push_back(std::move(v));
  }
  // What the compiler makes must be acceptable when it comes back from a file.
  TENON_RETURN_IF_ERROR(runtime::CheckOutsidePlan(compiled.plan, kernels::CpuFamilies()).WithContext("outside plan"));
  Result<std::vector<reference::Value>> want = (*oracle)->Run(values);
  if (!want.ok()) return Unimplemented("reference: " + std::string(want.status().message()));
  for (const bool donate : {false, true}) {
    TENON_ASSIGN_OR_RETURN(std::vector<std::string> got, RunPlan(compiled.plan, arguments, donate));
    for (size_t o = 0; o < got.size(); ++o) {
      const Shape& shape = compiled.plan.outputs[o].shape;
      if (shape.dtype == DType::kToken) continue;
      const DType part = IsComplex(shape.dtype) ? RealPartOf(shape.dtype) : shape.dtype;
      const size_t width = static_cast<size_t>(ByteWidth(part));
      std::string expected(reinterpret_cast<const char*>((*want)[o].bytes()),
                           static_cast<size_t>((*want)[o].size_bytes()));
      expected = InLayout(expected, shape, compiled.plan.outputs[o].stride_elems);
      if (expected.size() != got[o].size())
        return Aborted(fmt::format("output {}: {} bytes, wanted {}", o, got[o].size(), expected.size()));
      for (size_t i = 0; i < got[o].size() / width; ++i) {
        uint64_t g = 0;
        uint64_t w = 0;
        std::memcpy(&g, got[o].data() + i * width, width);
        std::memcpy(&w, expected.data() + i * width, width);
        if (g == w) continue;
        const double gv = kir::LiteralValue(part, g);
        const double wv = kir::LiteralValue(part, w);
        bool ok = false;
        if (IsFloat(part)) {
          const bool wide = part == DType::kF64;
          const bool narrow = width < 4;
          const double absolute = wide ? 1e-9 : narrow ? 1e-2 : tolerance.absolute;
          const double relative = wide ? 1e-9 : narrow ? 1.0 / 64 : tolerance.relative;
          ok = (std::isnan(gv) && std::isnan(wv)) || std::abs(gv - wv) <= absolute + relative * std::abs(wv);
        }
        if (!ok)
          return Aborted(fmt::format("output {} ({}){} element {}: got {}, wanted {}", o, ToString(shape),
                                     donate ? " donated" : "", i, gv, wv));
      }
    }
  }
  return OkStatus();
}

}  // namespace tenon::test
