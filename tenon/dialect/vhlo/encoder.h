#pragma once

#include <string>
#include <utility>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Types.h"
#include "tenon/base/status.h"
#include "tenon/vhlo/file.h"
#include "tenon/vhlo/table.h"
#include "tenon/vhlo/wire.h"

namespace tenon::vhlo {

/// Numbers strings, dialects, op names, attributes, types and property blobs of an artifact and encodes each once. A
/// number is given at first use. Errors stick: status() says the first one, and the numbers given after it mean
/// nothing.
class Encoder {
 public:
  /// How an attribute or type goes to the wire: as itself, or as the VHLO one it stands for.
  enum class Form : uint8_t { kNative, kPortable, kApiVersion };

  explicit Encoder(Version target) : target_(target), file_(target) {}

  uint64_t String(llvm::StringRef text) { return file_.String({text.data(), text.size()}); }
  uint64_t Attr(mlir::Attribute attr, Form form);
  uint64_t Type(mlir::Type type, Form form);
  /// A builtin dictionary of attributes that were encoded already.
  uint64_t Dictionary(llvm::ArrayRef<std::pair<llvm::StringRef, uint64_t>> entries);
  uint64_t Properties(std::string blob) { return file_.Properties(std::move(blob)); }
  uint64_t OpName(llvm::StringRef dialect, llvm::StringRef name) {
    return file_.OpName({dialect.data(), dialect.size()}, {name.data(), name.size()});
  }

  /// The whole file around an IR section.
  std::string Assemble(std::string_view ir) const { return file_.Assemble(ir); }

  Version target() const { return target_; }
  int bytecode() const { return file_.bytecode(); }
  const Status& status() const { return status_; }
  void Fail(std::string why) {
    if (status_.ok()) status_ = InvalidArgument(std::move(why));
  }

 private:
  bool Allow(AttrCode code);
  bool Allow(TypeCode code);
  void EncodePortableAttr(mlir::Attribute attr, Form form, Sink& out);
  void EncodeElements(mlir::DenseElementsAttr elements, Sink& out);
  void EncodePortableType(mlir::Type type, Sink& out);
  /// Yields the dialect whose encoding it is; empty when there is none and the text has to do.
  llvm::StringRef EncodeNativeAttr(mlir::Attribute attr, Sink& out);
  llvm::StringRef EncodeNativeType(mlir::Type type, Sink& out);
  bool EncodeSdyAttr(mlir::Attribute attr, Sink& out);
  void Attrs(llvm::ArrayRef<mlir::Attribute> attrs, Form form, Sink& out);

  Version target_;
  File file_;
  Status status_;
  llvm::DenseMap<std::pair<mlir::Attribute, unsigned>, uint64_t> attr_numbers_;
  llvm::DenseMap<std::pair<mlir::Type, unsigned>, uint64_t> type_numbers_;
};

}  // namespace tenon::vhlo
