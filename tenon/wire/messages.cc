#include "tenon/wire/messages.h"

namespace tenon::wire {

const char* VerbName(Verb verb) {
  switch (verb) {
    case Verb::kNone:
      break;
#define TENON_MESSAGE(Name, verb) \
  case Verb::k##Name:             \
    return #Name;
#include "tenon/wire/schema.def"
  }
  return "?";
}

Error FromStatus(const Status& status) {
  if (status.ok()) return {};
  return {static_cast<int32_t>(status.code()), std::string(status.message())};
}

Status ToStatus(const Error& error) {
  if (error.code == 0) return OkStatus();
  const bool known = error.code > 0 && error.code <= static_cast<int32_t>(Code::kUnauthenticated);
  return Status(known ? static_cast<Code>(error.code) : Code::kUnknown, error.message);
}

bool HasCustomCalls(std::string_view program) {
  return program.find("custom_call") != program.npos || program.find("custom-call") != program.npos;
}

}  // namespace tenon::wire
