// Operations with regions.
#include <algorithm>
#include <span>

#include "tenon/base/neutral.h"
#include "tenon/builder/internal/shapes.h"
#include "tenon/builder/internal/state.h"
#include "tenon/builder/ops.h"

namespace tenon::builder {

using namespace internal;

namespace {

Values Both(const Values& a, const Values& b) {
  Values all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

std::vector<Type> TypesOf(const Values& values) {
  std::vector<Type> types;
  for (const Value v : values) types.push_back(v.type());
  return types;
}

// Scalars of the operands' element types, `times` in a row.
std::vector<Type> Scalars(const Make& m, size_t begin, size_t end, int times) {
  std::vector<Type> types;
  for (int t = 0; t < times; ++t) {
    for (size_t i = begin; i < end; ++i) types.push_back(m.type(i).WithDims({}).WithBounds({}));
  }
  return types;
}

// Inputs of one shape and as many scalars of their element types.
bool InputsAndInits(Make& m, size_t inputs, size_t inits) {
  if (!m.ok()) return false;
  if (inputs == 0) return m.Fail("wants at least one input");
  if (!m.Count("initial values, one per input", inits, inputs)) return false;
  for (size_t i = 0; i < inputs; ++i) {
    if (!m.Tensor(i, "an input") || !m.Tensor(inputs + i, "an initial value") ||
        !m.SameElements(i, inputs + i, "input and initial value"))
      return false;
    if (m.rank(inputs + i) != 0) return m.Fail("initial values must be scalars, got {}", m.type(inputs + i).ToString());
    if (!Compatible(Type(DType::kF32, m.dims(0)), Type(DType::kF32, m.dims(i))))
      return m.Fail("inputs must have one shape, got {} and {}", m.type(0).ToString(), m.type(i).ToString());
  }
  return true;
}

bool CheckWindow(Make& m, const WindowOptions& w, Dims* result) {
  const size_t rank = m.dims().size();
  if (!m.Count("extents of the window, one per dim", w.size.size(), rank) ||
      !m.AtLeast("the window's extents", w.size, 1))
    return false;
  for (const auto& [what, list] : {std::pair<const char*, const Dims*>{"strides", &w.strides},
                                   {"base_dilations", &w.base_dilations},
                                   {"window_dilations", &w.window_dilations}}) {
    if (!list->empty() && (!m.Count(what, list->size(), rank) || !m.AtLeast(what, *list, 1))) return false;
  }
  if (!w.padding.empty() && !m.Count("pairs in padding", w.padding.size(), rank)) return false;
  for (size_t d = 0; d < rank; ++d) {
    if (m.dims()[d] == kDynamic) {
      result->push_back(kDynamic);
      continue;
    }
    const std::optional<int64_t> count =
        Windowed({.extent = m.dims()[d],
                  .size = w.size[d],
                  .stride = w.strides.empty() ? 1 : w.strides[d],
                  .low = w.padding.empty() ? 0 : w.padding[d].first,
                  .high = w.padding.empty() ? 0 : w.padding[d].second,
                  .base_dilation = w.base_dilations.empty() ? 1 : w.base_dilations[d],
                  .window_dilation = w.window_dilations.empty() ? 1 : w.window_dilations[d]});
    if (!count) return m.Fail("dim {} of {} would get an extent below 0 or beyond 64 bits", d, m.type().ToString());
    result->push_back(*count);
  }
  return true;
}

void SetWindow(Make& m, const WindowOptions& w) {
  m.Set("window_dimensions", w.size);
  if (!w.strides.empty()) m.Set("window_strides", w.strides);
  if (!w.base_dilations.empty()) m.Set("base_dilations", w.base_dilations);
  if (!w.window_dilations.empty()) m.Set("window_dilations", w.window_dilations);
  if (!w.padding.empty()) m.Set("padding", MatrixOf(w.padding));
}

Values Choose(Make& m, const std::vector<std::pair<const char*, const Body*>>& branches) {
  std::vector<Type> types;
  for (size_t i = 0; i < branches.size(); ++i) {
    const bool fine = i == 0 ? m.Region(branches[i].first, {}, *branches[i].second, &types)
                             : m.RegionOf(branches[i].first, {}, *branches[i].second, types);
    if (!fine) return Make::Invalid(types.size());
  }
  for (const Type& type : types) {
    if (!type.is_tensor() && type.kind() != Type::Kind::kToken)
      m.Fail("branches give arrays and tokens, got {}", type.ToString());
  }
  return m.Results(std::move(types));
}

const Type& Pred() {
  static const Type kPredScalar(DType::kPred);
  return kPredScalar;
}

}  // namespace

Values If(Value pred, const Body& on_true, const Body& on_false, Location where) {
  Make m(OpKind::kIf, {pred}, where);
  if (!m.Scalar(0, "pred", kBool)) return {};
  return Choose(m, {{"the branch on_true", &on_true}, {"the branch on_false", &on_false}});
}

Values Case(Value index, const std::vector<Body>& branches, Location where) {
  Make m(OpKind::kCase, {index}, where);
  if (!m.Scalar(0, "index", kSigned)) return {};
  if (m.type().dtype() != DType::kS32) {
    m.Fail("index must be tensor<i32>, got {}", m.type().ToString());
    return {};
  }
  if (branches.empty()) {
    m.Fail("wants at least one branch");
    return {};
  }
  std::vector<std::pair<const char*, const Body*>> list;
  for (const Body& body : branches) list.emplace_back("a branch", &body);
  return Choose(m, list);
}

Values While(const Values& init, const Body& condition, const Body& body, Location where) {
  Make m(OpKind::kWhile, init, where);
  const std::vector<Type> types = TypesOf(init);
  if (!m.RegionOf("the condition", types, condition, {Pred()}) || !m.RegionOf("the body", types, body, types))
    return Make::Invalid(init.size());
  return m.Results(types);
}

Values Reduce(const Values& inputs, const Values& inits, const Dims& dims, const Body& body, Location where) {
  Make m(OpKind::kReduce, Both(inputs, inits), where);
  if (!InputsAndInits(m, inputs.size(), inits.size()) || !m.DimList("dims", dims, m.rank()))
    return Make::Invalid(inputs.size());
  const std::vector<Type> scalars = Scalars(m, 0, inputs.size(), 1);
  if (!m.RegionOf("the body", Scalars(m, 0, inputs.size(), 2), body, scalars)) return Make::Invalid(inputs.size());
  Dims kept;
  for (int64_t d = 0; d < m.rank(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) kept.push_back(m.dims()[static_cast<size_t>(d)]);
  }
  std::vector<Type> types;
  for (const Type& scalar : scalars) types.push_back(scalar.WithDims(kept));
  return m.Set("dimensions", dims).Results(std::move(types));
}

Value Reduce(Value input, Value init, const Dims& dims, const Body& body, Location where) {
  return Reduce(Values{input}, Values{init}, dims, body, where)[0];
}

namespace {

// An element from its bits, which are those of both parts of complex numbers.
Result<Literal> ElementOf(DType type, uint64_t bits) {
  if (IsComplex(type)) {
    TENON_ASSIGN_OR_RETURN(Literal part, ElementOf(RealPartOf(type), bits));
    part.shape.dtype = type;
    const std::vector<std::byte> imaginary = part.bytes;
    part.bytes.insert(part.bytes.end(), imaginary.begin(), imaginary.end());
    return part;
  }
  // Narrow integers carry their sign on.
  const int above = 64 - DTypeBits(type);
  if (IsSigned(type)) bits = static_cast<uint64_t>(static_cast<int64_t>(bits << above) >> above);
  const auto bytes = std::as_bytes(std::span<const uint64_t>(&bits, 1));
  return Literal::FromBytes({type, {}}, bytes.first(static_cast<size_t>(ByteWidth(type))));
}

Result<Literal> SumStart(DType type) {
  if (NeutralBits(Meeting::kAdd, type)) return Literal::Splat({type, {}}, 0);
  return InvalidArgument(fmt::format("{} has no zero to begin a sum with; give an initial value", DTypeName(type)));
}

}  // namespace

Value Reduce(Value input, Reduction reduction, const Dims& dims, Location where) {
  Make m(OpKind::kReduce, {input}, where);
  const unsigned classes =
      reduction == Reduction::kAnd || reduction == Reduction::kOr ? kBool | kInteger : kAny & ~kQuantized;
  if (!m.Tensor(0, "input", classes)) return {};
  Function& f = input.function();
  const DType type = input.dtype();
  // Complex numbers compare by their real parts, then by the others.
  const DType part = IsComplex(type) ? RealPartOf(type) : type;
  const auto with = [&](Result<Literal> init, Value (*op)(Value, Value, Location)) -> Value {
    if (!init.ok()) {
      m.FailWith(std::string(init.status().message()));
      return {};
    }
    return Reduce(
        input, Constant(f, std::move(*init), where), dims, [&](Value a, Value b) { return op(a, b, where); }, where);
  };
  switch (reduction) {
    case Reduction::kSum:
      return with(SumStart(type), &Add);
    case Reduction::kProduct:
      return with(Literal::Splat({type, {}}, 1), &Multiply);
    case Reduction::kMin:
      return with(ElementOf(type, HighestBits(part)), &Minimum);
    case Reduction::kMax:
      return with(ElementOf(type, LowestBits(part)), &Maximum);
    case Reduction::kAnd:
      return with(ElementOf(type, *NeutralBits(Meeting::kAnd, type)), &And);
    case Reduction::kOr:
      return with(Literal::Splat({type, {}}, 0), &Or);
  }
  return {};
}

Values ReduceWindow(const Values& inputs, const Values& inits, const WindowOptions& window, const Body& body,
                    Location where) {
  Make m(OpKind::kReduceWindow, Both(inputs, inits), where);
  Dims dims;
  if (!InputsAndInits(m, inputs.size(), inits.size()) || !CheckWindow(m, window, &dims))
    return Make::Invalid(inputs.size());
  const std::vector<Type> scalars = Scalars(m, 0, inputs.size(), 1);
  if (!m.RegionOf("the body", Scalars(m, 0, inputs.size(), 2), body, scalars)) return Make::Invalid(inputs.size());
  SetWindow(m, window);
  std::vector<Type> types;
  for (const Type& scalar : scalars) types.push_back(scalar.WithDims(dims));
  return m.Results(std::move(types));
}

Value SelectAndScatter(Value x, Value source, Value init, const WindowOptions& window, const Body& select,
                       const Body& scatter, Location where) {
  Make m(OpKind::kSelectAndScatter, {x, source, init}, where);
  Dims dims;
  if (!m.Tensor(0, "operand") || !m.Tensor(1, "source") || !m.Tensor(2, "the initial value") ||
      !m.SameElements(0, 1, "operand and source") || !m.SameElements(0, 2, "operand and initial value") ||
      !CheckWindow(m, window, &dims))
    return {};
  if (m.rank(2) != 0) m.Fail("the initial value must be a scalar, got {}", m.type(2).ToString());
  if (!window.base_dilations.empty() || !window.window_dilations.empty()) m.Fail("windows here have no dilations");
  if (const Type want = m.type().WithDims(dims); !Compatible(want, m.type(1))) {
    m.Fail("the source must have one element per window, {}, got {}", want.ToString(), m.type(1).ToString());
  }
  const std::vector<Type> two = Scalars(m, 0, 1, 2);
  if (!m.RegionOf("select", two, select, {Pred()}) || !m.RegionOf("scatter", two, scatter, {two[0]})) return {};
  SetWindow(m, window);
  return m.Result(m.type());
}

namespace {

bool CheckScatter(Make& m, size_t inputs, const ScatterDims& s) {
  const size_t indices = inputs, first_update = inputs + 1;
  const int64_t rank = m.rank(0), index_rank = m.rank(indices), update_rank = m.rank(first_update);
  const auto in = [](const Dims& list, int64_t d) { return std::find(list.begin(), list.end(), d) != list.end(); };
  if (s.index_vector_dim < 0 || s.index_vector_dim > index_rank)
    return m.Fail("index_vector_dim must be at least 0 and at most the indices' rank {}, got {}", index_rank,
                  s.index_vector_dim);
  const int64_t length =
      s.index_vector_dim == index_rank ? 1 : m.dims(indices)[static_cast<size_t>(s.index_vector_dim)];
  if (length != kDynamic && !m.Count("scatter_dims_to_operand_dims, one per element of an index vector",
                                     s.scatter_dims_to_operand_dims.size(), static_cast<size_t>(length)))
    return false;
  if (!m.DimList("update_window_dims", s.update_window_dims, update_rank, true) ||
      !m.DimList("inserted_window_dims", s.inserted_window_dims, rank, true) ||
      !m.DimList("input_batching_dims", s.input_batching_dims, rank, true) ||
      !m.DimList("scatter_indices_batching_dims", s.scatter_indices_batching_dims, index_rank) ||
      !m.DimList("scatter_dims_to_operand_dims", s.scatter_dims_to_operand_dims, rank) ||
      !m.Count("scatter_indices_batching_dims, one per input_batching_dim", s.scatter_indices_batching_dims.size(),
               s.input_batching_dims.size()))
    return false;
  Dims window, batch;
  for (int64_t d = 0; d < rank; ++d) {
    if (in(s.inserted_window_dims, d) && in(s.input_batching_dims, d))
      return m.Fail("dim {} is both inserted and a batching dim", d);
    if (in(s.input_batching_dims, d) && in(s.scatter_dims_to_operand_dims, d))
      return m.Fail("the batching dim {} is in scatter_dims_to_operand_dims", d);
    if (!in(s.inserted_window_dims, d) && !in(s.input_batching_dims, d))
      window.push_back(m.dims(0)[static_cast<size_t>(d)]);
  }
  for (int64_t d = 0; d < index_rank; ++d) {
    if (d != s.index_vector_dim) batch.push_back(m.dims(indices)[static_cast<size_t>(d)]);
  }
  for (size_t i = 0; i < s.input_batching_dims.size(); ++i) {
    if (s.scatter_indices_batching_dims[i] == s.index_vector_dim)
      return m.Fail("scatter_indices_batching_dims must not hold index_vector_dim {}", s.index_vector_dim);
    const int64_t a = m.dims(0)[static_cast<size_t>(s.input_batching_dims[i])];
    const int64_t b = m.dims(indices)[static_cast<size_t>(s.scatter_indices_batching_dims[i])];
    if (a != b && a != kDynamic && b != kDynamic)
      return m.Fail("batching dims must have equal extents, got {} and {}", a, b);
  }
  if (!m.Count("update_window_dims, one per dim of an input that is not inserted", s.update_window_dims.size(),
               window.size()) ||
      !m.Count("dims of the updates: those of the window and of the indices,", static_cast<size_t>(update_rank),
               window.size() + batch.size()))
    return false;
  size_t next_window = 0, next_batch = 0;
  for (int64_t d = 0; d < update_rank; ++d) {
    const int64_t got = m.dims(first_update)[static_cast<size_t>(d)];
    const bool of_window = in(s.update_window_dims, d);
    const int64_t limit = of_window ? window[next_window++] : batch[next_batch++];
    if (got == kDynamic || limit == kDynamic) continue;
    if (of_window ? got > limit : got != limit)
      return m.Fail("dim {} of the updates {} must be {} {}", d, m.type(first_update).ToString(),
                    of_window ? "at most the input's" : "the indices'", limit);
  }
  return true;
}

}  // namespace

Values Scatter(const Values& inputs, Value indices, const Values& updates, const ScatterDims& dims, const Body& body,
               const ScatterOptions& options, Location where) {
  Values operands = inputs;
  operands.push_back(indices);
  Make m(OpKind::kScatter, Both(operands, updates), where);
  const size_t n = inputs.size();
  if (m.ok() && n == 0) m.Fail("wants at least one input");
  if (!m.Count("updates, one per input", updates.size(), n) || !m.Tensor(n, "indices", kInteger))
    return Make::Invalid(n);
  for (size_t i = 0; i < n; ++i) {
    if (!m.Tensor(i, "an input") || !m.Tensor(n + 1 + i, "an update") ||
        !m.SameElements(i, n + 1 + i, "input and update"))
      return Make::Invalid(n);
    if (!Compatible(Type(DType::kF32, m.dims(0)), Type(DType::kF32, m.dims(i))) ||
        !Compatible(Type(DType::kF32, m.dims(n + 1)), Type(DType::kF32, m.dims(n + 1 + i)))) {
      m.Fail("inputs must have one shape, and so must updates, got {} and {}", m.type(i).ToString(),
             m.type(n + 1 + i).ToString());
      return Make::Invalid(n);
    }
  }
  if (!CheckScatter(m, n, dims) || !m.RegionOf("the body", Scalars(m, 0, n, 2), body, Scalars(m, 0, n, 1)))
    return Make::Invalid(n);
  m.Set("scatter_dimension_numbers", dims)
      .Set("indices_are_sorted", options.indices_are_sorted)
      .Set("unique_indices", options.unique_indices);
  return m.Results(TypesOf(inputs));
}

Values Sort(const Values& inputs, int64_t dim, bool stable, const Body& comparator, Location where) {
  Make m(OpKind::kSort, inputs, where);
  const size_t n = inputs.size();
  if (m.ok() && n == 0) m.Fail("wants at least one input");
  std::vector<Type> pairs;
  for (size_t i = 0; i < n; ++i) {
    if (!m.Tensor(i, "an input")) return Make::Invalid(n);
    if (!Compatible(Type(DType::kF32, m.dims(0)), Type(DType::kF32, m.dims(i)))) {
      m.Fail("inputs must have one shape, got {} and {}", m.type(0).ToString(), m.type(i).ToString());
      return Make::Invalid(n);
    }
    pairs.insert(pairs.end(), 2, m.type(i).WithDims({}).WithBounds({}));
  }
  if (!m.ok() || !m.DimIndex("the dim", dim, m.rank()) || !m.RegionOf("the comparator", pairs, comparator, {Pred()}))
    return Make::Invalid(n);
  m.Set("dimension", dim).Set("is_stable", stable);
  return m.Results(TypesOf(inputs));
}

Value Map(const Values& inputs, const Body& body, Location where) {
  Make m(OpKind::kMap, inputs, where);
  if (m.ok() && inputs.empty()) m.Fail("wants at least one input");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!m.Tensor(i, "an input")) return {};
    if (!Compatible(Type(DType::kF32, m.dims(0)), Type(DType::kF32, m.dims(i)))) {
      m.Fail("inputs must have one shape, got {} and {}", m.type(0).ToString(), m.type(i).ToString());
      return {};
    }
  }
  std::vector<Type> results;
  if (!m.ok() || !m.Region("the body", Scalars(m, 0, inputs.size(), 1), body, &results)) return {};
  if (results.size() != 1 || !results[0].is_tensor() || results[0].rank() != 0) {
    m.Fail("the body must give one scalar, got {} values", results.size());
    return {};
  }
  Dims dims;
  for (int64_t d = 0; d < m.rank(); ++d) dims.push_back(d);
  return m.Set("dimensions", dims).Result(results[0].WithDims(m.dims()));
}

}  // namespace tenon::builder
