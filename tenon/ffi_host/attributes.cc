#include <algorithm>

#include "tenon/ffi_host/internal.h"

namespace tenon::ffi_host {

XLA_FFI_DataType ToFfi(DType type) {
  switch (type) {
    case DType::kInvalid:
      return XLA_FFI_DataType_INVALID;
    case DType::kPred:
      return XLA_FFI_DataType_PRED;
    case DType::kS1:
      return XLA_FFI_DataType_S1;
    case DType::kS2:
      return XLA_FFI_DataType_S2;
    case DType::kS4:
      return XLA_FFI_DataType_S4;
    case DType::kS8:
      return XLA_FFI_DataType_S8;
    case DType::kS16:
      return XLA_FFI_DataType_S16;
    case DType::kS32:
      return XLA_FFI_DataType_S32;
    case DType::kS64:
      return XLA_FFI_DataType_S64;
    case DType::kU1:
      return XLA_FFI_DataType_U1;
    case DType::kU2:
      return XLA_FFI_DataType_U2;
    case DType::kU4:
      return XLA_FFI_DataType_U4;
    case DType::kU8:
      return XLA_FFI_DataType_U8;
    case DType::kU16:
      return XLA_FFI_DataType_U16;
    case DType::kU32:
      return XLA_FFI_DataType_U32;
    case DType::kU64:
      return XLA_FFI_DataType_U64;
    case DType::kF16:
      return XLA_FFI_DataType_F16;
    case DType::kF32:
      return XLA_FFI_DataType_F32;
    case DType::kF64:
      return XLA_FFI_DataType_F64;
    case DType::kBF16:
      return XLA_FFI_DataType_BF16;
    case DType::kC64:
      return XLA_FFI_DataType_C64;
    case DType::kC128:
      return XLA_FFI_DataType_C128;
    case DType::kToken:
      return XLA_FFI_DataType_TOKEN;
    case DType::kF8E5M2:
      return XLA_FFI_DataType_F8E5M2;
    case DType::kF8E3M4:
      return XLA_FFI_DataType_F8E3M4;
    case DType::kF8E4M3:
      return XLA_FFI_DataType_F8E4M3;
    case DType::kF8E4M3FN:
      return XLA_FFI_DataType_F8E4M3FN;
    case DType::kF8E4M3B11FNUZ:
      return XLA_FFI_DataType_F8E4M3B11FNUZ;
    case DType::kF8E5M2FNUZ:
      return XLA_FFI_DataType_F8E5M2FNUZ;
    case DType::kF8E4M3FNUZ:
      return XLA_FFI_DataType_F8E4M3FNUZ;
    case DType::kF4E2M1FN:
      return XLA_FFI_DataType_F4E2M1FN;
    case DType::kF8E8M0FNU:
      return XLA_FFI_DataType_F8E8M0FNU;
    case DType::kF6E2M3FN:
    case DType::kF6E3M2FN:
      return XLA_FFI_DataType_INVALID;  // The FFI has no number for them.
  }
  return XLA_FFI_DataType_INVALID;
}

AttributeFrame::AttributeFrame(const std::vector<plan::Attribute>& attributes) {
  std::vector<const plan::Attribute*> sorted;
  for (const plan::Attribute& a : attributes) sorted.push_back(&a);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  for (const plan::Attribute* a : sorted) Add(*a);
}

void AttributeFrame::Add(const plan::Attribute& a) {
  const auto span = [this](const std::string& text) {
    texts_.push_back(text);
    spans_.push_back({texts_.back().data(), texts_.back().size()});
    return &spans_.back();
  };
  names_.push_back(span(a.name));
  switch (a.kind) {
    case plan::Attribute::Kind::kString:
      types_.push_back(XLA_FFI_AttrType_STRING);
      values_.push_back(span(a.bytes));
      break;
    case plan::Attribute::Kind::kScalar:
      texts_.push_back(a.bytes);
      scalars_.push_back({ToFfi(a.dtype), texts_.back().data()});
      types_.push_back(XLA_FFI_AttrType_SCALAR);
      values_.push_back(&scalars_.back());
      break;
    case plan::Attribute::Kind::kArray: {
      texts_.push_back(a.bytes);
      const auto width = static_cast<size_t>(std::max(ByteWidth(a.dtype), 1));
      arrays_.push_back({ToFfi(a.dtype), a.bytes.size() / width, texts_.back().data()});
      types_.push_back(XLA_FFI_AttrType_ARRAY);
      values_.push_back(&arrays_.back());
      break;
    }
    case plan::Attribute::Kind::kDictionary:
      dictionaries_.emplace_back(a.members);
      dictionary_attrs_.push_back(dictionaries_.back().c());
      types_.push_back(XLA_FFI_AttrType_DICTIONARY);
      values_.push_back(&dictionary_attrs_.back());
      break;
  }
}

XLA_FFI_Attrs AttributeFrame::c() const {
  XLA_FFI_Attrs attrs = {};
  attrs.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
  attrs.size = static_cast<int64_t>(types_.size());
  attrs.types = types_.data();
  attrs.names = names_.data();
  attrs.attrs = values_.data();
  return attrs;
}

}  // namespace tenon::ffi_host
