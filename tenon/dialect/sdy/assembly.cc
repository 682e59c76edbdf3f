// Assembly of the attributes. Each prints what stands between "#sdy.name" and the end: <...>, {...} or [...].

#include <functional>
#include <string>

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "tenon/dialect/sdy/dialect.h"

namespace tenon::sdy {
namespace {

using mlir::AsmParser;
using mlir::AsmPrinter;
using mlir::Attribute;
using mlir::ParseResult;

// The first 18 factors are the letters i to z, the others z_1, z_2 and so on.
constexpr int64_t kLetterFactors = 18;
constexpr int64_t kMaxFactors = 1 << 16;
constexpr int64_t kNoFactor = -1;

void PrintFactor(AsmPrinter& p, int64_t factor) {
  if (factor < kLetterFactors) {
    p << static_cast<char>('i' + factor);
  } else {
    p << "z_" << factor - kLetterFactors + 1;
  }
}

// Factors that run together: "ij", "z_1z_2".
ParseResult ParseFactors(AsmParser& parser, llvm::StringRef word, llvm::SmallVectorImpl<int64_t>& factors) {
  const auto where = parser.getCurrentLocation();
  size_t at = 0;
  while (at < word.size()) {
    const char letter = word[at++];
    if (letter < 'i' || letter > 'z')
      return parser.emitError(where, "expected factors i to z or z_N, got '") << word << "'";
    int64_t factor = letter - 'i';
    if (letter == 'z' && at < word.size() && word[at] == '_') {
      ++at;
      int64_t number = 0;
      const size_t begin = at;
      while (at < word.size() && word[at] >= '0' && word[at] <= '9' && number < kMaxFactors)
        number = number * 10 + (word[at++] - '0');
      if (at == begin || number == 0 || number > kMaxFactors)
        return parser.emitError(where, "expected a number after 'z_'");
      factor = kLetterFactors + number - 1;
    }
    factors.push_back(factor);
  }
  return mlir::success();
}

ParseResult ParseString(AsmParser& parser, std::string& out) { return parser.parseString(&out); }

void PrintString(AsmPrinter& p, llvm::StringRef s) { p.printString(s); }

AxisRefAttr ParseAxis(AsmParser& parser) {
  std::string name;
  if (mlir::failed(ParseString(parser, name))) return {};
  SubAxisInfoAttr sub_axis;
  if (mlir::succeeded(parser.parseOptionalColon())) {
    int64_t pre_size = 0;
    int64_t size = 0;
    if (parser.parseLParen() || parser.parseInteger(pre_size) || parser.parseRParen() || parser.parseInteger(size))
      return {};
    sub_axis = SubAxisInfoAttr::get(parser.getContext(), pre_size, size);
  }
  return AxisRefAttr::get(parser.getContext(), name, sub_axis);
}

void PrintAxis(AsmPrinter& p, AxisRefAttr axis) {
  PrintString(p, axis.getName());
  if (SubAxisInfoAttr sub = axis.getSubAxisInfo()) p << ":(" << sub.getPreSize() << ")" << sub.getSize();
}

ParseResult ParseAxes(AsmParser& parser, llvm::SmallVectorImpl<AxisRefAttr>& axes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() -> ParseResult {
    AxisRefAttr axis = ParseAxis(parser);
    axes.push_back(axis);
    return mlir::success(axis != nullptr);
  });
}

void PrintAxes(AsmPrinter& p, llvm::ArrayRef<AxisRefAttr> axes) {
  p << "{";
  llvm::interleaveComma(axes, p, [&](AxisRefAttr axis) { PrintAxis(p, axis); });
  p << "}";
}

DimensionShardingAttr ParseDimension(AsmParser& parser) {
  llvm::SmallVector<AxisRefAttr> axes;
  bool closed = true;
  if (parser.parseLBrace()) return {};
  if (mlir::failed(parser.parseOptionalRBrace())) {
    do {
      if (mlir::succeeded(parser.parseOptionalQuestion())) {
        closed = false;
        break;
      }
      AxisRefAttr axis = ParseAxis(parser);
      if (!axis) return {};
      axes.push_back(axis);
    } while (mlir::succeeded(parser.parseOptionalComma()));
    if (parser.parseRBrace()) return {};
  }
  std::optional<int64_t> priority;
  const auto where = parser.getCurrentLocation();
  llvm::StringRef word;
  if (mlir::succeeded(parser.parseOptionalKeyword(&word))) {
    int64_t value = 0;
    if (!word.consume_front("p") || word.getAsInteger(10, value) || value < 0) {
      parser.emitError(where, "expected a priority such as p1");
      return {};
    }
    priority = value;
  }
  return DimensionShardingAttr::get(parser.getContext(), axes, closed, priority);
}

void PrintDimension(AsmPrinter& p, DimensionShardingAttr dim) {
  p << "{";
  llvm::interleaveComma(dim.getAxes(), p, [&](AxisRefAttr axis) { PrintAxis(p, axis); });
  if (!dim.getIsClosed()) p << (dim.getAxes().empty() ? "?" : ", ?");
  p << "}";
  if (dim.getPriority()) p << "p" << *dim.getPriority();
}

MeshAttr ParseMesh(AsmParser& parser) {
  llvm::SmallVector<MeshAxisAttr> axes;
  llvm::SmallVector<int64_t> ids;
  const auto axis = [&]() -> ParseResult {
    std::string name;
    int64_t size = 0;
    if (ParseString(parser, name) || parser.parseEqual() || parser.parseInteger(size)) return mlir::failure();
    axes.push_back(MeshAxisAttr::get(parser.getContext(), name, size));
    return mlir::success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, axis)) return {};
  if (mlir::succeeded(parser.parseOptionalComma())) {
    const auto id = [&] { return parser.parseInteger(ids.emplace_back()); };
    if (parser.parseKeyword("device_ids") || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, id)) {
      return {};
    }
  }
  if (parser.parseGreater()) return {};
  return MeshAttr::get(parser.getContext(), axes, ids);
}

