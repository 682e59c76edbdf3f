// How an operation's attributes go to the wire: what is left out in StableHLO is said there, and dimension numbers are
// taken apart.
#include <algorithm>
#include <optional>

#include "tenon/builder/internal/portable.h"

namespace tenon::builder::internal {
namespace {

using vhlo::AttrKind;
using vhlo::Special;
using Number = Portable::Number;

class Writer {
 public:
  Writer(const OpState& op, const vhlo::Op& row, Portable& portable) : op_(op), row_(row), portable_(portable) {}

  Result<std::vector<Number>> Run(std::vector<std::string>& used) {
    std::vector<Number> numbers;
    for (const vhlo::Attr& attr : row_.attrs) {
      const std::optional<Number> number = One(attr);
      if (!number) {
        return InvalidArgument(
            fmt::format("{} lacks the attribute {}, which {} wants", OpName(op_.kind), attr.name, row_.name));
      }
      if (!portable_.status().ok()) return portable_.status().WithContext(std::string(attr.name));
      numbers.push_back(*number);
    }
    for (const NamedAttribute& own : op_.attributes) {
      if (!Said(own.name)) {
        return InvalidArgument(
            fmt::format("version {} of {} cannot say {}", portable_.target().ToString(), OpName(op_.kind), own.name));
      }
    }
    for (const auto& [name, text] : op_.others) {
      if (Said(name)) used.push_back(name);
    }
    return numbers;
  }

 private:
  // Attributes that were given under the name of one of the operation's own count as such.
  const Attribute* Find(std::string_view name) {
    for (const NamedAttribute& own : op_.attributes) {
      if (own.name == name) return &own.value;
    }
    for (const auto& [other, text] : op_.others) {
      if (other != name) continue;
      given_ = AttrText{text};
      return &given_;
    }
    return nullptr;
  }
  template <class T>
  const T* FindAs(std::string_view name) {
    const Attribute* found = Find(name);
    return found == nullptr ? nullptr : std::get_if<T>(found);
  }

  bool Writes(std::string_view name) const {
    return std::any_of(row_.attrs.begin(), row_.attrs.end(), [&](const vhlo::Attr& a) { return a.name == name; });
  }

  bool Said(std::string_view name) const {
    if (Writes(name)) return true;
    if (name == "channel_handle") return Writes("channel_id");
    if (name == "dot_dimension_numbers") return row_.special == Special::kDotGeneral;
    if (name == "algorithm") return Writes("lhs_component_count");
    if (name == "scatter_dimension_numbers") return row_.special == Special::kScatter;
    if (name == "dimension_numbers") return row_.special == Special::kGather || row_.special == Special::kConvolution;
    return false;
  }

  int64_t WindowRank() {
    if (const ConvDims* d = FindAs<ConvDims>("dimension_numbers")) return static_cast<int64_t>(d->input_spatial.size());
    const Dims* window = FindAs<Dims>("window_dimensions");
    return window == nullptr ? 0 : static_cast<int64_t>(window->size());
  }

  std::optional<Number> One(const vhlo::Attr& attr) {
    using enum AttrKind;
    const Attribute* value = Find(attr.name);
    const auto rank = [&] { return static_cast<size_t>(WindowRank()); };
    switch (attr.kind) {
      case kChannelId:
        return Channel("handle");
      case kField:
        return Field(attr.name);
      case kUnit:
        return portable_.Bool(value != nullptr);
      case kApiVersion: {
        const auto* version = value == nullptr ? nullptr : std::get_if<AttrInt32>(value);
        return portable_.Enum(vhlo::AttrCode::kApiVersion,
                              version == nullptr ? 1 : static_cast<uint64_t>(version->value));
      }
      case kOldPadding:
        return portable_.Zeros(WindowRank());
      case kBackendConfig: {
        if (value != nullptr) break;
        const auto* version = FindAs<AttrInt32>("api_version");
        return version != nullptr && version->value == 4 ? portable_.Dictionary({}) : portable_.String("");
      }
      default:
        break;
    }
    if (value != nullptr) return portable_.Attr(*value);
    switch (attr.kind) {
      case kNoDenseArray:
      case kNoTensor:
        return portable_.Ints({});
      case kOnes: {
        Dims ones(rank());
        std::fill(ones.begin(), ones.end(), 1);
        return portable_.Ints(ones);
      }
      case kFalses:
        return portable_.Bools(std::vector<bool>(rank()));
      case kZeroPadding:
        return portable_.Zeros(WindowRank());
      case kFalse:
        return portable_.Bool(false);
      case kMinusOne:
        return portable_.Integer(-1);
      case kVersion:
        return portable_.Integer(0);
      case kNoString:
        return portable_.String("");
      case kNoArray:
      case kSymbols:
      case kLayouts:
        return portable_.Array({});
      case kNoDictionary:
        return portable_.Dictionary({});
      case kNoType:
        return portable_.Enum("comparison_type", "NOTYPE");
      case kPrecision: {
        const Number plain = portable_.Enum("precision", "DEFAULT");
        return portable_.Array({plain, plain});
      }
      case kAccuracy:
        return portable_.DefaultAccuracy();
      default:
        return std::nullopt;
    }
  }

