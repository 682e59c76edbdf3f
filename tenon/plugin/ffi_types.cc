#include "tenon/plugin/ffi_types.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "tenon/plugin/plugin.h"

namespace tenon::plugin {

namespace {

struct Registry {
  std::shared_mutex mutex;
  std::map<std::string, int64_t, std::less<>> ids;
  std::map<int64_t, void (*)(void*)> deleters;
  // Ids that frameworks have for their types are small: a type of theirs may come later than one of ours.
  int64_t next = int64_t{1} << 32;
};

// Registrations are for good, and user data may outlive static destruction: never destroyed.
Registry& TheRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

}  // namespace

Result<int64_t> RegisterFfiType(std::string_view name, int64_t id, void (*deleter)(void*)) {
  if (name.empty()) return InvalidArgument("a type of user data needs a name");
  Registry& r = TheRegistry();
  std::unique_lock lock(r.mutex);
  auto it = r.ids.find(name);
  if (it != r.ids.end()) {
    if (id != 0 && id != it->second) {
      return InvalidArgument(fmt::format("type '{}' is registered with id {}, got {}", name, it->second, id));
    }
    if (deleter != nullptr && r.deleters[it->second] == nullptr) r.deleters[it->second] = deleter;
    return it->second;
  }
  if (id == 0) {
    while (r.deleters.contains(r.next)) ++r.next;
    id = r.next++;
  } else if (r.deleters.contains(id)) {
    return InvalidArgument(fmt::format("id {} of type '{}' belongs to another type", id, name));
  }
  r.ids.emplace(name, id);
  r.deleters.emplace(id, deleter);
  return id;
}

void (*FfiTypeDeleter(int64_t type_id))(void*) {
  Registry& r = TheRegistry();
  std::shared_lock lock(r.mutex);
  auto it = r.deleters.find(type_id);
  return it == r.deleters.end() ? nullptr : it->second;
}

}  // namespace tenon::plugin
