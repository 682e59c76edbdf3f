#pragma once

#include <cstdint>

#include "tenon/cpu/client.h"
#include "tenon/plugin/buffer.h"
#include "tenon/plugin/event.h"

namespace tenon::cpu {

// As plugin::Client::SendToProcess and ReceiveFromProcess. Arrays travel row by row; those that lie otherwise are
// turned before they leave, and UNIMPLEMENTED where they arrive.
plugin::EventRef SendArray(CpuClient& client, plugin::Ref<plugin::Buffer> buffer, int device_id, int64_t key);
Result<plugin::Ref<plugin::Buffer>> ReceiveArray(CpuClient& client, plugin::ArraySpec spec, plugin::Device& device,
                                                 int device_id, int64_t key);

}  // namespace tenon::cpu
