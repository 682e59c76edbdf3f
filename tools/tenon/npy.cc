#include "tools/tenon/npy.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#ifdef TENON_CLI_ZLIB
#include <zlib.h>
#endif

namespace tenon::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

template <class T>
T Little(std::string_view bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << (8 * i));
  return value;
}
template <class T>
void AppendLittle(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

// The text behind 'key': in the header's dictionary, up to the comma that ends it.
Result<std::string_view> ValueOf(std::string_view header, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = fmt::format("{}{}{}", quote, key, quote);
    size_t at = header.find(quoted);
    if (at == header.npos) continue;
    at = header.find(':', at + quoted.size());
    if (at == header.npos) break;
    ++at;
    while (at < header.size() && header[at] == ' ') ++at;
    size_t end = at;
    for (int depth = 0; end < header.size(); ++end) {
      const char c = header[end];
      depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
      if (depth == 0 && (c == ',' || c == '}')) break;
    }
    return header.substr(at, end - at);
  }
  return InvalidArgument(fmt::format("its header lacks '{}'", key));
}

struct Descr {
  DType type;
  bool swap;  // big-endian
};

Result<Descr> ParseDescr(std::string_view text, DType wanted) {
  if (text.size() < 4 || (text.front() != '\'' && text.front() != '"')) {
    return InvalidArgument(fmt::format("its elements are {}, which is no simple type", text));
  }
  const std::string_view descr = text.substr(1, text.size() - 2);
  const std::string_view kind = descr.substr(1);
  const bool swap = descr.front() == '>';
  constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"b1", DType::kPred}, {"i1", DType::kS8},  {"i2", DType::kS16}, {"i4", DType::kS32},  {"i8", DType::kS64},
      {"u1", DType::kU8},   {"u2", DType::kU16}, {"u4", DType::kU32}, {"u8", DType::kU64},  {"f2", DType::kF16},
      {"f4", DType::kF32},  {"f8", DType::kF64}, {"c8", DType::kC64}, {"c16", DType::kC128}};
  for (const auto& [name, type] : kTypes) {
    if (kind != name) continue;
    // Types narrower than a byte are kept as bytes.
    const bool narrow = (type == DType::kS8 || type == DType::kU8) && DTypeBits(wanted) < 8 && IsInteger(wanted) &&
                        IsSigned(wanted) == (type == DType::kS8);
    return Descr{narrow ? wanted : type, swap && ByteWidth(type) > 1};
  }
  if (kind == "V1" || kind == "V2") {
    const int width = kind == "V1" ? 1 : 2;
    if (wanted != DType::kInvalid && ByteWidth(wanted) == width && IsFloat(wanted)) return Descr{wanted, false};
    return InvalidArgument(fmt::format("its elements are raw bytes ({}): name the type in front, as in {}@FILE", descr,
                                       width == 2 ? "bf16" : "f8e4m3fn"));
  }
  return InvalidArgument(
      fmt::format("its elements are '{}', wanted booleans, integers, floats or complex numbers", descr));
}

Result<Dims> ParseTuple(std::string_view text) {
  Dims dims;
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    return InvalidArgument(fmt::format("its shape is '{}'", text));
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view digits = text.substr(0, comma);
    while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (digits.empty() && text.empty()) break;  // (3,)
    int64_t extent = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), extent);
    if (error != std::errc() || end != digits.data() + digits.size() || extent < 0)
      return InvalidArgument(fmt::format("its shape has the extent '{}'", digits));
    dims.push_back(extent);
  }
  return dims;
}

// Column-major bytes in row-major order.
std::vector<std::byte> FromColumns(const std::vector<std::byte>& columns, const Shape& shape) {
  std::vector<std::byte> rows(columns.size());
  const auto width = static_cast<size_t>(ByteWidth(shape.dtype));
  const size_t rank = shape.dims.size();
  std::vector<int64_t> index(rank, 0);
  for (size_t i = 0; i * width < rows.size(); ++i) {
    size_t from = 0, stride = 1;
    for (size_t d = 0; d < rank; ++d) {
      from += static_cast<size_t>(index[d]) * stride;
      stride *= static_cast<size_t>(shape.dims[d]);
    }
    std::memcpy(rows.data() + i * width, columns.data() + from * width, width);
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < shape.dims[d]) break;
      index[d] = 0;
    }
  }
  return rows;
}

