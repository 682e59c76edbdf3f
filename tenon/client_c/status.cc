#include <new>

#include "tenon/client_c/internal/handles.h"

namespace tenon::client_c {

namespace {
tenon_status* NoMemory() {
  // Stands for itself: what other files make at load time may not be there yet.
  static tenon_status status{ResourceExhausted("out of host memory"), "out of host memory"};
  return &status;
}
// Made when the library is loaded: later there may be no memory to make it.
[[maybe_unused]] tenon_status* const kMadeEarly = NoMemory();
}  // namespace

tenon_status* ToC(Status status) noexcept {
  if (status.ok()) return nullptr;
  try {
    std::string message(status.message());
    return new tenon_status{std::move(status), std::move(message)};
  } catch (...) {
    return NoMemory();
  }
}

}  // namespace tenon::client_c

using tenon::client_c::Guard;
using tenon::client_c::NotNull;

int tenon_abi_version(void) { return TENON_ABI_VERSION; }
const char* tenon_version(void) { return TENON_VERSION; }

tenon_code tenon_status_code(const tenon_status* status) {
  return status == nullptr ? TENON_OK : static_cast<tenon_code>(status->status.code());
}
const char* tenon_status_message(const tenon_status* status) {
  return status == nullptr ? "" : status->message.c_str();
}
void tenon_status_free(tenon_status* status) {
  if (status != tenon::client_c::NoMemory()) delete status;
}
const char* tenon_code_name(tenon_code code) { return tenon::CodeName(static_cast<tenon::Code>(code)).data(); }

const char* tenon_bytes_data(const tenon_bytes* bytes) { return bytes == nullptr ? nullptr : bytes->data.c_str(); }
size_t tenon_bytes_size(const tenon_bytes* bytes) { return bytes == nullptr ? 0 : bytes->data.size(); }
void tenon_bytes_free(tenon_bytes* bytes) { delete bytes; }

const char* tenon_dtype_name(tenon_dtype dtype) {
  const bool known = dtype >= 0 && dtype < tenon::kNumDTypes;
  return tenon::DTypeName(known ? static_cast<tenon::DType>(dtype) : tenon::DType::kInvalid).data();
}
size_t tenon_dtype_size(tenon_dtype dtype) {
  const bool known = dtype >= 0 && dtype < tenon::kNumDTypes;
  return known ? static_cast<size_t>(tenon::ByteWidth(static_cast<tenon::DType>(dtype))) : 0;
}

tenon_status* tenon_event_is_ready(const tenon_event* event, int* ready) {
  return Guard("tenon_event_is_ready", [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(NotNull(event, ready));
    *ready = 0;
    TENON_ASSIGN_OR_RETURN(const bool is, event->event.IsReady());
    *ready = is ? 1 : 0;
    return tenon::OkStatus();
  });
}

tenon_status* tenon_event_await(const tenon_event* event) {
  return Guard("tenon_event_await", [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(NotNull(event));
    return event->event.Await();
  });
}

tenon_status* tenon_event_on_ready(const tenon_event* event, void (*done)(tenon_status*, void*), void* context) {
  return Guard("tenon_event_on_ready", [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(NotNull(event));
    if (done == nullptr) return tenon::InvalidArgument("the callback is NULL");
    return event->event.OnReady(
        [done, context](tenon::Status status) { done(tenon::client_c::ToC(std::move(status)), context); });
  });
}

void tenon_event_free(tenon_event* event) { delete event; }
