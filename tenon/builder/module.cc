#include "tenon/builder/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "tenon/builder/internal/portable.h"
#include "tenon/builder/internal/state.h"

namespace tenon::builder {

using internal::BlockState;
using internal::FunctionState;
using internal::OpState;
using internal::ValueState;

std::string_view OpName(OpKind kind) {
  static constexpr std::string_view kNames[] = {
#define TENON_BUILDER_OP(Function, mnemonic) mnemonic,
#include "tenon/builder/ops.def"
  };
  return kNames[static_cast<size_t>(kind)];
}

namespace {

std::string Place(Location where) {
  const std::string_view path = where.file_name();
  const size_t slash = path.rfind('/');
  return fmt::format("{}:{}", slash == std::string_view::npos ? path : path.substr(slash + 1), where.line());
}

Values ToValues(const std::vector<ValueState*>& states) {
  Values values;
  for (ValueState* state : states) values.push_back(Value(state));
  return values;
}

std::vector<Operation> ToOperations(const std::vector<OpState*>& states) {
  std::vector<Operation> operations;
  for (OpState* state : states) {
    if (state->kind != OpKind::kReturn && state->kind != OpKind::kFunctionReturn) operations.emplace_back(state);
  }
  return operations;
}

// Adds what the regions of `op` use of blocks that are none of `inside`, in which the regions' own are put.
void AddCaptures(const OpState& op, std::unordered_set<const BlockState*>& inside,
                 std::unordered_set<const ValueState*>& seen, Values& captures) {
  for (const BlockState* block : op.regions) {
    inside.insert(block);
    for (const OpState* nested : block->ops) {
      for (const Value used : nested->operands) {
        if (!inside.contains(used.state()->block) && seen.insert(used.state()).second) captures.push_back(used);
      }
      AddCaptures(*nested, inside, seen, captures);
    }
  }
}

bool IsSymbol(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '$';
  });
}

}  // namespace

//===--- Values and operations ---===//

const Type& Value::type() const {
  static const Type kNoType{};
  return state_ == nullptr ? kNoType : state_->type;
}
Function& Value::function() const { return *state_->function->handle; }

OpKind Operation::kind() const { return state_->kind; }
const Values& Operation::operands() const { return state_->operands; }
Values Operation::results() const { return ToValues(state_->results); }
const Attribute* Operation::attribute(std::string_view name) const {
  for (const NamedAttribute& attribute : state_->attributes) {
    if (attribute.name == name) return &attribute.value;
  }
  return nullptr;
}
size_t Operation::num_regions() const { return state_->regions.size(); }
std::vector<Operation> Operation::region(size_t index) const { return ToOperations(state_->regions[index]->ops); }
Values Operation::region_arguments(size_t index) const { return ToValues(state_->regions[index]->arguments); }
const Values& Operation::region_results(size_t index) const { return state_->regions[index]->ops.back()->operands; }
Values Operation::captures() const {
  std::unordered_set<const BlockState*> inside;
  std::unordered_set<const ValueState*> seen;
  Values captures;
  AddCaptures(*state_, inside, seen, captures);
  return captures;
}

std::vector<Operation> DefiningOperation(Value value) {
  if (!value.valid() || value.state()->op == nullptr) return {};
  return {Operation(value.state()->op)};
}

void SetAttribute(Value value, std::string_view name, std::string_view text, Location where) {
  if (!value.valid()) return;
  if (value.state()->op == nullptr) {
    return value.function().module().Fail(InvalidArgument(
        fmt::format("SetAttribute at {}: arguments have no operation that could have {}", Place(where), name), where));
  }
  value.state()->op->others.emplace_back(name, text);
}

void SetSharding(Value value, const Sharding& sharding, Location where) {
  if (sharding.empty()) return;
  // A sharding of Shardy on an operation is a list, one per result.
  SetAttribute(
      value, sharding.name,
      sharding.name == "sdy.sharding" ? fmt::format("#sdy.sharding_per_value<[{}]>", sharding.text) : sharding.text,
      where);
}

//===--- Functions ---===//

const std::string& Function::name() const { return state_->name; }
Module& Function::module() const { return *state_->module->handle; }
bool Function::finished() const { return state_->finished; }
Values Function::parameters() const { return ToValues(state_->entry.arguments); }
const Values& Function::results() const { return state_->results; }
std::vector<Operation> Function::operations() const { return ToOperations(state_->entry.ops); }
std::vector<Operation> Function::visible_operations() const {
  std::vector<Operation> visible;
  for (const BlockState* block = state_->current; block != nullptr; block = block->parent) {
    const std::vector<Operation> own = ToOperations(block->ops);
    visible.insert(visible.begin(), own.begin(), own.end());
  }
  return visible;
}

