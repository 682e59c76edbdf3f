#include "tenon/compiler/partition/manual.h"

#include <fmt/format.h>

#include <map>

#include "tenon/compiler/partition/mesh.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::compiler {

std::string ToText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type.print(stream);
  return text;
}

mlir::Value CutTile(mlir::OpBuilder& b, mlir::Location loc, mlir::Value whole, const Dims& tiles,
                    const Dims& position) {
  if (mlir::isa<stablehlo::TokenType>(whole.getType())) return whole;
  llvm::SmallVector<int64_t> starts, sizes;
  auto type = mlir::cast<mlir::RankedTensorType>(whole.getType());
  for (size_t i = 0; i < tiles.size(); ++i) {
    sizes.push_back(type.getDimSize(static_cast<unsigned>(i)) / tiles[i]);
    starts.push_back(position[i] * sizes.back());
  }
  return Slice(b, loc, whole, starts, sizes);
}

mlir::Value JoinTiles(mlir::OpBuilder& b, mlir::Location loc, const std::map<std::vector<int64_t>, mlir::Value>& parts,
                      const Dims& tiles, std::vector<int64_t> prefix) {
  const size_t dim = prefix.size();
  if (dim == tiles.size()) return parts.at(prefix);
  llvm::SmallVector<mlir::Value> along;
  for (int64_t t = 0; t < tiles[dim]; ++t) {
    prefix.push_back(t);
    along.push_back(JoinTiles(b, loc, parts, tiles, prefix));
    prefix.pop_back();
  }
  return Concatenate(b, loc, along, static_cast<int64_t>(dim));
}

namespace {

// Whether a tile of `whole` has the type `part`.
Status CheckPart(mlir::Type whole, const Tiling& tiling, mlir::Type part) {
  mlir::Type want = whole;
  if (auto ranked = mlir::dyn_cast<mlir::RankedTensorType>(whole)) {
    llvm::SmallVector<int64_t> dims(ranked.getShape());
    const Dims tiles = PlainTiles(tiling, tiling.tiles);
    if (tiles.size() != dims.size())
      return InvalidArgument(fmt::format("a sharding of {} dims for {}", tiles.size(), ToText(whole)));
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] % tiles[d] != 0) {
        return InvalidArgument(
            fmt::format("{} does not divide into {} parts along dim {}", ToText(whole), tiles[d], d));
      }
      dims[d] /= tiles[d];
    }
    want = mlir::RankedTensorType::get(dims, ranked.getElementType());
  }
  if (part == want) return OkStatus();
  return InvalidArgument(fmt::format("the body has {}, a part of {} is {}", ToText(part), ToText(whole), ToText(want)));
}

class ManualExpander {
 public:
  ManualExpander(mlir::OpBuilder& b, sdy::ManualComputationOp op, const Instances& around,
                 const UnreducedValues& unreduced)
      : b_(b), op_(op), around_(around), unreduced_(unreduced), manual_(op.getManualAxes().getValue()) {
    for (const auto& devices : around.devices) num_devices_ += static_cast<int64_t>(devices.size());
  }