void PrintMesh(AsmPrinter& p, MeshAttr mesh) {
  p << "<[";
  llvm::interleaveComma(mesh.getAxes(), p, [&](MeshAxisAttr axis) {
    PrintString(p, axis.getName());
    p << "=" << axis.getSize();
  });
  p << "]";
  if (!mesh.getDeviceIds().empty()) {
    p << ", device_ids=[";
    llvm::interleaveComma(mesh.getDeviceIds(), p);
    p << "]";
  }
  p << ">";
}

TensorShardingAttr ParseSharding(AsmParser& parser) {
  if (parser.parseLess()) return {};
  Attribute mesh;
  if (mlir::succeeded(parser.parseOptionalKeyword("mesh"))) {
    mesh = ParseMesh(parser);
  } else {
    mlir::StringAttr name;
    if (parser.parseSymbolName(name)) return {};
    mesh = mlir::FlatSymbolRefAttr::get(name);
  }
  llvm::SmallVector<DimensionShardingAttr> dims;
  const auto dim = [&]() -> ParseResult {
    dims.push_back(ParseDimension(parser));
    return mlir::success(dims.back() != nullptr);
  };
  if (!mesh || parser.parseComma() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, dim)) return {};
  llvm::SmallVector<AxisRefAttr> replicated;
  llvm::SmallVector<AxisRefAttr> unreduced;
  ReductionOp reduction = ReductionOp::SUM;
  while (mlir::succeeded(parser.parseOptionalComma())) {
    if (mlir::succeeded(parser.parseOptionalKeyword("replicated"))) {
      if (parser.parseEqual() || ParseAxes(parser, replicated)) return {};
    } else if (parser.parseKeyword("unreduced") || parser.parseEqual()) {
      return {};
    } else {
      const auto where = parser.getCurrentLocation();
      llvm::StringRef word;
      if (mlir::succeeded(parser.parseOptionalKeyword(&word))) {
        auto op = symbolizeReductionOp(word);
        if (!op) {
          parser.emitError(where, "expected max, min or sum");
          return {};
        }
        reduction = *op;
      }
      if (ParseAxes(parser, unreduced)) return {};
    }
  }
  if (parser.parseGreater()) return {};
  return TensorShardingAttr::get(parser.getContext(), mesh, dims, replicated, unreduced, reduction);
}

