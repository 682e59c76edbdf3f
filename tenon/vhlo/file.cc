#include "tenon/vhlo/file.h"

#include "tenon/vhlo/table.h"
#include "tenon/vhlo/wire.h"

namespace tenon::vhlo {

File::File(Version target) : target_(target), bytecode_(BytecodeVersion(target)) {}

uint64_t File::String(std::string_view text) {
  const auto [it, fresh] = string_numbers_.try_emplace(std::string(text), strings_.size());
  if (fresh) strings_.emplace_back(text);
  return it->second;
}

uint64_t File::Dialect(std::string_view name) {
  const auto [it, fresh] = dialect_numbers_.try_emplace(std::string(name), dialects_.size());
  if (fresh) dialects_.push_back(String(name));
  return it->second;
}

uint64_t File::OpName(std::string_view dialect, std::string_view name) {
  const auto [it, fresh] = op_numbers_.try_emplace(std::string(dialect).append(".").append(name), ops_.size());
  if (fresh) ops_.emplace_back(Dialect(dialect), String(name));
  return it->second;
}

uint64_t File::Properties(std::string blob) {
  const auto [it, fresh] = property_numbers_.try_emplace(blob, properties_.size());
  if (fresh) properties_.push_back(std::move(blob));
  return it->second;
}

uint64_t File::Reserve(Kind kind) {
  list(kind).emplace_back();
  return list(kind).size() - 1;
}

uint64_t File::Add(Kind kind, Entry entry) {
  std::string key = std::to_string(entry.dialect).append(entry.custom ? "," : ";").append(entry.bytes);
  std::vector<Entry>& entries = list(kind);
  const auto [it, fresh] = entry_numbers_[static_cast<size_t>(kind)].try_emplace(std::move(key), entries.size());
  if (fresh) entries.push_back(std::move(entry));
  return it->second;
}

std::string File::Assemble(std::string_view ir) const {
  const auto version = static_cast<uint64_t>(bytecode_);
  Sink file;
  file.Bytes(kBytecodeMagic);
  file.VarInt(version);
  file.Bytes(kPortableProducer);
  file.Bytes(target_.ToString());
  file.Byte(0);

  Sink strings;
  strings.VarInt(strings_.size());
  for (size_t i = strings_.size(); i-- > 0;) strings.VarInt(strings_[i].size() + 1);
  for (const std::string& s : strings_) {
    strings.Bytes(s);
    strings.Byte(0);
  }
  file.Section(0, strings.bytes());

  Sink dialects;
  dialects.VarInt(dialects_.size());
  for (uint64_t name : dialects_) dialects.VarInt(version >= 1 ? name << 1 : name);
  if (version >= 4) dialects.VarInt(ops_.size());
  for (size_t i = 0; i < ops_.size();) {
    size_t end = i;
    while (end < ops_.size() && ops_[end].first == ops_[i].first) ++end;
    dialects.VarInt(ops_[i].first);
    dialects.VarInt(end - i);
    for (; i < end; ++i) dialects.VarInt(version >= 5 ? ops_[i].second << 1 | 1 : ops_[i].second);
  }
  file.Section(1, dialects.bytes());

  Sink data;
  Sink offsets;
  offsets.VarInt(attrs_.size());
  offsets.VarInt(types_.size());
  for (const std::vector<Entry>* list : {&attrs_, &types_}) {
    for (size_t i = 0; i < list->size();) {
      size_t end = i;
      while (end < list->size() && (*list)[end].dialect == (*list)[i].dialect) ++end;
      offsets.VarInt((*list)[i].dialect);
      offsets.VarInt(end - i);
      for (; i < end; ++i) {
        const Entry& entry = (*list)[i];
        offsets.VarInt(uint64_t{entry.bytes.size()} << 1 | (entry.custom ? 1 : 0));
        data.Bytes(entry.bytes);
      }
    }
  }
  file.Section(2, data.bytes());
  file.Section(3, offsets.bytes());
  file.Section(4, ir);
  if (version >= 5) {
    Sink properties;
    properties.VarInt(properties_.size());
    for (const std::string& blob : properties_) properties.Blob(blob);
    file.Section(8, properties.bytes());
  }
  return file.Take();
}

}  // namespace tenon::vhlo
