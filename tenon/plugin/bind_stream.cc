// Streams feed the recv callbacks of an execution. Executions with such callbacks are refused, so no stream is ever
// handed out.

#include <fmt/format.h>

#include "tenon/plugin/bind.h"

namespace tenon::plugin::bind {

namespace {

Status NoStreams(std::string_view fn) {
  return Unimplemented(fmt::format("{} is not implemented: this plugin hands out no streams", fn));
}

}  // namespace

TENON_BIND(PJRT_CopyToDeviceStream_Destroy) { return args.stream == nullptr ? OkStatus() : NoStreams(fn); }

// The chunk is the plugin's from here on, also when it is refused.
TENON_BIND(PJRT_CopyToDeviceStream_AddChunk) {
  if (args.chunk != nullptr && args.chunk->deleter != nullptr)
    args.chunk->deleter(args.chunk->data, args.chunk->deleter_arg);
  return NoStreams(fn);
}

TENON_BIND(PJRT_CopyToDeviceStream_TotalBytes) { return NoStreams(fn); }
TENON_BIND(PJRT_CopyToDeviceStream_GranuleSize) { return NoStreams(fn); }
TENON_BIND(PJRT_CopyToDeviceStream_CurrentBytes) { return NoStreams(fn); }

}  // namespace tenon::plugin::bind
