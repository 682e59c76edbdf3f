#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "tenon/abi/tenon_signature.h"
#include "tenon/trace/call.h"
#include "tenon/trace/session.h"

namespace tenon::trace {
namespace {

constexpr size_t kFirstEntry = offsetof(PJRT_Api, PJRT_Error_Destroy);
constexpr size_t kMaxExtensionSize = 4096;
constexpr int kMaxExtensions = 64;

std::mutex mutex;
int num_sessions = 0;
Session sessions[kMaxTables];

// Extensions outside of our headers whose functions hand out objects that the table's functions take.
bool MayCreate(uint32_t type) {
  switch (type) {
    case PJRT_Extension_Type_TpuTopology:
    case PJRT_Extension_Type_Megascale:
    case PJRT_Extension_Type_Collectives:
    case PJRT_Extension_Type_Unknown:
      return true;
    case TENON_EXTENSION_TYPE_SIGNATURE:
      return false;
    default:
      return type > PJRT_Extension_Type_XlaTransform;
  }
}

// Copies of a chain; functions that we know are replaced by those that forward.
PJRT_Extension_Base* CopyExtensions(int number, Session& session, PJRT_Extension_Base* from) {
  PJRT_Extension_Base* first = nullptr;
  PJRT_Extension_Base** link = &first;
  const std::span<void* const> forwarders = Forwarders(number);
  const std::span<const Slot> slots = ExtensionSlots();
  for (int i = 0; from != nullptr; from = from->next, ++i) {
    char* copy = nullptr;
    if (from->struct_size >= sizeof(PJRT_Extension_Base) && from->struct_size <= kMaxExtensionSize &&
        i < kMaxExtensions) {
      copy = static_cast<char*>(std::calloc(1, from->struct_size));
    }
    if (copy == nullptr) {
      // Nothing can be said of it, nor of those behind it.
      *link = from;
      session.unseen_creators = true;
      return first;
    }
    std::memcpy(copy, from, from->struct_size);
    const uint32_t type = NumberOf(from->type);
    session.unseen_creators |= MayCreate(type);
    for (size_t k = 0; k < slots.size(); ++k) {
      const int id = kNumTableFunctions + static_cast<int>(k);
      if (static_cast<uint32_t>(slots[k].extension) != type || slots[k].offset + sizeof(void*) > from->struct_size)
        continue;
      void* function;
      std::memcpy(&function, copy + slots[k].offset, sizeof(function));
      // Callers take the first extension of a type; another one stays as it is.
      if (function == nullptr || session.functions[id] != nullptr) continue;
      session.functions[id] = function;
      std::memcpy(copy + slots[k].offset, &forwarders[id], sizeof(void*));
    }
    auto* base = reinterpret_cast<PJRT_Extension_Base*>(copy);
    base->next = nullptr;
    *link = base;
    link = &base->next;
  }
  return first;
}

// The number of the function behind entry i of the table; -1 when it is beyond those that we can forward.
int IdOfEntry(size_t i) {
  if (i < kNumTableFunctions) return static_cast<int>(i);
  const size_t unknown = i - kNumTableFunctions;
  return unknown < kMaxUnknown ? FirstUnknown() + static_cast<int>(unknown) : -1;
}

bool Fill(int number, Session& session) {
  const PJRT_Api* inner = session.inner;
  // Callers that know more than an old plugin find NULL behind its last entry.
  const size_t size = std::max<size_t>(inner->struct_size, sizeof(PJRT_Api));
  char* table = static_cast<char*>(std::calloc(1, size));
  session.functions = static_cast<void**>(std::calloc(NumFunctions(), sizeof(void*)));
  if (table == nullptr || session.functions == nullptr) {
    std::free(table);
    return false;
  }
  std::memcpy(table, inner, inner->struct_size);
  const std::span<void* const> forwarders = Forwarders(number);
  for (size_t offset = kFirstEntry, i = 0; offset + sizeof(void*) <= inner->struct_size; offset += sizeof(void*), ++i) {
    const int id = IdOfEntry(i);
    void* function;
    std::memcpy(&function, table + offset, sizeof(function));
    session.unseen_creators |= i >= kNumTableFunctions;
    if (function == nullptr || id < 0) continue;
    session.functions[id] = function;
    std::memcpy(table + offset, &forwarders[id], sizeof(void*));
  }
  session.table = reinterpret_cast<PJRT_Api*>(table);
  session.table->extension_start = CopyExtensions(number, session, inner->extension_start);
  return true;
}

}  // namespace

Session& SessionOf(int table) { return sessions[table]; }

const PJRT_Api* TraceApi(const PJRT_Api* inner) {
  const std::lock_guard lock(mutex);
  if (inner == nullptr || inner->struct_size < kFirstEntry) return inner;
  for (int i = 0; i < num_sessions; ++i) {
    if (sessions[i].inner == inner || sessions[i].table == inner) return sessions[i].table;
  }
  if (num_sessions == kMaxTables - 1) return inner;  // The last one is for FailingApi.
  Session& session = sessions[num_sessions];
  session.inner = inner;
  if (!Fill(num_sessions, session)) {
    session = {};
    return inner;
  }
  ++num_sessions;
  return session.table;
}

const PJRT_Api* FailingApi(std::string message) {
  const std::lock_guard lock(mutex);
  static PJRT_Api table;
  static bool made = false;
  sessions[kMaxTables - 1].failure = std::move(message);
  if (made) return &table;
  made = true;
  table.struct_size = PJRT_Api_STRUCT_SIZE;
  table.pjrt_api_version = {PJRT_Api_Version_STRUCT_SIZE, nullptr, PJRT_API_MAJOR, PJRT_API_MINOR};
  const std::span<void* const> forwarders = Forwarders(kMaxTables - 1);
  for (int i = 0; i < kNumTableFunctions; ++i) {
    std::memcpy(reinterpret_cast<char*>(&table) + kFirstEntry + i * sizeof(void*), &forwarders[i], sizeof(void*));
  }
  return &table;
}

}  // namespace tenon::trace
