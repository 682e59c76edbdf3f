#include "tenon/emit_llvm/internal/loader.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <vector>

#include "tenon/emit_llvm/internal/debug_registration.h"
#include "tenon/emit_llvm/internal/unwind.h"

namespace tenon::emit_llvm {
namespace {

constexpr size_t kStubBytes = 16;  // structural: jmp *[rip]; the address

/// Where code generation may call out to. Anything else that turns up is a bug in the emitter.
void* LibraryFunction(std::string_view name) {
  if (name == "memcpy") return reinterpret_cast<void*>(&memcpy);
  if (name == "memset") return reinterpret_cast<void*>(&memset);
  if (name == "memmove") return reinterpret_cast<void*>(&memmove);
  if (name == "fmod") return reinterpret_cast<void*>(static_cast<double (*)(double, double)>(&fmod));
  if (name == "fmodf") return reinterpret_cast<void*>(static_cast<float (*)(float, float)>(&fmodf));
  return nullptr;
}

size_t AlignUp(size_t n, size_t alignment) { return alignment <= 1 ? n : (n + alignment - 1) / alignment * alignment; }

/// The parts of the object that loading looks at, with every offset checked against its size.
struct Object {
  std::span<const char> bytes;
  const Elf64_Shdr* sections = nullptr;
  size_t num_sections = 0;

  static Result<Object> Open(std::span<const char> bytes) {
    Object o{.bytes = bytes};
    if (bytes.size() < sizeof(Elf64_Ehdr)) return Internal("object code is shorter than its header");
    const auto* header = reinterpret_cast<const Elf64_Ehdr*>(bytes.data());
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_machine != EM_X86_64 || header->e_type != ET_REL) {
      return Internal("object code is not a relocatable ELF64 x86-64 file");
    }
    if (header->e_shentsize != sizeof(Elf64_Shdr) ||
        !o.Contains(header->e_shoff, uint64_t{header->e_shnum} * sizeof(Elf64_Shdr))) {
      return Internal("object code has a damaged section table");
    }
    o.sections = reinterpret_cast<const Elf64_Shdr*>(bytes.data() + header->e_shoff);
    o.num_sections = header->e_shnum;
    for (size_t i = 0; i < o.num_sections; ++i) {
      const Elf64_Shdr& s = o.sections[i];
      if (s.sh_type != SHT_NOBITS && !o.Contains(s.sh_offset, s.sh_size)) {
        return Internal(fmt::format("section {} of the object code lies outside of it", i));
      }
    }
    return o;
  }
  bool Contains(uint64_t offset, uint64_t size) const {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  }
  template <class T>
  std::span<const T> Table(const Elf64_Shdr& s) const {
    return {reinterpret_cast<const T*>(bytes.data() + s.sh_offset), s.sh_size / sizeof(T)};
  }
  std::string_view Name(const Elf64_Shdr& strings, uint32_t at) const {
    if (at >= strings.sh_size) return {};
    const char* p = bytes.data() + strings.sh_offset + at;
    return {p, strnlen(p, strings.sh_size - at)};
  }
};

struct Relocator {
  char* base;
  std::vector<char*>& section_at;  // null for sections that are not loaded
  std::vector<size_t>& section_bytes;
  char* stubs;
  std::unordered_map<std::string, char*> stub_of;
  size_t num_stubs = 0;
  size_t max_stubs;

  Result<char*> StubFor(std::string_view name) {
    auto [it, fresh] = stub_of.try_emplace(std::string(name), nullptr);
    if (!fresh) return it->second;
    void* target = LibraryFunction(name);
    if (target == nullptr) return Internal(fmt::format("generated code calls '{}', which is not on the list", name));
    if (num_stubs == max_stubs) return Internal("generated code calls too many functions");
    char* stub = stubs + kStubBytes * num_stubs++;
    const unsigned char jump[6] = {0xff, 0x25, 0, 0, 0, 0};
    std::memcpy(stub, jump, sizeof jump);
    std::memcpy(stub + sizeof jump, &target, sizeof target);
    it->second = stub;
    return stub;
  }

