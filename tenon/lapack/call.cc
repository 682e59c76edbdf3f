#include "tenon/lapack/call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tenon/base/contain.h"
#include "tenon/lapack/matrix.h"

namespace tenon::lapack {
namespace {

std::string_view NameOf(XLA_FFI_DataType dtype) {
  switch (dtype) {
    case XLA_FFI_DataType_PRED:
      return "pred";
    case XLA_FFI_DataType_U8:
      return "u8";
    case XLA_FFI_DataType_S32:
      return "s32";
    case XLA_FFI_DataType_F32:
      return "f32";
    case XLA_FFI_DataType_F64:
      return "f64";
    case XLA_FFI_DataType_C64:
      return "c64";
    case XLA_FFI_DataType_C128:
      return "c128";
    default:
      return "another type";
  }
}

bool AnswerMetadata(const XLA_FFI_CallFrame& frame) {
  if (frame.extension_start == nullptr || frame.extension_start->type != XLA_FFI_Extension_Metadata) return false;
  XLA_FFI_Metadata& metadata = *reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame.extension_start)->metadata;
  metadata.api_version.major_version = XLA_FFI_API_MAJOR;
  metadata.api_version.minor_version = XLA_FFI_API_MINOR;
  metadata.traits = 0;
  return true;
}

/// Eigen cuts products into blocks by the sizes of caches that it finds, and sums of other blocks have other bits.
void FixBlocking() {
  static const bool done = [] {
    constexpr std::ptrdiff_t kKiB = 1024;
    Eigen::setCpuCacheSizes(32 * kKiB, 256 * kKiB, 2048 * kKiB);
    return true;
  }();
  (void)done;
}

}  // namespace

const XLA_FFI_Buffer* Call::Buffer(bool result, int64_t i) const {
  const int64_t size = result ? frame_.rets.size : frame_.args.size;
  if (i < 0 || i >= size) return nullptr;
  return static_cast<const XLA_FFI_Buffer*>(result ? frame_.rets.rets[i] : frame_.args.args[i]);
}

int64_t Call::InnerExtent(int64_t i) const {
  const XLA_FFI_Buffer* buffer = Buffer(false, i);
  return buffer == nullptr || buffer->rank == 0 ? 0 : buffer->dims[buffer->rank - 1];
}

XLA_FFI_DataType Call::data_type(int64_t i) const {
  const XLA_FFI_Buffer* buffer = Buffer(false, i);
  return buffer == nullptr ? XLA_FFI_DataType_INVALID : buffer->dtype;
}

Extents Call::Matrices(int64_t operands, int64_t results, int64_t of) {
  if (frame_.args.size != operands || frame_.rets.size != results) {
    Refuse(InvalidArgument(fmt::format("a call with {} operands and {} results, wanted {} and {}", frame_.args.size,
                                       frame_.rets.size, operands, results)));
    return {};
  }
  const XLA_FFI_Buffer& buffer = *Buffer(false, of);
  if (buffer.rank < 2) {
    Refuse(InvalidArgument(fmt::format("operand {} has {} dimensions, wanted 2 or more", of, buffer.rank)));
    return {};
  }
  const auto rank = static_cast<size_t>(buffer.rank);
  batch_dims_ = {buffer.dims, rank - 2};
  for (const int64_t d : batch_dims_) batch_ *= d;
  return {buffer.dims[rank - 2], buffer.dims[rank - 1]};
}

void* Call::Array(bool result, int64_t i, XLA_FFI_DataType dtype, std::span<const int64_t> inner) {
  const XLA_FFI_Buffer* buffer = Buffer(result, i);
  if (buffer == nullptr || !status_.ok()) return nullptr;  // Matrices has refused it.
  const std::span<const int64_t> dims(buffer->dims, static_cast<size_t>(buffer->rank));
  const size_t batch = batch_dims_.size();
  const bool fits = dims.size() == batch + inner.size() && std::ranges::equal(dims.first(batch), batch_dims_) &&
                    std::ranges::equal(dims.subspan(batch), inner);
  if (buffer->dtype == dtype && fits) return buffer->data;
  std::vector<int64_t> wanted(batch_dims_.begin(), batch_dims_.end());
  wanted.insert(wanted.end(), inner.begin(), inner.end());
  Refuse(
      InvalidArgument(fmt::format("{} {} is {}[{}], wanted {}[{}]", result ? "result" : "operand", i,
                                  NameOf(buffer->dtype), fmt::join(dims, ","), NameOf(dtype), fmt::join(wanted, ","))));
  return nullptr;
}

const void* Call::Attribute(std::string_view name, XLA_FFI_DataType dtype) {
  for (int64_t i = 0; i < frame_.attrs.size; ++i) {
    const XLA_FFI_ByteSpan& key = *frame_.attrs.names[i];
    if (std::string_view(key.ptr, key.len) != name || frame_.attrs.types[i] != XLA_FFI_AttrType_SCALAR) continue;
    const auto& scalar = *static_cast<const XLA_FFI_Scalar*>(frame_.attrs.attrs[i]);
    if (scalar.dtype == dtype) return scalar.value;
  }
  Refuse(InvalidArgument(fmt::format("wanted an attribute '{}' of type {}", name, NameOf(dtype))));
  return nullptr;
}

char Call::Letter(std::string_view name, std::string_view known) {
  const auto letter = static_cast<char>(Scalar<uint8_t>(name));
  if (known.find(letter) == std::string_view::npos) {
    Refuse(InvalidArgument(
        fmt::format("attribute '{}' is {}, wanted a letter of {}", name, static_cast<unsigned char>(letter), known)));
  }
  return letter;
}

XLA_FFI_Error* Handle(XLA_FFI_CallFrame* frame, Status (*routine)(Call&)) {
  if (AnswerMetadata(*frame) || frame->stage != XLA_FFI_ExecutionStage_EXECUTE) return nullptr;
  FixBlocking();
  Call call(*frame);
  const Status status = Contain("the routine threw", [&] { return routine(call); });
  if (status.ok()) return nullptr;
  const std::string message(status.message());
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, message.c_str(),
                                    static_cast<XLA_FFI_Error_Code>(status.code())};
  return frame->api->XLA_FFI_Error_Create(&args);
}

}  // namespace tenon::lapack