Value Function::Parameter(const Type& type, const ParameterOptions& options, Location where) {
  const auto fail = [&](std::string message) {
    module().Fail(InvalidArgument(fmt::format("Parameter of {} at {}: {}", name(), Place(where), message), where));
    return Value();
  };
  if (state_->finished) return fail("the function has its Return already");
  if (const Status status = internal::CheckType(type); !status.ok()) return fail(std::string(status.message()));
  ValueState* value = state_->NewValue(&state_->entry, nullptr, type);
  value->name = options.name;
  state_->entry.arguments.push_back(value);
  state_->parameters.push_back(options);
  return Value(value);
}

void Function::Return(const Values& results, const std::vector<ResultOptions>& options, Location where) {
  const auto fail = [&](std::string message) {
    module().Fail(InvalidArgument(fmt::format("Return of {} at {}: {}", name(), Place(where), message), where));
  };
  if (state_->finished) return fail("the function has its Return already");
  if (!options.empty() && options.size() != results.size()) {
    return fail(fmt::format("wants options for all {} results or none, got {}", results.size(), options.size()));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const ValueState* value = results[i].state();
    if (value == nullptr) return fail(fmt::format("result {} is no value", i));
    if (value->function != state_)
      return fail(fmt::format("result {} belongs to function {}", i, value->function->name));
    if (value->block != &state_->entry) return fail(fmt::format("result {} belongs to a region", i));
  }
  for (size_t i = 0; i < state_->parameters.size(); ++i) {
    const int alias = state_->parameters[i].alias_output;
    if (alias >= static_cast<int>(results.size())) {
      return fail(
          fmt::format("parameter {} wants to share memory with result {}, but there are {}", i, alias, results.size()));
    }
  }
  OpState& op = state_->ops.emplace_back(OpState{OpKind::kFunctionReturn, state_, results, {}, {}, {}, {}});
  state_->entry.ops.push_back(&op);
  state_->results = results;
  state_->result_options = options;
  state_->finished = true;
  state_->entry.open = false;
}

//===--- Modules ---===//

Module::Module(std::string_view name) : state_(std::make_unique<internal::ModuleState>()) {
  state_->name = name;
  state_->handle = this;
}
Module::~Module() = default;

Function& Module::AddFunction(std::string_view name, Location where) {
  if (function(name) != nullptr) {
    Fail(AlreadyExists(fmt::format("AddFunction at {}: the module has a function {} already", Place(where), name),
                       where));
  } else if (!IsSymbol(name)) {
    Fail(InvalidArgument(
        fmt::format(
            "AddFunction at {}: a name begins with a letter or _ and goes on with those, digits, . or $, got '{}'",
            Place(where), name),
        where));
  }
  FunctionState& function = state_->functions.emplace_back();
  function.module = state_.get();
  function.name = name;
  function.handle = std::make_unique<Function>(&function);
  return *function.handle;
}

Function* Module::function(std::string_view name) {
  for (FunctionState& function : state_->functions) {
    if (function.name == name) return function.handle.get();
  }
  return nullptr;
}

void Module::SetReplicas(int64_t replicas, int64_t partitions) {
  state_->replicas = replicas;
  state_->partitions = partitions;
}

void Module::AddMesh(std::string_view name, const std::vector<std::pair<std::string, int64_t>>& axes) {
  state_->meshes.emplace_back(name, axes);
}

const Status& Module::status() const { return state_->status; }

void Module::Fail(Status error) {
  if (state_->status.ok()) state_->status = std::move(error);
}

Status Module::CheckFinished() const {
  TENON_RETURN_IF_ERROR(state_->status);
  for (const FunctionState& function : state_->functions) {
    if (!function.finished)
      return FailedPrecondition(fmt::format("function {} of module {} has no Return", function.name, state_->name));
  }
  return OkStatus();
}

Result<std::string> Module::ToText() const {
  TENON_RETURN_IF_ERROR(CheckFinished());
  return internal::WriteModule(*state_);
}

Result<std::string> Module::ToArtifact(vhlo::Version target) const {
  TENON_RETURN_IF_ERROR(CheckFinished());
  return internal::WriteArtifact(*state_, target);
}

Result<std::string> Module::ForReader(std::span<const int64_t> newest) const {
  TENON_RETURN_IF_ERROR(CheckFinished());
  if (newest.size() == 3) {
    const auto part = [&](size_t i) { return static_cast<int32_t>(std::clamp<int64_t>(newest[i], 0, INT32_MAX)); };
    const vhlo::Version target = std::min(vhlo::Version{part(0), part(1), part(2)}, vhlo::kCurrentVersion);
    if (Result<std::string> artifact = internal::WriteArtifact(*state_, target); artifact.ok()) return artifact;
  }
  return internal::WriteModule(*state_);
}

