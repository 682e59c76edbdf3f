// Instructions without regions that work element by element, and those that only rearrange values.

#include "tenon/dialect/hlo/emitter.h"
#include "tenon/dialect/stablehlo/dialect.h"

namespace tenon::hlo {
namespace {

// Opcodes whose StableHLO form has operands and result alike and no attributes.
llvm::StringRef PlainName(std::string_view opcode) {
  static const auto& names = *new std::unordered_map<std::string_view, llvm::StringRef>{
      {"abs", "stablehlo.abs"},
      {"ceil", "stablehlo.ceil"},
      {"floor", "stablehlo.floor"},
      {"negate", "stablehlo.negate"},
      {"round-nearest-afz", "stablehlo.round_nearest_afz"},
      {"round-nearest-even", "stablehlo.round_nearest_even"},
      {"sign", "stablehlo.sign"},
      {"not", "stablehlo.not"},
      {"popcnt", "stablehlo.popcnt"},
      {"count-leading-zeros", "stablehlo.count_leading_zeros"},
      {"is-finite", "stablehlo.is_finite"},
      {"real", "stablehlo.real"},
      {"imag", "stablehlo.imag"},
      {"bitcast-convert", "stablehlo.bitcast_convert"},
      {"atan2", "stablehlo.atan2"},
      {"divide", "stablehlo.divide"},
      {"maximum", "stablehlo.maximum"},
      {"minimum", "stablehlo.minimum"},
      {"multiply", "stablehlo.multiply"},
      {"power", "stablehlo.power"},
      {"remainder", "stablehlo.remainder"},
      {"subtract", "stablehlo.subtract"},
      {"and", "stablehlo.and"},
      {"or", "stablehlo.or"},
      {"xor", "stablehlo.xor"},
      {"shift-left", "stablehlo.shift_left"},
      {"shift-right-arithmetic", "stablehlo.shift_right_arithmetic"},
      {"shift-right-logical", "stablehlo.shift_right_logical"},
      {"complex", "stablehlo.complex"},
      {"convert", "stablehlo.convert"},
      {"select", "stablehlo.select"},
      {"clamp", "stablehlo.clamp"},
      {"reshape", "stablehlo.reshape"},
      {"mulhi", "chlo.mulhi"}};
  return names.at(opcode);
}

size_t OperandsOf(std::string_view opcode) {
  if (opcode == "select" || opcode == "clamp") return 3;
  for (std::string_view binary :
       {"atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract", "and", "or", "xor",
        "shift-left", "shift-right-arithmetic", "shift-right-logical", "complex", "mulhi"}) {
    if (opcode == binary) return 2;
  }
  return 1;
}

}  // namespace

Result<Values> Emitter::Plain(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, OperandsOf(at.i.opcode)));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, PlainName(at.i.opcode)));
  return Results(op);
}

Result<Values> Emitter::Accurate(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  std::string name = "stablehlo." + at.i.opcode;
  for (char& c : name) c = c == '-' ? '_' : c;
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, name, {{"result_accuracy", AccuracyOf(at.x())}}));
  return Results(op);
}

Result<Values> Emitter::Function1(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "chlo." + at.i.opcode));
  return Results(op);
}

Result<Values> Emitter::AddOrOr(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 2));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, at.i.shape.type == kPred ? "stablehlo.or" : "stablehlo.add"));
  return Results(op);
}