  Status Apply(uint32_t type, char* place, size_t room, char* symbol, int64_t addend) {
    const auto value = reinterpret_cast<int64_t>(symbol) + addend;
    if (type == R_X86_64_64) {
      if (room < sizeof(value)) return Internal("a relocation lies outside of its section");
      std::memcpy(place, &value, 8);
      return OkStatus();
    }
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32)
      return Internal(fmt::format("relocation type {} is not known", type));
    if (room < 4) return Internal("a relocation lies outside of its section");
    const int64_t distance = value - reinterpret_cast<int64_t>(place);
    if (distance != static_cast<int32_t>(distance)) return Internal("a relocation does not reach its target");
    const auto narrow = static_cast<int32_t>(distance);
    std::memcpy(place, &narrow, 4);
    return OkStatus();
  }
};

}  // namespace

Result<std::shared_ptr<const LoadedCode>> LoadedCode::Load(std::span<const char> bytes) {
  TENON_ASSIGN_OR_RETURN(Object object, Object::Open(bytes));
  std::vector<size_t> offset(object.num_sections, ~size_t{0});
  std::vector<size_t> section_bytes(object.num_sections, 0);
  size_t total = 0;
  size_t num_relocations = 0;
  const Elf64_Shdr* symbols = nullptr;
  for (size_t i = 0; i < object.num_sections; ++i) {
    const Elf64_Shdr& s = object.sections[i];
    if (s.sh_type == SHT_SYMTAB) symbols = &s;
    if (s.sh_type == SHT_RELA) num_relocations += s.sh_size / sizeof(Elf64_Rela);
    if (!(s.sh_flags & SHF_ALLOC) || s.sh_size == 0 || s.sh_type == SHT_X86_64_UNWIND) continue;
    if (s.sh_flags & SHF_WRITE) return Internal("generated code has writable data");
    total = AlignUp(total, s.sh_addralign);
    offset[i] = total;
    section_bytes[i] = s.sh_size;
    total += s.sh_size;
  }
  if (symbols == nullptr || symbols->sh_link >= object.num_sections) return Internal("object code has no symbols");
  const size_t max_stubs = std::min<size_t>(num_relocations, 8);  // structural: what kernels call
  const size_t stubs_at = AlignUp(total, 64);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t mapped = AlignUp(stubs_at + kStubBytes * max_stubs, page);

  std::shared_ptr<LoadedCode> code(new LoadedCode);
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return ResourceExhausted(fmt::format("no {} bytes for code: {}", mapped, strerror(errno)));
  code->memory_ = memory;
  code->bytes_ = mapped;
  char* base = static_cast<char*>(memory);
  std::vector<char*> section_at(object.num_sections, nullptr);
  for (size_t i = 0; i < object.num_sections; ++i) {
    if (offset[i] == ~size_t{0}) continue;
    section_at[i] = base + offset[i];
    if (object.sections[i].sh_type != SHT_NOBITS) {
      std::memcpy(section_at[i], bytes.data() + object.sections[i].sh_offset, section_bytes[i]);
    }
  }

  const std::span<const Elf64_Sym> table = object.Table<Elf64_Sym>(*symbols);
  const Elf64_Shdr& strings = object.sections[symbols->sh_link];
  Relocator relocator{base, section_at, section_bytes, base + stubs_at, {}, 0, max_stubs};
  for (size_t i = 0; i < object.num_sections; ++i) {
    const Elf64_Shdr& s = object.sections[i];
    if (s.sh_type != SHT_RELA || s.sh_info >= object.num_sections || section_at[s.sh_info] == nullptr) continue;
    for (const Elf64_Rela& r : object.Table<Elf64_Rela>(s)) {
      const uint64_t index = ELF64_R_SYM(r.r_info);
      if (index >= table.size() || r.r_offset >= section_bytes[s.sh_info])
        return Internal("object code has a damaged relocation");
      const Elf64_Sym& symbol = table[index];
      char* target = nullptr;
      if (symbol.st_shndx == SHN_UNDEF) {
        TENON_ASSIGN_OR_RETURN(target, relocator.StubFor(object.Name(strings, symbol.st_name)));
      } else if (symbol.st_shndx < object.num_sections && section_at[symbol.st_shndx] != nullptr) {
        target = section_at[symbol.st_shndx] + symbol.st_value;
      } else {
        return Internal("object code refers to a section that is not loaded");
      }
      TENON_RETURN_IF_ERROR(relocator.Apply(ELF64_R_TYPE(r.r_info), section_at[s.sh_info] + r.r_offset,
                                            section_bytes[s.sh_info] - r.r_offset, target, r.r_addend));
    }
  }
  if (mprotect(memory, mapped, PROT_READ | PROT_EXEC) != 0) {
    return Internal(fmt::format("code pages cannot be made executable: {}", strerror(errno)));
  }
  for (const Elf64_Sym& symbol : table) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx >= object.num_sections ||
        section_at[symbol.st_shndx] == nullptr) {
      continue;
    }
    if (symbol.st_value >= section_bytes[symbol.st_shndx]) return Internal("object code has a damaged symbol");
    code->functions_.emplace(object.Name(strings, symbol.st_name), Symbol{section_at[symbol.st_shndx] + symbol.st_value,
                                                                          static_cast<int64_t>(symbol.st_size)});
  }
  for (const auto& [name, symbol] : code->functions_) {
    WritePerfMap(name, symbol.address, symbol.size_bytes);
    WriteJitDump(name, symbol.address, symbol.size_bytes);
  }
  code->debugger_entry_ = RegisterWithDebugger(bytes, section_at);
  return std::shared_ptr<const LoadedCode>(std::move(code));
}

