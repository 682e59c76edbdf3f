#pragma once

#include "tenon/abi/pjrt.h"
#include "tenon/client/kv_store.h"

namespace tenon::client::internal {

/// Lets the plugin call `store`, which must live as long as the client.
void SetKeyValueCallbacks(PJRT_Client_Create_Args& args, KeyValueStore* store);

}  // namespace tenon::client::internal
