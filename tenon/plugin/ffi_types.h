#pragma once

#include <cstdint>

namespace tenon::plugin {

/// The deleter that a type of user data was registered with; null when the id is unknown or has none.
void (*FfiTypeDeleter(int64_t type_id))(void*);

}  // namespace tenon::plugin