//===--- Making operations ---===//

namespace internal {

Status CheckType(const Type& type) {
  for (const Type& element : type.elements()) TENON_RETURN_IF_ERROR(CheckType(element));
  if (type.kind() == Type::Kind::kNone) return InvalidArgument("a value needs a type");
  if (!type.is_tensor()) return OkStatus();
  switch (type.dtype()) {
    case DType::kInvalid:
    case DType::kToken:
    case DType::kS1:
    case DType::kU1:
      return InvalidArgument(fmt::format("{} is no element type of an array", DTypeName(type.dtype())));
    default:
      break;
  }
  Dims known;
  for (const int64_t dim : type.dims()) known.push_back(dim == kDynamic ? 1 : dim);
  return CheckedNumElements(known).status();
}

AttrMatrix MatrixOf(const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  AttrMatrix matrix{static_cast<int64_t>(pairs.size()), 2, {}};
  for (const auto& [a, b] : pairs) matrix.values.insert(matrix.values.end(), {a, b});
  return matrix;
}

unsigned ClassOf(const Type& type) {
  if (!type.is_tensor()) return 0;
  if (type.quantization() != nullptr) return kQuantized;
  switch (KindOf(type.dtype())) {
    case DTypeKind::kBool:
      return kBool;
    case DTypeKind::kSigned:
      return kSigned;
    case DTypeKind::kUnsigned:
      return kUnsigned;
    case DTypeKind::kFloat:
      return kFloat;
    case DTypeKind::kComplex:
      return kComplex;
    case DTypeKind::kNone:
      return 0;
  }
  return 0;
}

std::string ClassNames(unsigned classes) {
  std::string names;
  const auto add = [&](unsigned bits, const char* name) {
    if ((classes & bits) == bits) {
      names += (names.empty() ? "" : ", ") + std::string(name);
      classes &= ~bits;
    }
  };
  add(kBool, "booleans");
  add(kInteger, "integers");
  add(kSigned, "signed integers");
  add(kUnsigned, "unsigned integers");
  add(kFloat, "floats");
  add(kComplex, "complex numbers");
  add(kQuantized, "quantized numbers");
  const size_t last = names.rfind(", ");
  if (last != std::string::npos) names.replace(last, 2, " or ");
  return names;
}

Make::Make(OpKind kind, std::span<const Value> operands, Location where)
    : kind_(kind), operands_(operands.begin(), operands.end()), where_(where) {
  // The function must be known before something can fail in it.
  for (const Value& value : operands_) {
    if (value.valid() && function_ == nullptr) function_ = value.state()->function;
  }
  for (const Value& value : operands_) ok_ = ok_ && Usable(value);
  if (function_ == nullptr) ok_ = false;
}

Make::Make(OpKind kind, Function& function, Location where) : kind_(kind), where_(where), function_(function.state()) {
  if (function_->finished) Fail("the function {} has its Return already", function_->name);
}

bool Make::Usable(const Value& value) {
  if (!value.valid()) {
    // What made it has failed, or nothing did.
    if (function_ != nullptr && function_->module->status.ok()) Fail("an operand is no value");
    return false;
  }
  const ValueState* state = value.state();
  if (state->function != function_) {
    return Fail("operands belong to different functions, {} and {}", function_->name, state->function->name);
  }
  if (function_->finished) return Fail("the function {} has its Return already", function_->name);
  for (const BlockState* block = function_->current; block != nullptr; block = block->parent) {
    if (block == state->block) return true;
  }
  return Fail("an operand of type {} belongs to a region that has ended", state->type.ToString());
}

bool Make::FailWith(const std::string& message) {
  if (ok_ || function_->module->status.ok()) {
    std::string_view name = OpName(kind_);
    name.remove_prefix(name.find('.') + 1);
    function_->module->handle->Fail(InvalidArgument(fmt::format("{} at {}: {}", name, Place(where_), message), where_));
  }
  ok_ = false;
  return false;
}

bool Make::Tensor(size_t i, const char* what, unsigned classes, bool need_static) {
  if (!ok_) return false;
  const Type& t = type(i);
  if ((ClassOf(t) & classes) == 0)
    return Fail("{} must be an array of {}, got {}", what, ClassNames(classes), t.ToString());
  if (need_static && !t.is_static()) return Fail("{} must have extents that are known, got {}", what, t.ToString());
  return true;
}

bool Make::Scalar(size_t i, const char* what, unsigned classes) {
  if (!Tensor(i, what, classes)) return false;
  if (rank(i) != 0) return Fail("{} must be a scalar, got {}", what, type(i).ToString());
  return true;
}

bool Make::Token(size_t i, const char* what) {
  if (!ok_) return false;
  if (type(i).kind() != Type::Kind::kToken) return Fail("{} must be a token, got {}", what, type(i).ToString());
  return true;
}

bool Make::SameTypes(size_t a, size_t b, const char* what) {
  if (!ok_) return false;
  if (!Compatible(type(a), type(b)))
    return Fail("{} must have one type, got {} and {}", what, type(a).ToString(), type(b).ToString());
  return true;
}

bool Make::SameElements(size_t a, size_t b, const char* what) {
  if (!ok_) return false;
  if (type(a).dtype() != type(b).dtype() ||
      (type(a).quantization() == nullptr) != (type(b).quantization() == nullptr)) {
    return Fail("{} must have one element type, got {} and {}", what, type(a).ToString(), type(b).ToString());
  }
  return true;
}

bool Make::DimList(const char* what, const Dims& list, int64_t rank, bool sorted) {
  if (!ok_) return false;
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (size_t i = 0; i < list.size(); ++i) {
    if (!DimIndex(what, list[i], rank)) return false;
    if (seen[static_cast<size_t>(list[i])]) return Fail("{} must name each dim once, got {}", what, DimsToString(list));
    if (sorted && i > 0 && list[i] < list[i - 1]) return Fail("{} must ascend, got {}", what, DimsToString(list));
    seen[static_cast<size_t>(list[i])] = true;
  }
  return true;
}

bool Make::DimIndex(const char* what, int64_t dim, int64_t rank) {
  if (!ok_) return false;
  if (dim < 0 || dim >= rank) return Fail("{} must be at least 0 and below the rank {}, got {}", what, rank, dim);
  return true;
}

bool Make::Count(const char* what, size_t got, size_t want) {
  if (!ok_) return false;
  if (got != want) return Fail("wants {} {}, got {}", want, what, got);
  return true;
}

bool Make::AtLeast(const char* what, const Dims& values, int64_t least) {
  if (!ok_) return false;
  for (const int64_t v : values) {
    if (v < least) return Fail("{} must be at least {}, got {}", what, least, DimsToString(values));
  }
  return true;
}

bool Make::Region(const char* what, const std::vector<Type>& arguments, const Body& body, std::vector<Type>* results) {
  if (!ok_) return false;
  if (body.arity() >= 0 && static_cast<size_t>(body.arity()) != arguments.size()) {
    return Fail("{} has {} arguments, but its callable takes {}", what, arguments.size(), body.arity());
  }
  BlockState& block = function_->blocks.emplace_back();
  block.parent = function_->current;
  for (const Type& type : arguments) block.arguments.push_back(function_->NewValue(&block, nullptr, type));
  function_->current = &block;
  const Values made = body(ToValues(block.arguments));
  function_->current = block.parent;
  block.open = false;
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i].valid()) {
      // The first error is that of the region.
      if (function_->module->status.ok()) return Fail("result {} of {} is no value", i, what);
      return ok_ = false;
    }
    const ValueState* value = made[i].state();
    bool visible = false;
    for (const BlockState* b = &block; b != nullptr; b = b->parent) visible |= b == value->block;
    if (value->function != function_ || !visible) return Fail("result {} of {} belongs to another region", i, what);
    if (results != nullptr) results->push_back(value->type);
  }
  OpState& end = function_->ops.emplace_back(OpState{OpKind::kReturn, function_, made, {}, {}, {}, {}});
  block.ops.push_back(&end);
  regions_.push_back(&block);
  return ok_ = function_->module->status.ok();
}