void PrintSharding(AsmPrinter& p, TensorShardingAttr sharding) {
  p << "<";
  if (auto mesh = mlir::dyn_cast<MeshAttr>(sharding.getMeshOrRef())) {
    p << "mesh";
    PrintMesh(p, mesh);
  } else if (auto symbol = mlir::dyn_cast<mlir::FlatSymbolRefAttr>(sharding.getMeshOrRef())) {
    p.printSymbolName(symbol.getValue());
  }
  p << ", [";
  llvm::interleaveComma(sharding.getDimShardings(), p, [&](DimensionShardingAttr dim) { PrintDimension(p, dim); });
  p << "]";
  if (!sharding.getReplicatedAxes().empty()) {
    p << ", replicated=";
    PrintAxes(p, sharding.getReplicatedAxes());
  }
  if (!sharding.getUnreducedAxes().empty()) {
    p << ", unreduced=";
    if (sharding.getReductionOp() != ReductionOp::SUM) p << stringifyReductionOp(sharding.getReductionOp());
    PrintAxes(p, sharding.getUnreducedAxes());
  }
  p << ">";
}

TensorMappingAttr ParseTensorMapping(AsmParser& parser) {
  llvm::SmallVector<DimMappingAttr> dims;
  const auto dim = [&]() -> ParseResult {
    llvm::SmallVector<int64_t> factors;
    llvm::StringRef word;
    if (mlir::succeeded(parser.parseOptionalStar())) {
      factors.push_back(kNoFactor);
    } else if (parser.parseKeyword(&word) || ParseFactors(parser, word, factors)) {
      return mlir::failure();
    }
    dims.push_back(DimMappingAttr::get(parser.getContext(), factors));
    return mlir::success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, dim)) return {};
  return TensorMappingAttr::get(parser.getContext(), dims);
}

void PrintTensorMapping(AsmPrinter& p, TensorMappingAttr mapping) {
  p << "[";
  llvm::interleaveComma(mapping.getDimMappings(), p, [&](DimMappingAttr dim) {
    for (int64_t factor : dim.getFactorIndices()) {
      if (factor == kNoFactor) {
        p << "*";
      } else {
        PrintFactor(p, factor);
      }
    }
  });
  p << "]";
}

}  // namespace

//===--- Attributes ---===//

Attribute ManualAxesAttr::parse(AsmParser& parser, mlir::Type) {
  llvm::SmallVector<mlir::StringAttr> axes;
  const auto axis = [&]() -> ParseResult {
    std::string name;
    if (ParseString(parser, name)) return mlir::failure();
    axes.push_back(mlir::StringAttr::get(parser.getContext(), name));
    return mlir::success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, axis)) return {};
  return ManualAxesAttr::get(parser.getContext(), axes);
}
void ManualAxesAttr::print(AsmPrinter& p) const {
  p << "{";
  llvm::interleaveComma(getValue(), p, [&](mlir::StringAttr axis) { PrintString(p, axis.getValue()); });
  p << "}";
}

Attribute MeshAxisAttr::parse(AsmParser& parser, mlir::Type) {
  std::string name;
  int64_t size = 0;
  if (parser.parseLess() || ParseString(parser, name) || parser.parseEqual() || parser.parseInteger(size) ||
      parser.parseGreater()) {
    return {};
  }
  return MeshAxisAttr::get(parser.getContext(), name, size);
}
void MeshAxisAttr::print(AsmPrinter& p) const {
  p << "<";
  PrintString(p, getName());
  p << "=" << getSize() << ">";
}

Attribute MeshAttr::parse(AsmParser& parser, mlir::Type) { return ParseMesh(parser); }
void MeshAttr::print(AsmPrinter& p) const { PrintMesh(p, *this); }

Attribute SubAxisInfoAttr::parse(AsmParser& parser, mlir::Type) {
  int64_t pre_size = 0;
  int64_t size = 0;
  if (parser.parseLess() || parser.parseLParen() || parser.parseInteger(pre_size) || parser.parseRParen() ||
      parser.parseInteger(size) || parser.parseGreater()) {
    return {};
  }
  return SubAxisInfoAttr::get(parser.getContext(), pre_size, size);
}
void SubAxisInfoAttr::print(AsmPrinter& p) const { p << "<(" << getPreSize() << ")" << getSize() << ">"; }

Attribute AxisRefAttr::parse(AsmParser& parser, mlir::Type) {
  if (parser.parseLess()) return {};
  AxisRefAttr axis = ParseAxis(parser);
  if (!axis || parser.parseGreater()) return {};
  return axis;
}
void AxisRefAttr::print(AsmPrinter& p) const {
  p << "<";
  PrintAxis(p, *this);
  p << ">";
}

