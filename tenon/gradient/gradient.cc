#include "tenon/gradient/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tenon/builder/ops.h"
#include "tenon/gradient/internal/rules.h"

namespace tenon::gradient {

using builder::Location;
using builder::Operation;
using builder::OpKind;
using builder::Type;
using builder::Value;
using builder::Values;

namespace {

using Key = builder::internal::ValueState*;

bool HasZeroGradient(OpKind kind) {
  switch (kind) {
#define TENON_GRADIENT_ZERO(Name) case OpKind::k##Name:
#include "tenon/gradient/rules.def"
    return true;
    default:
      return false;
  }
}

// Whether the rule holds for complex numbers as it does for real ones.
bool HoldsForComplex(OpKind kind) {
  switch (kind) {
#define TENON_GRADIENT_COMPLEX_RULE(Name) case OpKind::k##Name:
#include "tenon/gradient/rules.def"
    return true;
    default:
      return false;
  }
}

bool IsArrayOf(const Type& type, bool (*holds)(DType)) {
  return type.is_tensor() && type.quantization() == nullptr && holds(type.dtype());
}
bool IsReal(const Type& type) {
  return IsArrayOf(type, [](DType dtype) { return IsFloat(dtype); });
}
bool IsComplex(const Type& type) {
  return IsArrayOf(type, [](DType dtype) { return tenon::IsComplex(dtype); });
}

// Whether a value may change as xs do: all but integers and truth values.
bool MayVary(const Type& type) {
  if (type.elements().empty())
    return !type.is_tensor() || type.quantization() != nullptr || IsReal(type) || IsComplex(type);
  return std::any_of(type.elements().begin(), type.elements().end(), MayVary);
}

std::string Place(Location where) {
  const std::string_view path = where.file_name();
  const size_t slash = path.rfind('/');
  return fmt::format("gradient at {}:{}", slash == std::string_view::npos ? path : path.substr(slash + 1),
                     where.line());
}

}  // namespace

Values Gradients(Value y, const Values& xs, const Options& options, Location where) {
  const Values none(xs.size());
  if (!y.valid()) return none;  // Its error is recorded.
  builder::Function& f = y.function();
  const auto fail = [&](Status status) {
    f.module().Fail(std::move(status).WithContext(Place(where)));
    return none;
  };
  if (!IsFloat(y.dtype()) || y.rank() != 0) {
    return fail(InvalidArgument("y must be a scalar of a float type, got " + y.type().ToString(), where));
  }
  // What y depends on and what depends on xs; gradients flow where both hold.
  std::unordered_set<Key> active, constant;
  for (const Value c : options.constants) constant.insert(c.state());
  for (const Value x : xs) {
    if (!x.valid()) return none;
    if (!IsFloat(x.dtype()) || !x.type().is_static()) {
      return fail(
          InvalidArgument("each x must be an array of floats with known extents, got " + x.type().ToString(), where));
    }
    active.insert(x.state());
  }
  const auto is_active = [&](Value value) { return active.contains(value.state()); };
  const auto any_active = [&](const Values& values) { return std::any_of(values.begin(), values.end(), is_active); };
  const std::vector<Operation> operations = f.visible_operations();
  for (const Operation& op : operations) {
    if (!any_active(op.operands()) && !any_active(op.captures())) continue;
    for (const Value result : op.results()) {
      // Signs of complex numbers turn with them.
      const bool fixed = HasZeroGradient(op.kind()) && IsReal(result.type());
      if (MayVary(result.type()) && !fixed && !constant.contains(result.state())) active.insert(result.state());
    }
  }
  std::unordered_map<Key, Value> grads;
  grads[y.state()] = builder::FullLike(y, 1, where);
  for (size_t i = operations.size(); i-- > 0;) {
    const Operation& op = operations[i];
    Values results;
    bool reached = false;
    for (const Value result : op.results()) {
      const auto found = is_active(result) ? grads.find(result.state()) : grads.end();
      results.push_back(found == grads.end() ? Value() : found->second);
      reached |= found != grads.end();
    }
    if (!reached) continue;
    internal::Site site{op, results, {}, where};
    const auto has_rule = [&](Value value) {
      return IsReal(value.type()) || (IsComplex(value.type()) && HoldsForComplex(op.kind()));
    };
    // Rules give gradients of operands alone, none of what a region uses besides.
    bool ruled = !any_active(op.captures());
    if (ruled && !any_active(op.operands())) continue;
    std::string why = op.num_regions() > 0 ? " with this region" : "";
    for (const Value operand : op.operands()) {
      site.wanted.push_back(is_active(operand));
      if (!site.wanted.back() || has_rule(operand)) continue;
      ruled = false;
      why = " of " + operand.type().ToString();
    }
    for (size_t k = 0; k < results.size(); ++k) ruled &= !results[k].valid() || has_rule(op.results()[k]);
    std::optional<Values> gradients;
    if (ruled) gradients = internal::ElementwiseRule(site);
    if (ruled && !gradients) gradients = internal::MovementRule(site);
    if (!gradients) {
      return fail(Unimplemented(
          fmt::format("{}{} has no rule; its result is {}", OpName(op.kind()), why, op.results()[0].type().ToString()),
          where));
    }
    for (size_t k = 0; k < gradients->size(); ++k) {
      if (!site.wanted[k] || !(*gradients)[k].valid()) continue;
      Value& sum = grads[op.operands()[k].state()];
      sum = sum.valid() ? builder::Add(sum, (*gradients)[k], where) : (*gradients)[k];
    }
  }
  Values result;
  for (const Value x : xs) {
    const auto found = grads.find(x.state());
    result.push_back(found == grads.end() ? builder::FullLike(x, 0, where) : found->second);
  }
  return f.module().status().ok() ? result : none;
}

}  // namespace tenon::gradient
