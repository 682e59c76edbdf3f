#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "tenon/plugin/buffer.h"
#include "tenon/plugin/client.h"

namespace tenon::plugin {

/// Calls work(Result<BufferUse>) once the bytes of a use are defined, or with the error that they failed with. At once
/// when that is known and `size_bytes` is within the client's inline limit; otherwise through Client::Schedule. `work`
/// returns what ends the operation. The event that comes back is ready when that is.
EventRef WhenUsable(Client& client, BufferUse use, size_t size_bytes, std::function<EventRef(const BufferUse&)> work);

/// A caller's array: `data` is the address of element [0, 0, ...].
struct HostArray {
  const void* data = nullptr;
  Shape shape;
  /// One per dimension; empty for dense row-major.
  std::span<const int64_t> byte_strides;
};

enum class HostSemantics : uint8_t { kOnlyDuringCall, kUntilTransferCompletes, kZeroCopy, kMutableZeroCopy };

struct Upload {
  Ref<Buffer> buffer;
  /// When the caller's array is no longer needed.
  EventRef done;
};

/// Writes bytes of a buffer of `type` from the host; elements narrower than a byte get the form that buffers hold.
/// `src` lives until the event fires.
EventRef WriteRaw(Memory& memory, const Ref<Storage>& storage, DType type, size_t offset, const void* src,
                  size_t size_bytes);

/// Makes a buffer of a caller's array in `memory`, laid out as `minor_to_major` says. Aliases the array when the
/// semantics, its layout and alignment (that of an element) allow and it is not small; copies otherwise.
Result<Upload> UploadArray(Device* device, Memory* memory, const HostArray& array, Dims minor_to_major,
                           HostSemantics semantics);

/// Copies an array into storage that has the bytes of `spec`. `array.data` must live until the event is ready, or only
/// during the call when `copy_now`.
EventRef WriteArray(Memory& memory, const Ref<Storage>& storage, const ArraySpec& spec, const HostArray& array,
                    bool copy_now);

/// Copies the contents to `dst` (size_bytes() of it), dense in the order `minor_to_major`. `dst` lives until the event
/// is ready.
EventRef Download(Buffer& buffer, Dims minor_to_major, void* dst);
/// Copies bytes as they lie on the device. OUT_OF_RANGE errors come through the event.
EventRef DownloadRaw(Buffer& buffer, int64_t offset, int64_t size_bytes, void* dst);

/// A new buffer with the same contents in `memory` of `device`.
Result<Ref<Buffer>> CopyBuffer(Buffer& buffer, Device* device, Memory* memory);

/// A storage over memory that somebody else owns; `on_delete`, which may be empty, runs when the last user is done.
Ref<Storage> WrapExternal(void* data, size_t size_bytes, bool writable, std::function<void()> on_delete);

/// Checks that extents are not negative and that the type is one that buffers hold, and returns the shape.
Result<Shape> MakeShape(int buffer_type, const int64_t* dims, size_t num_dims);

}  // namespace tenon::plugin
