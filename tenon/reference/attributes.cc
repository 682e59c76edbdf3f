#include "tenon/reference/attributes.h"

#include "tenon/dialect/chlo/dialect.h"
#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/reference/types.h"

namespace tenon::reference {
namespace {

Dims ToDims(llvm::ArrayRef<int64_t> list) { return Dims(list.begin(), list.end()); }

template <class Attr>
Attr Get(mlir::Operation* op, llvm::StringRef name) {
  return mlir::dyn_cast_or_null<Attr>(op->getAttr(name));
}

}  // namespace

KernelAttributes KernelAttributesOf(mlir::Operation* op) {
  KernelAttributes attributes;
  // CHLO has the same enumerations under its own name, with the same numbers.
  const auto number = [&](llvm::StringRef name) -> int {
    const mlir::Attribute attribute = op->getAttr(name);
    if (auto direction = mlir::dyn_cast_or_null<stablehlo::ComparisonDirectionAttr>(attribute))
      return static_cast<int>(direction.getValue());
    if (auto type = mlir::dyn_cast_or_null<stablehlo::ComparisonTypeAttr>(attribute))
      return static_cast<int>(type.getValue());
    if (auto direction = mlir::dyn_cast_or_null<chlo::ComparisonDirectionAttr>(attribute))
      return static_cast<int>(direction.getValue());
    if (auto type = mlir::dyn_cast_or_null<chlo::ComparisonTypeAttr>(attribute))
      return static_cast<int>(type.getValue());
    return 0;
  };
  constexpr Direction kDirections[] = {Direction::kEq, Direction::kNe, Direction::kGe,
                                       Direction::kGt, Direction::kLe, Direction::kLt};
  attributes.direction = kDirections[number("comparison_direction")];
  attributes.total_order = number("compare_type") == static_cast<int>(stablehlo::ComparisonType::TOTALORDER);
  attributes.exponent_bits = static_cast<int>(IntAttr(op, "exponent_bits"));
  attributes.mantissa_bits = static_cast<int>(IntAttr(op, "mantissa_bits"));
  return attributes;
}

DotDims DotDimsOf(mlir::Operation* op) {
  auto a = Get<stablehlo::DotDimensionNumbersAttr>(op, "dot_dimension_numbers");
  if (!a) return {};
  return {ToDims(a.getLhsBatchingDimensions()), ToDims(a.getRhsBatchingDimensions()),
          ToDims(a.getLhsContractingDimensions()), ToDims(a.getRhsContractingDimensions())};
}

RaggedDotDims RaggedDotDimsOf(mlir::Operation* op) {
  auto a = Get<chlo::RaggedDotDimensionNumbersAttr>(op, "ragged_dot_dimension_numbers");
  if (!a) return {};
  return {{ToDims(a.getLhsBatchingDimensions()), ToDims(a.getRhsBatchingDimensions()),
           ToDims(a.getLhsContractingDimensions()), ToDims(a.getRhsContractingDimensions())},
          ToDims(a.getLhsRaggedDimensions()),
          ToDims(a.getRhsGroupDimensions())};
}

GatherDims GatherDimsOf(mlir::Operation* op) {
  auto a = Get<stablehlo::GatherDimensionNumbersAttr>(op, "dimension_numbers");
  if (!a) return {};
  return {ToDims(a.getOffsetDims()),          ToDims(a.getCollapsedSliceDims()),
          ToDims(a.getOperandBatchingDims()), ToDims(a.getStartIndicesBatchingDims()),
          ToDims(a.getStartIndexMap()),       a.getIndexVectorDim()};
}

ScatterDims ScatterDimsOf(mlir::Operation* op) {
  auto a = Get<stablehlo::ScatterDimensionNumbersAttr>(op, "scatter_dimension_numbers");
  if (!a) return {};
  return {ToDims(a.getUpdateWindowDims()),         ToDims(a.getInsertedWindowDims()),
          ToDims(a.getInputBatchingDims()),        ToDims(a.getScatterIndicesBatchingDims()),
          ToDims(a.getScatterDimsToOperandDims()), a.getIndexVectorDim()};
}

ConvDims ConvDimsOf(mlir::Operation* op) {
  auto a = Get<stablehlo::ConvDimensionNumbersAttr>(op, "dimension_numbers");
  ConvDims d;
  if (!a) return d;
  d.input_batch = a.getInputBatchDimension();
  d.input_feature = a.getInputFeatureDimension();
  d.input_spatial = ToDims(a.getInputSpatialDimensions());
  d.kernel_input_feature = a.getKernelInputFeatureDimension();
  d.kernel_output_feature = a.getKernelOutputFeatureDimension();
  d.kernel_spatial = ToDims(a.getKernelSpatialDimensions());
  d.output_batch = a.getOutputBatchDimension();
  d.output_feature = a.getOutputFeatureDimension();
  d.output_spatial = ToDims(a.getOutputSpatialDimensions());
  return d;
}

FftKind FftKindOf(mlir::Operation* op) {
  auto a = Get<stablehlo::FftTypeAttr>(op, "fft_type");
  switch (a.getValue()) {
    case stablehlo::FftType::FFT:
      return FftKind::kFft;
    case stablehlo::FftType::IFFT:
      return FftKind::kIfft;
    case stablehlo::FftType::RFFT:
      return FftKind::kRfft;
    case stablehlo::FftType::IRFFT:
      return FftKind::kIrfft;
  }
  return FftKind::kFft;
}

SolveKind SolveKindOf(mlir::Operation* op) {
  auto a = Get<stablehlo::TransposeAttr>(op, "transpose_a");
  if (a && a.getValue() == stablehlo::Transpose::TRANSPOSE) return SolveKind::kTranspose;
  if (a && a.getValue() == stablehlo::Transpose::ADJOINT) return SolveKind::kAdjoint;
  return SolveKind::kPlain;
}

RngKind RngKindOf(mlir::Operation* op) {
  auto a = Get<stablehlo::RngAlgorithmAttr>(op, "rng_algorithm");
  if (a && a.getValue() == stablehlo::RngAlgorithm::THREE_FRY) return RngKind::kThreeFry;
  if (a && a.getValue() == stablehlo::RngAlgorithm::PHILOX) return RngKind::kPhilox;
  return RngKind::kDefault;
}

bool IsNormalDistribution(mlir::Operation* op) {
  auto a = Get<stablehlo::RngDistributionAttr>(op, "rng_distribution");
  return a && a.getValue() == stablehlo::RngDistribution::NORMAL;
}

int64_t ChannelOf(mlir::Operation* op) {
  auto a = Get<stablehlo::ChannelHandleAttr>(op, "channel_handle");
  return a ? a.getHandle() : 0;
}

std::vector<std::pair<int64_t, int64_t>> AliasesOf(mlir::Operation* op) {
  std::vector<std::pair<int64_t, int64_t>> aliases;
  auto list = Get<mlir::ArrayAttr>(op, "output_operand_aliases");
  if (!list) return aliases;
  for (mlir::Attribute entry : list) {
    if (auto alias = mlir::dyn_cast<stablehlo::OutputOperandAliasAttr>(entry)) {
      const auto path = alias.getOutputTupleIndices();
      aliases.emplace_back(path.empty() ? 0 : path[0], alias.getOperandIndex());
    }
  }
  return aliases;
}

Result<std::vector<Dims>> ReplicaGroupsOf(mlir::Operation* op) {
  const mlir::Attribute attribute = op->getAttr("replica_groups");
  auto dense = mlir::dyn_cast_or_null<mlir::DenseIntElementsAttr>(attribute);
  if (!dense) return Unimplemented("replica groups given by mesh axes");
  std::vector<Dims> groups;
  const auto shape = dense.getType().getShape();
  if (shape.size() != 2) return InvalidArgument("replica_groups is no matrix");
  const Dims ids = IntsOf(attribute);
  for (int64_t g = 0; g < shape[0]; ++g) {
    Dims group;
    for (int64_t i = 0; i < shape[1]; ++i) {
      const int64_t id = ids[static_cast<size_t>(g * shape[1] + i)];
      if (id >= 0) group.push_back(id);
    }
    if (!group.empty()) groups.push_back(group);
  }
  return groups;
}

namespace {

Attribute ToAttribute(mlir::Attribute attribute) {
  if (auto text = mlir::dyn_cast<mlir::StringAttr>(attribute)) return {text.getValue().str()};
  if (auto dictionary = mlir::dyn_cast<mlir::DictionaryAttr>(attribute)) return {AttributesOfDictionary(dictionary)};
  const auto scalar = [](DType type, const void* bytes) {
    auto value = Value::Copy({type, {}}, {static_cast<const std::byte*>(bytes), static_cast<size_t>(ByteWidth(type))});
    return value.ok() ? *std::move(value) : Value();
  };
  if (auto flag = mlir::dyn_cast<mlir::BoolAttr>(attribute)) {
    const uint8_t b = flag.getValue();
    return {scalar(DType::kPred, &b)};
  }
  if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(attribute)) {
    const uint64_t bits = integer.getValue().getZExtValue();
    const DType type = ElementTypeOf(integer.getType());
    if (ByteWidth(type) > 0) return {scalar(type, &bits)};
  }
  if (auto number = mlir::dyn_cast<mlir::FloatAttr>(attribute)) {
    const uint64_t bits = number.getValue().bitcastToAPInt().getZExtValue();
    const DType type = ElementTypeOf(number.getType());
    if (ByteWidth(type) > 0) return {scalar(type, &bits)};
  }
  if (auto array = mlir::dyn_cast<mlir::DenseArrayAttr>(attribute)) {
    const DType type = ElementTypeOf(array.getElementType());
    if (ByteWidth(type) > 0) {
      const auto raw = array.getRawData();
      auto value = Value::Copy({type, {array.getSize()}}, {reinterpret_cast<const std::byte*>(raw.data()), raw.size()});
      if (value.ok()) return {*std::move(value)};
    }
  }
  if (auto elements = mlir::dyn_cast<mlir::ElementsAttr>(attribute)) {
    auto value = ValueOf(attribute, elements.getShapedType());
    if (value.ok()) return {*std::move(value)};
  }
  if (auto symbol = mlir::dyn_cast<mlir::FlatSymbolRefAttr>(attribute)) return {symbol.getValue().str()};
  if (auto list = mlir::dyn_cast<mlir::ArrayAttr>(attribute)) {
    // A list without names: each entry under its number.
    Attributes entries;
    for (size_t i = 0; i < list.size(); ++i)
      entries.push_back({std::to_string(i), ToAttribute(list[static_cast<unsigned>(i)])});
    return {entries};
  }
  return {Value()};
}

}  // namespace

Attributes AttributesOfDictionary(mlir::DictionaryAttr dictionary) {
  Attributes attributes;
  for (mlir::NamedAttribute entry : dictionary)
    attributes.push_back({entry.getName().str(), ToAttribute(entry.getValue())});
  return attributes;
}

}  // namespace tenon::reference
