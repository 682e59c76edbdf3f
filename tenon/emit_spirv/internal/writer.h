#pragma once

/// A SPIR-V module as it grows: sections of words, types and constants of which there is one each, functions, and
/// structured control flow.

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tenon::emit_spirv {

using Id = uint32_t;
using Words = std::vector<uint32_t>;

enum class Spv : uint32_t {
#define TENON_SPIRV_OP(name, number, operands) name = number,
#include "tenon/emit_spirv/opcodes.def"
};
namespace spv {
#define TENON_SPIRV_NUMBER(category, name, number) inline constexpr uint32_t category##name = number;
#include "tenon/emit_spirv/opcodes.def"
}  // namespace spv

class Writer {
 public:
  Writer();

  Id New() { return next_++; }
  /// What matrices of a subgroup want: memory that invocations share is so by each access, not by decorations. Before
  /// anything else.
  void UseVulkanMemoryModel();
  void Capability(uint32_t number);
  void Extension(const std::string& name);

  // Types and constants.
  Id Void() { return Unique(Spv::TypeVoid, {}, false); }
  Id Bool() { return Unique(Spv::TypeBool, {}, false); }
  /// Integers have no sign: operations have.
  Id Int(int bits);
  Id U32() { return Int(32); }
  Id U64() { return Int(64); }
  Id Float(int bits);
  Id Vector(Id type, uint32_t elements) { return Unique(Spv::TypeVector, {type, elements}, false); }
  Id Pointer(uint32_t storage, Id type);
  /// struct { T elements[]; } in a buffer, T of `bytes`. `coherent`: what one invocation writes another one may read.
  Id BufferOf(Id type, uint32_t bytes, bool coherent);
  Id C32(uint32_t value) {
    const Id id = Unique(Spv::Constant, {U32(), value}, true);
    numbers_[id] = value;
    return id;
  }
  /// The number that C32 made the id of.
  std::optional<uint32_t> Known(Id id) const {
    const auto it = numbers_.find(id);
    return it == numbers_.end() ? std::nullopt : std::optional(it->second);
  }
  Id C64(uint64_t value) {
    return Unique(Spv::Constant, {U64(), static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)}, true);
  }
  Id CInt(int bits, uint64_t value) { return bits == 64 ? C64(value) : C32(static_cast<uint32_t>(value)); }
  Id CBool(bool value) { return Unique(value ? Spv::ConstantTrue : Spv::ConstantFalse, {Bool()}, true); }
  /// By their bits.
  Id CFloat(int bits, uint64_t value);

  // Instructions of the function that is being written.
  Id Do(Spv op, Id type, std::initializer_list<uint32_t> args) {
    return Do(op, type, std::span(args.begin(), args.size()));
  }
  Id Do(Spv op, Id type, std::span<const uint32_t> args);
  void Do(Spv op, std::initializer_list<uint32_t> args);
  /// As Do, not to be contracted, reassociated or folded.
  Id Exact(Spv op, Id type, std::initializer_list<uint32_t> args);
  Id Glsl(uint32_t function, Id type, std::initializer_list<Id> args);
  Id Call(Id function, Id type, std::span<const Id> args);
  Id Load(Id type, Id pointer, uint32_t aligned = 0, bool is_volatile = false);
  void Store(Id pointer, Id value, uint32_t aligned = 0);

  /// Runs `emit` where everything that follows in this function can use it; straight code only.
  template <class Fn>
  Id AtStart(const Fn& emit) {
    std::swap(function_.body, function_.start);
    const Id id = emit();
    std::swap(function_.body, function_.start);
    return id;
  }
  /// A variable of the function.
  Id Variable(Id type);
  /// A variable of the module, and that this entry point uses it.
  Id Global(uint32_t storage, Id type);
  void Uses(Id global) { interface_.insert(global); }
  /// [rows, columns] of `type` that a subgroup holds together. `use`: spv::MatrixUse...
  Id Matrix(Id type, int64_t rows, int64_t columns, uint32_t use) {
    Capability(spv::CapabilityCooperativeMatrixKHR);
    Extension("SPV_KHR_cooperative_matrix");
    return Unique(Spv::TypeCooperativeMatrixKHR,
                  {type, C32(spv::ScopeSubgroup), C32(static_cast<uint32_t>(rows)), C32(static_cast<uint32_t>(columns)),
                   C32(use)},
                  false);
  }
  Id Null(Id type) { return Unique(Spv::ConstantNull, {type}, true); }
  Id BuiltIn(uint32_t which, Id type);
  Id Workgroup(Id type, uint32_t elements);
  /// The u64 or the u32 at that place of the push constants.
  Id PushConstant(uint32_t member);

  template <class Fn>
  void If(Id condition, const Fn& then) {
    const Id yes = New(), end = New();
    Do(Spv::SelectionMerge, {end, 0});
    Do(Spv::BranchConditional, {condition, yes, end});
    Block(yes);
    then();
    Do(Spv::Branch, {end});
    Block(end);
  }
  /// The value of whichever ran.
  template <class Yes, class No>
  Id IfElse(Id condition, Id type, const Yes& then, const No& otherwise) {
    const Id yes = New(), no = New(), end = New();
    Do(Spv::SelectionMerge, {end, 0});
    Do(Spv::BranchConditional, {condition, yes, no});
    Block(yes);
    const Id a = then();
    const Id from_yes = label_;
    Do(Spv::Branch, {end});
    Block(no);
    const Id b = otherwise();
    const Id from_no = label_;
    Do(Spv::Branch, {end});
    Block(end);
    return Do(Spv::Phi, type, {a, from_yes, b, from_no});
  }
  /// While `more()`, evaluated before each round: body().
  template <class More, class Fn>
  void While(const More& more, const Fn& body) {
    const Id head = New(), test = New(), in = New(), again = New(), end = New();
    Do(Spv::Branch, {head});
    Block(head);
    Do(Spv::LoopMerge, {end, again, 0});
    Do(Spv::Branch, {test});
    Block(test);
    const Id go = more();
    Do(Spv::BranchConditional, {go, in, end});
    Block(in);
    body();
    Do(Spv::Branch, {again});
    Block(again);
    Do(Spv::Branch, {head});
    Block(end);
  }
  /// for (u32 i = lo; i < hi; i += step) body(i), as unsigned numbers. It looks behind the body whether to go on: what
  /// is in a loop behind its exit some drivers run once more, for no lane, but loading what all lanes would have.
  template <class Fn>
  void For(Id lo, Id hi, Id step, const Fn& body) {
    const std::optional<uint32_t> first = Known(lo), last = Known(hi);
    const auto loop = [&] {
      const Id before = label_, head = New(), in = New(), again = New(), end = New(), i = New(), more = New();
      Do(Spv::Branch, {head});
      Block(head);
      Raw(Spv::Phi, {U32(), i, lo, before, more, again});
      Do(Spv::LoopMerge, {end, again, 0});
      Do(Spv::Branch, {in});
      Block(in);
      body(i);
      Do(Spv::Branch, {again});
      Block(again);
      Raw(Spv::IAdd, {U32(), more, i, step});
      const Id go = Do(Spv::ULessThan, Bool(), {more, hi});
      Do(Spv::BranchConditional, {go, head, end});
      Block(end);
    };
    if (first && last && *first < *last) {
      loop();
    } else {
      If(Do(Spv::ULessThan, Bool(), {lo, hi}), loop);
    }
  }
  /// All invocations of the workgroup meet, and see what the others wrote.
  void Barrier();

  // Functions.
  /// Begins a function; `parameters` gets the ids of its parameters. Another one that was being written goes on after
  /// EndFunction.
  Id BeginFunction(Id result, std::span<const Id> types, std::vector<Id>* parameters);
  /// `result` 0: there is none.
  void EndFunction(Id result);
  /// Says that the function that was ended last is an entry point.
  void EntryPoint(Id function, const std::string& name, uint32_t group_size);
  /// Has all entry points so far keep to a mode for floats of these widths, added up.
  void FloatMode(uint32_t capability, uint32_t mode, int64_t widths);

  /// Of all functions so far.
  size_t function_words() const { return functions_.size() + function_.body.size() + function_.start.size(); }
  /// A number that names the function that is being written.
  Id function() const { return function_.id; }
  Words Finish();

 private:
  struct Function {
    Id id = 0;
    Words head, variables, start, body;
    Id label = 0;
  };
  static void Put(Words& to, Spv op, std::span<const uint32_t> args);
  void Raw(Spv op, std::initializer_list<uint32_t> args) {
    Put(function_.body, op, std::span(args.begin(), args.size()));
  }
  Id Unique(Spv op, const Words& args, bool typed);
  void Block(Id label);

  Id next_ = 1;
  Id glsl_ = 0, push_ = 0, label_ = 0;
  Words capabilities_, extensions_, entries_, modes_, decorations_, types_, functions_;
  std::map<Words, Id> known_;
  std::map<Id, uint32_t> numbers_;
  /// How memory is accessed that others of the workgroup may access, too.
  uint32_t SharedAccess(Id pointer, uint32_t aligned) const;

  std::set<Id> interface_;
  bool vulkan_memory_model_ = false;
  std::set<Id> workgroup_;  ///< With that model: types of pointers into workgroup memory, and pointers.
  std::vector<Id> entry_points_;
  Function function_;
  std::vector<Function> suspended_;
};

}  // namespace tenon::emit_spirv
