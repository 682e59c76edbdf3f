// Shardy's entries, in its own encoding.

#include "tenon/dialect/sdy/dialect.h"
#include "tenon/dialect/vhlo/entries.h"

namespace tenon::vhlo {
namespace {

enum Attrs : uint64_t {
  kManualAxes = 0,
  kMeshAxis = 1,
  kMesh = 2,
  kSubAxisInfo = 3,
  kAxisRef = 4,
  kDimensionSharding = 5,
  kSharding = 6,
  kShardingPerValue = 7,
  kDimMapping = 8,
  kTensorMapping = 9,
  kOpShardingRule = 10,
  kAxisRefList = 11,
  kListOfAxisRefLists = 12,
  kAllToAllParam = 13,
  kAllToAllParamList = 14,
  kShardingUnreduced = 15,
  kShardingPerValueUnreduced = 16,
  kShardingReduced = 17,
};

constexpr int64_t kMaxFactor = 1 << 16;

llvm::StringRef Ref(std::string_view s) { return {s.data(), s.size()}; }

// A list of attributes of one class.
template <class A>
bool ReadListOf(EntryReader& entries, Cursor& in, llvm::SmallVectorImpl<A>& out, const char* wanted) {
  const size_t n = in.Count();
  out.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    A attr = entries.ReadAttrOf<A>(in, wanted);
    if (!attr) return false;
    out.push_back(attr);
  }
  if (!in.ok()) entries.Fail("it ends early");
  return in.ok();
}

// Factor numbers, which the assembly turns into names.
bool ReadFactors(EntryReader& entries, Cursor& in, llvm::SmallVectorImpl<int64_t>& out, int64_t least) {
  if (!entries.ReadInts(in, out)) return false;
  for (int64_t factor : out) {
    if (factor < least || factor > kMaxFactor) {
      entries.Fail("a sharding rule with factor " + std::to_string(factor));
      return false;
    }
  }
  return true;
}

}  // namespace

