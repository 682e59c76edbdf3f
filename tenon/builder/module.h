#pragma once

#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/status.h"
#include "tenon/builder/attribute.h"
#include "tenon/builder/type.h"
#include "tenon/vhlo/version.h"

namespace tenon::builder {

/// Where a call stands in the caller's source: the last parameter of everything that can fail, never given.
using Location = std::source_location;

/// The operations, in the order of ops.def.
enum class OpKind : int {
#define TENON_BUILDER_OP(Function, mnemonic) k##Function,
#include "tenon/builder/ops.def"
};
/// "stablehlo.add", "func.call" ...
std::string_view OpName(OpKind kind);

class Function;
class Module;
namespace internal {
struct ModuleState;
struct FunctionState;
struct OpState;
struct BlockState;
struct ValueState;
class Make;
}  // namespace internal

/// One result of an operation, or an argument of a function or region: a handle that copies and is valid as long as its
/// module. A default one, and what a failed call gives, is invalid; using it gives another invalid one.
class Value {
 public:
  Value() = default;
  explicit Value(internal::ValueState* state) : state_(state) {}

  bool valid() const { return state_ != nullptr; }
  const Type& type() const;  ///< Kind kNone when invalid.
  const Dims& dims() const { return type().dims(); }
  DType dtype() const { return type().dtype(); }
  int64_t rank() const { return type().rank(); }
  /// The function it belongs to. Requires valid().
  Function& function() const;
  internal::ValueState* state() const { return state_; }
  friend bool operator==(Value a, Value b) { return a.state_ == b.state_; }

 private:
  internal::ValueState* state_ = nullptr;
};
using Values = std::vector<Value>;

/// What a region computes: a callable that takes the region's arguments, as one std::span<const Value> or as that many
/// Values, and gives a Value or Values. It is called once, inside the call that it is given to. Operations that it
/// makes go into the region; it may use values from outside.
class Body {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Body>)
  Body(F&& body) {  // NOLINT(google-explicit-constructor): lambdas are given as they are.
    if constexpr (std::is_invocable_v<F&, std::span<const Value>>) {
      call_ = [body](std::span<const Value> a) mutable { return Wrap(body(a)); };
    } else if constexpr (std::is_invocable_v<F&>) {
      Fixed<0>(body);
    } else if constexpr (std::is_invocable_v<F&, Value>) {
      Fixed<1>(body);
    } else if constexpr (std::is_invocable_v<F&, Value, Value>) {
      Fixed<2>(body);
    } else if constexpr (std::is_invocable_v<F&, Value, Value, Value>) {
      Fixed<3>(body);
    } else {
      Fixed<4>(body);
    }
  }

  /// Number of arguments that it takes; -1 when it takes a span.
  int arity() const { return arity_; }
  Values operator()(std::span<const Value> arguments) const { return call_(arguments); }

 private:
  static Values Wrap(Value value) { return {value}; }
  static Values Wrap(Values values) { return values; }
  template <int kArity, class F>
  void Fixed(const F& body) {
    arity_ = kArity;
    call_ = [body](std::span<const Value> a) mutable {
      if constexpr (kArity == 0) return Wrap(body());
      if constexpr (kArity == 1) return Wrap(body(a[0]));
      if constexpr (kArity == 2) return Wrap(body(a[0], a[1]));
      if constexpr (kArity == 3) return Wrap(body(a[0], a[1], a[2]));
      if constexpr (kArity == 4) return Wrap(body(a[0], a[1], a[2], a[3]));
    };
  }
  int arity_ = -1;
  std::function<Values(std::span<const Value>)> call_;
};

struct ParameterOptions {
  std::string name = {};
  Sharding sharding = {};
  /// The caller gives the buffer away: an output may take its memory.
  bool donate = false;
  /// The result that takes this parameter's memory; -1: none, or whichever fits.
  int alias_output = -1;
};

struct ResultOptions {
  Sharding sharding = {};
};

