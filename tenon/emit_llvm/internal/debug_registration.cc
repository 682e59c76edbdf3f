#include "tenon/emit_llvm/internal/debug_registration.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
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

namespace {

uint64_t MonotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The layout that Linux states in tools/perf/Documentation/jitdump-specification.txt.
struct JitDumpHeader {
  uint32_t magic = 0x4a695444;
  uint32_t version = 1;
  uint32_t total_size = sizeof(JitDumpHeader);
  uint32_t machine = EM_X86_64;
  uint32_t padding = 0;
  uint32_t pid = 0;
  uint64_t timestamp = 0;
  uint64_t flags = 0;
};
struct JitDumpCode {
  uint32_t id = 0;  // code is loaded
  uint32_t total_size = 0;
  uint64_t timestamp = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t vma = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t index = 0;
};

FILE* OpenJitDump() {
  const char* folder = getenv("TENON_PERF_JITDUMP");
  if (folder == nullptr || *folder == '\0') return nullptr;
  FILE* file = fopen(fmt::format("{}/jit-{}.dump", folder, getpid()).c_str(), "w+e");
  if (file == nullptr) return nullptr;
  JitDumpHeader header;
  header.pid = static_cast<uint32_t>(getpid());
  header.timestamp = MonotonicNs();
  fwrite(&header, sizeof header, 1, file);
  fflush(file);
  // The mapping is never used: by it perf learns of the file. It stays, as the file does.
  mmap(nullptr, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
  return file;
}

}  // namespace

void WriteJitDump(std::string_view name, const void* address, int64_t size_bytes) {
  static FILE* const file = OpenJitDump();
  if (file == nullptr) return;
  static std::mutex* mutex = new std::mutex;
  static uint64_t index = 0;
  std::lock_guard lock(*mutex);
  JitDumpCode code;
  code.total_size = static_cast<uint32_t>(sizeof code + name.size() + 1 + static_cast<size_t>(size_bytes));
  code.timestamp = MonotonicNs();
  code.pid = static_cast<uint32_t>(getpid());
  code.tid = static_cast<uint32_t>(gettid());
  code.vma = code.address = reinterpret_cast<uint64_t>(address);
  code.size = static_cast<uint64_t>(size_bytes);
  code.index = index++;
  fwrite(&code, sizeof code, 1, file);
  fwrite(name.data(), 1, name.size(), file);
  fputc(0, file);
  fwrite(address, 1, static_cast<size_t>(size_bytes), file);
  fflush(file);
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