Result<Values> Emitter::Compare(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 2));
  std::string_view direction = at.x().comparison_direction;
  // Old opcodes say the direction themselves.
  constexpr std::pair<std::string_view, std::string_view> kOld[] = {
      {"equal-to", "EQ"},  {"not-equal-to", "NE"},         {"greater-than", "GT"}, {"greater-than-or-equal-to", "GE"},
      {"less-than", "LT"}, {"less-than-or-equal-to", "LE"}};
  for (const auto& [opcode, meaning] : kOld) {
    if (at.i.opcode == opcode) direction = meaning;
  }
  const auto parsed = stablehlo::symbolizeComparisonDirection(Ref(direction));
  if (!parsed)
    return InvalidArgument(fmt::format("comparison direction '{}'; EQ, NE, GE, GT, LE or LT is wanted", direction));
  using Type = stablehlo::ComparisonType;
  Type type = Type::NOTYPE;
  if (const TypeInfo* operand = FindType(at.shape(0).type); operand != nullptr) {
    switch (operand->kind) {
      case TypeKind::kFloat:
        type = at.x().comparison_type == "TOTALORDER" ? Type::TOTALORDER : Type::FLOAT;
        break;
      case TypeKind::kComplex:
        type = Type::FLOAT;
        break;
      case TypeKind::kSigned:
        type = Type::SIGNED;
        break;
      default:
        type = Type::UNSIGNED;
    }
  }
  mlir::MLIRContext* c = b_.getContext();
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, "stablehlo.compare",
                                  {{"comparison_direction", stablehlo::ComparisonDirectionAttr::get(c, *parsed)},
                                   {"compare_type", stablehlo::ComparisonTypeAttr::get(c, type)}}));
  return Results(op);
}

Result<Values> Emitter::ReducePrecision(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, "stablehlo.reduce_precision",
                                  {{"exponent_bits", b_.getI32IntegerAttr(at.x().exponent_bits)},
                                   {"mantissa_bits", b_.getI32IntegerAttr(at.x().mantissa_bits)}}));
  return Results(op);
}

Result<Values> Emitter::Identity(const At& at) {
  if (at.i.operands.empty()) return InvalidArgument("no operands; one is wanted");
  return at.in(0);
}

Result<Values> Emitter::Unsupported(const At& at) {
  return Unimplemented(fmt::format("{} is not supported here: it {}", at.i.opcode,
                                   at.i.opcode == "stochastic-convert" || at.i.opcode == "rng-get-and-update-state" ||
                                           at.i.opcode == "scaled-dot" || at.i.opcode == "scan"
                                       ? "has no StableHLO form"
                                       : "exchanges data with a host or another device outside of the program"));
}

Result<Values> Emitter::Constant(const At& at) {
  if (!at.x().literal) return InvalidArgument("a constant without a literal");
  return EmitLiteral(*at.x().literal, at.i.shape, at.loc);
}

Result<Values> Emitter::Tuple(const At& at) { return Operands(at); }

Result<Values> Emitter::GetTupleElement(const At& at) {
  if (at.i.operands.size() != 1) return InvalidArgument(fmt::format("{} operands; 1 wanted", at.i.operands.size()));
  const Shape& tuple = at.shape(0);
  if (at.i.number < 0 || at.i.number >= static_cast<int64_t>(tuple.members.size())) {
    return InvalidArgument(fmt::format("index {} of a tuple of {}", at.i.number, tuple.members.size()));
  }
  int64_t from = 0;
  for (int64_t m = 0; m < at.i.number; ++m) from += CountLeaves(tuple.members[static_cast<size_t>(m)]);
  const int64_t count = CountLeaves(tuple.members[static_cast<size_t>(at.i.number)]);
  const Values& all = at.in(0);
  return Values(all.begin() + from, all.begin() + from + count);
}

Result<Values> Emitter::Iota(const At& at) {
  if (!at.i.operands.empty() || at.i.dims.size() != 1)
    return InvalidArgument(
        fmt::format("{} operands and {} dimensions; 0 and 1 wanted", at.i.operands.size(), at.i.dims.size()));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "stablehlo.iota", {{"iota_dimension", I64(at.i.dims[0])}}));
  return Results(op);
}

Result<Values> Emitter::Broadcast(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, "stablehlo.broadcast_in_dim", {{"broadcast_dimensions", Array(at.i.dims)}}));
  return Results(op);
}

