#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tenon::emit_llvm {

/// With TENON_PERF_MAP=1: appends a line to /tmp/perf-<pid>.map, where perf looks for names of generated code.
/// Thread-safe.
void WritePerfMap(std::string_view name, const void* address, int64_t size_bytes);

/// With TENON_PERF_JITDUMP=DIR: appends the code to DIR/jit-<pid>.dump, of which `perf inject --jit` makes what perf
/// annotates, instruction by instruction. Thread-safe; silent when the file cannot be written.
void WriteJitDump(std::string_view name, const void* address, int64_t size_bytes);

/// Whether TENON_GDB_JIT is switched on.
bool DebuggerWanted();

/// With TENON_GDB_JIT=1: shows the object to an attached debugger (gdb's and lldb's JIT interface). `section_at`: where
/// each section was loaded. Null when switched off.
void* RegisterWithDebugger(std::span<const char> object, const std::vector<char*>& section_at);
void UnregisterWithDebugger(void* entry);

}  // namespace tenon::emit_llvm