  Result<std::vector<Lanes>> Run(const std::vector<Lanes>& operands) {
    if (around_.remote != nullptr) return Unimplemented("a manual_computation inside one of several processes");
    TENON_RETURN_IF_ERROR(Split());
    const auto in = op_.getInShardings().getShardings();
    const auto out = op_.getOutShardings().getShardings();
    std::vector<Lanes> arguments;
    for (size_t i = 0; i < in.size(); ++i) {
      TENON_ASSIGN_OR_RETURN(const Tiling tiling, TilingOf(in[i], operands[i][0].getType()));
      const mlir::Type part = op_.getBody().getArgument(static_cast<unsigned>(i)).getType();
      TENON_RETURN_IF_ERROR(CheckPart(operands[i][0].getType(), tiling, part)
                                .WithContext(fmt::format("operand {} of manual_computation", i)));
      Lanes lanes;
      Lanes partial;
      if (tiling.stacked && around_.size() == 1 && unreduced_.partials != nullptr) {
        partial = unreduced_.partials->Find(operands[i][0], OverOf(in[i]), tiling.tiles[0], *unreduced_.placement);
      }
      for (size_t k = 0; k < parts_.size(); ++k)
        lanes.push_back(Part(operands[i][instance_of_[k]], tiling, k, partial, in[i].getReductionOp()));
      arguments.push_back(std::move(lanes));
    }
    std::vector<bool> varying;
    for (const Lanes& lanes : arguments) varying.push_back(!llvm::all_equal(lanes));
    TENON_ASSIGN_OR_RETURN(const std::vector<Lanes> results,
                           Expand(b_, op_.getBody().front(), arguments, varying, parts_));
    std::vector<Lanes> joined;
    for (size_t i = 0; i < results.size(); ++i) {
      const mlir::Type type = op_->getResult(static_cast<unsigned>(i)).getType();
      TENON_ASSIGN_OR_RETURN(const Tiling tiling, TilingOf(out[i], type));
      TENON_RETURN_IF_ERROR(CheckPart(type, tiling, results[i][0].getType())
                                .WithContext(fmt::format("result {} of manual_computation", i)));
      TENON_ASSIGN_OR_RETURN(Lanes lanes, Join(results[i], type, tiling, out[i].getReductionOp()));
      if (tiling.stacked && around_.size() == 1 && unreduced_.partials != nullptr) {
        Lanes partial = PartialValues(results[i], tiling);
        if (!partial.empty()) unreduced_.partials->Set(lanes[0], OverOf(out[i]), std::move(partial));
      }
      joined.push_back(std::move(lanes));
    }
    return joined;
  }

 private:
  // Devices of an instance around with the same position along the manual axes run the body as one.
  Status Split() {
    parts_.num_replicas = around_.num_replicas;
    parts_.num_partitions = around_.num_partitions;
    parts_.repeated = around_.repeated;
    const auto in = op_.getInShardings().getShardings();
    const auto out = op_.getOutShardings().getShardings();
    for (size_t i = 0; i < around_.size(); ++i) {
      std::map<std::vector<int64_t>, std::vector<int64_t>> by_position;
      for (int64_t device : around_.devices[i]) {
        std::vector<int64_t> position;
        if (!in.empty() || !out.empty()) {
          TENON_ASSIGN_OR_RETURN(const Mesh mesh, MeshOf(in.empty() ? out[0] : in[0], op_, num_devices_));
          for (mlir::StringAttr axis : manual_) {
            TENON_ASSIGN_OR_RETURN(const int64_t p, mesh.Position(device, axis.getValue()));
            position.push_back(p);
          }
        }
        by_position[position].push_back(device);
      }
      for (auto& [position, devices] : by_position) {
        parts_.devices.push_back(std::move(devices));
        instance_of_.push_back(i);
        if (!around_.active.empty()) parts_.active.push_back(around_.active[i]);
      }
    }
    return OkStatus();
  }

  Result<Tiling> TilingOf(sdy::TensorShardingAttr sharding, mlir::Type type) const {
    TENON_ASSIGN_OR_RETURN(const Mesh mesh, MeshOf(sharding, op_, num_devices_));
    auto ranked = mlir::dyn_cast<mlir::RankedTensorType>(type);
    const size_t rank = ranked ? static_cast<size_t>(ranked.getRank()) : 0;
    if (manual_.empty()) return Replicated(rank, num_devices_);
    Tiling tiling = Replicated(rank, num_devices_);
    if (!sharding.getDimShardings().empty()) {
      TENON_ASSIGN_OR_RETURN(tiling, mesh.TilingOf(sharding, manual_));
    }
    return ranked ? Stacked(std::move(tiling), mesh, sharding, manual_) : tiling;
  }

  // The manual ones among the unreduced axes.
  Partials::Over OverOf(sdy::TensorShardingAttr sharding) const {
    Partials::Over over{{}, sharding.getReductionOp()};
    for (sdy::AxisRefAttr axis : sharding.getUnreducedAxes()) {
      if (llvm::any_of(manual_, [&](mlir::StringAttr m) { return m.getValue() == axis.getName(); }))
        over.axes.push_back(axis);
    }
    return over;
  }

