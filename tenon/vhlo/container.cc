#include "tenon/vhlo/container.h"

#include <array>
#include <optional>
#include <string>

namespace tenon::vhlo {
namespace {

enum SectionId : uint8_t {
  kStrings = 0,
  kDialects = 1,
  kData = 2,
  kOffsets = 3,
  kIr = 4,
  kResources = 5,
  kResourceOffsets = 6,
  kDialectVersion = 7,
  kProperties = 8,
  kSections = 9,
};
constexpr const char* kSectionNames[kSections] = {"string",   "dialect",         "attribute and type", "offset",  "IR",
                                                  "resource", "resource offset", "dialect version",    "property"};
constexpr uint64_t kNewestBytecode = 6;

Status Malformed(const std::string& what) { return InvalidArgument("malformed bytecode: " + what); }

// A section header and its contents. Alignment counts from the start of the file.
std::optional<std::string_view> ReadSection(Cursor& in, uint8_t* id) {
  const uint8_t head = in.Byte();
  const uint64_t length = in.VarInt();
  if (head & 0x80) {
    const uint64_t alignment = in.VarInt();
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > 4096) return std::nullopt;
    while (in.ok() && in.offset() % alignment != 0) {
      if (in.Byte() != 0xCB) return std::nullopt;
    }
  }
  *id = head & 0x7f;
  std::string_view bytes = in.Bytes(length);
  if (!in.ok()) return std::nullopt;
  return bytes;
}

Status ReadStrings(std::string_view section, Container& out) {
  Cursor in(section);
  const size_t count = in.Count(2);  // A length and the NUL that it counts.
  std::vector<uint64_t> lengths(count);
  for (size_t i = count; i-- > 0;) lengths[i] = in.VarInt();  // The last string's length comes first.
  out.strings.reserve(count);
  for (uint64_t length : lengths) {
    std::string_view text = in.Bytes(length);
    if (text.empty() || text.back() != '\0') return Malformed("a string without its NUL");
    out.strings.push_back(text.substr(0, text.size() - 1));
  }
  if (!in.Finished()) return Malformed("the string section's sizes do not add up");
  return OkStatus();
}

Status ReadDialects(std::string_view section, Container& out) {
  Cursor in(section);
  const size_t count = in.Count();
  out.dialects.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t value = in.VarInt();
    const bool has_version = out.version >= 1 && (value & 1);
    const uint64_t name = out.version >= 1 ? value >> 1 : value;
    if (!in.ok() || name >= out.strings.size()) return Malformed("dialect " + std::to_string(i) + " has no name");
    Container::Dialect dialect{out.strings[name], {}};
    if (has_version) {
      uint8_t id = 0;
      auto bytes = ReadSection(in, &id);
      if (!bytes || id != kDialectVersion) return Malformed("dialect " + std::to_string(i) + " has a broken version");
      dialect.version = *bytes;
    }
    out.dialects.push_back(dialect);
  }
  if (out.version >= 4) in.VarInt();  // The number of op names: no more than a hint.
  while (in.ok() && !in.AtEnd()) {
    const uint64_t dialect = in.VarInt();
    const size_t n = in.Count();
    if (!in.ok() || dialect >= out.dialects.size()) return Malformed("a group of op names has no dialect");
    for (size_t i = 0; i < n; ++i) {
      const uint64_t value = in.VarInt();
      const bool registered = out.version < 5 || (value & 1);
      const uint64_t name = out.version >= 5 ? value >> 1 : value;
      if (!in.ok() || name >= out.strings.size()) return Malformed("an op name is not in the string section");
      out.op_names.push_back({static_cast<uint32_t>(dialect), out.strings[name], registered});
    }
  }
  if (!in.Finished()) return Malformed("the dialect section ends early");
  return OkStatus();
}

