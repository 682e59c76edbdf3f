#include "tenon/emit_spirv/internal/writer.h"

#include <cstring>

namespace tenon::emit_spirv {
namespace {

Words Text(const std::string& s) {
  Words words(s.size() / 4 + 1, 0);
  std::memcpy(words.data(), s.data(), s.size());
  return words;
}

}  // namespace

Writer::Writer() {
  glsl_ = New();
  Capability(spv::CapabilityShader);
  Capability(spv::CapabilityPhysicalStorageBufferAddresses);
}

void Writer::Put(Words& to, Spv op, std::span<const uint32_t> args) {
  to.push_back(static_cast<uint32_t>(args.size() + 1) << 16 | static_cast<uint32_t>(op));
  to.insert(to.end(), args.begin(), args.end());
}

Id Writer::Unique(Spv op, const Words& args, bool typed) {
  Words key = args;
  key.insert(key.begin(), static_cast<uint32_t>(op));
  auto [it, fresh] = known_.try_emplace(std::move(key), 0);
  if (!fresh) return it->second;
  const Id id = it->second = New();
  Words words = args;
  words.insert(words.begin() + (typed ? 1 : 0), id);
  Put(types_, op, words);
  return id;
}

void Writer::UseVulkanMemoryModel() {
  vulkan_memory_model_ = true;
  Capability(spv::CapabilityVulkanMemoryModel);
}

Id Writer::Pointer(uint32_t storage, Id type) {
  const Id id = Unique(Spv::TypePointer, {storage, type}, false);
  if (vulkan_memory_model_ && storage == spv::StorageWorkgroup) workgroup_.insert(id);
  return id;
}

uint32_t Writer::SharedAccess(Id pointer, uint32_t aligned) const {
  // Only what lies in buffers says how it is aligned.
  return vulkan_memory_model_ && (aligned != 0 || workgroup_.contains(pointer)) ? spv::AccessNonPrivatePointer : 0;
}

void Writer::Capability(uint32_t number) {
  const Words key = {static_cast<uint32_t>(Spv::Capability), number};
  if (known_.try_emplace(key, 1).second) Put(capabilities_, Spv::Capability, std::span(&number, 1));
}

void Writer::Extension(const std::string& name) {
  Words key = Text(name);
  key.insert(key.begin(), static_cast<uint32_t>(Spv::Extension));
  if (known_.try_emplace(std::move(key), 1).second) Put(extensions_, Spv::Extension, Text(name));
}

Id Writer::Int(int bits) {
  if (bits == 64) Capability(spv::CapabilityInt64);
  if (bits == 16) Capability(spv::CapabilityStorageBuffer16BitAccess);
  if (bits == 8) Capability(spv::CapabilityStorageBuffer8BitAccess);
  return Unique(Spv::TypeInt, {static_cast<uint32_t>(bits), 0}, false);
}

Id Writer::Float(int bits) {
  if (bits == 64) Capability(spv::CapabilityFloat64);
  if (bits == 16) Capability(spv::CapabilityFloat16);
  return Unique(Spv::TypeFloat, {static_cast<uint32_t>(bits)}, false);
}

Id Writer::CFloat(int bits, uint64_t value) {
  if (bits == 64) {
    return Unique(Spv::Constant, {Float(64), static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)}, true);
  }
  return Unique(Spv::Constant, {Float(bits), static_cast<uint32_t>(value)}, true);
}

Id Writer::BufferOf(Id type, uint32_t bytes, bool coherent) {
  // Decorations belong to the type, so those that differ in them are types of their own.
  const Words key = {0, type, bytes, coherent};
  auto [it, fresh] = known_.try_emplace(key, 0);
  if (!fresh) return it->second;
  const Id array = New(), record = New();
  Put(types_, Spv::TypeRuntimeArray, Words{array, type});
  Put(decorations_, Spv::Decorate, Words{array, spv::DecorationArrayStride, bytes});
  Put(types_, Spv::TypeStruct, Words{record, array});
  Put(decorations_, Spv::Decorate, Words{record, spv::DecorationBlock});
  Put(decorations_, Spv::MemberDecorate, Words{record, 0, spv::DecorationOffset, 0});
  if (coherent && !vulkan_memory_model_)
    Put(decorations_, Spv::MemberDecorate, Words{record, 0, spv::DecorationCoherent});
  return known_[key] = record;
}

