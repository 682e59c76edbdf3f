#include "tenon/plugin/custom_partitioner.h"

#include <fmt/format.h>

#include <protozero/pbf_writer.hpp>

#include "tenon/base/primitive_type.h"
#include "tenon/plugin/caller_value.h"
#include "tenon/plugin/error.h"

namespace tenon::plugin {

namespace {

using String = JAX_CustomCallPartitioner_string;

String ToC(std::string_view text) { return {text.data(), text.size()}; }
std::string FromC(const String& text) {
  return text.data == nullptr ? std::string() : std::string(text.data, text.size);
}

// Fields of xla.ShapeProto, xla.LayoutProto and xla.OpSharding.
constexpr int kElementType = 2, kDimensions = 3, kTupleShapes = 4, kLayout = 5, kIsDynamic = 6;
constexpr int kMinorToMajor = 1;
constexpr int kShardingType = 1, kTupleShardings = 5;
constexpr int kTuplePrimitiveType = 13, kTupleSharding = 2;

std::string ShapeProto(const Shape& shape) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_enum(kElementType, PrimitiveTypeFromDType(shape.dtype));
  std::vector<int64_t> order(shape.rank());
  for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(order.size() - 1 - d);
  std::string layout;
  if (!order.empty()) {
    out.add_packed_int64(kDimensions, shape.dims.begin(), shape.dims.end());
    const std::vector<char> fixed(order.size(), 0);
    out.add_packed_bool(kIsDynamic, fixed.begin(), fixed.end());
    protozero::pbf_writer(layout).add_packed_int64(kMinorToMajor, order.begin(), order.end());
  }
  out.add_message(kLayout, layout);
  return bytes;
}

// That of a call's results: the only one's, or the tuple of all.
std::string ShapeOf(std::span<const PartitionedArray> results) {
  if (results.size() == 1) return ShapeProto(results[0].shape);
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_enum(kElementType, kTuplePrimitiveType);
  for (const PartitionedArray& result : results) out.add_message(kTupleShapes, ShapeProto(result.shape));
  return bytes;
}

std::string ShardingOf(std::span<const PartitionedArray> results) {
  if (results.size() == 1) return results[0].sharding;
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_enum(kShardingType, kTupleSharding);
  for (const PartitionedArray& result : results) out.add_message(kTupleShardings, result.sharding);
  return bytes;
}

// Arguments of a callback that live as long as this.
class Arrays {
 public:
  explicit Arrays(std::span<const PartitionedArray> arrays) {
    for (const PartitionedArray& array : arrays) shapes_.push_back(ShapeProto(array.shape));
    for (size_t i = 0; i < arrays.size(); ++i) {
      avals_.push_back(
          {.shape = ToC(shapes_[i]), .has_sharding = !arrays[i].sharding.empty(), .sharding = ToC(arrays[i].sharding)});
    }
  }
  JAX_CustomCallPartitioner_aval* data() { return avals_.data(); }

 private:
  std::vector<std::string> shapes_;
  std::vector<JAX_CustomCallPartitioner_aval> avals_;
};

// What a callback left, given back when this goes.
class Outcome {
 public:
  explicit Outcome(JAX_CustomCallPartitioner_version_and_error& header) : header_(header) {}
  ~Outcome() {
    if (header_.cleanup_fn != nullptr) header_.cleanup_fn(header_.data);
  }
  Outcome(const Outcome&) = delete;
  Outcome& operator=(const Outcome&) = delete;

  Status status() const {
    if (!header_.has_error) return OkStatus();
    const std::string text = FromC(header_.error_msg);
    Status status = StatusFromC(CallerValue(header_.code), text.data(), text.size());
    return status.ok() ? Unknown(text) : status;
  }

 private:
  JAX_CustomCallPartitioner_version_and_error& header_;
};

}  // namespace

Status CustomPartitioner::Check(const JAX_CustomCallPartitioner_Callbacks& callbacks) {
  if (callbacks.partition != nullptr && callbacks.infer_sharding != nullptr &&
      callbacks.propagate_user_sharding != nullptr) {
    return OkStatus();
  }
  return InvalidArgument("a partitioner lacks one of partition, infer_sharding and propagate_user_sharding");
}

CustomPartitioner::~CustomPartitioner() {
  if (callbacks_->dtor != nullptr) callbacks_->dtor(callbacks_);
}

Result<PartitionedCall> CustomPartitioner::Partition(std::span<const PartitionedArray> operands,
                                                     std::span<const PartitionedArray> results,
                                                     std::string_view config) const {
  Arrays arrays(operands);
  const std::string result_shape = ShapeOf(results), result_sharding = ShardingOf(results);
  JAX_CustomCallPartitioner_Partition_Args args{};
  args.header.api_version = callbacks_->version;
  args.num_args = operands.size();
  args.op_args = arrays.data();
  args.op_result = {.shape = ToC(result_shape), .has_sharding = true, .sharding = ToC(result_sharding)};
  args.backend_config = ToC(config);
  const Outcome outcome(args.header);
  callbacks_->partition(callbacks_, &args);
  TENON_RETURN_IF_ERROR(outcome.status());
  PartitionedCall call{FromC(args.mlir_module), {}, FromC(args.result_sharding)};
  if (args.args_sharding == nullptr && !operands.empty())
    return InvalidArgument("a partitioner gave no shardings of the operands");
  for (size_t i = 0; i < operands.size(); ++i) call.operand_shardings.push_back(FromC(args.args_sharding[i]));
  return call;
}

Result<std::optional<std::string>> CustomPartitioner::InferSharding(std::span<const PartitionedArray> operands,
                                                                    std::span<const PartitionedArray> results,
                                                                    std::string_view config) const {
  Arrays arrays(operands);
  const std::string result_shape = ShapeOf(results);
  JAX_CustomCallPartitioner_InferShardingFromOperands_Args args{};
  args.header.api_version = callbacks_->version;
  args.num_args = operands.size();
  args.op_args = arrays.data();
  args.result_shape = ToC(result_shape);
  args.backend_config = ToC(config);
  const Outcome outcome(args.header);
  callbacks_->infer_sharding(callbacks_, &args);
  TENON_RETURN_IF_ERROR(outcome.status());
  if (!args.has_result_sharding) return std::optional<std::string>();
  return std::optional<std::string>(FromC(args.result_sharding));
}

Result<std::string> CustomPartitioner::PropagateUserSharding(std::span<const PartitionedArray> results,
                                                             std::string_view config, std::string_view sharding) const {
  const std::string result_shape = ShapeOf(results);
  JAX_CustomCallPartitioner_PropagateUserSharding_Args args{};
  args.header.api_version = callbacks_->version;
  args.backend_config = ToC(config);
  args.result_shape = ToC(result_shape);
  args.result_sharding = ToC(sharding);
  const Outcome outcome(args.header);
  callbacks_->propagate_user_sharding(callbacks_, &args);
  TENON_RETURN_IF_ERROR(outcome.status());
  return FromC(args.result_sharding);
}

}  // namespace tenon::plugin