Status ReadEntries(std::string_view offsets, std::string_view data, Container& out) {
  Cursor in(offsets);
  Cursor bytes(data);
  const size_t num_attrs = in.Count();
  const size_t num_types = in.Count();
  if (!in.ok()) return Malformed("more attributes or types than the offset section has room for");
  struct {
    std::vector<Container::Entry>* list;
    size_t count;
  } const kinds[] = {{&out.attrs, num_attrs}, {&out.types, num_types}};
  for (const auto& kind : kinds) {
    kind.list->reserve(kind.count);
    while (kind.list->size() < kind.count) {
      const uint64_t dialect = in.VarInt();
      const size_t n = in.Count();
      if (!in.ok() || dialect >= out.dialects.size() || n == 0 || n > kind.count - kind.list->size()) {
        return Malformed("a group of attributes or types is out of range");
      }
      for (size_t i = 0; i < n; ++i) {
        const uint64_t value = in.VarInt();
        std::string_view entry = bytes.Bytes(value >> 1);
        if (!in.ok() || !bytes.ok()) return Malformed("an attribute or type reaches past its section");
        kind.list->push_back({static_cast<uint32_t>(dialect), (value & 1) != 0, entry});
      }
    }
  }
  if (!in.Finished()) return Malformed("bytes left over in the offset section");
  return OkStatus();
}

Status ReadProperties(std::string_view section, Container& out) {
  Cursor in(section);
  const size_t count = in.Count();
  out.properties.reserve(count);
  for (size_t i = 0; i < count; ++i) out.properties.push_back(in.Blob());
  if (!in.Finished()) return Malformed("the property section's sizes do not add up");
  return OkStatus();
}

}  // namespace

Result<Container> ReadContainer(std::string_view bytes) {
  Container out;
  Cursor in(bytes);
  if (in.Bytes(kBytecodeMagic.size()) != kBytecodeMagic) return Malformed("it does not begin with ML\\xEFR");
  out.version = in.VarInt();
  out.producer = in.CString();
  if (!in.ok()) return Malformed("it ends in its header");
  if (out.version > kNewestBytecode) {
    return InvalidArgument("bytecode version " + std::to_string(out.version) +
                           " is newer than the newest that can be read, " + std::to_string(kNewestBytecode));
  }
  std::array<std::optional<std::string_view>, kSections> sections;
  while (!in.AtEnd()) {
    uint8_t id = 0;
    auto section = ReadSection(in, &id);
    if (!section || id >= kSections) return Malformed("a section header is broken or its section reaches past the end");
    if (sections[id]) return Malformed(std::string("two ") + kSectionNames[id] + " sections");
    sections[id] = section;
  }
  for (SectionId id : {kStrings, kDialects, kData, kOffsets, kIr}) {
    if (!sections[id]) return Malformed(std::string("no ") + kSectionNames[id] + " section");
  }
  if (sections[kResources] && !sections[kResources]->empty()) {
    return InvalidArgument("the bytecode has a resource section; resources are not supported in programs");
  }
  TENON_RETURN_IF_ERROR(ReadStrings(*sections[kStrings], out));
  TENON_RETURN_IF_ERROR(ReadDialects(*sections[kDialects], out));
  TENON_RETURN_IF_ERROR(ReadEntries(*sections[kOffsets], *sections[kData], out));
  if (sections[kProperties] && out.version >= 5) TENON_RETURN_IF_ERROR(ReadProperties(*sections[kProperties], out));
  out.ir = *sections[kIr];
  return out;
}

void SkipUseListOrder(Cursor& in, size_t num_values) {
  const size_t records = num_values > 1 ? in.Count() : 1;
  for (size_t i = 0; i < records && in.ok(); ++i) {
    if (num_values > 1) in.VarInt();
    const uint64_t n = in.VarInt() >> 1;
    if (n > in.left()) return in.Fail();
    for (uint64_t k = 0; k < n; ++k) in.VarInt();
  }
}

}  // namespace tenon::vhlo
