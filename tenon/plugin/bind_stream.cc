// Streams feed the recv callbacks of an execution: what HostTransfers::Receive hands out.

#include <fmt/format.h>

#include "tenon/plugin/bind.h"
#include "tenon/plugin/host_transfers.h"

namespace tenon::plugin::bind {

namespace {

CopyToDeviceStream& FromC(PJRT_CopyToDeviceStream* stream) { return *reinterpret_cast<CopyToDeviceStream*>(stream); }

}  // namespace

TENON_BIND(PJRT_CopyToDeviceStream_Destroy) {
  if (args.stream == nullptr) return OkStatus();
  const auto stream = Ref<CopyToDeviceStream>::Adopt(&FromC(args.stream));
  stream->Close();
  return OkStatus();
}

// The chunk is the plugin's from here on, also when it is refused.
TENON_BIND(PJRT_CopyToDeviceStream_AddChunk) {
  TENON_REQUIRE(chunk);
  const struct Free {
    PJRT_Chunk chunk;
    ~Free() {
      if (chunk.deleter != nullptr) chunk.deleter(chunk.data, chunk.deleter_arg);
    }
  } taken{*args.chunk};
  TENON_REQUIRE(stream);
  if (taken.chunk.data == nullptr && taken.chunk.size != 0) return NullArgument(fn, "chunk->data");
  args.transfer_complete = ToC(EventRef::Of(FromC(args.stream).Add(taken.chunk.data, taken.chunk.size)));
  return OkStatus();
}

TENON_BIND(PJRT_CopyToDeviceStream_TotalBytes) {
  TENON_REQUIRE(stream);
  args.total_bytes = FromC(args.stream).total();
  return OkStatus();
}

TENON_BIND(PJRT_CopyToDeviceStream_GranuleSize) {
  TENON_REQUIRE(stream);
  args.granule_size_in_bytes = CopyToDeviceStream::kGranuleBytes;
  return OkStatus();
}

TENON_BIND(PJRT_CopyToDeviceStream_CurrentBytes) {
  TENON_REQUIRE(stream);
  args.current_bytes = FromC(args.stream).current();
  return OkStatus();
}

}  // namespace tenon::plugin::bind
