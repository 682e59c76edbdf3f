#include "tenon/drivers/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace tenon::drivers {
namespace {

/// Of one array, in elements: sums of a few still fit int64, in bytes as well.
constexpr int64_t kMaxReach = INT64_MAX / 64;

/// Extents and reach fit int64, even where stride 0 or an extent of 0 lets the array fit little memory.
Status CheckCounts(const StridedArray& array) {
  if (array.dims.size() != array.strides.size())
    return InvalidArgument(fmt::format("{} extents but {} strides", array.dims.size(), array.strides.size()));
  int64_t count = std::max<int64_t>(ByteWidth(array.type), 1), reach = 0;
  for (size_t i = 0; i < array.dims.size(); ++i) {
    int64_t by;
    if (array.dims[i] < 0) return InvalidArgument(fmt::format("negative extent {}", array.dims[i]));
    if (__builtin_mul_overflow(count, std::max<int64_t>(array.dims[i], 1), &count) || array.strides[i] > kMaxReach ||
        array.strides[i] < -kMaxReach ||
        __builtin_mul_overflow(std::max<int64_t>(array.dims[i] - 1, 0), array.strides[i], &by) || by == INT64_MIN ||
        __builtin_add_overflow(reach, std::abs(by), &reach) || reach > kMaxReach) {
      return InvalidArgument(fmt::format("{} has too many elements", ToString(Shape{array.type, array.dims})));
    }
  }
  return OkStatus();
}

}  // namespace

Registry::Registry(std::vector<std::unique_ptr<const Family>> own, std::vector<std::unique_ptr<const Family>> host)
    : families_(std::move(own)), own_(families_.size()) {
  for (auto& family : host) families_.push_back(std::move(family));
}

Result<Registry::Choice> Registry::Match(const Problem& problem) const {
  std::string reasons;
  for (size_t i = 0; i < families_.size(); ++i) {
    const Family& family = *families_[i];
    if (!family.Takes(problem.op)) continue;
    Result<Offer> offer = family.Match(problem);
    if (offer.ok()) return Choice{&family, *std::move(offer), i >= own_};
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", family.name(), offer.status().message());
  }
  return Unimplemented(
      fmt::format("no driver for this {}: {}", problem.op, reasons.empty() ? "none takes any" : reasons));
}

Result<const Family*> Registry::Find(std::string_view name) const {
  for (const auto& family : families_) {
    if (family->name() == name) return family.get();
  }
  return InvalidArgument(fmt::format("no driver is called '{}'", name));
}

bool Registry::OnHost(std::string_view name) const {
  for (size_t i = own_; i < families_.size(); ++i) {
    if (families_[i]->name() == name) return true;
  }
  return false;
}

Result<Facts> Registry::Describe(std::string_view name, const Config& config, const Operands& operands) const {
  TENON_ASSIGN_OR_RETURN(const Family* family, Find(name));
  for (std::span<const StridedArray> list : {operands.inputs, operands.outputs}) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (Status s = CheckCounts(list[i]); !s.ok())
        return s.WithContext(fmt::format("{} {}", list.data() == operands.inputs.data() ? "input" : "output", i))
            .WithContext(name);
    }
  }
  Result<Facts> facts = family->Describe(config, operands);
  if (!facts.ok()) return InvalidArgument(std::string(facts.status().message())).WithContext(name);
  return facts;
}

}  // namespace tenon::drivers