Result<Values> Emitter::Permutation(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  const bool transpose = at.i.opcode == "transpose";
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, transpose ? "stablehlo.transpose" : "stablehlo.reverse",
                                  {{transpose ? "permutation" : "dimensions", Array(at.i.dims)}}));
  return Results(op);
}

Result<Values> Emitter::Concatenate(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, at.i.operands.size()));
  if (at.i.dims.size() != 1) return InvalidArgument(fmt::format("{} dimensions; 1 wanted", at.i.dims.size()));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, "stablehlo.concatenate", {{"dimension", I64(at.i.dims[0])}}));
  return Results(op);
}

Result<Values> Emitter::Slice(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  std::vector<int64_t> start, limit, stride;
  for (const SliceDim& s : at.x().slice) {
    start.push_back(s.start);
    limit.push_back(s.limit);
    stride.push_back(s.stride);
  }
  TENON_ASSIGN_OR_RETURN(
      mlir::Operation * op,
      MakeLike(at, "stablehlo.slice",
               {{"start_indices", Array(start)}, {"limit_indices", Array(limit)}, {"strides", Array(stride)}}));
  return Results(op);
}

Result<Values> Emitter::DynamicSlice(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, at.i.operands.size()));
  const bool update = at.i.opcode == "dynamic-update-slice";
  const size_t first = update ? 2 : 1;
  if (at.i.operands.size() < first)
    return InvalidArgument(fmt::format("{} operands; at least {} wanted", at.i.operands.size(), first));
  Values operands = Operands(at, 0, first);
  const size_t rank = at.shape(0).dims.size();
  if (at.i.operands.size() == first + 1 && at.shape(first).dims.size() == 1) {
    // The old form: one vector of indices.
    if (at.shape(first).dims[0] != static_cast<int64_t>(rank))
      return InvalidArgument(fmt::format("{} indices for rank {}", at.shape(first).dims[0], rank));
    TENON_ASSIGN_OR_RETURN(mlir::Type element, ElementOf(at.shape(first).type));
    for (size_t d = 0; d < rank; ++d) {
      const auto from = static_cast<int64_t>(d);
      mlir::Operation* one =
          Make(at.loc, "stablehlo.slice", at.in(first), mlir::RankedTensorType::get({1}, element),
               {{"start_indices", Array({from})}, {"limit_indices", Array({from + 1})}, {"strides", Array({1})}});
      operands.push_back(
          Make(at.loc, "stablehlo.reshape", one->getResults(), mlir::RankedTensorType::get({}, element))->getResult(0));
    }
  } else {
    operands.append(Operands(at, first));
  }
  TENON_ASSIGN_OR_RETURN(mlir::RankedTensorType type, TensorOf(at.i.shape));
  if (update) return Results(Make(at.loc, "stablehlo.dynamic_update_slice", operands, type));
  return Results(Make(at.loc, "stablehlo.dynamic_slice", operands, type, {{"slice_sizes", Array(at.x().sizes)}}));
}

Result<Values> Emitter::Pad(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 2));
  std::vector<int64_t> low, high, interior;
  for (const PadDim& p : at.x().padding) {
    low.push_back(p.low);
    high.push_back(p.high);
    interior.push_back(p.interior);
  }
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "stablehlo.pad",
                                                        {{"edge_padding_low", Array(low)},
                                                         {"edge_padding_high", Array(high)},
                                                         {"interior_padding", Array(interior)}}));
  return Results(op);
}

Result<Values> Emitter::GetDimensionSize(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  if (at.i.dims.size() != 1) return InvalidArgument(fmt::format("{} dimensions; 1 wanted", at.i.dims.size()));
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, "stablehlo.get_dimension_size", {{"dimension", I64(at.i.dims[0])}}));
  return Results(op);
}

Result<Values> Emitter::Barrier(const At& at) {
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op, MakeLike(at, "stablehlo.optimization_barrier"));
  return Results(op);
}

