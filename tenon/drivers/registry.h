#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/drivers/family.h"

namespace tenon::drivers {

/// The families of one target, and for one that is no CPU those of its host, which runs what the target has no code
/// for. Immutable; passed to whoever needs it, so that each target brings its own.
class Registry {
 public:
  Registry() = default;
  /// Earlier families are asked first. Names must differ.
  explicit Registry(std::vector<std::unique_ptr<const Family>> families)
      : families_(std::move(families)), own_(families_.size()) {}
  /// The target's own families, then those that its host runs.
  Registry(std::vector<std::unique_ptr<const Family>> own, std::vector<std::unique_ptr<const Family>> host);

  std::span<const std::unique_ptr<const Family>> families() const { return families_; }

  struct Choice {
    const Family* family = nullptr;
    Offer offer;
    bool on_host = false;  ///< The target has to wait for its host: a kernel of its own is better.
  };
  /// The first family that takes the problem on. UNIMPLEMENTED, with the reasons of those that were asked, when there
  /// is none.
  Result<Choice> Match(const Problem& problem) const;

  /// INVALID_ARGUMENT when there is no such family.
  Result<const Family*> Find(std::string_view name) const;
  /// Whether it is the host that runs the family of that name.
  bool OnHost(std::string_view name) const;

  /// Family::Describe of the named one, over any operands: those that no memory can hold are refused here. Whatever is
  /// wrong is INVALID_ARGUMENT.
  Result<Facts> Describe(std::string_view name, const Config& config, const Operands& operands) const;

 private:
  std::vector<std::unique_ptr<const Family>> families_;
  size_t own_ = 0;  ///< The first so many are the target's.
};

}  // namespace tenon::drivers