/// An operation of a function, to look at. Valid as long as its module.
class Operation {
 public:
  explicit Operation(internal::OpState* state) : state_(state) {}
  OpKind kind() const;
  const Values& operands() const;
  Values results() const;
  /// The attribute called `name`, or null.
  const Attribute* attribute(std::string_view name) const;
  template <class T>
  const T* attribute_as(std::string_view name) const {
    const Attribute* found = attribute(name);
    return found == nullptr ? nullptr : std::get_if<T>(found);
  }
  size_t num_regions() const;
  /// Operations of a region, without the terminator's operands, which are its results.
  std::vector<Operation> region(size_t index) const;
  Values region_arguments(size_t index) const;
  const Values& region_results(size_t index) const;
  /// Values from outside that its regions use or give, and those within them: each once, in the order of first use.
  Values captures() const;
  internal::OpState* state() const { return state_; }

 private:
  internal::OpState* state_;
};

/// A function under construction. Operations are appended where the last one was: to the function, or to the region
/// whose Body runs.
class Function {
 public:
  explicit Function(internal::FunctionState* state) : state_(state) {}
  Function(const Function&) = delete;

  const std::string& name() const;
  Module& module() const;

  /// The next argument. Also after operations were made.
  Value Parameter(const Type& type, const ParameterOptions& options = {}, Location where = Location::current());
  Value Parameter(const Type& type, const char* name, Location where = Location::current()) {
    return Parameter(type, ParameterOptions{.name = name}, where);
  }
  /// Ends the function; once. `options` is empty or has one entry per result.
  void Return(const Values& results, const std::vector<ResultOptions>& options = {},
              Location where = Location::current());

  bool finished() const;
  Values parameters() const;
  /// Those given to Return.
  const Values& results() const;
  /// Operations of the function itself, in order; those of regions hang on their operations.
  std::vector<Operation> operations() const;
  /// Those whose results the next operation may use: of the function itself and of the regions whose Bodies run, in
  /// order.
  std::vector<Operation> visible_operations() const;
  internal::FunctionState* state() const { return state_; }

 private:
  internal::FunctionState* state_;
};

/// A program under construction: functions, of which "main" is the one that runs. The first error sticks: what is made
/// of an invalid value is invalid, and ToText gives the error, which names operation, source line, what was got and
/// what was wanted. Not safe for use from several threads at once.
class Module {
 public:
  explicit Module(std::string_view name = "module");
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// A new function; "main" is public, others are private. The reference lives as long as the module. The name must be
  /// new.
  Function& AddFunction(std::string_view name, Location where = Location::current());
  /// The function called `name`, or null.
  Function* function(std::string_view name);

  /// For programs over several devices: mhlo.num_replicas and mhlo.num_partitions.
  void SetReplicas(int64_t replicas, int64_t partitions = 1);
  /// A mesh for Sharding::Sdy: names and sizes of its axes.
  void AddMesh(std::string_view name, const std::vector<std::pair<std::string, int64_t>>& axes);

  /// OK, or the first error.
  const Status& status() const;
  /// Records an error of code that stands on the builder. Only the first is kept.
  void Fail(Status error);

  /// StableHLO as text. The first error, or FAILED_PRECONDITION while a function lacks its Return.
  Result<std::string> ToText() const;
  /// A portable artifact of the StableHLO version `target`, 1.0.0 at least: bytes that every later version reads, too.
  /// Errors as ToText; INVALID_ARGUMENT names what that version lacks; UNIMPLEMENTED an attribute given as text that
  /// has no portable form here.
  Result<std::string> ToArtifact(vhlo::Version target = vhlo::kCurrentVersion) const;
  /// What a reader takes whose newest StableHLO version is `newest` (three numbers; empty: it does not say): an
  /// artifact that it can read, else text. Errors as ToText.
  Result<std::string> ForReader(std::span<const int64_t> newest) const;
  internal::ModuleState* state() const { return state_.get(); }

 private:
  Status CheckFinished() const;
  std::unique_ptr<internal::ModuleState> state_;
};

/// Sets an attribute that is none of the operation's own ("mhlo.frontend_attributes", ...) on the one that made
/// `value`; `text` as in StableHLO.
void SetAttribute(Value value, std::string_view name, std::string_view text, Location where = Location::current());
/// The sharding of an operation's results.
void SetSharding(Value value, const Sharding& sharding, Location where = Location::current());

/// The operation that made `value`; none for arguments.
std::vector<Operation> DefiningOperation(Value value);

}  // namespace tenon::builder
