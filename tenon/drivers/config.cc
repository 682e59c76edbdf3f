#include "tenon/drivers/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tenon::drivers {

std::string ToString(const Config& config) {
  std::string text = "{";
  for (size_t i = 0; i < config.fields.size(); ++i) {
    const Config::Field& f = config.fields[i];
    text += fmt::format("{}{}=[{}]", i == 0 ? "" : ", ", f.name, fmt::join(f.values, ","));
  }
  return text + "}";
}

namespace internal {

bool Read(std::span<const int64_t> from, int64_t& value) {
  if (from.size() != 1) return false;
  value = from[0];
  return true;
}

bool Read(std::span<const int64_t> from, bool& value) {
  if (from.size() != 1 || (from[0] != 0 && from[0] != 1)) return false;
  value = from[0] == 1;
  return true;
}

bool Read(std::span<const int64_t> from, Dims& values) {
  values = Dims(from.begin(), from.end());
  return true;
}

const Config::Field* Reader::Take(std::string_view name) {
  for (size_t i = 0; i < config_.fields.size(); ++i) {
    if (used_[i] || config_.fields[i].name != name) continue;
    used_[i] = true;
    return &config_.fields[i];
  }
  return nullptr;
}

void Reader::Refuse(const Config::Field& field) {
  if (!status_.ok()) return;
  status_ = InvalidArgument(fmt::format("{} does not take [{}]", field.name, fmt::join(field.values, ",")));
}

Status Reader::Finish() const {
  TENON_RETURN_IF_ERROR(status_);
  for (size_t i = 0; i < used_.size(); ++i) {
    if (!used_[i]) {
      return InvalidArgument(
          fmt::format("'{}' is no field here, or comes twice: {}", config_.fields[i].name, ToString(config_)));
    }
  }
  return OkStatus();
}

}  // namespace internal
}  // namespace tenon::drivers