  // Those of a result, by position; none unless there is every tile of each.
  Lanes PartialValues(const Lanes& results, const Tiling& tiling) {
    Lanes partial;
    const Dims tiles = PlainTiles(tiling, tiling.tiles);
    for (int64_t position = 0; position < tiling.tiles[0]; ++position) {
      std::map<std::vector<int64_t>, mlir::Value> of_position;
      for (size_t k = 0; k < parts_.size(); ++k) {
        const Dims& tile = TileOf(tiling, k);
        const Dims place = PlainTiles(tiling, tile);
        if (tile[0] == position) of_position[std::vector<int64_t>(place.begin(), place.end())] = results[k];
      }
      if (static_cast<int64_t>(of_position.size()) != NumElements(tiles)) return {};
      partial.push_back(JoinTiles(b_, op_.getLoc(), of_position, tiles));
    }
    return partial;
  }

  // What part `k` holds, of the partial values if they are known.
  mlir::Value Part(mlir::Value whole, const Tiling& tiling, size_t k, const Lanes& partial, sdy::ReductionOp op) {
    const Dims& tile = TileOf(tiling, k);
    if (!partial.empty()) whole = partial[static_cast<size_t>(tile[0])];
    const mlir::Value part =
        CutTile(b_, op_.getLoc(), whole, PlainTiles(tiling, tiling.tiles), PlainTiles(tiling, tile));
    return tiling.stacked && partial.empty() ? AnyPart(b_, op_.getLoc(), part, tile[0], op) : part;
  }

  const Dims& TileOf(const Tiling& tiling, size_t part) const {
    return tiling.tile_of_device[static_cast<size_t>(parts_.devices[part][0])];
  }

  Result<Lanes> Join(const Lanes& results, mlir::Type type, const Tiling& tiling, sdy::ReductionOp op) {
    Lanes joined;
    for (size_t i = 0; i < around_.size(); ++i) {
      // By place, the values to be combined there; places that several parts share count once.
      std::map<std::vector<int64_t>, std::map<int64_t, mlir::Value>> places;
      Lanes own;
      for (size_t k = 0; k < parts_.size(); ++k) {
        if (instance_of_[k] != i) continue;
        const Dims& tile = TileOf(tiling, k);
        const Dims place = PlainTiles(tiling, tile);
        places[std::vector<int64_t>(place.begin(), place.end())].try_emplace(tiling.stacked ? tile[0] : 0, results[k]);
        own.push_back(results[k]);
      }
      if (mlir::isa<stablehlo::TokenType>(type)) {
        joined.push_back(stablehlo::AfterAllOp::create(b_, op_.getLoc(), type, own));
        continue;
      }
      std::map<std::vector<int64_t>, mlir::Value> tiles;
      int64_t made = 0;
      for (const auto& [place, partial] : places) {
        Lanes values;
        for (const auto& [position, value] : partial) values.push_back(value);
        made += static_cast<int64_t>(values.size());
        tiles[place] = Combined(b_, op_.getLoc(), values, op);
      }
      if (made != NumElements(tiling.tiles)) {
        return InvalidArgument(fmt::format("manual_computation makes {} of the {} parts of {}", made,
                                           NumElements(tiling.tiles), ToText(type)));
      }
      joined.push_back(JoinTiles(b_, op_.getLoc(), tiles, PlainTiles(tiling, tiling.tiles)));
    }
    return joined;
  }

  mlir::OpBuilder& b_;
  sdy::ManualComputationOp op_;
  const Instances& around_;
  const UnreducedValues& unreduced_;
  llvm::ArrayRef<mlir::StringAttr> manual_;
  int64_t num_devices_ = 0;
  Instances parts_;
  std::vector<size_t> instance_of_;  ///< The instance around that each part is of.
};

}  // namespace

Result<std::vector<Lanes>> ExpandManualComputation(mlir::OpBuilder& builder, sdy::ManualComputationOp op,
                                                   const std::vector<Lanes>& operands, const Instances& around,
                                                   const UnreducedValues& unreduced) {
  return ManualExpander(builder, op, around, unreduced).Run(operands);
}

}  // namespace tenon::compiler
