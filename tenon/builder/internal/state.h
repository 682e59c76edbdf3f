#pragma once

/// What a module is made of, and how an operation is appended.

#include <fmt/format.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tenon/builder/module.h"

namespace tenon::builder::internal {

struct ValueState {
  FunctionState* function;
  BlockState* block;
  OpState* op = nullptr;  // null: an argument
  Type type;
  std::string name;  // without %; empty: numbered when written
};

struct BlockState {
  BlockState* parent = nullptr;  // null: of the function itself
  std::vector<ValueState*> arguments;
  std::vector<OpState*> ops;
  bool open = true;
};

struct OpState {
  OpKind kind;
  FunctionState* function;
  Values operands;
  std::vector<ValueState*> results;
  std::vector<NamedAttribute> attributes;  // the operation's own
  std::vector<std::pair<std::string, std::string>> others;
  std::vector<BlockState*> regions;
};

struct FunctionState {
  ModuleState* module;
  std::string name;
  std::vector<ParameterOptions> parameters;
  std::vector<ResultOptions> result_options;
  Values results;
  bool finished = false;
  BlockState entry;
  BlockState* current = &entry;
  // Deques: elements stay where they are.
  std::deque<ValueState> values;
  std::deque<BlockState> blocks;
  std::deque<OpState> ops;
  std::unique_ptr<Function> handle;

  ValueState* NewValue(BlockState* block, OpState* op, Type type) {
    return &values.emplace_back(ValueState{this, block, op, std::move(type), {}});
  }
};

struct ModuleState {
  std::string name;
  Module* handle = nullptr;
  Status status;
  int64_t replicas = 0, partitions = 0;
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, int64_t>>>> meshes;
  std::deque<FunctionState> functions;
};

/// Classes of element types, for ops.def.
enum Class : unsigned {
  kBool = 1,
  kSigned = 2,
  kUnsigned = 4,
  kInteger = 6,
  kFloat = 8,
  kComplex = 16,
  kQuantized = 32,
  kAny = 63,
};
unsigned ClassOf(const Type& type);
/// "signed integers or floats".
std::string ClassNames(unsigned classes);

enum class ResultRule { kSame, kPart, kPred };

/// One operation in the making. Checks record the first failure, after which nothing is appended and results are
/// invalid.
class Make {
 public:
  Make(OpKind kind, std::span<const Value> operands, Location where);
  Make(OpKind kind, std::initializer_list<Value> operands, Location where)
      : Make(kind, std::span<const Value>(operands.begin(), operands.size()), where) {}
  /// Without operands.
  Make(OpKind kind, Function& function, Location where);

  bool ok() const { return ok_; }
  FunctionState* function() const { return function_; }
  Location where() const { return where_; }
  const Value& operand(size_t i) const { return operands_[i]; }
  size_t size() const { return operands_.size(); }
  const Type& type(size_t i = 0) const { return operands_[i].type(); }
  const Dims& dims(size_t i = 0) const { return operands_[i].type().dims(); }
  int64_t rank(size_t i = 0) const { return operands_[i].type().rank(); }

  /// Records "add at file:line: message" unless something failed already. Always false.
  template <class... Args>
  bool Fail(fmt::format_string<Args...> format, Args&&... args) {
    return FailWith(fmt::format(format, std::forward<Args>(args)...));
  }
  bool FailWith(const std::string& message);

  // Each is true, or fails and is false.
  bool Tensor(size_t i, const char* what, unsigned classes = kAny, bool need_static = false);
  bool Scalar(size_t i, const char* what, unsigned classes);
  bool Token(size_t i, const char* what);
  bool SameTypes(size_t a, size_t b, const char* what);
  bool SameElements(size_t a, size_t b, const char* what);
  /// Dims in [0, rank), each at most once; ascending when `sorted`.
  bool DimList(const char* what, const Dims& dims, int64_t rank, bool sorted = false);
  bool DimIndex(const char* what, int64_t dim, int64_t rank);
  bool Count(const char* what, size_t got, size_t want);
  bool AtLeast(const char* what, const Dims& values, int64_t least);

  Make& Set(std::string name, Attribute value) {
    attributes_.push_back({std::move(name), std::move(value)});
    return *this;
  }
  /// Calls `body` on arguments of these types and keeps what it made. Its results' types go to `results`. Nothing is
  /// called when something failed.
  bool Region(const char* what, const std::vector<Type>& arguments, const Body& body, std::vector<Type>* results);
  /// The same for a body that must give `want`.
  bool RegionOf(const char* what, const std::vector<Type>& arguments, const Body& body, const std::vector<Type>& want);

  Value Result(Type type);
  Values Results(std::vector<Type> types);
  /// So many invalid values.
  static Values Invalid(size_t count) { return Values(count); }

 private:
  bool Usable(const Value& value);
  OpKind kind_;
  Values operands_;
  Location where_;
  FunctionState* function_ = nullptr;
  bool ok_ = true;
  std::vector<NamedAttribute> attributes_;
  std::vector<BlockState*> regions_;
};

/// INVALID_ARGUMENT for element types that StableHLO lacks, negative extents, and arrays beyond 64 bits.
Status CheckType(const Type& type);

AttrMatrix MatrixOf(const std::vector<std::pair<int64_t, int64_t>>& pairs);

/// The StableHLO text of a module without errors.
std::string WriteModule(const ModuleState& module);

}  // namespace tenon::builder::internal
