#include "tenon/emit_llvm/internal/unwind.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

// The unwinder's own; absent from programs that have none.
extern "C" {
[[gnu::weak]] void __register_frame(void* begin);
[[gnu::weak]] void __deregister_frame(void* begin);
}

namespace tenon::emit_llvm {
namespace {

template <class T>
void Put(std::vector<char>& out, T value) {
  const char* bytes = reinterpret_cast<const char*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

/// Ends an entry that began at `at`: pads it with nops and writes its length.
void End(std::vector<char>& out, size_t at) {
  while ((out.size() - at) % 8 != 0) out.push_back(0);
  const auto length = static_cast<uint32_t>(out.size() - at - 4);
  std::memcpy(out.data() + at, &length, 4);
}

}  // namespace

std::vector<char> MakeEhFrame(std::span<const UnwindFunction> functions) {
  std::vector<char> out;
  Put<uint32_t>(out, 0);  // length, below
  Put<uint32_t>(out, 0);  // a common entry
  for (const char c : {'\1', 'z', 'R', '\0'}) out.push_back(c);
  // Units of 1 and -8 bytes, return address in column 16, one byte of extra data: absolute addresses.
  for (const int c : {1, 0x78, 16, 1, 0}) out.push_back(static_cast<char>(c));
  // The caller's stack pointer is rsp + 8, the return address is below it.
  for (const int c : {0x0c, 7, 8, 0x80 | 16, 1}) out.push_back(static_cast<char>(c));
  End(out, 0);
  for (const UnwindFunction& f : functions) {
    const size_t at = out.size();
    Put<uint32_t>(out, 0);
    Put<uint32_t>(out, static_cast<uint32_t>(at + 4));  // back to the common entry
    Put<uint64_t>(out, reinterpret_cast<uint64_t>(f.address));
    Put<uint64_t>(out, static_cast<uint64_t>(f.size_bytes));
    out.push_back(0);  // no extra data
    out.insert(out.end(), f.cfi.begin(), f.cfi.end());
    End(out, at);
  }
  Put<uint32_t>(out, 0);
  return out;
}

void RegisterEhFrame(const std::vector<char>& eh_frame) {
  if (__register_frame != nullptr && __deregister_frame != nullptr && !eh_frame.empty())
    __register_frame(const_cast<char*>(eh_frame.data()));
}

void UnregisterEhFrame(const std::vector<char>& eh_frame) {
  if (__register_frame != nullptr && __deregister_frame != nullptr && !eh_frame.empty())
    __deregister_frame(const_cast<char*>(eh_frame.data()));
}

std::vector<char> MakeDebugElf(std::span<const UnwindFunction> functions, const std::vector<char>& eh_frame,
                               std::vector<char*>* section_at) {
  enum : uint16_t { kNull, kText, kEhFrame, kSymbols, kStrings, kSectionNames, kSections };
  static constexpr char kNames[] = "\0.text\0.eh_frame\0.symtab\0.strtab\0.shstrtab";
  uint64_t low = ~uint64_t{0};
  uint64_t high = 0;
  for (const UnwindFunction& f : functions) {
    const auto at = reinterpret_cast<uint64_t>(f.address);
    low = std::min(low, at);
    high = std::max(high, at + static_cast<uint64_t>(f.size_bytes));
  }
  std::vector<Elf64_Sym> symbols(1);
  std::string strings(1, '\0');
  for (const UnwindFunction& f : functions) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<uint32_t>(strings.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = kText;
    symbol.st_value = reinterpret_cast<uint64_t>(f.address) - low;
    symbol.st_size = static_cast<uint64_t>(f.size_bytes);
    symbols.push_back(symbol);
    strings += f.name;
    strings.push_back('\0');
  }
  Elf64_Shdr sections[kSections] = {};
  std::vector<char> out(sizeof(Elf64_Ehdr));
  const auto place = [&](uint16_t section, uint32_t name, uint32_t type, uint64_t flags, const void* bytes,
                         size_t size) {
    out.resize((out.size() + 7) / 8 * 8);
    Elf64_Shdr& s = sections[section];
    s.sh_name = name;
    s.sh_type = type;
    s.sh_flags = flags;
    s.sh_offset = out.size();
    s.sh_size = size;
    s.sh_addralign = 8;
    if (bytes != nullptr)
      out.insert(out.end(), static_cast<const char*>(bytes), static_cast<const char*>(bytes) + size);
  };
  place(kText, 1, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, nullptr, high - low);
  sections[kText].sh_addralign = 64;
  place(kEhFrame, 7, SHT_PROGBITS, SHF_ALLOC, eh_frame.data(), eh_frame.size());
  place(kSymbols, 17, SHT_SYMTAB, 0, symbols.data(), symbols.size() * sizeof(Elf64_Sym));
  sections[kSymbols].sh_link = kStrings;
  sections[kSymbols].sh_info = 1;
  sections[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  place(kStrings, 25, SHT_STRTAB, 0, strings.data(), strings.size());
  place(kSectionNames, 33, SHT_STRTAB, 0, kNames, sizeof kNames);
  out.resize((out.size() + 7) / 8 * 8);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = out.size();
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kSectionNames;
  std::memcpy(out.data(), &header, sizeof header);
  out.insert(out.end(), reinterpret_cast<const char*>(sections),
             reinterpret_cast<const char*>(sections) + sizeof sections);
  section_at->assign(kSections, nullptr);
  (*section_at)[kText] = reinterpret_cast<char*>(low);
  (*section_at)[kEhFrame] = const_cast<char*>(eh_frame.data());
  return out;
}

}  // namespace tenon::emit_llvm