mlir::Attribute EntryReader::DecodeSdyAttr(Cursor& in) {
  using mlir::Attribute;
  const uint64_t code = in.VarInt();
  if (!in.ok()) return Fail("it ends early");
  switch (code) {
    case kManualAxes: {
      llvm::SmallVector<mlir::StringAttr> axes;
      return ReadListOf(*this, in, axes, "string") ? sdy::ManualAxesAttr::get(context_, axes) : nullptr;
    }
    case kMeshAxis: {
      std::string_view name = ReadString(in);
      const int64_t size = in.SignedVarInt();
      if (!status_.ok() || !in.ok()) return Fail("it ends early");
      return sdy::MeshAxisAttr::get(context_, Ref(name), size);
    }
    case kMesh: {
      llvm::SmallVector<sdy::MeshAxisAttr> axes;
      llvm::SmallVector<int64_t> ids;
      if (!ReadListOf(*this, in, axes, "mesh axis") || !ReadInts(in, ids)) return {};
      return sdy::MeshAttr::get(context_, axes, ids);
    }
    case kSubAxisInfo: {
      const int64_t pre_size = in.SignedVarInt();
      const int64_t size = in.SignedVarInt();
      return in.ok() ? sdy::SubAxisInfoAttr::get(context_, pre_size, size) : Attribute(Fail("it ends early"));
    }
    case kAxisRef: {
      std::string_view name = ReadString(in);
      if (!status_.ok()) return {};
      Attribute sub = ReadOptionalAttr(in);
      if (!status_.ok()) return {};
      if (sub && !mlir::isa<sdy::SubAxisInfoAttr>(sub)) return Fail("an axis with something else than a sub-axis");
      return sdy::AxisRefAttr::get(context_, Ref(name), mlir::cast_or_null<sdy::SubAxisInfoAttr>(sub));
    }
    case kDimensionSharding: {
      llvm::SmallVector<sdy::AxisRefAttr> axes;
      if (!ReadListOf(*this, in, axes, "axis")) return {};
      const bool closed = in.Byte() != 0;
      const uint64_t priority = in.VarInt();
      if (!in.ok()) return Fail("it ends early");
      std::optional<int64_t> value;
      if (priority & 1) value = static_cast<int64_t>(priority >> 1);
      return sdy::DimensionShardingAttr::get(context_, axes, closed, value);
    }
    case kSharding:
    case kShardingUnreduced:
    case kShardingReduced: {
      Attribute mesh = ReadAttr(in);
      if (!mesh) return {};
      if (!mlir::isa<sdy::MeshAttr, mlir::FlatSymbolRefAttr>(mesh))
        return Fail("a sharding over something that is no mesh");
      llvm::SmallVector<sdy::DimensionShardingAttr> dims;
      llvm::SmallVector<sdy::AxisRefAttr> replicated;
      llvm::SmallVector<sdy::AxisRefAttr> unreduced;
      if (!ReadListOf(*this, in, dims, "dimension sharding") || !ReadListOf(*this, in, replicated, "axis")) return {};
      if (code != kSharding && !ReadListOf(*this, in, unreduced, "axis")) return {};
      int64_t reduction = 0;
      if (code == kShardingReduced) reduction = in.SignedVarInt();
      if (!in.ok() || reduction < 0 || reduction > 2) return Fail("a sharding with an unknown reduction");
      return sdy::TensorShardingAttr::get(context_, mesh, dims, replicated, unreduced,
                                          static_cast<sdy::ReductionOp>(reduction));
    }
    case kShardingPerValue:
    case kShardingPerValueUnreduced: {
      llvm::SmallVector<sdy::TensorShardingAttr> shardings;
      if (!ReadListOf(*this, in, shardings, "sharding")) return {};
      return sdy::TensorShardingPerValueAttr::get(context_, shardings);
    }
    case kDimMapping: {
      llvm::SmallVector<int64_t> factors;
      return ReadFactors(*this, in, factors, -1) ? sdy::DimMappingAttr::get(context_, factors) : nullptr;
    }
    case kTensorMapping: {
      llvm::SmallVector<sdy::DimMappingAttr> dims;
      return ReadListOf(*this, in, dims, "dimension mapping") ? sdy::TensorMappingAttr::get(context_, dims) : nullptr;
    }
    case kOpShardingRule: {
      llvm::SmallVector<int64_t> sizes;
      llvm::SmallVector<sdy::TensorMappingAttr> operands;
      llvm::SmallVector<sdy::TensorMappingAttr> results;
      llvm::SmallVector<int64_t> lists[4];
      if (!ReadInts(in, sizes) || !ReadListOf(*this, in, operands, "tensor mapping") ||
          !ReadListOf(*this, in, results, "tensor mapping")) {
        return {};
      }
      for (auto& list : lists) {
        if (!ReadFactors(*this, in, list, 0)) return {};
      }
      const bool custom = in.Byte() != 0;
      if (!in.ok()) return Fail("it ends early");
      return sdy::OpShardingRuleAttr::get(context_, sizes, operands, results, lists[0], lists[1], lists[2], lists[3],
                                          custom);
    }
    case kAxisRefList: {
      llvm::SmallVector<sdy::AxisRefAttr> axes;
      return ReadListOf(*this, in, axes, "axis") ? sdy::AxisRefListAttr::get(context_, axes) : nullptr;
    }
    case kListOfAxisRefLists: {
      llvm::SmallVector<sdy::AxisRefListAttr> lists;
      return ReadListOf(*this, in, lists, "list of axes") ? sdy::ListOfAxisRefListsAttr::get(context_, lists) : nullptr;
    }
    case kAllToAllParam: {
      llvm::SmallVector<sdy::AxisRefAttr> axes;
      if (!ReadListOf(*this, in, axes, "axis")) return {};
      const int64_t source = in.SignedVarInt();
      const int64_t target = in.SignedVarInt();
      return in.ok() ? sdy::AllToAllParamAttr::get(context_, axes, source, target) : Attribute(Fail("it ends early"));
    }
    case kAllToAllParamList: {
      llvm::SmallVector<sdy::AllToAllParamAttr> params;
      return ReadListOf(*this, in, params, "parameter") ? sdy::AllToAllParamListAttr::get(context_, params) : nullptr;
    }
    default:
      return Fail("there is no Shardy attribute of code " + std::to_string(code));
  }
}

}  // namespace tenon::vhlo
