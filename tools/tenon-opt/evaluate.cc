#include "tools/tenon-opt/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstring>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/kir/evaluate.h"

namespace tenon::opt {

namespace {

constexpr int64_t kMaxBytes = 16 << 20;

// A buffer with its numbers filled in, and its memory.
struct Filled {
  DType type = DType::kInvalid;
  std::vector<int64_t> extent;
  std::vector<int64_t> stride;
  int64_t lowest = 0;  // Offset of the first element in memory, in elements; 0 or less.
  std::vector<char> bytes;
};

// One scalar converted between types, by the evaluator.
Result<uint64_t> Convert(DType from, DType to, uint64_t bits) {
  kir::Graph graph;
  graph.arguments = {from};
  graph.nodes = {{kir::Op::kArgument, from, 0, 0, {}}, {kir::Op::kConvert, to, 0, 0, {0}}};
  graph.results = {1};
  TENON_RETURN_IF_ERROR(kir::Verify(graph));
  TENON_ASSIGN_OR_RETURN(const auto result, kir::Evaluate(graph, std::span(&bits, 1), /*flush_denormals=*/false));
  return result[0];
}

Result<Filled> Allocate(const kir::Buffer& buffer, std::span<const int64_t> params) {
  Filled filled;
  filled.type = buffer.type;
  int64_t highest = 0, elements = 1;
  for (size_t i = 0; i < buffer.extent.size(); ++i) {
    const int64_t extent = buffer.extent[i].Value(params.data()), stride = buffer.stride[i].Value(params.data());
    if (extent < 0 || extent > kMaxBytes || stride > kMaxBytes || stride < -kMaxBytes) {
      return InvalidArgument(fmt::format("a dim of extent {} and stride {}", extent, stride));
    }
    filled.extent.push_back(extent);
    filled.stride.push_back(stride);
    (stride < 0 ? filled.lowest : highest) += (extent > 0 ? extent - 1 : 0) * stride;
    elements *= extent;
    if (elements > kMaxBytes || highest - filled.lowest > kMaxBytes)
      return ResourceExhausted("a buffer is above 16 MiB");
  }
  filled.bytes.resize(static_cast<size_t>(elements == 0 ? 0 : (highest - filled.lowest + 1) * ByteWidth(buffer.type)));
  return filled;
}

// Calls `at` with the address of each element, in row-major order.
template <class F>
Status ForEachElement(Filled& buffer, F at) {
  const int64_t width = ByteWidth(buffer.type);
  std::vector<int64_t> index(buffer.extent.size(), 0);
  for (const int64_t extent : buffer.extent) {
    if (extent == 0) return OkStatus();
  }
  for (;;) {
    int64_t offset = -buffer.lowest;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * buffer.stride[i];
    TENON_RETURN_IF_ERROR(at(buffer.bytes.data() + offset * width));
    size_t i = index.size();
    while (i > 0 && ++index[i - 1] == buffer.extent[i - 1]) index[--i] = 0;
    if (i == 0) return OkStatus();
  }
}

// The parts of an element: two for complex types.
DType PartOf(DType type) { return IsComplex(type) ? RealPartOf(type) : type; }

Status Fill(Filled& buffer) {
  const DType part = PartOf(buffer.type);
  int64_t next = 0;
  return ForEachElement(buffer, [&](char* element) -> Status {
    std::memset(element, 0, static_cast<size_t>(ByteWidth(buffer.type)));
    TENON_ASSIGN_OR_RETURN(const uint64_t bits, Convert(DType::kS64, part, static_cast<uint64_t>(next++)));
    std::memcpy(element, &bits, static_cast<size_t>(ByteWidth(part)));
    return OkStatus();
  });
}

Result<std::string> ElementText(DType type, const char* element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, static_cast<size_t>(ByteWidth(type)));
  if (IsFloat(type)) {
    TENON_ASSIGN_OR_RETURN(const uint64_t wide, Convert(type, DType::kF64, bits));
    return fmt::format(
        "{}", type == DType::kF64 ? std::bit_cast<double>(wide) : static_cast<float>(std::bit_cast<double>(wide)));
  }
  TENON_ASSIGN_OR_RETURN(const uint64_t wide, Convert(type, IsSigned(type) ? DType::kS64 : DType::kU64, bits));
  return IsSigned(type) ? fmt::format("{}", static_cast<int64_t>(wide)) : fmt::format("{}", wide);
}

}  // namespace

Result<std::string> EvaluateToText(const kir::Kernel& kernel, std::span<const int64_t> params) {
  if (params.size() < kernel.num_params) {
    return InvalidArgument(
        fmt::format("the kernel has {} params, got {} (--params)", kernel.num_params, params.size()));
  }
  std::vector<Filled> memory(kernel.buffers.size());
  std::vector<kir::BufferRef> refs(kernel.buffers.size());
  for (size_t i = 0; i < memory.size(); ++i) {
    const kir::Buffer& buffer = kernel.buffers[i];
    if (buffer.kind == kir::BufKind::kLocal || buffer.kind == kir::BufKind::kSignal) continue;
    TENON_ASSIGN_OR_RETURN(memory[i], Allocate(buffer, params));
    if (buffer.kind != kir::BufKind::kOut) TENON_RETURN_IF_ERROR(Fill(memory[i]));
    char* begin = memory[i].bytes.data();
    refs[i] = {begin - memory[i].lowest * ByteWidth(buffer.type), begin, static_cast<int64_t>(memory[i].bytes.size())};
  }
  for (size_t i = 0; i < memory.size(); ++i) {
    const kir::Buf source = kernel.buffers[i].in_place_of;
    if (source != kir::kNoBuf) refs[i] = refs[source];
  }
  TENON_RETURN_IF_ERROR(kir::Evaluate(kernel, refs, params));
  std::string text;
  for (size_t i = 0; i < memory.size(); ++i) {
    const kir::Buffer& buffer = kernel.buffers[i];
    if (buffer.kind != kir::BufKind::kOut && buffer.kind != kir::BufKind::kTile) continue;
    Filled& written = memory[i];
    if (buffer.in_place_of != kir::kNoBuf) written = memory[buffer.in_place_of];
    text += fmt::format("b{} {}[{}] =", i, DTypeName(buffer.type), fmt::join(written.extent, ","));
    const DType part = PartOf(buffer.type);
    TENON_RETURN_IF_ERROR(ForEachElement(written, [&](const char* element) -> Status {
      TENON_ASSIGN_OR_RETURN(const std::string value, ElementText(part, element));
      text += " " + value;
      if (part == buffer.type) return OkStatus();
      TENON_ASSIGN_OR_RETURN(const std::string imaginary, ElementText(part, element + ByteWidth(part)));
      text += "," + imaginary;
      return OkStatus();
    }));
    text += "\n";
  }
  return text;
}

}  // namespace tenon::opt
