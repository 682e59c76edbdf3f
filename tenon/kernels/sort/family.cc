#include "tenon/kernels/sort/family.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::kernels::sort {
namespace {

using drivers::Ordering;

class SortCall final : public drivers::Call {
 public:
  explicit SortCall(SortSignature signature) : signature_(std::move(signature)) {}
  Status Run(const drivers::Memory& memory, threads::ThreadPool& pool) const override {
    SmallVector<const void*, 8> payloads;
    size_t next = signature_.keys.size();
    for (const SortPayload& p : signature_.payloads)
      payloads.push_back(p.is_position ? nullptr : memory.inputs[next++]);
    Sort(signature_, memory.inputs, payloads.data(), memory.outputs, memory.scratch, pool);
    return OkStatus();
  }

 private:
  SortSignature signature_;
};

class SortFamily final : public drivers::Family {
 public:
  std::string_view name() const override { return "sort"; }

  bool Takes(std::string_view op) const override { return op == Ordering::kOp; }

  Result<drivers::Offer> Match(const drivers::Problem& problem) const override {
    TENON_RETURN_IF_ERROR(Read(problem.attributes, {problem.operands, problem.results}).status());
    return drivers::Offer{problem.attributes, std::vector<std::optional<Dims>>(problem.operands.size())};
  }

  Result<drivers::Facts> Describe(const drivers::Config& config, const drivers::Operands& operands) const override {
    TENON_ASSIGN_OR_RETURN(const SortSignature s, Read(config, operands));
    drivers::Facts facts;
    facts.scratch_bytes = SortScratchBytes(s);
    facts.work.launches = 1;
    facts.work.serial = drivers::CyclesOfNs(SortCostNs(s));
    facts.work.bytes_read = drivers::BytesOf(operands.inputs);
    facts.work.bytes_written = drivers::BytesOf(operands.outputs);
    return facts;
  }

  Result<std::unique_ptr<const drivers::Call>> Bind(const drivers::Config& config, const drivers::Operands& operands,
                                                    std::span<const bool>) const override {
    TENON_ASSIGN_OR_RETURN(SortSignature s, Read(config, operands));
    return std::unique_ptr<const drivers::Call>(std::make_unique<SortCall>(std::move(s)));
  }

 private:
  static Result<SortSignature> Read(const drivers::Config& config, const drivers::Operands& operands) {
    TENON_ASSIGN_OR_RETURN(const Ordering ordering, drivers::FromConfig<Ordering>(config));
    return SignatureOf(ordering, operands);
  }
};

}  // namespace

Result<SortSignature> SignatureOf(const drivers::Ordering& ordering, const drivers::Operands& operands) {
  for (const Dims* flags : {&ordering.descending, &ordering.by_value, &ordering.is_position}) {
    for (int64_t flag : *flags) {
      if (flag != 0 && flag != 1) return InvalidArgument(fmt::format("a flag of {}", flag));
    }
  }
  const auto num_keys = ordering.descending.size();
  const auto read = static_cast<size_t>(std::count(ordering.is_position.begin(), ordering.is_position.end(), 0));
  if (ordering.by_value.size() != num_keys) return InvalidArgument("keys with and without flags");
  TENON_RETURN_IF_ERROR(drivers::CheckCount(operands, num_keys + read, ordering.is_position.size()));
  if (num_keys == 0 || ordering.is_position.empty()) return InvalidArgument("a sort without keys or results");
  const std::span<const StridedArray> keys = operands.inputs.first(num_keys), in = operands.inputs.subspan(num_keys),
                                      out = operands.outputs;
  const Dims& dims = keys[0].dims;
  if (ordering.dimension < 0 || static_cast<size_t>(ordering.dimension) >= dims.size()) {
    return InvalidArgument(fmt::format("a sort along dimension {} of {}", ordering.dimension, dims.size()));
  }
  const auto along = static_cast<size_t>(ordering.dimension);
  SortSignature s;
  const auto outer = [&](const Dims& list) {
    Dims rest;
    for (size_t d = 0; d < list.size(); ++d) {
      if (d != along) rest.push_back(list[d]);
    }
    return rest;
  };
  const auto fits = [&](const StridedArray& a, int64_t length) {
    Dims wanted = dims;
    wanted[along] = length;
    return a.dims == wanted && a.strides.size() == wanted.size();
  };
  s.outer = outer(dims);
  s.length = dims[along];
  s.take = out[0].dims.size() == dims.size() ? out[0].dims[along] : -1;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!fits(keys[i], s.length)) return InvalidArgument("a sort of arrays of several shapes");
    s.keys.push_back({keys[i].type, ordering.descending[i] != 0, ordering.by_value[i] != 0, keys[i].strides[along],
                      outer(keys[i].strides)});
  }
  size_t next = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!fits(out[i], s.take)) return InvalidArgument("a sort into arrays of several shapes");
    SortPayload p;
    p.width_bytes = ByteWidth(out[i].type);
    p.is_position = ordering.is_position[i] != 0;
    p.out_stride = out[i].strides[along];
    p.out_outer_strides = outer(out[i].strides);
    if (!p.is_position) {
      const StridedArray& from = in[next++];
      if (from.type != out[i].type || !fits(from, s.length))
        return InvalidArgument("a sort whose operand and result differ in type or shape");
      p.in_stride = from.strides[along];
      p.in_outer_strides = outer(from.strides);
    } else if (!IsInteger(out[i].type)) {
      return InvalidArgument(fmt::format("a sort that writes positions as {}", DTypeName(out[i].type)));
    }
    s.payloads.push_back(std::move(p));
  }
  TENON_RETURN_IF_ERROR(Verify(s));
  return s;
}

std::unique_ptr<const drivers::Family> MakeFamily() { return std::make_unique<SortFamily>(); }

}  // namespace tenon::kernels::sort
