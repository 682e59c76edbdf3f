#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenon::emit_llvm {

/// A function in memory, with what an unwinder must know of its stack.
struct UnwindFunction {
  std::string name;
  const void* address = nullptr;
  int64_t size_bytes = 0;
  std::vector<uint8_t>
      cfi;  ///< DWARF call frame instructions, from its first byte on; the return address is on top there.
};

/// The functions' .eh_frame: one common entry, an entry per function with absolute addresses, an end.
std::vector<char> MakeEhFrame(std::span<const UnwindFunction> functions);

/// Makes the functions known to the process's unwinder, for exceptions and backtraces, until UnregisterEhFrame.
/// `eh_frame` stays where it is for as long.
void RegisterEhFrame(const std::vector<char>& eh_frame);
void UnregisterEhFrame(const std::vector<char>& eh_frame);

/// An ELF file with the functions' symbols and .eh_frame, for debuggers: its .text has an address and no bytes.
/// `section_at`: the addresses of its sections.
std::vector<char> MakeDebugElf(std::span<const UnwindFunction> functions, const std::vector<char>& eh_frame,
                               std::vector<char*>* section_at);

}  // namespace tenon::emit_llvm
