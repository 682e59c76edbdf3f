#include "tenon/client/api.h"

#include <cstring>
#include <mutex>

#include "tenon/abi/tenon_signature.h"
#include "tenon/base/contain.h"
#include "tenon/client/internal/raw_enum.h"

namespace tenon::client {
namespace {

struct EntryFacts {
  const char* name;
  int since_minor;
};
constexpr EntryFacts kFacts[] = {
#define PJRT_FN(function, args, since_minor, owner) {#function, since_minor},
#include "tenon/abi/api.def"
#undef PJRT_FN
};
constexpr size_t kNumEntries = std::size(kFacts);
constexpr size_t kFirstEntry = offsetof(PJRT_Api, PJRT_Error_Destroy);
using Slot = void (*)();
static_assert(kFirstEntry + kNumEntries * sizeof(Slot) == PJRT_Api_STRUCT_SIZE, "the table is an array of pointers");

Slot ReadSlot(const PJRT_Api* table, size_t index) {
  Slot slot;
  std::memcpy(&slot, reinterpret_cast<const char*>(table) + kFirstEntry + index * sizeof(Slot), sizeof(Slot));
  return slot;
}

// Tables before 0.57 declare fewer bytes than they have, so there only the version counts.
bool LongEnough(const PJRT_Api* table, size_t index) {
  return table->pjrt_api_version.minor_version < 57 || table->struct_size >= kFirstEntry + (index + 1) * sizeof(Slot);
}

bool Usable(const PJRT_Api* table, size_t index) {
  return table->pjrt_api_version.minor_version >= kFacts[index].since_minor && LongEnough(table, index) &&
         ReadSlot(table, index) != nullptr;
}

// Longer chains of extensions are circles: there are not so many types.
constexpr int kMaxExtensions = 1000;

bool HasEnd(const PJRT_Extension_Base* chain) {
  int length = 0;
  for (; chain != nullptr && length < kMaxExtensions; chain = chain->next) ++length;
  return chain == nullptr;
}

// Called from the plugin's code, through which nothing may be thrown.
void AddPayload(const char* key, size_t key_size, const char* value, size_t value_size, void* user_arg) {
  (void)Contain("a payload", [&] {
    static_cast<std::vector<Status::Payload>*>(user_arg)->push_back(
        {std::string(key, key_size), std::string(value, value_size)});
  });
}

}  // namespace

Api::Api(const PJRT_Api* raw, std::string name) : raw_(raw), name_(std::move(name)), table_{} {
  char* const copy = reinterpret_cast<char*>(&table_);
  for (size_t i = 0; i < kNumEntries; ++i) {
    if (!Usable(raw, i)) continue;
    const Slot slot = ReadSlot(raw, i);
    std::memcpy(copy + kFirstEntry + i * sizeof(Slot), &slot, sizeof(Slot));
  }
}

Result<const Api*> Api::Wrap(const PJRT_Api* raw, std::string name) {
  if (raw == nullptr) return InvalidArgument(name + ": GetPjrtApi returned no table");
  if (raw->struct_size < kFirstEntry) {
    return InvalidArgument(name + ": the table says that it is " + std::to_string(raw->struct_size) +
                           " bytes long; even the oldest has more than " + std::to_string(kFirstEntry));
  }
  const int major = raw->pjrt_api_version.major_version;
  const int minor = raw->pjrt_api_version.minor_version;
  const std::string version = std::to_string(major) + "." + std::to_string(minor);
  if (major != PJRT_API_MAJOR) {
    return FailedPrecondition(name + ": PJRT C API " + version + " has another major version than ours, " +
                              std::to_string(PJRT_API_MAJOR));
  }
  if (minor < kOldestMinor || minor == 56) {
    return FailedPrecondition(name + ": PJRT C API " + version + " is not supported; wanted 0.54, 0.55, 0.57 or newer");
  }
  if (!HasEnd(raw->extension_start)) {
    return FailedPrecondition(name + ": the chain of extensions has no end: more than " +
                              std::to_string(kMaxExtensions) + " follow each other, or it is a circle");
  }
  // Objects refer to their Api without counting; all of them stay reachable from here.
  static std::mutex& mutex = *new std::mutex;
  static std::vector<const Api*>& all = *new std::vector<const Api*>;
  const Api* const api = new Api(raw, std::move(name));
  std::lock_guard lock(mutex);
  all.push_back(api);
  return api;
}

std::string Api::WhyMissing(int index) const {
  const EntryFacts& facts = kFacts[index];
  const size_t i = static_cast<size_t>(index);
  if (Usable(raw_, i)) return {};
  const std::string minor = std::to_string(minor_version());
  if (minor_version() < facts.since_minor) {
    return "it came with 0." + std::to_string(facts.since_minor) + " and the plugin has 0." + minor;
  }
  if (!LongEnough(raw_, i)) {
    return "the plugin's table ends before it (" + std::to_string(raw_->struct_size) + " bytes)";
  }
  return "its slot is null";
}

Status Api::Missing(int index) const {
  return Unimplemented(name_ + " does not have " + kFacts[index].name + ": " + WhyMissing(index));
}

Status Api::TakeError(PJRT_Error* error, std::string_view what) const {
  if (error == nullptr) return OkStatus();
  Code code = Code::kUnknown;
  std::string message;
  if (table_.PJRT_Error_GetCode != nullptr) {
    auto args = MakeArgs<PJRT_Error_GetCode_Args>();
    args.error = error;
    if (table_.PJRT_Error_GetCode(&args) == nullptr) code = static_cast<Code>(internal::RawEnum(args.code));
  }
  if (code == Code::kOk) code = Code::kInternal;  // an error that says "OK" is still one
  if (table_.PJRT_Error_Message != nullptr) {
    auto args = MakeArgs<PJRT_Error_Message_Args>();
    args.error = error;
    table_.PJRT_Error_Message(&args);
    if (args.message != nullptr) message.assign(args.message, args.message_size);
  }
  const auto destroy = [this](PJRT_Error* destroyed) {
    if (table_.PJRT_Error_Destroy == nullptr) return;
    auto args = MakeArgs<PJRT_Error_Destroy_Args>();
    args.error = destroyed;
    table_.PJRT_Error_Destroy(&args);
  };
  std::vector<Status::Payload> payloads;
  if (table_.PJRT_Error_ForEachPayload != nullptr) {
    auto args = MakeArgs<PJRT_Error_ForEachPayload_Args>();
    args.error = error;
    args.visitor = AddPayload;
    args.user_arg = &payloads;
    // That error is not asked for payloads in its turn: it would have the same to say.
    if (PJRT_Error* const refusal = table_.PJRT_Error_ForEachPayload(&args)) destroy(refusal);
  }
  destroy(error);
  if (message.empty()) message = "(the plugin gave no message)";
  if (!what.empty() && !message.starts_with(what)) message = std::string(what) + ": " + message;
  Status status(code, std::move(message));
  for (Status::Payload& p : payloads) status = status.WithPayload(std::move(p.key), std::move(p.value));
  return status;
}

const PJRT_Extension_Base* Api::FindExtension(uint32_t type, size_t min_size) const {
  for (const auto* e = raw_->extension_start; e != nullptr; e = e->next) {
    if (internal::RawEnum(e->type) == type && e->struct_size >= min_size) return e;
  }
  return nullptr;
}

std::vector<std::pair<uint32_t, size_t>> Api::Extensions() const {
  std::vector<std::pair<uint32_t, size_t>> found;
  for (const auto* e = raw_->extension_start; e != nullptr; e = e->next)
    found.emplace_back(internal::RawEnum(e->type), e->struct_size);
  return found;
}

std::vector<TableEntry> Api::Entries() const {
  std::vector<TableEntry> entries;
  entries.reserve(kNumEntries);
  for (size_t i = 0; i < kNumEntries; ++i) {
    std::string reason = WhyMissing(static_cast<int>(i));
    entries.push_back({kFacts[i].name, kFacts[i].since_minor, reason.empty(), std::move(reason)});
  }
  return entries;
}

std::string ExtensionName(uint32_t type) {
  static constexpr const char* kNames[] = {"GpuCustomCall",
                                           "Profiler",
                                           "CustomPartitioner",
                                           "Stream",
                                           "Layouts",
                                           "FFI",
                                           "MemoryDescriptions",
                                           "Triton",
                                           "RawBuffer",
                                           "PhaseCompile",
                                           "Example",
                                           "Unknown",
                                           "CrossHostTransfers",
                                           "ExecutableMetadata",
                                           "Callback",
                                           "HostAllocator",
                                           "TpuTopology",
                                           "TpuExecutable",
                                           "Megascale",
                                           "Shardings",
                                           "AbiVersion",
                                           "Collectives",
                                           "MultiSlice",
                                           "HostMemoryAllocator",
                                           "XlaTransform"};
  if (type == TENON_EXTENSION_TYPE_SIGNATURE) return "TenonSignature";
  return type < std::size(kNames) ? kNames[type] : std::to_string(type);
}

}  // namespace tenon::client
