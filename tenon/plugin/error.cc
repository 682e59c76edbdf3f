#include "tenon/plugin/error.h"

#include <fmt/format.h>

#include <new>
#include <string>

#include "tenon/base/contain.h"
#include "tenon/plugin/caller_value.h"
#include "tenon/plugin/named_value.h"
#include "tenon/plugin/ref.h"

namespace tenon::plugin {

namespace {

// A PJRT_Error with its state behind the table pointer.
struct Error {
  PJRT_Error base;
  Status status;
  bool is_owned;  // An OwnedError.
};
// One that is freed by whoever gets it.
struct OwnedError : Error {
  [[no_unique_address]] internal::Counted<ObjectKind::kError> counted;
};

const Error* FromC(const PJRT_Error* error) { return reinterpret_cast<const Error*>(error); }

void Destroy(PJRT_Error* error) {
  if (error != nullptr && FromC(error)->is_owned) delete static_cast<const OwnedError*>(FromC(error));
}

void Message(const PJRT_Error* error, const char** message, size_t* message_size) {
  std::string_view text = FromC(error)->status.message();
  *message = text.data();
  *message_size = text.size();
}

PJRT_Error_Code GetCode(const PJRT_Error* error) { return static_cast<PJRT_Error_Code>(FromC(error)->status.code()); }

void ForEachPayload(const PJRT_Error* error, PJRT_Error_PayloadVisitor visitor, void* user_arg) {
  for (const Status::Payload& p : FromC(error)->status.payloads())
    visitor(p.key.data(), p.key.size(), p.value.data(), p.value.size(), user_arg);
}

// Adds a payload to the Status behind `user_arg`.
void AddPayload(const char* key, size_t key_size, const char* value, size_t value_size, void* user_arg) {
  auto& status = *static_cast<Status*>(user_arg);
  // Called from the other side's code, through which nothing may be thrown.
  (void)Contain("a payload", [&] { status = status.WithPayload({key, key_size}, {value, value_size}); });
}

constexpr PJRT_Error_FunctionTable kErrorTable = {
    .struct_size = PJRT_Error_FunctionTable_STRUCT_SIZE,
    .instance_size = PJRT_Error_STRUCT_SIZE,
    .extension_start = nullptr,
    .destroy = Destroy,
    .message = Message,
    .get_code = GetCode,
    .for_each_payload = ForEachPayload,
};

// Made when the library is loaded: later there would be no memory for it.
Error* const kOutOfMemory = new Error{{&kErrorTable}, ResourceExhausted("out of host memory"), false};

}  // namespace

PJRT_Error* ToCError(const Status& status) noexcept {
  if (status.ok()) return nullptr;
  auto* error = new (std::nothrow) OwnedError{{{&kErrorTable}, status, true}, {}};
  return error == nullptr ? &kOutOfMemory->base : &error->base;
}

Status TakeCError(PJRT_Error* error) noexcept {
  if (error == nullptr) return OkStatus();
  Status status;
  if (error->vtable == &kErrorTable) {
    status = FromC(error)->status;
  } else {
    // Made by the other side: read it through its own table.
    status = Contain("an error", [error] {
      const char* text = nullptr;
      size_t size = 0;
      error->vtable->message(error, &text, &size);
      Status read = StatusFromC(static_cast<int>(error->vtable->get_code(error)), text, size);
      if (read.ok()) return Unknown("a callback returned an error with code OK");
      if (error->vtable->for_each_payload != nullptr) error->vtable->for_each_payload(error, AddPayload, &read);
      return read;
    });
  }
  error->vtable->destroy(error);
  return status;
}

PJRT_Error* MakeCallbackError(PJRT_Error_Code code, const char* message, size_t message_size) noexcept {
  return ToCError(Contain("a callback's error", [&] {
    Status status = StatusFromC(CallerValue(code), message, message_size);
    return status.ok() ? Unknown("a callback made an error with code OK") : status;
  }));
}

Status StatusFromC(int code, const char* message, size_t message_size) {
  if (code == PJRT_Error_Code_OK) return OkStatus();
  int number = static_cast<int>(code);
  Code known =
      number > 0 && number <= static_cast<int>(Code::kUnauthenticated) ? static_cast<Code>(number) : Code::kUnknown;
  return Status(known, message == nullptr ? std::string() : std::string(message, message_size));
}

Status AddPayloads(const PJRT_NamedValue* payloads, size_t count, Status& error) {
  TENON_ASSIGN_OR_RETURN(const Options values, DecodeNamedValues(payloads, count));
  for (const auto& [key, value] : values) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) {
      return InvalidArgument(fmt::format("the payload '{}' of an error is of type {}, wanted a string", key,
                                         ValueTypeName(static_cast<ValueType>(value.index()))));
    }
    error = error.WithPayload(key, *text);
  }
  return OkStatus();
}

}  // namespace tenon::plugin