Attribute DimensionShardingAttr::parse(AsmParser& parser, mlir::Type) { return ParseDimension(parser); }
void DimensionShardingAttr::print(AsmPrinter& p) const { PrintDimension(p, *this); }

Attribute TensorShardingAttr::parse(AsmParser& parser, mlir::Type) { return ParseSharding(parser); }
void TensorShardingAttr::print(AsmPrinter& p) const { PrintSharding(p, *this); }

TensorShardingPerValueAttr ParseShardings(AsmParser& parser) {
  llvm::SmallVector<TensorShardingAttr> shardings;
  const auto sharding = [&]() -> ParseResult {
    shardings.push_back(ParseSharding(parser));
    return mlir::success(shardings.back() != nullptr);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, sharding)) return {};
  return TensorShardingPerValueAttr::get(parser.getContext(), shardings);
}
void PrintShardings(AsmPrinter& p, TensorShardingPerValueAttr attr) {
  p << "[";
  llvm::interleaveComma(attr.getShardings(), p, [&](TensorShardingAttr sharding) { PrintSharding(p, sharding); });
  p << "]";
}

Attribute TensorShardingPerValueAttr::parse(AsmParser& parser, mlir::Type) {
  if (parser.parseLess()) return {};
  TensorShardingPerValueAttr attr = ParseShardings(parser);
  if (!attr || parser.parseGreater()) return {};
  return attr;
}
void TensorShardingPerValueAttr::print(AsmPrinter& p) const {
  p << "<";
  PrintShardings(p, *this);
  p << ">";
}

Attribute DimMappingAttr::parse(AsmParser& parser, mlir::Type) {
  llvm::SmallVector<int64_t> factors;
  llvm::StringRef word;
  if (parser.parseLess()) return {};
  if (mlir::succeeded(parser.parseOptionalStar())) {
    factors.push_back(kNoFactor);
  } else if (parser.parseKeyword(&word) || ParseFactors(parser, word, factors)) {
    return {};
  }
  if (parser.parseGreater()) return {};
  return DimMappingAttr::get(parser.getContext(), factors);
}
void DimMappingAttr::print(AsmPrinter& p) const {
  p << "<";
  for (int64_t factor : getFactorIndices()) {
    if (factor == kNoFactor) {
      p << "*";
    } else {
      PrintFactor(p, factor);
    }
  }
  p << ">";
}

Attribute TensorMappingAttr::parse(AsmParser& parser, mlir::Type) {
  if (parser.parseLess()) return {};
  TensorMappingAttr mapping = ParseTensorMapping(parser);
  if (!mapping || parser.parseGreater()) return {};
  return mapping;
}
void TensorMappingAttr::print(AsmPrinter& p) const {
  p << "<";
  PrintTensorMapping(p, *this);
  p << ">";
}

