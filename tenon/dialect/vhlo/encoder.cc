#include "tenon/dialect/vhlo/encoder.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Dialect.h"
#include "tenon/vhlo/container.h"

namespace tenon::vhlo {

uint64_t Encoder::Attr(mlir::Attribute attr, Form form) {
  if (!attr) {
    Fail("an attribute is missing");
    return 0;
  }
  // Attributes of other dialects have no portable form; they travel as they are.
  const llvm::StringRef dialect = attr.getDialect().getNamespace();
  if (form == Form::kPortable && dialect != "builtin" && dialect != "stablehlo") form = Form::kNative;
  auto [it, fresh] = attr_numbers_.try_emplace({attr, static_cast<unsigned>(form)}, 0);
  if (!fresh) return it->second;
  const uint64_t number = it->second = file_.Reserve(File::Kind::kAttr);  // Before the parts take theirs.
  File::Entry entry;
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
    entry.dialect = file_.Dialect({owner.data(), owner.size()});
  } else {
    EncodePortableAttr(attr, form, out);
    entry.dialect = file_.Dialect("vhlo");
  }
  entry.bytes = out.Take();
  file_.Fill(File::Kind::kAttr, number, std::move(entry));
  return number;
}

uint64_t Encoder::Type(mlir::Type type, Form form) {
  auto [it, fresh] = type_numbers_.try_emplace({type, static_cast<unsigned>(form)}, 0);
  if (!fresh) return it->second;
  const uint64_t number = it->second = file_.Reserve(File::Kind::kType);
  File::Entry entry;
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
    entry.dialect = file_.Dialect({owner.data(), owner.size()});
  } else {
    EncodePortableType(type, out);
    entry.dialect = file_.Dialect("vhlo");
  }
  entry.bytes = out.Take();
  file_.Fill(File::Kind::kType, number, std::move(entry));
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
  return file_.Add(File::Kind::kAttr, {file_.Dialect("builtin"), true, out.Take()});
}

}  // namespace tenon::vhlo