  std::optional<Number> Channel(std::string_view field) {
    const AttrText* text = FindAs<AttrText>("channel_handle");
    if (text == nullptr) return portable_.Integer(0);
    const Result<ParsedAttr> handle = ParseAttrText(text->text);
    const ParsedAttr* found = handle.ok() ? handle->Find(field) : nullptr;
    if (found == nullptr) return std::nullopt;
    return portable_.Integer(static_cast<int64_t>(found->bits));
  }

  std::optional<Number> Field(std::string_view name) {
    switch (row_.special) {
      case Special::kPlain:
        return std::nullopt;
      case Special::kTransfer:
        return Channel(name == "channel_id" ? "handle" : "type");
      case Special::kConvolution:
        return ConvField(name);
      case Special::kDotGeneral:
        return DotField(name);
      case Special::kGather:
        return GatherField(name);
      case Special::kScatter:
        return ScatterField(name);
    }
    return std::nullopt;
  }

  std::optional<Number> ConvField(std::string_view name) {
    const ConvDims* d = FindAs<ConvDims>("dimension_numbers");
    if (d == nullptr) return std::nullopt;
    if (name == "input_batch_dimension") return portable_.Integer(d->input_batch);
    if (name == "input_feature_dimension") return portable_.Integer(d->input_feature);
    if (name == "input_spatial_dimensions") return portable_.Ints(d->input_spatial);
    if (name == "kernel_input_feature_dimension") return portable_.Integer(d->kernel_input_feature);
    if (name == "kernel_output_feature_dimension") return portable_.Integer(d->kernel_output_feature);
    if (name == "kernel_spatial_dimensions") return portable_.Ints(d->kernel_spatial);
    if (name == "output_batch_dimension") return portable_.Integer(d->output_batch);
    if (name == "output_feature_dimension") return portable_.Integer(d->output_feature);
    if (name == "output_spatial_dimensions") return portable_.Ints(d->output_spatial);
    return std::nullopt;
  }

  std::optional<Number> DotField(std::string_view name) {
    const DotDims* d = FindAs<DotDims>("dot_dimension_numbers");
    if (d == nullptr) return std::nullopt;
    if (name == "lhs_batching_dimensions") return portable_.Ints(d->lhs_batching);
    if (name == "rhs_batching_dimensions") return portable_.Ints(d->rhs_batching);
    if (name == "lhs_contracting_dimensions") return portable_.Ints(d->lhs_contracting);
    if (name == "rhs_contracting_dimensions") return portable_.Ints(d->rhs_contracting);
    const AttrText* text = FindAs<AttrText>("algorithm");
    if (text == nullptr) return portable_.TypeAttr(portable_.ElementType("none"));
    const Result<ParsedAttr> algorithm = ParseAttrText(text->text);
    const ParsedAttr* field = algorithm.ok() ? algorithm->Find(name) : nullptr;
    if (field == nullptr) return std::nullopt;
    return portable_.Attr(*field);
  }

  std::optional<Number> GatherField(std::string_view name) {
    const GatherDims* d = FindAs<GatherDims>("dimension_numbers");
    if (d == nullptr) return std::nullopt;
    if (!d->operand_batching_dims.empty() && !Writes("operand_batching_dims")) return NoBatches();
    if (name == "offset_dims") return portable_.Ints(d->offset_dims);
    if (name == "collapsed_slice_dims") return portable_.Ints(d->collapsed_slice_dims);
    if (name == "operand_batching_dims") return portable_.Ints(d->operand_batching_dims);
    if (name == "start_indices_batching_dims") return portable_.Ints(d->start_indices_batching_dims);
    if (name == "start_index_map") return portable_.Ints(d->start_index_map);
    if (name == "index_vector_dim") return portable_.Integer(d->index_vector_dim);
    return std::nullopt;
  }

  std::optional<Number> ScatterField(std::string_view name) {
    const ScatterDims* d = FindAs<ScatterDims>("scatter_dimension_numbers");
    if (d == nullptr) return std::nullopt;
    if (!d->input_batching_dims.empty() && !Writes("input_batching_dims")) return NoBatches();
    if (name == "update_window_dims") return portable_.Ints(d->update_window_dims);
    if (name == "inserted_window_dims") return portable_.Ints(d->inserted_window_dims);
    if (name == "input_batching_dims") return portable_.Ints(d->input_batching_dims);
    if (name == "scatter_indices_batching_dims") return portable_.Ints(d->scatter_indices_batching_dims);
    if (name == "scatter_dims_to_operand_dims") return portable_.Ints(d->scatter_dims_to_operand_dims);
    if (name == "index_vector_dim") return portable_.Integer(d->index_vector_dim);
    return std::nullopt;
  }

  std::optional<Number> NoBatches() {
    portable_.Fail(
        InvalidArgument(fmt::format("{} has batching dims, which {} cannot say", OpName(op_.kind), row_.name)));
    return 0;
  }

  const OpState& op_;
  const vhlo::Op& row_;
  Portable& portable_;
  Attribute given_;
};

}  // namespace

Result<std::vector<Number>> AttributesOf(const OpState& op, const vhlo::Op& row, Portable& portable,
                                         std::vector<std::string>& used) {
  return Writer(op, row, portable).Run(used);
}

}  // namespace tenon::builder::internal
