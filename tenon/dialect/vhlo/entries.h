#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Types.h"
#include "tenon/base/status.h"
#include "tenon/vhlo/container.h"
#include "tenon/vhlo/wire.h"

namespace tenon::vhlo {

/// Where big literals go (see dialect::ParseOptions::borrow_literals_from).
struct LiteralPolicy {
  size_t borrow_from = static_cast<size_t>(-1);
};

/// Decodes the attributes and types of a container on demand, each once. Entries of VHLO become what they stand for in
/// StableHLO at once (a string_v1 is a StringAttr, tensor_v1 a DenseElementsAttr, f32_v1 is f32): no VHLO object ever
/// exists. Nothing in an entry is trusted: nesting and the size of the expanded tree are bounded, cycles are errors,
/// and every attribute and type is checked before MLIR, whose own constructors assert, builds it.
class EntryReader {
 public:
  EntryReader(const Container& container, mlir::MLIRContext* context, LiteralPolicy literals)
      : container_(container),
        context_(context),
        literals_(literals),
        attrs_(container.attrs.size()),
        types_(container.types.size()) {}

  /// The attribute or type of this number. Null on error, when status() says why; errors stick.
  mlir::Attribute Attr(uint64_t index);
  mlir::Type Type(uint64_t index);

  /// Attr and Type of the number that comes next in `in`.
  mlir::Attribute ReadAttr(Cursor& in) { return in.ok() ? Attr(in.VarInt()) : Fail("it ends early"); }
  mlir::Type ReadType(Cursor& in);
  /// An attribute of class A; an error when it is of another.
  template <class A>
  A ReadAttrOf(Cursor& in, const char* wanted) {
    mlir::Attribute attr = ReadAttr(in);
    if (!attr) return {};
    if (auto typed = mlir::dyn_cast<A>(attr)) return typed;
    Fail(std::string("it refers to an attribute that is no ") + wanted);
    return {};
  }
  /// "varint v; v & 1 ? index v >> 1 : null". Null without an error when absent.
  mlir::Attribute ReadOptionalAttr(Cursor& in);
  /// A number of attributes (types), then each.
  bool ReadAttrs(Cursor& in, llvm::SmallVectorImpl<mlir::Attribute>& out);
  bool ReadTypes(Cursor& in, llvm::SmallVectorImpl<mlir::Type>& out);
  bool ReadInts(Cursor& in, llvm::SmallVectorImpl<int64_t>& out);
  std::string_view ReadString(Cursor& in);
  /// The bit pattern of a number of `width` bits, 1 to 64.
  uint64_t ReadBits(Cursor& in, unsigned width);

  mlir::MLIRContext* context() const { return context_; }
  const Container& container() const { return container_; }
  const Status& status() const { return status_; }
  /// Notes the first error and yields nothing.
  std::nullptr_t Fail(std::string why);

  // Shared builders; null on error.

  /// A dense elements attribute over `data`, the raw buffer in row-major little endian order. i1 comes packed or as
  /// bytes.
  mlir::Attribute MakeElements(mlir::Type type, std::string_view data);
  mlir::Attribute MakeInteger(mlir::Type type, Cursor& in);
  mlir::Attribute MakeFloat(mlir::Type type, Cursor& in);
  mlir::Attribute MakeDictionary(llvm::SmallVectorImpl<mlir::NamedAttribute>& entries);
  mlir::Type MakeTensor(llvm::ArrayRef<int64_t> shape, mlir::Type element, mlir::Attribute encoding);
  mlir::Type MakeBuffer(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  mlir::Type MakeComplex(mlir::Type element);

 private:
  template <class T>
  struct Slot {
    T value;
    uint32_t height = 0;  // Levels of nesting below and including this one.
    uint64_t weight = 0;  // Nodes of the tree that the entry expands to.
    bool busy = false;
  };

  template <class T>
  T Resolve(std::vector<Slot<T>>& slots, const std::vector<Container::Entry>& entries, uint64_t index,
            const char* what);
  mlir::Attribute DecodeAttr(std::string_view dialect, Cursor& in);
  mlir::Type DecodeType(std::string_view dialect, Cursor& in);
  mlir::Attribute ParseAttrText(std::string_view text);
  mlir::Type ParseTypeText(std::string_view text);

  mlir::Attribute DecodeBuiltinAttr(Cursor& in);
  mlir::Type DecodeBuiltinType(Cursor& in);
  mlir::Attribute DecodeVhloAttr(Cursor& in);
  mlir::Type DecodeVhloType(Cursor& in);
  mlir::Attribute DecodeStablehloAttr(Cursor& in);
  mlir::Type DecodeStablehloType(Cursor& in);
  mlir::Attribute DecodeSdyAttr(Cursor& in);
  mlir::Type DecodeQuantType(Cursor& in);
  mlir::Type MakeQuantized(Cursor& in, bool per_axis);

  const Container& container_;
  mlir::MLIRContext* context_;
  LiteralPolicy literals_;
  std::vector<Slot<mlir::Attribute>> attrs_;
  std::vector<Slot<mlir::Type>> types_;
  // What the entries read since the enclosing Resolve began add up to.
  uint32_t height_ = 0;
  uint64_t weight_ = 0;
  uint32_t depth_ = 0;
  Status status_;
};

}  // namespace tenon::vhlo
