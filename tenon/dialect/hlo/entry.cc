#include "tenon/dialect/hlo/entry.h"

#include <fmt/format.h>

#include "mlir/IR/Builders.h"
#include "tenon/dialect/hlo/shardings.h"

namespace tenon::hlo {
Result<int64_t> LeafIndex(const std::vector<const Shape*>& shapes, int64_t number, const std::vector<int64_t>& path,
                          std::string_view what) {
  if (number < 0 || number >= static_cast<int64_t>(shapes.size())) {
    return InvalidArgument(fmt::format("{} names parameter {}; the entry has {}", what, number, shapes.size()));
  }
  int64_t index = 0;
  for (int64_t n = 0; n < number; ++n) index += CountLeaves(*shapes[static_cast<size_t>(n)]);
  const Shape* shape = shapes[static_cast<size_t>(number)];
  for (int64_t step : path) {
    if (step < 0 || step >= static_cast<int64_t>(shape->members.size())) {
      return InvalidArgument(fmt::format("{} names index {{{}}} of {}, which has no such member", what,
                                         fmt::join(path, ","), ToText(*shape, false)));
    }
    for (int64_t m = 0; m < step; ++m) index += CountLeaves(shape->members[static_cast<size_t>(m)]);
    shape = &shape->members[static_cast<size_t>(step)];
  }
  if (shape->type == kTuple)
    return InvalidArgument(fmt::format("{} names {}, a tuple and no array", what, ToText(*shape, false)));
  return index;
}

Status SetEntryAttributes(const Module& module, mlir::func::FuncOp main) {
  mlir::OpBuilder b(main.getContext());
  const Computation& entry = module.computations[module.entry];
  std::vector<const Shape*> parameters;
  for (uint32_t p : entry.parameters) parameters.push_back(&entry.instructions[p].shape);
  const Shape& result = entry.instructions[entry.root].shape;

  if (module.signature) {
    const Module::Signature& s = *module.signature;
    if (s.parameters.size() != parameters.size()) {
      return InvalidArgument(fmt::format("the program shape has {} parameters; the entry computation has {}",
                                         s.parameters.size(), parameters.size()));
    }
    const auto same = [](const Shape& a, const Shape& b) { return ToText(a, false) == ToText(b, false); };
    for (size_t p = 0; p < parameters.size(); ++p) {
      if (!same(s.parameters[p], *parameters[p])) {
        return InvalidArgument(fmt::format("parameter {} of the program shape is {}; in the entry computation it is {}",
                                           p, ToText(s.parameters[p], false), ToText(*parameters[p], false)));
      }
    }
    if (!same(s.result, result)) {
      return InvalidArgument(fmt::format("the result of the program shape is {}; the entry computation's root is {}",
                                         ToText(s.result, false), ToText(result, false)));
    }
  }
  for (const Alias& a : module.aliases) {
    TENON_ASSIGN_OR_RETURN(const int64_t argument,
                           LeafIndex(parameters, a.parameter, a.parameter_index, "input_output_alias"));
    TENON_ASSIGN_OR_RETURN(const int64_t output, LeafIndex({&result}, 0, a.output_index, "input_output_alias"));
    main.setArgAttr(static_cast<unsigned>(argument), "tf.aliasing_output",
                    b.getI32IntegerAttr(static_cast<int32_t>(output)));
  }
  for (const Donor& d : module.donors) {
    TENON_ASSIGN_OR_RETURN(const int64_t argument,
                           LeafIndex(parameters, d.parameter, d.parameter_index, "buffer_donor"));
    main.setArgAttr(static_cast<unsigned>(argument), "jax.buffer_donor", b.getBoolAttr(true));
  }
  return SetShardings(module, main);
}

}  // namespace tenon::hlo
