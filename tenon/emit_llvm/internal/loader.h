#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::emit_llvm {

/// One relocatable object's code and constants in executable memory: written while writable, then made executable and
/// never writable again. The pages go with the object.
class LoadedCode {
 public:
  struct Symbol {
    void* address = nullptr;
    int64_t size_bytes = 0;
  };

  /// Loads an ELF64 x86-64 relocatable object as LLVM writes it. Symbols that it does not define must be among the few
  /// library functions that code generation may call (memcpy, memset, memmove, fmod, fmodf); INTERNAL names any other,
  /// as well as unknown relocations and damaged headers.
  static Result<std::shared_ptr<const LoadedCode>> Load(std::span<const char> object);
  /// Finished code that refers to nothing outside of itself. Unwinders, perf and debuggers (TENON_PERF_MAP,
  /// TENON_GDB_JIT) know it while it is there.
  struct Piece {
    std::string name;
    std::vector<uint8_t> bytes;
    int64_t text_bytes = 0;    ///< What of it is instructions.
    std::vector<uint8_t> cfi;  ///< For unwinding: UnwindFunction::cfi.
  };
  static Result<std::shared_ptr<const LoadedCode>> Place(std::span<const Piece> pieces);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  /// A function that the object defines; a null address when there is none.
  Symbol Find(std::string_view name) const;
  const std::unordered_map<std::string, Symbol>& functions() const { return functions_; }

 private:
  LoadedCode() = default;
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  std::unordered_map<std::string, Symbol> functions_;
  void* debugger_entry_ = nullptr;
  std::vector<char> eh_frame_;
};

}  // namespace tenon::emit_llvm