Attribute OpShardingRuleAttr::parse(AsmParser& parser, mlir::Type) {
  const auto mappings = [&](llvm::SmallVectorImpl<TensorMappingAttr>& out) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() -> ParseResult {
      out.push_back(ParseTensorMapping(parser));
      return mlir::success(out.back() != nullptr);
    });
  };
  llvm::SmallVector<TensorMappingAttr> operands;
  llvm::SmallVector<TensorMappingAttr> results;
  llvm::SmallVector<int64_t> sizes;
  if (parser.parseLess() || mappings(operands) || parser.parseArrow() || mappings(results)) return {};
  const auto size = [&]() -> ParseResult {
    llvm::StringRef word;
    llvm::SmallVector<int64_t> factor;
    const auto where = parser.getCurrentLocation();
    if (parser.parseKeyword(&word) || ParseFactors(parser, word, factor) || parser.parseEqual() ||
        parser.parseInteger(sizes.emplace_back())) {
      return mlir::failure();
    }
    if (factor.size() != 1 || factor[0] != static_cast<int64_t>(sizes.size()) - 1) {
      return parser.emitError(where, "expected the sizes of all factors in order");
    }
    return mlir::success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalBraces, size)) return {};
  llvm::SmallVector<int64_t> lists[4];
  constexpr llvm::StringLiteral kNames[] = {"reduction", "need_replication", "permutation", "blocked_propagation"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (mlir::failed(parser.parseOptionalKeyword(kNames[i]))) continue;
    const auto factor = [&]() -> ParseResult {
      llvm::StringRef word;
      if (parser.parseKeyword(&word)) return mlir::failure();
      return ParseFactors(parser, word, lists[i]);
    };
    if (parser.parseEqual() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, factor)) return {};
  }
  bool custom = false;
  if (mlir::succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("custom")) return {};
    custom = true;
  }
  if (parser.parseGreater()) return {};
  return OpShardingRuleAttr::get(parser.getContext(), sizes, operands, results, lists[0], lists[1], lists[2], lists[3],
                                 custom);
}
void OpShardingRuleAttr::print(AsmPrinter& p) const {
  const auto mappings = [&](llvm::ArrayRef<TensorMappingAttr> list) {
    p << "(";
    llvm::interleaveComma(list, p, [&](TensorMappingAttr mapping) { PrintTensorMapping(p, mapping); });
    p << ")";
  };
  const auto factors = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> list) {
    if (list.empty()) return;
    p << " " << name << "={";
    llvm::interleaveComma(list, p, [&](int64_t factor) { PrintFactor(p, factor); });
    p << "}";
  };
  p << "<";
  mappings(getOperandMappings());
  p << "->";
  mappings(getResultMappings());
  if (!getFactorSizes().empty()) {
    p << " {";
    for (auto [i, size] : llvm::enumerate(getFactorSizes())) {
      if (i > 0) p << ", ";
      PrintFactor(p, static_cast<int64_t>(i));
      p << "=" << size;
    }
    p << "}";
  }
  factors("reduction", getReductionFactors());
  factors("need_replication", getNeedReplicationFactors());
  factors("permutation", getPermutationFactors());
  factors("blocked_propagation", getBlockedPropagationFactors());
  if (getIsCustomRule()) p << ", custom";
  p << ">";
}

Attribute AxisRefListAttr::parse(AsmParser& parser, mlir::Type) {
  llvm::SmallVector<AxisRefAttr> axes;
  if (ParseAxes(parser, axes)) return {};
  return AxisRefListAttr::get(parser.getContext(), axes);
}
void AxisRefListAttr::print(AsmPrinter& p) const { PrintAxes(p, getValue()); }

Attribute ListOfAxisRefListsAttr::parse(AsmParser& parser, mlir::Type) {
  llvm::SmallVector<AxisRefListAttr> lists;
  const auto list = [&]() -> ParseResult {
    llvm::SmallVector<AxisRefAttr> axes;
    if (ParseAxes(parser, axes)) return mlir::failure();
    lists.push_back(AxisRefListAttr::get(parser.getContext(), axes));
    return mlir::success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, list)) return {};
  return ListOfAxisRefListsAttr::get(parser.getContext(), lists);
}
void ListOfAxisRefListsAttr::print(AsmPrinter& p) const {
  p << "[";
  llvm::interleaveComma(getValue(), p, [&](AxisRefListAttr list) { PrintAxes(p, list.getValue()); });
  p << "]";
}

Attribute AllToAllParamAttr::parse(AsmParser& parser, mlir::Type) {
  llvm::SmallVector<AxisRefAttr> axes;
  int64_t source = 0;
  int64_t target = 0;
  if (ParseAxes(parser, axes) || parser.parseColon() || parser.parseInteger(source) || parser.parseArrow() ||
      parser.parseInteger(target)) {
    return {};
  }
  return AllToAllParamAttr::get(parser.getContext(), axes, source, target);
}
void AllToAllParamAttr::print(AsmPrinter& p) const {
  PrintAxes(p, getAxes());
  p << ": " << getSrcDim() << "->" << getTgtDim();
}

Attribute AllToAllParamListAttr::parse(AsmParser& parser, mlir::Type) {
  llvm::SmallVector<AllToAllParamAttr> params;
  const auto param = [&]() -> ParseResult {
    auto attr = mlir::dyn_cast_or_null<AllToAllParamAttr>(AllToAllParamAttr::parse(parser, {}));
    params.push_back(attr);
    return mlir::success(attr != nullptr);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, param)) return {};
  return AllToAllParamListAttr::get(parser.getContext(), params);
}
void AllToAllParamListAttr::print(AsmPrinter& p) const {
  p << "[";
  llvm::interleaveComma(getValue(), p, [&](AllToAllParamAttr param) { param.print(p); });
  p << "]";
}

}  // namespace tenon::sdy
