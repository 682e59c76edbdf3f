#include "tenon/base/status.h"

#include <algorithm>
#include <stdexcept>

namespace tenon {

struct Status::Rep {
  Code code;
  std::string message;
  std::source_location where;
  std::vector<Payload> payloads = {};
};

Status::Status(Rep rep) : rep_(std::make_shared<const Rep>(std::move(rep))) {}

std::string_view CodeName(Code code) {
  static constexpr std::string_view kNames[] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto i = static_cast<size_t>(code);
  return i < std::size(kNames) ? kNames[i] : "UNKNOWN_CODE";
}

Status::Status(Code code, std::string message, std::source_location where) {
  if (code != Code::kOk) rep_ = std::make_shared<const Rep>(Rep{code, std::move(message), where});
}

Code Status::code() const { return rep_ ? rep_->code : Code::kOk; }
std::string_view Status::message() const { return rep_ ? std::string_view(rep_->message) : std::string_view(); }
std::source_location Status::where() const { return rep_ ? rep_->where : std::source_location(); }

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  Rep rep = *rep_;
  rep.message = std::string(context) + ": " + rep_->message;
  return Status(std::move(rep));
}

std::span<const Status::Payload> Status::payloads() const {
  return rep_ ? std::span<const Payload>(rep_->payloads) : std::span<const Payload>();
}

Status Status::WithPayload(std::string key, std::string value) const {
  if (ok()) return *this;
  Rep rep = *rep_;
  const auto same =
      std::find_if(rep.payloads.begin(), rep.payloads.end(), [&](const Payload& p) { return p.key == key; });
  if (same != rep.payloads.end()) {
    same->value = std::move(value);
  } else {
    rep.payloads.push_back({std::move(key), std::move(value)});
  }
  return Status(std::move(rep));
}

std::string Status::ToString() const {
  std::string text(CodeName(code()));
  if (!ok()) {
    text += ": ";
    text += rep_->message;
  }
  return text;
}

void internal::CheckFailed(const char* condition, const char* file, int line) {
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": check failed: " + condition);
}

}  // namespace tenon
