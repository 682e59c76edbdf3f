// Edits of types: smaller extents, plainer element types. They change what they can; the verifier says whether it fits.

#include <algorithm>
#include <functional>
#include <set>

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "tools/tenon-reduce/edits.h"

namespace tenon::reduce {
namespace {

using mlir::Operation;
using mlir::Type;
using mlir::Value;
using Change = std::function<Type(Type)>;

/// A constant's value under another type: its first element everywhere.
mlir::Attribute Retyped(mlir::DenseElementsAttr value, mlir::ShapedType type) {
  if (value.getType() == type) return value;
  if (value.getElementType() == type.getElementType()) {
    if (value.empty()) return {};
    return mlir::DenseElementsAttr::get(type, *value.getValues<mlir::Attribute>().begin());
  }
  return {};
}

/// Types that follow from operands, limits that follow from extents, down the block.
void Propagate(mlir::Block& block) {
  for (Operation& op : block) {
    const llvm::StringRef name = op.getName().getStringRef();
    if (name == "stablehlo.while") {
      for (unsigned i = 0; i < op.getNumOperands(); ++i) {
        op.getResult(i).setType(op.getOperand(i).getType());
        for (mlir::Region& r : op.getRegions()) r.front().getArgument(i).setType(op.getOperand(i).getType());
      }
    }
    if (name == "stablehlo.slice" || name == "stablehlo.dynamic_slice") {
      const auto type = mlir::dyn_cast<mlir::RankedTensorType>(op.getOperand(0).getType());
      const auto clamp = [&](llvm::StringRef attribute) {
        auto list = op.getAttrOfType<mlir::DenseI64ArrayAttr>(attribute);
        if (!type || !list || list.size() != type.getRank()) return;
        std::vector<int64_t> v(list.asArrayRef());
        for (size_t d = 0; d < v.size(); ++d) v[d] = std::min(v[d], type.getDimSize(static_cast<unsigned>(d)));
        op.setAttr(attribute, mlir::DenseI64ArrayAttr::get(op.getContext(), v));
      };
      for (const char* attribute : {"limit_indices", "start_indices", "slice_sizes"}) clamp(attribute);
    }
    for (mlir::Region& region : op.getRegions()) {
      for (mlir::Block& inner : region) Propagate(inner);
    }
    auto infer = mlir::dyn_cast<mlir::InferTypeOpInterface>(&op);
    if (!infer) continue;
    llvm::SmallVector<Type> types;
    if (mlir::failed(infer.inferReturnTypes(op.getContext(), op.getLoc(), op.getOperands(), op.getAttrDictionary(),
                                            op.getPropertiesStorage(), op.getRegions(), types)))
      continue;
    if (types.size() != op.getNumResults()) continue;
    for (unsigned i = 0; i < op.getNumResults(); ++i) op.getResult(i).setType(types[i]);
  }
}

void PropagateAll(mlir::ModuleOp module) {
  for (mlir::func::FuncOp f : module.getOps<mlir::func::FuncOp>()) {
    if (f.isExternal()) continue;
    Propagate(f.getBody().front());
    UpdateType(f);
  }
}

void ChangeTypes(mlir::ModuleOp module, const Change& change) {
  module.walk([&](Operation* op) {
    for (Value v : op->getResults()) v.setType(change(v.getType()));
    for (mlir::Region& region : op->getRegions()) {
      for (mlir::Block& block : region) {
        for (mlir::BlockArgument a : block.getArguments()) a.setType(change(a.getType()));
      }
    }
    auto value = mlir::dyn_cast_or_null<mlir::DenseElementsAttr>(op->getAttr("value"));
    if (value && op->getNumResults() == 1) {
      const auto type = mlir::dyn_cast<mlir::ShapedType>(op->getResult(0).getType());
      if (const mlir::Attribute again = type ? Retyped(value, type) : mlir::Attribute()) op->setAttr("value", again);
    }
  });
}

mlir::RankedTensorType TensorOf(Type type) { return mlir::dyn_cast<mlir::RankedTensorType>(type); }

}  // namespace

bool ShrinkExtent(Subject s, size_t index) {
  std::set<int64_t, std::greater<>> extents;
  s.module.walk([&](Operation* op) {
    for (Value v : op->getResults()) {
      if (const auto t = TensorOf(v.getType())) extents.insert(t.getShape().begin(), t.getShape().end());
    }
    if (auto f = mlir::dyn_cast<mlir::func::FuncOp>(op)) {
      for (mlir::BlockArgument a : f.getArguments()) {
        if (const auto t = TensorOf(a.getType())) extents.insert(t.getShape().begin(), t.getShape().end());
      }
    }
  });
  for (const int64_t n : extents) {
    std::set<int64_t> smaller;
    for (const int64_t m : {int64_t{1}, int64_t{2}, n / 2, n - 1}) {
      if (m < n && m > 0) smaller.insert(m);
    }
    for (const int64_t m : smaller) {
      if (index-- != 0) continue;
      ChangeTypes(s.module, [&](Type type) -> Type {
        const auto t = TensorOf(type);
        if (!t) return type;
        std::vector<int64_t> shape(t.getShape());
        std::replace(shape.begin(), shape.end(), n, m);
        return mlir::RankedTensorType::get(shape, t.getElementType(), t.getEncoding());
      });
      s.module.walk([&](Operation* op) {
        for (const char* name : {"slice_sizes", "limit_indices", "window_dimensions", "fft_length"}) {
          auto list = op->getAttrOfType<mlir::DenseI64ArrayAttr>(name);
          if (!list) continue;
          std::vector<int64_t> v(list.asArrayRef());
          std::replace(v.begin(), v.end(), n, m);
          op->setAttr(name, mlir::DenseI64ArrayAttr::get(op->getContext(), v));
        }
      });
      PropagateAll(s.module);
      return true;
    }
  }
  return false;
}

bool ShrinkArgument(Subject s, size_t index) {
  mlir::func::FuncOp entry = EntryOf(s.module);
  // Arguments, and values that have no operands.
  std::vector<Value> sources(entry.getArguments().begin(), entry.getArguments().end());
  for (Operation* op : OpsOf(s.module)) {
    if ((op->getNumOperands() == 0 && op->getNumResults() == 1) ||
        op->getName().getStringRef() == "stablehlo.broadcast_in_dim")
      sources.push_back(op->getResult(0));
  }
  for (Value v : sources) {
    const auto t = TensorOf(v.getType());
    if (!t) continue;
    for (unsigned d = 0; d < t.getRank(); ++d) {
      const int64_t n = t.getDimSize(d);
      for (const int64_t m : {int64_t{1}, n / 2, n - 1}) {
        if (m <= 0 || m >= n || index-- != 0) continue;
        std::vector<int64_t> shape(t.getShape());
        shape[d] = m;
        const auto to = mlir::RankedTensorType::get(shape, t.getElementType(), t.getEncoding());
        v.setType(to);
        if (Operation* op = v.getDefiningOp()) {
          if (auto value = mlir::dyn_cast_or_null<mlir::DenseElementsAttr>(op->getAttr("value"))) {
            if (const mlir::Attribute again = Retyped(value, to)) op->setAttr("value", again);
          }
        }
        PropagateAll(s.module);
        return true;
      }
    }
  }
  return false;
}

bool ChangeElementType(Subject s, size_t index) {
  mlir::Builder b(s.module.getContext());
  std::vector<Type> from;
  const auto add = [&](Type type) {
    const auto t = TensorOf(type);
    if (t && std::find(from.begin(), from.end(), t.getElementType()) == from.end()) from.push_back(t.getElementType());
  };
  s.module.walk([&](Operation* op) {
    for (Type t : op->getResultTypes()) add(t);
  });
  for (const Type element : from) {
    for (const Type to : {Type(b.getF32Type()), Type(b.getI32Type())}) {
      if (element == to || element.isInteger(1) || index-- != 0) continue;
      // Only where the kind stays: constants keep their numbers.
      const bool floats = mlir::isa<mlir::FloatType>(element) && mlir::isa<mlir::FloatType>(to);
      const bool integers = mlir::isa<mlir::IntegerType>(element) && mlir::isa<mlir::IntegerType>(to);
      if (!floats && !integers) return true;
      s.module.walk([&](Operation* op) {
        auto value = mlir::dyn_cast_or_null<mlir::DenseElementsAttr>(op->getAttr("value"));
        if (!value || value.getElementType() != element || value.empty()) return;
        const auto type = mlir::RankedTensorType::get(value.getType().getShape(), to);
        if (integers) {
          const bool is_unsigned = element.isUnsignedInteger();
          std::vector<llvm::APInt> numbers;
          for (const llvm::APInt& v : value.getValues<llvm::APInt>())
            numbers.push_back(is_unsigned ? v.zextOrTrunc(32) : v.sextOrTrunc(32));
          op->setAttr("value", mlir::DenseElementsAttr::get(type, numbers));
        } else {
          std::vector<mlir::Attribute> numbers;
          for (const mlir::Attribute v : value.getValues<mlir::Attribute>())
            numbers.push_back(b.getFloatAttr(to, mlir::cast<mlir::FloatAttr>(v).getValueAsDouble()));
          op->setAttr("value", mlir::DenseElementsAttr::get(type, numbers));
        }
        op->getResult(0).setType(type);
      });
      ChangeTypes(s.module, [&](Type type) -> Type {
        const auto t = TensorOf(type);
        return t && t.getElementType() == element ? Type(mlir::RankedTensorType::get(t.getShape(), to, t.getEncoding()))
                                                  : type;
      });
      PropagateAll(s.module);
      return true;
    }
  }
  return false;
}

}  // namespace tenon::reduce
