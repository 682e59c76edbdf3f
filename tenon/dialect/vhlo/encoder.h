#pragma once

#include <string>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Types.h"
#include "tenon/base/status.h"
#include "tenon/dialect/vhlo/table.h"
#include "tenon/dialect/vhlo/wire.h"

namespace tenon::vhlo {

/// Numbers strings, dialects, op names, attributes, types and property blobs of an artifact and encodes each once. A
/// number is given at first use. Errors stick: status() says the first one, and the numbers given after it mean
/// nothing.
class Encoder {
 public:
  /// How an attribute or type goes to the wire: as itself, or as the VHLO one it stands for.
  enum class Form : uint8_t { kNative, kPortable, kApiVersion };

  explicit Encoder(Version target) : target_(target), bytecode_(BytecodeVersion(target)) {}

  uint64_t String(llvm::StringRef text);
  uint64_t Attr(mlir::Attribute attr, Form form);
  uint64_t Type(mlir::Type type, Form form);
  /// A builtin dictionary of attributes that were encoded already.
  uint64_t Dictionary(llvm::ArrayRef<std::pair<llvm::StringRef, uint64_t>> entries);
  uint64_t Properties(std::string blob);
  uint64_t OpName(llvm::StringRef dialect, llvm::StringRef name);

  /// The whole file around an IR section.
  std::string Assemble(std::string_view ir) const;

  Version target() const { return target_; }
  int bytecode() const { return bytecode_; }
  const Status& status() const { return status_; }
  void Fail(std::string why) {
    if (status_.ok()) status_ = InvalidArgument(std::move(why));
  }

 private:
  struct Entry {
    uint64_t dialect = 0;
    bool custom = true;
    std::string bytes;
  };

  uint64_t Dialect(llvm::StringRef name);
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
  int bytecode_;
  Status status_;
  llvm::StringMap<uint64_t> string_numbers_;
  std::vector<std::string> strings_;
  llvm::StringMap<uint64_t> dialect_numbers_;
  std::vector<uint64_t> dialects_;  // String numbers.
  llvm::StringMap<uint64_t> op_numbers_;
  std::vector<std::pair<uint64_t, uint64_t>> ops_;  // Dialect and string numbers.
  llvm::DenseMap<std::pair<mlir::Attribute, unsigned>, uint64_t> attr_numbers_;
  std::vector<Entry> attrs_;
  llvm::DenseMap<std::pair<mlir::Type, unsigned>, uint64_t> type_numbers_;
  std::vector<Entry> types_;
  llvm::StringMap<uint64_t> dictionary_numbers_;
  llvm::StringMap<uint64_t> property_numbers_;
  std::vector<std::string> properties_;
};

}  // namespace tenon::vhlo
