#include "tenon/client/stream.h"

#include <vector>

#include "tenon/base/contain.h"
#include "tenon/client/internal/count.h"

namespace tenon::client {

CopyToDeviceStream::CopyToDeviceStream(const Api* api, PJRT_CopyToDeviceStream* stream) : api_(api), stream_(stream) {
  internal::Count(internal::Kind::kOther, 1);
}

CopyToDeviceStream::~CopyToDeviceStream() {
  if (stream_ == nullptr) return;
  auto args = MakeArgs<PJRT_CopyToDeviceStream_Destroy_Args>();
  args.stream = stream_;
  (void)api_->Call(args);
  internal::Count(internal::Kind::kOther, -1);
}

Status CopyToDeviceStream::Check() const {
  return stream_ != nullptr ? OkStatus() : FailedPrecondition("this CopyToDeviceStream was moved from");
}

Result<Event> CopyToDeviceStream::AddChunk(std::span<const std::byte> data) {
  auto copy = std::make_shared<std::vector<std::byte>>(data.begin(), data.end());
  const std::span<const std::byte> bytes(*copy);
  return AddChunk(bytes, [copy = std::move(copy)] {});
}

Result<Event> CopyToDeviceStream::AddChunk(std::span<const std::byte> data, std::function<void()> release) {
  auto args = MakeArgs<PJRT_CopyToDeviceStream_AddChunk_Args>();
  const Status there = Check();
  if (!there.ok() || !api_->Has<PJRT_CopyToDeviceStream_AddChunk_Args>()) {
    if (release) release();
    return there.ok() ? api_->Call(args) : there;
  }
  PJRT_Chunk chunk{};
  chunk.data = const_cast<std::byte*>(data.data());
  chunk.size = data.size();
  chunk.deleter = [](void*, void* user_arg) {
    const std::unique_ptr<std::function<void()>> call(static_cast<std::function<void()>*>(user_arg));
    if (*call) (void)Contain("the release of a chunk", *call);  // Nothing may be thrown through the plugin's code.
  };
  chunk.deleter_arg = new std::function<void()>(std::move(release));
  args.stream = stream_;
  args.chunk = &chunk;
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return Event(api_, args.transfer_complete);
}

Result<int64_t> CopyToDeviceStream::TotalBytes() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = MakeArgs<PJRT_CopyToDeviceStream_TotalBytes_Args>();
  args.stream = stream_;
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return args.total_bytes;
}

Result<int64_t> CopyToDeviceStream::GranuleSize() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = MakeArgs<PJRT_CopyToDeviceStream_GranuleSize_Args>();
  args.stream = stream_;
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return args.granule_size_in_bytes;
}

Result<int64_t> CopyToDeviceStream::CurrentBytes() const {
  TENON_RETURN_IF_ERROR(Check());
  auto args = MakeArgs<PJRT_CopyToDeviceStream_CurrentBytes_Args>();
  args.stream = stream_;
  TENON_RETURN_IF_ERROR(api_->Call(args));
  return args.current_bytes;
}

}  // namespace tenon::client
