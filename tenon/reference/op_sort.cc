// sort: a stable merge sort, which stays inside the array whatever the comparator says.

#include <numeric>

#include "tenon/reference/indexing.h"
#include "tenon/reference/movement.h"
#include "tenon/reference/scalar_body.h"

namespace tenon::reference {
namespace {

// Sorts `order`; less(a, b) says whether element a must come before element b.
template <class Less>
Status MergeSort(std::vector<int64_t>& order, std::vector<int64_t>& scratch, Less less) {
  const size_t n = order.size();
  scratch.resize(n);
  for (size_t run = 1; run < n; run *= 2) {
    for (size_t low = 0; low < n; low += 2 * run) {
      const size_t middle = std::min(low + run, n), high = std::min(low + 2 * run, n);
      size_t left = low, right = middle;
      for (size_t at = low; at < high; ++at) {
        bool take_right = left == middle;
        if (left < middle && right < high) TENON_RETURN_IF_ERROR(less(order[right], order[left], take_right));
        scratch[at] = take_right ? order[right++] : order[left++];
      }
    }
    order.swap(scratch);
  }
  return OkStatus();
}

Status Sort(OpContext& context) {
  const size_t n = context.operands.size();
  TENON_RETURN_IF_ERROR(CheckSameDims(context, 0, n));
  const auto rank = static_cast<int64_t>(context.in(0).rank());
  int64_t dimension = IntAttr(context.op, "dimension", -1);
  if (dimension < 0) dimension += rank;
  TENON_ASSIGN_OR_RETURN(Computation comparator, Computation::Bind(context, 0));
  // The sorted dimension last, so that each row lies together.
  Dims order, back(static_cast<size_t>(rank), 0);
  for (int64_t d = 0; d < rank; ++d) {
    if (d != dimension) order.push_back(d);
  }
  order.push_back(dimension);
  for (size_t d = 0; d < order.size(); ++d) back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  std::vector<Value> inputs, outputs;
  for (size_t i = 0; i < n; ++i) {
    TENON_ASSIGN_OR_RETURN(Value arranged, Transpose(context.in(i), order));
    TENON_ASSIGN_OR_RETURN(Value out, Value::Allocate(arranged.shape()));
    inputs.push_back(std::move(arranged));
    outputs.push_back(std::move(out));
  }
  const int64_t extent = context.in(0).dims()[static_cast<size_t>(dimension)];
  const int64_t rows = extent == 0 ? 0 : context.in(0).num_elements() / extent;
  std::vector<const void*> args(2 * n);
  std::vector<int64_t> permutation, scratch;
  for (int64_t row = 0; row < rows; ++row) {
    permutation.resize(static_cast<size_t>(extent));
    std::iota(permutation.begin(), permutation.end(), 0);
    const auto less = [&](int64_t a, int64_t b, bool& result) {
      for (size_t i = 0; i < n; ++i) {
        const int64_t width = ByteWidth(inputs[i].dtype());
        const std::byte* base = inputs[i].bytes() + row * extent * width;
        args[2 * i] = base + a * width;
        args[2 * i + 1] = base + b * width;
      }
      uint8_t before = 0;
      void* results[] = {&before};
      TENON_RETURN_IF_ERROR(comparator.Apply(1, args, results));
      result = before != 0;
      return OkStatus();
    };
    TENON_RETURN_IF_ERROR(MergeSort(permutation, scratch, less));
    TENON_RETURN_IF_ERROR(context.evaluator.CheckCancelled());
    for (size_t i = 0; i < n; ++i) {
      VisitWidth(ByteWidth(inputs[i].dtype()), [&](auto zero) {
        using T = decltype(zero);
        for (int64_t k = 0; k < extent; ++k) {
          outputs[i].mutable_data<T>()[row * extent + k] =
              inputs[i].data<T>()[row * extent + permutation[static_cast<size_t>(k)]];
        }
      });
    }
  }
  for (Value& output : outputs) {
    TENON_ASSIGN_OR_RETURN(output, Transpose(output, back));
  }
  context.results = std::move(outputs);
  return OkStatus();
}

constexpr OpEntry kOps[] = {{"stablehlo.sort", &Sort}};

}  // namespace

std::span<const OpEntry> SortOps() { return kOps; }

}  // namespace tenon::reference
