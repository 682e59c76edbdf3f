#include "tenon/ffi_host/registry.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "tenon/base/contain.h"
#include "tenon/base/fork.h"
#include "tenon/ffi_host/internal.h"

namespace tenon::ffi_host {
namespace {

struct Handlers {
  ForkSafeMutex mutex;
  std::map<std::string, std::shared_ptr<const Handler>, std::less<>> by_name;
};

// Leaked: handlers stay registered until the process ends.
Handlers& GlobalHandlers() {
  static Handlers& handlers = *new Handlers;
  return handlers;
}

std::atomic<BuiltIn (*)(std::string_view)> find_built_in{nullptr};

Status CheckMetadata(std::string_view name, XLA_FFI_Handler* function) {
  XLA_FFI_Metadata metadata = {};
  metadata.struct_size = sizeof(metadata);
  metadata.api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
  metadata.api_version.major_version = -1;
  XLA_FFI_Metadata_Extension extension = {};
  extension.extension_base.struct_size = XLA_FFI_Metadata_Extension_STRUCT_SIZE;
  extension.extension_base.type = XLA_FFI_Extension_Metadata;
  extension.metadata = &metadata;
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.extension_start = &extension.extension_base;
  frame.api = &ApiTable();
  XLA_FFI_Error* error = nullptr;
  Status asked = Contain("it threw", [&] { error = function(&frame); });
  if (Status s = asked.ok() ? TakeError(error) : asked; !s.ok())
    return s.WithContext(fmt::format("metadata of FFI handler '{}'", name));
  const int major = metadata.api_version.major_version;
  const int minor = metadata.api_version.minor_version;
  if (major == XLA_FFI_API_MAJOR && minor <= XLA_FFI_API_MINOR) return OkStatus();
  return InvalidArgument(fmt::format("FFI handler '{}' was built for FFI API {}.{}, this host speaks {}.0 to {}.{}",
                                     name, major, minor, XLA_FFI_API_MAJOR, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR));
}

}  // namespace

Status RegisterHandler(std::string_view name, const XLA_FFI_Handler_Bundle& bundle, XLA_FFI_Handler_Traits traits) {
  if (name.empty()) return InvalidArgument("an FFI handler needs a name");
  if (bundle.execute == nullptr) return InvalidArgument(fmt::format("FFI handler '{}' has no execute function", name));
  for (XLA_FFI_Handler* f : {bundle.instantiate, bundle.prepare, bundle.initialize, bundle.execute}) {
    if (f != nullptr) TENON_RETURN_IF_ERROR(CheckMetadata(name, f));
  }
  Handlers& handlers = GlobalHandlers();
  std::lock_guard lock(handlers.mutex);
  const auto found = handlers.by_name.find(name);
  if (found == handlers.by_name.end()) {
    handlers.by_name.emplace(name, std::make_shared<const Handler>(Handler{std::string(name), bundle, traits}));
    return OkStatus();
  }
  const XLA_FFI_Handler_Bundle& known = found->second->bundle;
  if (known.execute == bundle.execute && known.instantiate == bundle.instantiate && known.prepare == bundle.prepare &&
      known.initialize == bundle.initialize)
    return OkStatus();
  return AlreadyExists(fmt::format("another FFI handler is registered as '{}'", name));
}

void InstallBuiltIns(BuiltIn (*find)(std::string_view name)) { find_built_in.store(find); }

Result<std::shared_ptr<const Handler>> FindHandler(std::string_view name, int64_t longest) {
  const auto find = find_built_in.load();
  const BuiltIn built_in = find == nullptr ? BuiltIn() : find(name);
  {
    Handlers& handlers = GlobalHandlers();
    std::lock_guard lock(handlers.mutex);
    const auto found = handlers.by_name.find(name);
    if (found != handlers.by_name.end() &&
        ((found->second->traits & kStandInTrait) == 0 || built_in.handler == nullptr || longest > built_in.longest))
      return found->second;
  }
  if (built_in.handler != nullptr) {
    XLA_FFI_Handler_Bundle bundle = {};
    bundle.execute = built_in.handler;
    return std::make_shared<const Handler>(Handler{std::string(name), bundle, kLeafTrait});
  }
  return NotFound(fmt::format("No registered implementation for custom call to {} for platform Host", name));
}

}  // namespace tenon::ffi_host