uint32_t Crc(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c >> 1) ^ ((c & 1) != 0 ? 0xedb88320u : 0);
      t[i] = c;
    }
    return t;
  }();
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

Result<std::string> Inflate(std::string_view bytes, size_t size) {
#ifdef TENON_CLI_ZLIB
  // Deflate makes at most 1032 bytes of one: sizes beyond it are not believed. zlib's counters have 32 bits.
  constexpr size_t kMost = 0xffffffff;
  if (size / 1032 > bytes.size()) return InvalidArgument("its compressed data are damaged");
  if (bytes.size() > kMost || size > kMost)
    return Unimplemented("it has more than 4 GiB in compressed form: write it with numpy.savez or as .npy files");
  std::string out(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Internal("zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = inflate(&stream, Z_FINISH);
  const bool whole = code == Z_STREAM_END && stream.total_out == size;
  inflateEnd(&stream);
  if (!whole) return InvalidArgument("its compressed data are damaged");
  return out;
#else
  return Unimplemented(
      "it is compressed, and this build has no zlib: write it with numpy.savez instead of savez_compressed");
#endif
}

}  // namespace

Result<Array> ParseNpy(std::string_view bytes, DType wanted) {
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic)
    return InvalidArgument("it is no .npy file: the first bytes are not \\x93NUMPY");
  const int version = static_cast<unsigned char>(bytes[6]);
  const size_t start = version == 1 ? 10 : 12;
  if (version < 1 || version > 3 || bytes.size() < start)
    return InvalidArgument(fmt::format("its .npy version is {}, wanted 1 to 3", version));
  const size_t length = version == 1 ? Little<uint16_t>(bytes, 8) : Little<uint32_t>(bytes, 8);
  if (bytes.size() - start < length) return InvalidArgument("it ends within its header");
  const std::string_view header = bytes.substr(start, length);
  TENON_ASSIGN_OR_RETURN(const std::string_view descr_text, ValueOf(header, "descr"));
  TENON_ASSIGN_OR_RETURN(const std::string_view order, ValueOf(header, "fortran_order"));
  TENON_ASSIGN_OR_RETURN(const std::string_view shape_text, ValueOf(header, "shape"));
  TENON_ASSIGN_OR_RETURN(const Descr descr, ParseDescr(descr_text, wanted));
  TENON_ASSIGN_OR_RETURN(const Dims dims, ParseTuple(shape_text));
  const Shape shape{descr.type, dims};
  const std::string_view data = bytes.substr(start + length);
  TENON_ASSIGN_OR_RETURN(const int64_t size, CheckedSizeBytes(shape));
  if (data.size() != static_cast<size_t>(size)) {
    return InvalidArgument(fmt::format("{} takes {} bytes, it has {}", ToString(shape), size, data.size()));
  }
  Array array{shape, std::vector<std::byte>(data.size())};
  if (!data.empty()) std::memcpy(array.bytes.data(), data.data(), data.size());
  if (DTypeBits(descr.type) < 8 && descr.type != DType::kPred) {
    // A value per byte, which may be one that the type does not have.
    for (const std::byte byte : array.bytes) {
      const int value = IsSigned(descr.type) ? static_cast<signed char>(byte) : static_cast<unsigned char>(byte);
      const int bits = DTypeBits(descr.type) - (IsSigned(descr.type) ? 1 : 0);
      if (value >= (1 << bits) || value < (IsSigned(descr.type) ? -(1 << bits) : 0))
        return InvalidArgument(fmt::format("its value {} does not fit into {}", value, DTypeName(descr.type)));
    }
  }
  if (descr.swap) {
    const size_t width = static_cast<size_t>(ByteWidth(descr.type)) / (IsComplex(descr.type) ? 2 : 1);
    for (size_t i = 0; i < array.bytes.size(); i += width) {
      std::reverse(array.bytes.begin() + static_cast<ptrdiff_t>(i),
                   array.bytes.begin() + static_cast<ptrdiff_t>(i + width));
    }
  }
  if (order.starts_with("True") && dims.size() > 1) array.bytes = FromColumns(array.bytes, shape);
  return array;
}

