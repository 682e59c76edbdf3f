#include "tenon/plugin/transfers.h"

#include <fmt/format.h>

#include <cstring>

#include "tenon/base/activity.h"
#include "tenon/base/contain.h"
#include "tenon/plugin/host_copy.h"

namespace tenon::plugin {

namespace {

// Below this, copying is cheaper than keeping the caller's array and telling the caller when it is free again.
constexpr size_t kAliasMinimum = 4096;

class ExternalStorage final : public Storage {
 public:
  ExternalStorage(void* data, size_t size_bytes, bool writable, std::function<void()> on_delete)
      : Storage(data, size_bytes, writable), on_delete_(std::move(on_delete)) {}

 private:
  ~ExternalStorage() override {
    if (on_delete_) on_delete_();
  }
  std::function<void()> on_delete_;
};

bool IsAligned(const void* data, DType type) {
  DType real = IsComplex(type) ? RealPartOf(type) : type;
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(std::max(ByteWidth(real), 1)) == 0;
}

// Whether an array with these strides lies exactly as `spec` does.
bool IsDense(const HostArray& array, const ArraySpec& spec) {
  if (array.byte_strides.empty()) return LieAlike(ArraySpec{.shape = spec.shape}, spec);
  Dims dense = DenseByteStrides(spec);
  for (size_t i = 0; i < spec.shape.rank(); ++i) {
    if (spec.shape.dims[i] > 1 && array.byte_strides[i] != dense[i]) return false;
  }
  return true;
}

Dims HostStrides(const HostArray& array) {
  if (!array.byte_strides.empty()) return Dims(array.byte_strides.begin(), array.byte_strides.end());
  return DenseByteStrides(ArraySpec{.shape = array.shape});
}

// What a profiler calls a copy.
const activity::Label* CopyLabel(const char* what, const ArraySpec& spec) {
  return activity::Intern({fmt::format("{} {}", what, ToString(spec.shape)),
                           {{"bytes_accessed", static_cast<double>(SizeBytes(spec.shape))}},
                           {{"hlo_category", "transfer"}}});
}

// Copies into host memory that is laid out as `spec` says.
void CopyIn(void* dst, const ArraySpec& spec, const HostArray& array) {
  size_t size = static_cast<size_t>(SizeBytes(spec.shape));
  if (size == 0) return;
  if (IsDense(array, spec)) {
    std::memcpy(dst, array.data, size);
  } else {
    Dims to = DenseByteStrides(spec), from = HostStrides(array);
    CopyStrided(dst, {to.data(), to.size()}, array.data, {from.data(), from.size()},
                {spec.shape.dims.data(), spec.shape.rank()}, ByteWidth(spec.shape.dtype));
  }
  NormalizeSubByte(spec.shape.dtype, dst, NumElements({spec.shape.dims.data(), spec.shape.rank()}));
}

}  // namespace

EventRef WhenUsable(Client& client, BufferUse use, size_t size_bytes, std::function<EventRef(const BufferUse&)> work) {
  if (use.ready.failed() && !use.promise) return use.ready;
  const bool now = use.ready.succeeded() && !use.promise;
  if (now && size_bytes <= client.inline_copy_limit()) return work(use);

  struct Task {
    Ref<Client> client;
    BufferUse use;
    std::function<EventRef(const BufferUse&)> work;
    Ref<Event> done = Event::Make();
  };
  auto task = std::make_shared<Task>();
  task->client = Ref<Client>(&client);
  task->use = std::move(use);
  task->work = std::move(work);
  EventRef done(task->done);
  EventRef ready = task->use.ready;
  task->done->NoteWaitsFor(ready);
  ready.OnReady([task, size_bytes](const Status& status) {
    auto copy = [task, status] {
      Status outcome = status;
      if (task->use.promise) {
        Result<BufferUse> collected = task->use.promise->Collect(task->use.donated);
        outcome = collected.ok() ? OkStatus() : collected.status();
        if (collected.ok()) task->use = std::move(*collected);
      }
      if (!outcome.ok()) {
        task->done->Set(std::move(outcome));
        return;
      }
      EventRef end = task->work(task->use);
      end.OnReady([task](const Status& s) { task->done->Set(s); });
    };
    // On whatever thread: what is thrown here is the copy's outcome.
    auto run = [task, copy] {
      if (Status s = Contain("copying an array", copy); !s.ok()) task->done->Set(std::move(s));
    };
    if (!status.ok() || size_bytes <= task->client->inline_copy_limit()) {
      run();
    } else if (Status s = Contain("copying an array", [&] { task->client->Schedule(run); }); !s.ok()) {
      task->done->Set(std::move(s));
    }
  });
  return done;
}

EventRef WriteArray(Memory& memory, const Ref<Storage>& storage, const ArraySpec& spec, const HostArray& array,
                    bool copy_now) {
  const activity::Scope scope([&] { return CopyLabel("host to device", spec); });
  if (memory.host_accessible()) {
    CopyIn(storage->data(), spec, array);
    return nullptr;
  }
  if (!copy_now && IsDense(array, spec) && !NeedsNormalizing(spec.shape.dtype)) {
    EventRef written = memory.Write(*storage, 0, array.data, storage->size_bytes());
    written.OnReady([storage](const Status&) {});
    return written;
  }
  Result<Ref<Storage>> staging = AllocateHostStorage(storage->size_bytes());
  if (!staging.ok()) return EventRef::Of(staging.status());
  CopyIn((*staging)->data(), spec, array);
  EventRef written = memory.Write(*storage, 0, (*staging)->data(), storage->size_bytes());
  written.OnReady([storage, keep = *staging](const Status&) {});
  return written;
}

EventRef WriteRaw(Memory& memory, const Ref<Storage>& storage, DType type, size_t offset, const void* src,
                  size_t size_bytes) {
  if (size_bytes == 0 || !NeedsNormalizing(type)) {
    EventRef written = memory.Write(*storage, offset, src, size_bytes);
    if (written.get() != nullptr) written.OnReady([storage](const Status&) {});
    return written;
  }
  // In a copy: neither the caller's bytes change, nor does anybody see others than these in the buffer.
  Result<Ref<Storage>> staging = AllocateHostStorage(size_bytes);
  if (!staging.ok()) return EventRef::Of(staging.status());
  std::memcpy((*staging)->data(), src, size_bytes);
  NormalizeSubByte(type, (*staging)->data(), static_cast<int64_t>(size_bytes));
  EventRef written = memory.Write(*storage, offset, (*staging)->data(), size_bytes);
  if (written.get() != nullptr) written.OnReady([storage, keep = *staging](const Status&) {});
  return written;
}

Result<Upload> UploadArray(Device* device, Memory* memory, const HostArray& array, Dims minor_to_major,
                           HostSemantics semantics) {
  ArraySpec spec{.shape = array.shape, .minor_to_major = std::move(minor_to_major)};
  TENON_RETURN_IF_ERROR(NormalizeLayout(spec));
  size_t size = static_cast<size_t>(SizeBytes(spec.shape));
  bool zero_copy = semantics == HostSemantics::kZeroCopy || semantics == HostSemantics::kMutableZeroCopy;
  if (zero_copy && size >= kAliasMinimum && memory->host_accessible() && memory->takes_host_arrays() &&
      IsDense(array, spec) && !NeedsNormalizing(spec.shape.dtype) && IsAligned(array.data, spec.shape.dtype)) {
    Ref<Event> done = Event::Make();
    Ref<Storage> alias = WrapExternal(const_cast<void*>(array.data), size, semantics == HostSemantics::kMutableZeroCopy,
                                      [done] { done->Set(); });
    return Upload{Buffer::Make(device, memory, std::move(spec), std::move(alias)), EventRef(std::move(done))};
  }
  TENON_ASSIGN_OR_RETURN(Ref<Storage> storage, memory->Allocate(device, size));
  Client& client = *memory->client();
  bool copy_now = semantics == HostSemantics::kOnlyDuringCall;
  if (copy_now || !memory->host_accessible() || size <= client.inline_copy_limit()) {
    EventRef written = WriteArray(*memory, storage, spec, array, copy_now);
    EventRef done = copy_now ? EventRef() : written;
    return Upload{Buffer::Make(device, memory, std::move(spec), std::move(storage), std::move(written)),
                  std::move(done)};
  }
  Ref<Event> done = Event::Make();
  Dims strides(array.byte_strides.begin(), array.byte_strides.end());
  client.Schedule([memory, storage, spec, strides, done, data = array.data, keep = Ref<Client>(&client)] {
    done->Set(Contain("copying an array", [&] {
      HostArray later{.data = data, .shape = spec.shape, .byte_strides = {strides.data(), strides.size()}};
      return WriteArray(*memory, storage, spec, later, false).Wait();
    }));
  });
  return Upload{Buffer::Make(device, memory, std::move(spec), std::move(storage), EventRef(done)), EventRef(done)};
}

EventRef Download(Buffer& buffer, Dims minor_to_major, void* dst) {
  Result<BufferUse> use = buffer.Use();
  if (!use.ok()) return EventRef::Of(use.status());
  ArraySpec wanted{.shape = buffer.shape(), .minor_to_major = std::move(minor_to_major)};
  if (Status s = NormalizeLayout(wanted); !s.ok()) return EventRef::Of(std::move(s));
  size_t size = buffer.size_bytes();
  Memory* memory = buffer.memory();
  if (LieAlike(wanted, buffer.spec()) || size == 0) {
    return WhenUsable(buffer.client(), std::move(*use), size, [memory, size, dst, wanted](const BufferUse& u) {
      const activity::Scope scope([&] { return CopyLabel("device to host", wanted); });
      EventRef read = memory->Read(*u.storage, 0, dst, size);
      if (!u.storage->foreign_bytes() || !NeedsNormalizing(wanted.shape.dtype)) {
        if (read.get() != nullptr) read.OnReady([keep = u.storage](const Status&) {});
        return read;
      }
      Ref<Event> done = Event::Make();
      read.OnReady([done, dst, size, type = wanted.shape.dtype, keep = u.storage](const Status& s) {
        if (s.ok()) NormalizeSubByte(type, dst, static_cast<int64_t>(size));
        done->Set(s);
      });
      return EventRef(std::move(done));
    });
  }
  return WhenUsable(buffer.client(), std::move(*use), size,
                    [memory, size, dst, wanted, have = buffer.spec()](const BufferUse& u) {
                      auto reorder = [wanted, have, dst](const void* src) {
                        Dims to = DenseByteStrides(wanted), from = DenseByteStrides(have);
                        CopyStrided(dst, {to.data(), to.size()}, src, {from.data(), from.size()},
                                    {have.shape.dims.data(), have.shape.rank()}, ByteWidth(have.shape.dtype));
                        NormalizeSubByte(have.shape.dtype, dst, SizeBytes(have.shape));
                      };
                      const activity::Scope scope([&] { return CopyLabel("device to host", wanted); });
                      if (memory->host_accessible()) {
                        reorder(u.storage->data());
                        return EventRef();
                      }
                      Result<Ref<Storage>> staging = AllocateHostStorage(size);
                      if (!staging.ok()) return EventRef::Of(staging.status());
                      EventRef read = memory->Read(*u.storage, 0, (*staging)->data(), size);
                      Ref<Event> done = Event::Make();
                      read.OnReady([reorder, done, keep = u.storage, staging = *staging](const Status& s) {
                        if (s.ok()) reorder(staging->data());
                        done->Set(s);
                      });
                      return EventRef(done);
                    });
}

EventRef DownloadRaw(Buffer& buffer, int64_t offset, int64_t size_bytes, void* dst) {
  Result<BufferUse> use = buffer.Use();
  if (!use.ok()) return EventRef::Of(use.status());
  int64_t total = static_cast<int64_t>(buffer.size_bytes());
  if (offset < 0 || size_bytes < 0 || offset > total || size_bytes > total - offset) {
    return EventRef::Of(InvalidArgument(fmt::format(
        "raw copy of {} bytes at offset {} leaves the buffer, which has {} bytes", size_bytes, offset, total)));
  }
  Memory* memory = buffer.memory();
  return WhenUsable(buffer.client(), std::move(*use), static_cast<size_t>(size_bytes), [=](const BufferUse& u) {
    EventRef read = memory->Read(*u.storage, static_cast<size_t>(offset), dst, static_cast<size_t>(size_bytes));
    if (read.get() != nullptr) read.OnReady([keep = u.storage](const Status&) {});
    return read;
  });
}

Result<Ref<Buffer>> CopyBuffer(Buffer& buffer, Device* device, Memory* memory) {
  TENON_ASSIGN_OR_RETURN(BufferUse use, buffer.Use());
  if (use.ready.failed() && !use.promise) {
    return Buffer::MakeError(device, memory, buffer.spec(), use.ready.status());
  }
  size_t size = buffer.size_bytes();
  TENON_ASSIGN_OR_RETURN(Ref<Storage> copy, memory->Allocate(device, size));
  Memory* from = buffer.memory();
  EventRef ready =
      WhenUsable(buffer.client(), std::move(use), size, [from, memory, copy, spec = buffer.spec()](const BufferUse& u) {
        const activity::Scope scope([&] { return CopyLabel("device to device", spec); });
        if (u.storage->foreign_bytes()) copy->NoteForeignBytes();
        EventRef copied = memory->CopyFrom(*copy, *from, *u.storage);
        if (copied.get() != nullptr) copied.OnReady([copy, keep = u.storage](const Status&) {});
        return copied;
      });
  return Buffer::Make(device, memory, buffer.spec(), std::move(copy), std::move(ready));
}

Ref<Storage> WrapExternal(void* data, size_t size_bytes, bool writable, std::function<void()> on_delete) {
  return MakeRef<ExternalStorage>(data, size_bytes, writable, std::move(on_delete));
}

Result<Shape> MakeShape(int buffer_type, const int64_t* dims, size_t num_dims) {
  if (num_dims != 0 && dims == nullptr)
    return InvalidArgument(fmt::format("got NULL extents for {} dimensions", num_dims));
  constexpr size_t kMaxRank = 64;
  if (num_dims > kMaxRank)
    return InvalidArgument(fmt::format("got {} dimensions, at most {} are supported", num_dims, kMaxRank));
  if (buffer_type <= 0 || buffer_type >= kNumDTypes) {
    return InvalidArgument(fmt::format("element type {} is not a PJRT_Buffer_Type that arrays have", buffer_type));
  }
  Shape shape{.dtype = static_cast<DType>(buffer_type), .dims = Dims(dims, dims + num_dims)};
  if (shape.dtype == DType::kToken && num_dims != 0) {
    return InvalidArgument(fmt::format("got a token of {} dimensions; tokens have none", num_dims));
  }
  TENON_RETURN_IF_ERROR(CheckedSizeBytes(shape).ok() ? OkStatus() : CheckedSizeBytes(shape).status());
  return shape;
}

}  // namespace tenon::plugin