Id Writer::Do(Spv op, Id type, std::span<const uint32_t> args) {
  const Id id = New();
  Words words = {type, id};
  words.insert(words.end(), args.begin(), args.end());
  Put(function_.body, op, words);
  if (op == Spv::AccessChain && workgroup_.contains(type)) workgroup_.insert(id);
  return id;
}

void Writer::Do(Spv op, std::initializer_list<uint32_t> args) { Raw(op, args); }

Id Writer::Exact(Spv op, Id type, std::initializer_list<uint32_t> args) {
  const Id id = Do(op, type, args);
  Put(decorations_, Spv::Decorate, Words{id, spv::DecorationNoContraction});
  return id;
}

Id Writer::Glsl(uint32_t function, Id type, std::initializer_list<Id> args) {
  Words words = {glsl_, function};
  words.insert(words.end(), args.begin(), args.end());
  const Id id = Do(Spv::ExtInst, type, words);
  Put(decorations_, Spv::Decorate, Words{id, spv::DecorationNoContraction});
  return id;
}

Id Writer::Call(Id function, Id type, std::span<const Id> args) {
  Words words = {function};
  words.insert(words.end(), args.begin(), args.end());
  return Do(Spv::FunctionCall, type, words);
}

Id Writer::Load(Id type, Id pointer, uint32_t aligned, bool is_volatile) {
  const uint32_t how = (aligned != 0 ? spv::AccessAligned : 0) | (is_volatile ? spv::AccessVolatile : 0) |
                       SharedAccess(pointer, aligned);
  if (how == 0) return Do(Spv::Load, type, {pointer});
  return aligned == 0 ? Do(Spv::Load, type, {pointer, how}) : Do(Spv::Load, type, {pointer, how, aligned});
}

void Writer::Store(Id pointer, Id value, uint32_t aligned) {
  const uint32_t how = (aligned != 0 ? spv::AccessAligned : 0) | SharedAccess(pointer, aligned);
  if (how == 0) {
    Do(Spv::Store, {pointer, value});
  } else if (aligned == 0) {
    Do(Spv::Store, {pointer, value, how});
  } else {
    Do(Spv::Store, {pointer, value, how, aligned});
  }
}

Id Writer::Variable(Id type) {
  const Id id = New();
  Put(function_.variables, Spv::Variable, Words{Pointer(spv::StorageFunction, type), id, spv::StorageFunction});
  return id;
}

Id Writer::Global(uint32_t storage, Id type) {
  const Id pointer = Pointer(storage, type), id = New();
  Put(types_, Spv::Variable, Words{pointer, id, storage});
  Uses(id);
  return id;
}

Id Writer::BuiltIn(uint32_t which, Id type) {
  const Words key = {1, which};
  auto [it, fresh] = known_.try_emplace(key, 0);
  if (fresh) {
    const Id id = Global(spv::StorageInput, type);
    Put(decorations_, Spv::Decorate, Words{id, spv::DecorationBuiltIn, which});
    known_[key] = id;
  }
  Uses(known_[key]);
  return known_[key];
}

Id Writer::Workgroup(Id type, uint32_t elements) {
  return Global(spv::StorageWorkgroup, Unique(Spv::TypeArray, {type, C32(elements)}, false));
}

Id Writer::PushConstant(uint32_t member) {
  if (push_ == 0) {
    const Id record = New();
    const Id u64 = U64(), u32 = U32();
    Put(types_, Spv::TypeStruct, Words{record, u64, u32, u32});
    Put(decorations_, Spv::Decorate, Words{record, spv::DecorationBlock});
    for (uint32_t i = 0; i < 3; ++i) {
      Put(decorations_, Spv::MemberDecorate, Words{record, i, spv::DecorationOffset, i == 0 ? 0 : 4 + 4 * i});
    }
    push_ = Global(spv::StoragePushConstant, record);
  }
  Uses(push_);
  const Id type = member == 0 ? U64() : U32();
  const Id pointer = Do(Spv::AccessChain, Pointer(spv::StoragePushConstant, type), {push_, C32(member)});
  return Load(type, pointer);
}

