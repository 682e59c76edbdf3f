#include "tenon/dialect/vhlo/encoder.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Dialect.h"
#include "tenon/dialect/vhlo/container.h"

namespace tenon::vhlo {

uint64_t Encoder::String(llvm::StringRef text) {
  auto [it, fresh] = string_numbers_.try_emplace(text, strings_.size());
  if (fresh) strings_.push_back(text.str());
  return it->second;
}

uint64_t Encoder::Dialect(llvm::StringRef name) {
  auto [it, fresh] = dialect_numbers_.try_emplace(name, dialects_.size());
  if (fresh) dialects_.push_back(String(name));
  return it->second;
}

uint64_t Encoder::OpName(llvm::StringRef dialect, llvm::StringRef name) {
  auto [it, fresh] = op_numbers_.try_emplace((dialect + "." + name).str(), ops_.size());
  if (fresh) ops_.emplace_back(Dialect(dialect), String(name));
  return it->second;
}

uint64_t Encoder::Properties(std::string blob) {
  auto [it, fresh] = property_numbers_.try_emplace(blob, properties_.size());
  if (fresh) properties_.push_back(std::move(blob));
  return it->second;
}

uint64_t Encoder::Attr(mlir::Attribute attr, Form form) {
  if (!attr) {
    Fail("an attribute is missing");
    return 0;
  }
  // Attributes of other dialects have no portable form; they travel as they are.
  const llvm::StringRef dialect = attr.getDialect().getNamespace();
  if (form == Form::kPortable && dialect != "builtin" && dialect != "stablehlo") form = Form::kNative;
  auto [it, fresh] = attr_numbers_.try_emplace({attr, static_cast<unsigned>(form)}, attrs_.size());
  const uint64_t number = it->second;
  if (!fresh) return number;
  attrs_.emplace_back();  // Takes the number before the parts take theirs.
  Entry entry;
  Sink out;
  if (form == Form::kNative) {
    llvm::StringRef owner = EncodeNativeAttr(attr, out);
    entry.custom = !owner.empty();
    if (!entry.custom) {
      owner = dialect;
      std::string text;
      llvm::raw_string_ostream(text) << attr;
      out.Bytes(text);
      out.Byte(0);
    }
    entry.dialect = Dialect(owner);
  } else {
    EncodePortableAttr(attr, form, out);
    entry.dialect = Dialect("vhlo");
  }
  entry.bytes = out.Take();
  attrs_[number] = std::move(entry);
  return number;
}

uint64_t Encoder::Type(mlir::Type type, Form form) {
  auto [it, fresh] = type_numbers_.try_emplace({type, static_cast<unsigned>(form)}, types_.size());
  const uint64_t number = it->second;
  if (!fresh) return number;
  types_.emplace_back();
  Entry entry;
  Sink out;
  if (form == Form::kNative) {
    llvm::StringRef owner = EncodeNativeType(type, out);
    entry.custom = !owner.empty();
    if (!entry.custom) {
      owner = type.getDialect().getNamespace();
      std::string text;
      llvm::raw_string_ostream(text) << type;
      out.Bytes(text);
      out.Byte(0);
    }
    entry.dialect = Dialect(owner);
  } else {
    EncodePortableType(type, out);
    entry.dialect = Dialect("vhlo");
  }
  entry.bytes = out.Take();
  types_[number] = std::move(entry);
  return number;
}

void Encoder::Attrs(llvm::ArrayRef<mlir::Attribute> attrs, Form form, Sink& out) {
  out.VarInt(attrs.size());
  for (mlir::Attribute attr : attrs) out.VarInt(Attr(attr, form));
}

uint64_t Encoder::Dictionary(llvm::ArrayRef<std::pair<llvm::StringRef, uint64_t>> entries) {
  mlir::MLIRContext* context = nullptr;
  for (const auto& entry : attr_numbers_) {
    context = entry.first.first.getContext();
    break;
  }
  Sink out;
  out.VarInt(1);  // DictionaryAttr.
  out.VarInt(entries.size());
  for (const auto& [name, value] : entries) {
    out.VarInt(Attr(mlir::StringAttr::get(context, name), Form::kNative));
    out.VarInt(value);
  }
  auto [it, fresh] = dictionary_numbers_.try_emplace(out.bytes(), attrs_.size());
  if (fresh) attrs_.push_back({Dialect("builtin"), true, out.Take()});
  return it->second;
}

std::string Encoder::Assemble(std::string_view ir) const {
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