Result<Values> Emitter::AfterAll(const At& at) {
  TENON_ASSIGN_OR_RETURN(mlir::Operation * op,
                         MakeLike(at, at.i.operands.empty() ? "stablehlo.create_token" : "stablehlo.after_all"));
  return Results(op);
}

// The bytes of the operand in the order of its layout, read in the order of the result's.
Result<Values> Emitter::Bitcast(const At& at) {
  TENON_RETURN_IF_ERROR(Wants(at, 1));
  if (!at.shape(0).is_array() || !at.i.shape.is_array())
    return InvalidArgument("a bitcast of something that is no array");
  if (at.shape(0).tiled || at.i.shape.tiled) return Unimplemented("a bitcast of a tiled layout");
  const auto physical = [](const Shape& shape) {
    std::vector<int64_t> dims(shape.dims.size());
    for (size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<int64_t>(d);
    if (shape.minor_to_major) dims.assign(shape.minor_to_major->rbegin(), shape.minor_to_major->rend());
    return dims;
  };
  const auto in_order = [](const Shape& shape, const std::vector<int64_t>& order) {
    Shape other = shape;
    for (size_t d = 0; d < order.size(); ++d) other.dims[d] = shape.dims[static_cast<size_t>(order[d])];
    return other;
  };
  const std::vector<int64_t> from = physical(at.shape(0)), to = physical(at.i.shape);
  const Shape before = in_order(at.shape(0), from), after = in_order(at.i.shape, to);
  TENON_ASSIGN_OR_RETURN(mlir::RankedTensorType before_type, TensorOf(before));
  TENON_ASSIGN_OR_RETURN(mlir::RankedTensorType after_type, TensorOf(after));
  TENON_ASSIGN_OR_RETURN(mlir::RankedTensorType result_type, TensorOf(at.i.shape));
  mlir::Value v = at.in(0)[0];
  if (!IsRowMajor(at.shape(0)))
    v = Make(at.loc, "stablehlo.transpose", v, before_type, {{"permutation", Array(from)}})->getResult(0);
  if (at.shape(0).type != at.i.shape.type) {
    if (CountElements(before) != CountElements(after))
      return Unimplemented("a bitcast between element types of different width");
    v = Make(at.loc, "stablehlo.bitcast_convert", v,
             mlir::RankedTensorType::get(before.dims, result_type.getElementType()))
            ->getResult(0);
  }
  if (before.dims != after.dims) v = Make(at.loc, "stablehlo.reshape", v, after_type)->getResult(0);
  if (!IsRowMajor(at.i.shape)) {
    std::vector<int64_t> inverse(to.size());
    for (size_t d = 0; d < to.size(); ++d) inverse[static_cast<size_t>(to[d])] = static_cast<int64_t>(d);
    v = Make(at.loc, "stablehlo.transpose", v, result_type, {{"permutation", Array(inverse)}})->getResult(0);
  }
  return Values{v};
}

const std::unordered_map<std::string_view, Emitter::Handler>& Emitter::Handlers() {
  static const auto& handlers = *[] {
    auto* h = new std::unordered_map<std::string_view, Handler>;
    const auto add = [&](Handler handler, std::initializer_list<std::string_view> opcodes) {
      for (std::string_view opcode : opcodes) h->emplace(opcode, handler);
    };
    add(&Emitter::Plain, {"abs",
                          "ceil",
                          "floor",
                          "negate",
                          "round-nearest-afz",
                          "round-nearest-even",
                          "sign",
                          "not",
                          "popcnt",
                          "count-leading-zeros",
                          "is-finite",
                          "real",
                          "imag",
                          "bitcast-convert",
                          "atan2",
                          "divide",
                          "maximum",
                          "minimum",
                          "multiply",
                          "power",
                          "remainder",
                          "subtract",
                          "and",
                          "or",
                          "xor",
                          "shift-left",
                          "shift-right-arithmetic",
                          "shift-right-logical",
                          "complex",
                          "convert",
                          "select",
                          "clamp",
                          "reshape",
                          "mulhi"});
    add(&Emitter::Accurate, {"cbrt", "cosine", "exponential", "exponential-minus-one", "log", "log-plus-one",
                             "logistic", "rsqrt", "sine", "sqrt", "tan", "tanh"});
    add(&Emitter::Function1, {"acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "erf"});
    add(&Emitter::AddOrOr, {"add"});
    add(&Emitter::Compare, {"compare", "equal-to", "not-equal-to", "greater-than", "greater-than-or-equal-to",
                            "less-than", "less-than-or-equal-to"});
    add(&Emitter::ReducePrecision, {"reduce-precision"});
    add(&Emitter::Identity, {"copy", "domain", "add-dependency", "async-update"});
    add(&Emitter::Unsupported, {"infeed", "outfeed", "send", "send-done", "recv", "recv-done", "stochastic-convert",
                                "rng-get-and-update-state", "scaled-dot", "scan"});
    add(&Emitter::Constant, {"constant"});
    add(&Emitter::Tuple, {"tuple"});
    add(&Emitter::GetTupleElement, {"get-tuple-element"});
    add(&Emitter::Iota, {"iota"});
    add(&Emitter::Broadcast, {"broadcast"});
    add(&Emitter::Permutation, {"transpose", "reverse"});
    add(&Emitter::Concatenate, {"concatenate"});
    add(&Emitter::Slice, {"slice"});
    add(&Emitter::DynamicSlice, {"dynamic-slice", "dynamic-update-slice"});
    add(&Emitter::Pad, {"pad"});
    add(&Emitter::Gather, {"gather"});
    add(&Emitter::Scatter, {"scatter"});
    add(&Emitter::Dot, {"dot"});
    add(&Emitter::RaggedDot, {"ragged-dot"});
    add(&Emitter::Convolution, {"convolution"});
    add(&Emitter::Fft, {"fft"});
    add(&Emitter::Cholesky, {"cholesky"});
    add(&Emitter::TriangularSolve, {"triangular-solve"});
    add(&Emitter::BatchNorm, {"batch-norm-training", "batch-norm-inference", "batch-norm-grad"});
    add(&Emitter::Rng, {"rng"});
    add(&Emitter::RngBits, {"rng-bit-generator"});
    add(&Emitter::TopK, {"topk"});
    add(&Emitter::Bitcast, {"bitcast"});
    add(&Emitter::GetDimensionSize, {"get-dimension-size"});
    add(&Emitter::Barrier, {"opt-barrier"});
    add(&Emitter::AfterAll, {"after-all"});
    add(&Emitter::Reduce, {"reduce"});
    add(&Emitter::ReduceWindow, {"reduce-window"});
    add(&Emitter::SelectAndScatter, {"select-and-scatter"});
    add(&Emitter::Sort, {"sort"});
    add(&Emitter::Map, {"map"});
    add(&Emitter::While, {"while"});
    add(&Emitter::Conditional, {"conditional"});
    add(&Emitter::CallOp, {"call", "fusion"});
    add(&Emitter::CustomCall, {"custom-call"});
    add(&Emitter::AllReduce, {"all-reduce", "all-reduce-start"});
    add(&Emitter::AllGather, {"all-gather", "all-gather-start"});
    add(&Emitter::ReduceScatter, {"reduce-scatter"});
    add(&Emitter::AllToAll, {"all-to-all"});
    add(&Emitter::CollectivePermute, {"collective-permute", "collective-permute-start"});
    add(&Emitter::CollectiveBroadcast, {"collective-broadcast"});
    add(&Emitter::DeviceId, {"partition-id", "replica-id"});
    add(&Emitter::AsyncStart, {"async-start", "copy-start"});
    add(&Emitter::AsyncDone,
        {"async-done", "all-reduce-done", "all-gather-done", "collective-permute-done", "copy-done"});
    return h;
  }();
  return handlers;
}

}  // namespace tenon::hlo
