#include "tenon/plugin/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tenon::plugin {

namespace {

// The serialized form: little-endian 64-bit integers, and texts as a length and bytes, behind a magic word.
constexpr std::string_view kMagic = "TENONTOPOLOGY1";

class Writer {
 public:
  void Text(std::string_view text) {
    Int(static_cast<int64_t>(text.size()));
    out_.append(text);
  }
  void Int(int64_t value) {
    for (int i = 0; i < 8; ++i) out_.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  void Values(const std::vector<NamedValue>& values) {
    Int(static_cast<int64_t>(values.size()));
    for (const NamedValue& v : values) {
      Text(v.name);
      Int(static_cast<int64_t>(v.value.index()));
      if (const auto* text = std::get_if<std::string>(&v.value)) {
        Text(*text);
      } else if (const auto* number = std::get_if<int64_t>(&v.value)) {
        Int(*number);
      } else if (const auto* list = std::get_if<std::vector<int64_t>>(&v.value)) {
        Int(static_cast<int64_t>(list->size()));
        for (int64_t x : *list) Int(x);
      } else if (const auto* real = std::get_if<float>(&v.value)) {
        uint32_t bits;
        std::memcpy(&bits, real, sizeof(bits));
        Int(bits);
      } else {
        Int(std::get<bool>(v.value) ? 1 : 0);
      }
    }
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  int64_t Int() {
    if (rest_.size() < 8) return Fail();
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value |= static_cast<uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    rest_.remove_prefix(8);
    return static_cast<int64_t>(value);
  }
  std::string Text() {
    int64_t size = Int();
    if (!ok_ || size < 0 || static_cast<uint64_t>(size) > rest_.size()) return Fail(), std::string();
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  // A length that its elements, of at least 8 bytes, can still follow.
  int64_t Count() {
    int64_t count = Int();
    if (!ok_ || count < 0 || static_cast<uint64_t>(count) > rest_.size() / 8) return Fail();
    return count;
  }
  std::vector<NamedValue> Values() {
    std::vector<NamedValue> values;
    for (int64_t n = Count(); ok_ && n > 0; --n) {
      NamedValue v;
      v.name = Text();
      switch (Int()) {
        case 0:
          v.value = Text();
          break;
        case 1:
          v.value = Int();
          break;
        case 2: {
          std::vector<int64_t> list;
          for (int64_t k = Count(); ok_ && k > 0; --k) list.push_back(Int());
          v.value = std::move(list);
          break;
        }
        case 3: {
          uint32_t bits = static_cast<uint32_t>(Int());
          float real;
          std::memcpy(&real, &bits, sizeof(real));
          v.value = real;
          break;
        }
        case 4:
          v.value = Int() != 0;
          break;
        default:
          Fail();
      }
      values.push_back(std::move(v));
    }
    return values;
  }

 private:
  int64_t Fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

Topology::Topology(Info info) : info_(std::move(info)), attributes_(info_.attributes) {
  for (const auto& device : info_.devices) {
    descriptions_.push_back(device.get());
    for (const MemoryKind* kind : device->memory_kinds()) {
      if (std::find(memory_kind_ids_.begin(), memory_kind_ids_.end(), kind->id) == memory_kind_ids_.end()) {
        memory_kind_ids_.push_back(kind->id);
      }
    }
  }
}

Result<std::string> Topology::Serialize() const {
  Writer w;
  w.Text(kMagic);
  w.Text(info_.platform_name);
  w.Text(info_.platform_version);
  w.Values(info_.attributes);
  w.Int(static_cast<int64_t>(info_.devices.size()));
  for (const auto& device : info_.devices) {
    const DeviceDescription::Info& d = device->info();
    w.Int(d.id);
    w.Int(d.process_index);
    w.Text(d.kind);
    w.Text(d.to_string);
    w.Text(d.debug_string);
    w.Values(d.attributes);
    w.Int(static_cast<int64_t>(d.memory_kinds.size()));
    for (const MemoryKind& kind : d.memory_kinds) {
      w.Text(kind.name);
      w.Int(kind.id);
    }
    w.Int(d.default_memory_kind);
  }
  return w.Take();
}

Result<Topology::Info> Topology::ParseInfo(std::string_view bytes) {
  Reader r(bytes);
  Info info;
  if (r.Text() != kMagic) return InvalidArgument("the bytes are not a topology that this build serialized");
  info.platform_name = r.Text();
  info.platform_version = r.Text();
  info.attributes = r.Values();
  for (int64_t n = r.Count(); r.ok() && n > 0; --n) {
    DeviceDescription::Info d;
    d.id = static_cast<int>(r.Int());
    d.process_index = static_cast<int>(r.Int());
    d.kind = r.Text();
    d.to_string = r.Text();
    d.debug_string = r.Text();
    d.attributes = r.Values();
    for (int64_t k = r.Count(); r.ok() && k > 0; --k) {
      std::string name = r.Text();
      d.memory_kinds.push_back(MemoryKind{std::move(name), static_cast<int>(r.Int())});
    }
    d.default_memory_kind = static_cast<int>(r.Int());
    if (d.default_memory_kind < -1 || d.default_memory_kind >= static_cast<int>(d.memory_kinds.size())) {
      return InvalidArgument(
          fmt::format("device {} of the topology has no memory kind {}", d.id, d.default_memory_kind));
    }
    info.devices.push_back(std::make_shared<DeviceDescription>(std::move(d)));
  }
  if (!r.ok() || !r.at_end()) return InvalidArgument("the bytes of the topology are damaged");
  return info;
}

Result<uint64_t> Topology::Fingerprint() const {
  TENON_ASSIGN_OR_RETURN(std::string bytes, Serialize());
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace tenon::plugin