bool Make::RegionOf(const char* what, const std::vector<Type>& arguments, const Body& body,
                    const std::vector<Type>& want) {
  std::vector<Type> got;
  if (!Region(what, arguments, body, &got)) return false;
  if (got.size() != want.size()) return Fail("{} must give {} results, got {}", what, want.size(), got.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (!Compatible(got[i], want[i]))
      return Fail("{} must give {} as result {}, got {}", what, want[i].ToString(), i, got[i].ToString());
  }
  return true;
}

Value Make::Result(Type type) {
  std::vector<Type> types;
  types.push_back(std::move(type));
  return Results(std::move(types))[0];
}

Values Make::Results(std::vector<Type> types) {
  for (const Type& type : types) {
    if (const Status status = CheckType(type); ok_ && !status.ok()) FailWith(std::string(status.message()));
  }
  if (!ok_) return Invalid(types.size());
  OpState& op = function_->ops.emplace_back(
      OpState{kind_, function_, std::move(operands_), {}, std::move(attributes_), {}, std::move(regions_)});
  for (Type& type : types) op.results.push_back(function_->NewValue(function_->current, &op, std::move(type)));
  function_->current->ops.push_back(&op);
  return ToValues(op.results);
}

}  // namespace internal
}  // namespace tenon::builder
