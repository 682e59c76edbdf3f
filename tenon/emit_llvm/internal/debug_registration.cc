#include "tenon/emit_llvm/internal/debug_registration.h"

#include <elf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "tenon/base/fork.h"

extern "C" {
// The interface that debuggers look for by these names: a list of objects, and a function whose only purpose is a
// breakpoint.
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;  // 0 none, 1 register, 2 unregister
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
[[gnu::weak, gnu::used]] jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
[[gnu::weak, gnu::noinline, gnu::used]] void __jit_debug_register_code() { asm volatile("" ::: "memory"); }
}

namespace tenon::emit_llvm {
namespace {

bool Switched(const char* variable) {
  const char* value = getenv(variable);
  return value != nullptr && *value != '\0' && strcmp(value, "0") != 0;
}

struct DebuggerEntry {
  jit_code_entry entry{};
  std::vector<char> object;
};
ForkSafeMutex& DebuggerMutex() {
  static ForkSafeMutex* mutex = new ForkSafeMutex;
  return *mutex;
}

}  // namespace

void WritePerfMap(std::string_view name, const void* address, int64_t size_bytes) {
  static const bool on = Switched("TENON_PERF_MAP");
  if (!on) return;
  static std::mutex* mutex = new std::mutex;
  std::lock_guard lock(*mutex);
  FILE* file = fopen(fmt::format("/tmp/perf-{}.map", getpid()).c_str(), "ae");
  if (file == nullptr) return;
  const std::string line = fmt::format("{:x} {:x} {}\n", reinterpret_cast<uintptr_t>(address), size_bytes, name);
  fwrite(line.data(), 1, line.size(), file);
  fclose(file);
}

bool DebuggerWanted() {
  static const bool on = Switched("TENON_GDB_JIT");
  return on;
}

void* RegisterWithDebugger(std::span<const char> object, const std::vector<char*>& section_at) {
  if (!DebuggerWanted()) return nullptr;
  auto* made = new DebuggerEntry;
  made->object.assign(object.begin(), object.end());
  auto* header = reinterpret_cast<Elf64_Ehdr*>(made->object.data());
  auto* sections = reinterpret_cast<Elf64_Shdr*>(made->object.data() + header->e_shoff);
  for (size_t i = 0; i < section_at.size(); ++i) sections[i].sh_addr = reinterpret_cast<uint64_t>(section_at[i]);
  made->entry.symfile_addr = made->object.data();
  made->entry.symfile_size = made->object.size();
  std::lock_guard lock(DebuggerMutex());
  jit_descriptor& list = __jit_debug_descriptor;
  made->entry.next_entry = list.first_entry;
  if (list.first_entry != nullptr) list.first_entry->prev_entry = &made->entry;
  list.first_entry = &made->entry;
  list.relevant_entry = &made->entry;
  list.action_flag = 1;
  __jit_debug_register_code();
  return made;
}

void UnregisterWithDebugger(void* entry) {
  if (entry == nullptr) return;
  auto* made = static_cast<DebuggerEntry*>(entry);
  std::lock_guard lock(DebuggerMutex());
  jit_descriptor& list = __jit_debug_descriptor;
  if (made->entry.prev_entry != nullptr) {
    made->entry.prev_entry->next_entry = made->entry.next_entry;
  } else {
    list.first_entry = made->entry.next_entry;
  }
  if (made->entry.next_entry != nullptr) made->entry.next_entry->prev_entry = made->entry.prev_entry;
  list.relevant_entry = &made->entry;
  list.action_flag = 2;
  __jit_debug_register_code();
  delete made;
}

}  // namespace tenon::emit_llvm