Result<std::shared_ptr<const LoadedCode>> LoadedCode::Place(std::span<const Piece> pieces) {
  constexpr size_t kAlignment = 64;  // structural: a cache line
  size_t total = 0;
  for (const Piece& piece : pieces) total += AlignUp(piece.bytes.size(), kAlignment);
  std::shared_ptr<LoadedCode> code(new LoadedCode);
  const size_t mapped = AlignUp(total, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return ResourceExhausted(fmt::format("no {} bytes for code: {}", mapped, strerror(errno)));
  code->memory_ = memory;
  code->bytes_ = mapped;
  std::vector<UnwindFunction> unwind;
  char* at = static_cast<char*>(memory);
  for (const Piece& piece : pieces) {
    std::memcpy(at, piece.bytes.data(), piece.bytes.size());
    const Symbol symbol{at, static_cast<int64_t>(piece.bytes.size())};
    code->functions_.emplace(piece.name, symbol);
    WritePerfMap(piece.name, symbol.address, symbol.size_bytes);
    WriteJitDump(piece.name, symbol.address, piece.text_bytes);
    unwind.push_back({piece.name, at, piece.text_bytes, piece.cfi});
    at += AlignUp(piece.bytes.size(), kAlignment);
  }
  if (mprotect(memory, mapped, PROT_READ | PROT_EXEC) != 0) {
    return Internal(fmt::format("code pages cannot be made executable: {}", strerror(errno)));
  }
  std::vector<char> eh_frame = MakeEhFrame(unwind);
  if (DebuggerWanted()) {
    std::vector<char*> section_at;
    const std::vector<char> object = MakeDebugElf(unwind, eh_frame, &section_at);
    code->debugger_entry_ = RegisterWithDebugger(object, section_at);
  }
  code->eh_frame_ = std::move(eh_frame);
  RegisterEhFrame(code->eh_frame_);
  return std::shared_ptr<const LoadedCode>(std::move(code));
}

LoadedCode::~LoadedCode() {
  UnregisterWithDebugger(debugger_entry_);
  UnregisterEhFrame(eh_frame_);
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

LoadedCode::Symbol LoadedCode::Find(std::string_view name) const {
  auto it = functions_.find(std::string(name));
  return it == functions_.end() ? Symbol{} : it->second;
}

}  // namespace tenon::emit_llvm