void Writer::Block(Id label) {
  Raw(Spv::Label, {label});
  label_ = label;
}

void Writer::Barrier() {
  const Id scope = C32(spv::ScopeWorkgroup);
  uint32_t semantics = spv::SemanticsAcquireRelease | spv::SemanticsUniformMemory | spv::SemanticsWorkgroupMemory;
  if (vulkan_memory_model_) semantics |= spv::SemanticsMakeAvailable | spv::SemanticsMakeVisible;
  Do(Spv::ControlBarrier, {scope, scope, C32(semantics)});
}

Id Writer::BeginFunction(Id result, std::span<const Id> types, std::vector<Id>* parameters) {
  if (function_.id != 0) {
    function_.label = label_;
    suspended_.push_back(std::move(function_));
  }
  function_ = {};
  Words signature = {result};
  signature.insert(signature.end(), types.begin(), types.end());
  const Id type = Unique(Spv::TypeFunction, signature, false);
  function_.id = New();
  Put(function_.head, Spv::Function, Words{result, function_.id, 0, type});
  for (const Id t : types) {
    parameters->push_back(New());
    Put(function_.head, Spv::FunctionParameter, Words{t, parameters->back()});
  }
  label_ = New();
  Put(function_.head, Spv::Label, Words{label_});
  return function_.id;
}

void Writer::EndFunction(Id result) {
  if (result == 0) {
    Do(Spv::Return, {});
  } else {
    Do(Spv::ReturnValue, {result});
  }
  Do(Spv::FunctionEnd, {});
  for (const Words* part : {&function_.head, &function_.variables, &function_.start, &function_.body}) {
    functions_.insert(functions_.end(), part->begin(), part->end());
  }
  function_ = {};
  if (suspended_.empty()) return;
  function_ = std::move(suspended_.back());
  suspended_.pop_back();
  label_ = function_.label;
}

void Writer::EntryPoint(Id function, const std::string& name, uint32_t group_size) {
  Words words = {spv::ExecutionGLCompute, function};
  const Words text = Text(name);
  words.insert(words.end(), text.begin(), text.end());
  if (push_ != 0) Uses(push_);  // functions that it calls may use it
  words.insert(words.end(), interface_.begin(), interface_.end());
  interface_.clear();
  Put(entries_, Spv::EntryPoint, words);
  Put(modes_, Spv::ExecutionMode, Words{function, spv::ModeLocalSize, group_size, 1, 1});
  entry_points_.push_back(function);
}

void Writer::FloatMode(uint32_t capability, uint32_t mode, int64_t widths) {
  for (const uint32_t width : {16u, 32u, 64u}) {
    if ((widths & width) == 0) continue;
    Capability(capability);
    for (const Id function : entry_points_) Put(modes_, Spv::ExecutionMode, Words{function, mode, width});
  }
}

Words Writer::Finish() {
  constexpr uint32_t kMagic = 0x07230203, kVersion = 0x00010500;
  Words words = {kMagic, kVersion, 0, next_, 0};
  const auto append = [&](const Words& part) { words.insert(words.end(), part.begin(), part.end()); };
  append(capabilities_);
  append(extensions_);
  Words import = {glsl_};
  const Words name = Text("GLSL.std.450");
  import.insert(import.end(), name.begin(), name.end());
  Put(words, Spv::ExtInstImport, import);
  Put(words, Spv::MemoryModel,
      Words{spv::AddressingPhysicalStorageBuffer64, vulkan_memory_model_ ? spv::ModelVulkan : spv::ModelGLSL450});
  append(entries_);
  append(modes_);
  append(decorations_);
  append(types_);
  append(functions_);
  return words;
}

}  // namespace tenon::emit_spirv
