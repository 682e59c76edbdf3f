// Entries of plain StableHLO bytecode: not portable, but some clients write it.

#include <bit>

#include "tenon/dialect/stablehlo/dialect.h"
#include "tenon/dialect/vhlo/entries.h"
#include "tenon/vhlo/table.h"

namespace tenon::vhlo {
namespace {

enum Attrs : uint64_t {
  kChannelHandle = 1,
  kComparisonDirection = 2,
  kComparisonType = 3,
  kConvDimensionNumbers = 4,
  kDotDimensionNumbers = 5,
  kFftType = 6,
  kGatherDimensionNumbers = 7,
  kPrecision = 8,
  kRngAlgorithm = 9,
  kRngDistribution = 10,
  kScatterDimensionNumbers = 11,
  kTranspose = 12,
  kTypeExtensions = 13,
  kOutputOperandAlias = 14,
  kDotAlgorithm = 15,
  kResultAccuracyMode = 16,
  kResultAccuracy = 17,
  kReplicaGroupMeshAxes = 18,
  kSubAxisInfo = 19,
  kAxisRef = 20,
  kMeshAxis = 21,
  kMesh = 22,
};

llvm::StringRef Ref(std::string_view s) { return {s.data(), s.size()}; }

}  // namespace

mlir::Attribute EntryReader::DecodeStablehloAttr(Cursor& in) {
  using mlir::Attribute;
  namespace sh = stablehlo;
  using Dims = llvm::SmallVector<int64_t>;
  const uint64_t code = in.VarInt();
  // An enum's case, checked against the portable one of the same name.
  const auto enum_case = [&](AttrCode same, auto make) -> Attribute {
    const uint64_t value = in.VarInt();
    if (!in.ok() || value < EnumFirst(same) || value > *EnumLast(same)) {
      return Fail(std::string(Name(same)) + " has no case " + std::to_string(value));
    }
    return make(static_cast<uint32_t>(value));
  };
  switch (code) {
    case kChannelHandle: {
      const int64_t handle = in.SignedVarInt();
      const int64_t type = in.SignedVarInt();
      return sh::ChannelHandleAttr::get(context_, handle, type);
    }
    case kComparisonDirection:
      return enum_case(AttrCode::kComparisonDirection, [&](uint32_t v) -> Attribute {
        return sh::ComparisonDirectionAttr::get(context_, static_cast<sh::ComparisonDirection>(v));
      });
    case kComparisonType:
      return enum_case(AttrCode::kComparisonType, [&](uint32_t v) -> Attribute {
        return sh::ComparisonTypeAttr::get(context_, static_cast<sh::ComparisonType>(v));
      });
    case kConvDimensionNumbers: {
      int64_t batch[3];
      int64_t feature[3];
      Dims spatial[3];
      for (int i = 0; i < 3; ++i) {
        batch[i] = in.SignedVarInt();
        feature[i] = in.SignedVarInt();
        if (!ReadInts(in, spatial[i])) return {};
      }
      return sh::ConvDimensionNumbersAttr::get(context_, batch[0], feature[0], spatial[0], batch[1], feature[1],
                                               spatial[1], batch[2], feature[2], spatial[2]);
    }
    case kDotDimensionNumbers: {
      Dims d[4];
      for (Dims& dims : d) {
        if (!ReadInts(in, dims)) return {};
      }
      return sh::DotDimensionNumbersAttr::get(context_, d[0], d[1], d[2], d[3]);
    }
    case kFftType:
      return enum_case(AttrCode::kFftType, [&](uint32_t v) -> Attribute {
        return sh::FftTypeAttr::get(context_, static_cast<sh::FftType>(v));
      });
    case kGatherDimensionNumbers:
    case kScatterDimensionNumbers: {
      Dims d[5];
      for (Dims& dims : d) {
        if (!ReadInts(in, dims)) return {};
      }
      const int64_t index_dim = in.SignedVarInt();
      if (code == kGatherDimensionNumbers) {
        return sh::GatherDimensionNumbersAttr::get(context_, d[0], d[1], d[2], d[3], d[4], index_dim);
      }
      return sh::ScatterDimensionNumbersAttr::get(context_, d[0], d[1], d[2], d[3], d[4], index_dim);
    }
    case kPrecision:
      return enum_case(AttrCode::kPrecision, [&](uint32_t v) -> Attribute {
        return sh::PrecisionAttr::get(context_, static_cast<sh::Precision>(v));
      });
    case kRngAlgorithm:
      return enum_case(AttrCode::kRngAlgorithm, [&](uint32_t v) -> Attribute {
        return sh::RngAlgorithmAttr::get(context_, static_cast<sh::RngAlgorithm>(v));
      });
    case kRngDistribution:
      return enum_case(AttrCode::kRngDistribution, [&](uint32_t v) -> Attribute {
        return sh::RngDistributionAttr::get(context_, static_cast<sh::RngDistribution>(v));
      });
    case kTranspose:
      return enum_case(AttrCode::kTranspose, [&](uint32_t v) -> Attribute {
        return sh::TransposeAttr::get(context_, static_cast<sh::Transpose>(v));
      });
    case kTypeExtensions: {
      Dims bounds;
      return ReadInts(in, bounds) ? sh::TypeExtensionsAttr::get(context_, bounds) : nullptr;
    }
    case kOutputOperandAlias: {
      Dims output;
      Dims operand;
      if (!ReadInts(in, output)) return {};
      const int64_t index = in.SignedVarInt();
      if (!ReadInts(in, operand)) return {};
      return sh::OutputOperandAliasAttr::get(context_, output, index, operand);
    }
    case kDotAlgorithm: {
      mlir::Type types[3];
      for (mlir::Type& type : types) {
        if (!(type = ReadType(in))) return {};
      }
      int64_t counts[3];
      for (int64_t& count : counts) count = in.SignedVarInt();
      const bool imprecise = in.Byte() != 0;
      return sh::DotAlgorithmAttr::get(context_, types[0], types[1], types[2], counts[0], counts[1], counts[2],
                                       imprecise);
    }
    case kResultAccuracyMode:
      return enum_case(AttrCode::kResultAccuracyMode, [&](uint32_t v) -> Attribute {
        return sh::ResultAccuracyModeAttr::get(context_, static_cast<sh::ResultAccuracyMode>(v));
      });
    case kResultAccuracy: {
      const double atol = std::bit_cast<double>(ReadBits(in, 64));
      const double rtol = std::bit_cast<double>(ReadBits(in, 64));
      const int64_t ulps = in.SignedVarInt();
      auto mode = ReadAttrOf<sh::ResultAccuracyModeAttr>(in, "result accuracy mode");
      return mode ? sh::ResultAccuracyAttr::get(context_, llvm::APFloat(atol), llvm::APFloat(rtol), ulps, mode)
                  : nullptr;
    }
    case kReplicaGroupMeshAxes: {
      Attribute mesh = ReadAttr(in);
      if (!mesh) return {};
      if (!mlir::isa<sh::MeshAttr, mlir::FlatSymbolRefAttr>(mesh))
        return Fail("replica groups over something that is no mesh");
      llvm::SmallVector<sh::AxisRefAttr> axes;
      const size_t n = in.Count();
      for (size_t i = 0; i < n; ++i) {
        auto axis = ReadAttrOf<sh::AxisRefAttr>(in, "axis");
        if (!axis) return {};
        axes.push_back(axis);
      }
      return sh::ReplicaGroupMeshAxesAttr::get(context_, mesh, axes);
    }
    case kSubAxisInfo: {
      const int64_t pre_size = in.SignedVarInt();
      const int64_t size = in.SignedVarInt();
      return sh::SubAxisInfoAttr::get(context_, pre_size, size);
    }
    case kAxisRef: {
      std::string_view name = ReadString(in);
      const bool present = in.Byte() != 0;
      sh::SubAxisInfoAttr sub;
      if (!status_.ok() || (present && !(sub = ReadAttrOf<sh::SubAxisInfoAttr>(in, "sub-axis")))) return {};
      return sh::AxisRefAttr::get(context_, Ref(name), sub);
    }
    case kMeshAxis: {
      std::string_view name = ReadString(in);
      const int64_t size = in.SignedVarInt();
      return status_.ok() ? sh::MeshAxisAttr::get(context_, Ref(name), size) : nullptr;
    }
    case kMesh: {
      auto list = ReadAttrOf<mlir::ArrayAttr>(in, "array");
      if (!list) return {};
      llvm::SmallVector<sh::MeshAxisAttr> axes;
      for (Attribute a : list) {
        auto axis = mlir::dyn_cast<sh::MeshAxisAttr>(a);
        if (!axis) return Fail("a mesh of something that is no axis");
        axes.push_back(axis);
      }
      mlir::DenseIntElementsAttr ids;
      if (in.Byte() != 0 && !(ids = ReadAttrOf<mlir::DenseIntElementsAttr>(in, "tensor of integers"))) return {};
      return sh::MeshAttr::get(context_, axes, ids);
    }
    default:
      return Fail("there is no StableHLO attribute of code " + std::to_string(code));
  }
}

mlir::Type EntryReader::DecodeStablehloType(Cursor& in) {
  const uint64_t code = in.VarInt();
  if (code == 0) return stablehlo::TokenType::get(context_);
  if (code == 1) {
    llvm::SmallVector<mlir::Type> types;
    return ReadTypes(in, types) ? mlir::Type(stablehlo::FutureType::get(context_, types)) : nullptr;
  }
  return Fail("there is no StableHLO type of code " + std::to_string(code));
}

}  // namespace tenon::vhlo