std::string ToNpy(const Array& array) {
  const DType type = array.shape.dtype;
  const int width = ByteWidth(type);
  std::string descr;
  if (type == DType::kPred)
    descr = "|b1";
  else if (IsInteger(type))
    descr = fmt::format("{}{}{}", width == 1 ? '|' : '<', IsSigned(type) ? 'i' : 'u', width);
  else if (type == DType::kF16 || type == DType::kF32 || type == DType::kF64)
    descr = fmt::format("<f{}", width);
  else if (IsComplex(type))
    descr = fmt::format("<c{}", width);
  else
    descr = fmt::format("|V{}", width);
  std::string shape;
  for (const int64_t extent : array.shape.dims) shape += fmt::format("{}, ", extent);
  if (array.shape.dims.size() > 1)
    shape.resize(shape.size() - 2);
  else if (array.shape.dims.size() == 1)
    shape.resize(shape.size() - 1);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  // Data begin at a multiple of 64.
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\x00';
  AppendLittle(out, static_cast<uint16_t>(header.size()));
  out += header;
  out.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> ParseNpz(std::string_view bytes) {
  // The directory is found from its end record, which a comment of at most 64 KiB may follow.
  constexpr size_t kEndSize = 22;
  const Status no_zip = InvalidArgument("it is no .npz file: it has no zip directory");
  if (bytes.size() < kEndSize) return no_zip;
  size_t end = bytes.size() - kEndSize;
  while (bytes.substr(end, 4) != "PK\x05\x06") {
    if (end == 0 || bytes.size() - end > kEndSize + 0xffff) return no_zip;
    --end;
  }
  const size_t count = Little<uint16_t>(bytes, end + 10);
  size_t at = Little<uint32_t>(bytes, end + 16);
  std::vector<std::pair<std::string, std::string>> members;
  for (size_t i = 0; i < count; ++i) {
    const Status damaged = InvalidArgument("its zip directory is damaged");
    if (at > bytes.size() || bytes.size() - at < 46 || bytes.substr(at, 4) != std::string_view("PK\x01\x02", 4))
      return damaged;
    const auto method = Little<uint16_t>(bytes, at + 10);
    const auto crc = Little<uint32_t>(bytes, at + 16);
    uint64_t compressed = Little<uint32_t>(bytes, at + 20), size = Little<uint32_t>(bytes, at + 24);
    uint64_t local = Little<uint32_t>(bytes, at + 42);
    const size_t name_size = Little<uint16_t>(bytes, at + 28), extra_size = Little<uint16_t>(bytes, at + 30);
    const size_t comment_size = Little<uint16_t>(bytes, at + 32);
    if (bytes.size() - at - 46 < name_size + extra_size + comment_size) return damaged;
    std::string name(bytes.substr(at + 46, name_size));
    // Sizes beyond 32 bits stand in an extra field, in this order.
    std::string_view extra = bytes.substr(at + 46 + name_size, extra_size);
    while (extra.size() >= 4) {
      const size_t length = Little<uint16_t>(extra, 2);
      if (extra.size() - 4 < length) return damaged;
      if (Little<uint16_t>(extra, 0) == 1) {
        size_t from = 4;
        for (uint64_t* value : {&size, &compressed, &local}) {
          if (*value != 0xffffffff) continue;
          if (from + 8 > 4 + length) return damaged;
          *value = Little<uint64_t>(extra, from);
          from += 8;
        }
      }
      extra.remove_prefix(4 + length);
    }
    at += 46 + name_size + extra_size + comment_size;
    if (local > bytes.size() || bytes.size() - local < 30) return damaged;
    const size_t data = local + 30 + Little<uint16_t>(bytes, local + 26) + Little<uint16_t>(bytes, local + 28);
    if (data > bytes.size() || bytes.size() - data < compressed)
      return InvalidArgument(fmt::format("it ends within '{}'", name));
    std::string content;
    constexpr uint64_t kMost = uint64_t{1} << 36;
    if (size > kMost || (method == 0 && size != compressed)) return damaged;
    if (method == 0) {
      content = bytes.substr(data, compressed);
    } else if (method == 8) {
      Result<std::string> inflated = Inflate(bytes.substr(data, compressed), size);
      if (!inflated.ok()) return inflated.status();
      content = std::move(inflated).value();
    } else {
      return Unimplemented(fmt::format("'{}' is compressed by method {}, wanted stored or deflated", name, method));
    }
    if (Crc(content) != crc) return InvalidArgument(fmt::format("the checksum of '{}' is wrong", name));
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    members.emplace_back(std::move(name), std::move(content));
  }
  return members;
}

std::string ToNpz(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string out, directory;
  for (const auto& [key, content] : members) {
    const std::string name = key + ".npy";
    const auto offset = static_cast<uint32_t>(out.size());
    std::string common;
    AppendLittle<uint16_t>(common, 20);  // version
    AppendLittle<uint16_t>(common, 0);
    AppendLittle<uint16_t>(common, 0);           // stored
    AppendLittle<uint32_t>(common, 0x00210000);  // the first day of 1980: the same bytes for the same arrays
    AppendLittle<uint32_t>(common, Crc(content));
    AppendLittle<uint32_t>(common, static_cast<uint32_t>(content.size()));
    AppendLittle<uint32_t>(common, static_cast<uint32_t>(content.size()));
    AppendLittle<uint16_t>(common, static_cast<uint16_t>(name.size()));
    AppendLittle<uint16_t>(common, 0);
    out.append("PK\x03\x04", 4);
    out += common + name + content;
    directory.append("PK\x01\x02", 4);
    AppendLittle<uint16_t>(directory, 20);
    directory += common;
    AppendLittle<uint16_t>(directory, 0);
    AppendLittle<uint16_t>(directory, 0);
    AppendLittle<uint16_t>(directory, 0);
    AppendLittle<uint32_t>(directory, 0);
    AppendLittle<uint32_t>(directory, offset);
    directory += name;
  }
  const auto start = static_cast<uint32_t>(out.size());
  out += directory;
  out.append("PK\x05\x06", 4);
  AppendLittle<uint32_t>(out, 0);
  AppendLittle<uint16_t>(out, static_cast<uint16_t>(members.size()));
  AppendLittle<uint16_t>(out, static_cast<uint16_t>(members.size()));
  AppendLittle<uint32_t>(out, static_cast<uint32_t>(directory.size()));
  AppendLittle<uint32_t>(out, start);
  AppendLittle<uint16_t>(out, 0);
  return out;
}

Result<std::string> ReadFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return InvalidArgument(fmt::format("'{}' is a folder, wanted a file", path));
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    const std::string message = fmt::format("cannot read '{}': {}", path, std::strerror(errno));
    return errno == ENOENT ? NotFound(message) : PermissionDenied(message);
  }
  // Files without an end (/dev/zero) must not take all memory.
  const size_t most = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) / 2 * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::string bytes;
  char block[1 << 16];
  while (const size_t n = bytes.size() > most ? 0 : std::fread(block, 1, sizeof(block), file)) bytes.append(block, n);
  const int error = std::ferror(file) != 0 ? errno : 0;
  if (file != stdin) std::fclose(file);
  if (error != 0) return Internal(fmt::format("reading '{}' failed: {}", path, std::strerror(error)));
  if (bytes.size() > most)
    return ResourceExhausted(
        fmt::format("'{}' does not end within {} bytes, half of this machine's memory", path, most));
  return bytes;
}

Status CheckWritable(const std::string& path) {
  if (path.empty() || path == "-") return OkStatus();
  const auto refused = [&](const char* why) {
    return PermissionDenied(fmt::format("cannot write '{}': {}", path, why));
  };
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return refused("it is a folder");
    return access(path.c_str(), W_OK) == 0 ? OkStatus() : refused(std::strerror(errno));
  }
  const size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
  if (stat(folder.c_str(), &info) != 0) return refused(std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) return refused("its folder is none");
  return access(folder.c_str(), W_OK) == 0 ? OkStatus() : refused(std::strerror(errno));
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (file == nullptr) return PermissionDenied(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  bool good = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  good = (file == stdout ? std::fflush(file) : std::fclose(file)) == 0 && good;
  if (!good) return ResourceExhausted(fmt::format("writing '{}' failed: {}", path, std::strerror(errno)));
  return OkStatus();
}

}  // namespace tenon::cli
