#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "tenon/base/status.h"
#include "tenon/compiler/compile.h"
#include "tenon/dialect/sdy/dialect.h"

namespace tenon::compiler {

/// A mesh of devices: what position each device has along each axis.
class Mesh {
 public:
  static Result<Mesh> Create(sdy::MeshAttr mesh, int64_t num_devices);

  int64_t num_devices() const { return static_cast<int64_t>(coordinates_.size()); }
  /// Position of `device` along an axis or sub-axis, and how many positions there are. NOT_FOUND for an axis that the
  /// mesh lacks.
  Result<int64_t> Position(int64_t device, llvm::StringRef axis, sdy::SubAxisInfoAttr sub = nullptr) const;
  Result<int64_t> Size(llvm::StringRef axis, sdy::SubAxisInfoAttr sub = nullptr) const;

  /// Positions of a device along several axes, the first one major, as one number; and the product of their sizes.
  Result<int64_t> FlatPosition(int64_t device, llvm::ArrayRef<sdy::AxisRefAttr> axes) const;
  Result<int64_t> FlatSize(llvm::ArrayRef<sdy::AxisRefAttr> axes) const;

  /// The tiling that a sharding means, its unreduced axes apart. `only`: axes to respect, empty for all of them.
  Result<Tiling> TilingOf(sdy::TensorShardingAttr sharding, llvm::ArrayRef<mlir::StringAttr> only = {}) const;

 private:
  std::vector<std::pair<std::string, int64_t>> axes_;
  std::vector<std::vector<int64_t>> coordinates_;  ///< [device][axis]
};

/// INVALID_ARGUMENT where a sharding of the program names a mesh or axes that are not there, or an axis twice, and says
/// what is wrong. What follows here requires programs that pass.
Status CheckShardings(mlir::ModuleOp module);

/// A mesh, or that which a symbol names, looked up from `from`; null where there is none.
sdy::MeshAttr FindMesh(mlir::Attribute mesh_or_ref, mlir::Operation* from);

/// The mesh that a sharding names, looked up from `from`.
Result<Mesh> MeshOf(sdy::TensorShardingAttr sharding, mlir::Operation* from, int64_t num_devices);

/// `tiling` of an array that what its devices hold makes, combined over the unreduced axes (those in `only`, unless it
/// is empty): stacked, one entry per position along them. Unchanged when they have one position.
Result<Tiling> Stacked(Tiling tiling, const Mesh& mesh, sdy::TensorShardingAttr sharding,
                       llvm::ArrayRef<mlir::StringAttr> only = {});

/// Tiles, or a position among them, without the dim that stacked tilings have in front.
Dims PlainTiles(const Tiling& tiling, const Dims& tiles);

/// Every device holds all of an array of `rank` dims.
Tiling Replicated(size_t rank, int64_t num_devices);

/// A serialised xla.OpSharding that says the same as the tiling, whose partial values combine by `op`.
std::string ToOpSharding(const Tiling& tiling, sdy::ReductionOp op);

/// That of values inside manual computations, which are each device's own.
std::string ManualOpSharding();

/// That of a sequence of values with these; of one value, its own.
std::string TupleOpSharding(const std::vector<std::string>& shardings);

}  // namespace tenon::compiler
