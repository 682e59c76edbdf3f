#include "fuzz/api_machine.h"

#include <numeric>

#include "tenon/base/dtype.h"

namespace tenon::fuzz {

namespace {

void FreeBlock(PJRT_Error* error, void* block) {
  TakeError(error, "an event");
  std::free(block);
}

}  // namespace

PJRT_Client* Machine::AnyClient() {
  if (clients_.empty() || in_.OneIn(64)) return nullptr;
  return clients_[in_.Below(clients_.size())].client;
}

PJRT_Device* Machine::AnyDevice() {
  if (clients_.empty() || in_.OneIn(32)) return nullptr;
  const ClientSlot& slot = clients_[in_.Below(clients_.size())];
  return slot.devices[in_.Below(slot.devices.size())];
}

PJRT_Memory* Machine::AnyMemory() {
  if (clients_.empty() || in_.OneIn(32)) return nullptr;
  const ClientSlot& slot = clients_[in_.Below(clients_.size())];
  return slot.memories[in_.Below(slot.memories.size())];
}

PJRT_Buffer* Machine::AnyBuffer() {
  if (buffers_.empty() || in_.OneIn(64)) return nullptr;
  return buffers_[in_.Below(buffers_.size())].buffer;
}

PJRT_LoadedExecutable* Machine::AnyLoaded() {
  if (loaded_.empty() || in_.OneIn(64)) return nullptr;
  return loaded_[in_.Below(loaded_.size())];
}

PJRT_Executable* Machine::AnyExecutable() {
  if (executables_.empty() || in_.OneIn(64)) return nullptr;
  return executables_[in_.Below(executables_.size())];
}

PJRT_Error_Code Machine::ChooseCode() { return static_cast<PJRT_Error_Code>(in_.OneIn(2) ? 0 : in_.Below(19)); }

ShapeChoice Machine::ChooseShape() {
  ShapeChoice shape;
  bool sane = true;
  switch (in_.Below(9)) {
    default:
      shape.dims = {4};
      break;
    case 4:
      shape.dims = {32, 33};
      break;
    case 5:
      shape.type = PJRT_Buffer_Type_S32;
      break;
    case 6:
    case 7:
      shape.type = static_cast<int>(1 + in_.Below(33));
      for (size_t i = in_.Below(5); i > 0; --i) shape.dims.push_back(static_cast<int64_t>(in_.Below(6)));
      break;
    case 8:
      sane = false;
      switch (in_.Below(5)) {
        case 0:
          shape.type = in_.OneIn(2) ? -1 - static_cast<int>(in_.U8()) : kNumDTypes + static_cast<int>(in_.U8());
          break;
        case 1:
          shape.dims = {4, -1 - static_cast<int64_t>(in_.Below(3))};
          break;
        case 2:
          shape.dims = {int64_t{1} << 40, int64_t{1} << 40, 3};
          break;
        case 3:
          shape.dims = {int64_t{1} << 46};
          break;
        case 4:
          shape.dims.assign(30 + in_.Below(60), int64_t{4});
          break;
      }
  }
  if (!sane) return shape;
  shape.width = ByteWidth(static_cast<DType>(shape.type));
  shape.size_bytes = static_cast<size_t>(shape.width);
  for (const int64_t extent : shape.dims) shape.size_bytes *= static_cast<size_t>(extent);
  return shape;
}

LayoutChoice Machine::ChooseLayout(size_t rank) {
  LayoutChoice choice;
  std::memset(&choice.layout, 0, sizeof(choice.layout));
  if (in_.OneIn(2)) return choice;
  choice.none = false;
  choice.layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  choice.numbers.resize(rank);
  std::iota(choice.numbers.begin(), choice.numbers.end(), int64_t{0});
  if (rank > 1) std::swap(choice.numbers[in_.Below(rank)], choice.numbers[in_.Below(rank)]);
  const uint8_t kind = in_.U8() % 16;
  if (kind == 0 && rank > 0) choice.numbers[in_.Below(rank)] = static_cast<int8_t>(in_.U8());
  if (kind == 1) choice.numbers.push_back(0);
  choice.layout.type =
      kind == 2 ? PJRT_Buffer_MemoryLayout_Type_Strides : static_cast<PJRT_Buffer_MemoryLayout_Type>(kind == 3 ? 7 : 0);
  if (kind == 2) {
    choice.layout.strides = {.struct_size = PJRT_Buffer_MemoryLayout_Strides_STRUCT_SIZE,
                             .extension_start = nullptr,
                             .byte_strides = choice.numbers.data(),
                             .num_byte_strides = choice.numbers.size()};
    return choice;
  }
  PJRT_Buffer_MemoryLayout_Tiled& tiled = choice.layout.tiled;
  tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  // The vector's memory does not move when the choice does.
  tiled.minor_to_major = kind == 4 ? nullptr : choice.numbers.data();
  tiled.minor_to_major_size = choice.numbers.size();
  static constexpr int64_t kTile[] = {8};
  static constexpr size_t kTileRank[] = {1};
  if (kind == 5) {
    tiled.tile_dims = kTile;
    tiled.tile_dim_sizes = kTileRank;
    tiled.num_tiles = 1;
  }
  return choice;
}

std::string Machine::ChooseOptions() {
  switch (in_.Below(8)) {
    default:
      return std::string("\x1a\x04\x20\x01\x28\x01", 6);
    case 4:
      return std::string("\x1a\x04\x20\x02\x28\x01", 6);  // two replicas
    case 5:
      return std::string("\x1a\x04\x20\x01\x28\x01\x20\x01", 8);  // portable
    case 6:
      return "";
    case 7:
      return in_.Bytes(40);
  }
}

void Machine::Keep(PJRT_Buffer* buffer) {
  if (buffer == nullptr) {
    std::fprintf(stderr, "a call that succeeded left its buffer NULL\n");
    std::abort();
  }
  if (buffers_.size() >= kMaxPool) DestroyBuffer(TakeOne(buffers_));
  buffers_.push_back({buffer});
}

void Machine::Keep(PJRT_Event* event) {
  if (event == nullptr) {
    std::fprintf(stderr, "a call that succeeded left its event NULL\n");
    std::abort();
  }
  if (events_.size() >= kMaxPool) DestroyEvent();
  events_.push_back(event);
}

void Machine::FreeWhenReady(PJRT_Event* event, void* block) {
  FUZZ_ARGS(PJRT_Event_OnReady, args);
  args.event = event;
  args.callback = FreeBlock;
  args.user_arg = block;
  if (!FUZZ_PLAIN(PJRT_Event_OnReady, args)) std::abort();
  Keep(event);
}

void Machine::Run() {
  static constexpr Op kOps[] = {&Machine::Upload,
                                &Machine::Upload,
                                &Machine::Execute,
                                &Machine::Execute,
                                &Machine::Compile,
                                &Machine::Compile,
                                &Machine::CreateClient,
                                &Machine::DestroyClient,
                                &Machine::CreateUninitialized,
                                &Machine::CreateError,
                                &Machine::CreateView,
                                &Machine::CreateAlias,
                                &Machine::Fulfill,
                                &Machine::DestroyBuffer,
                                &Machine::DeleteBuffer,
                                &Machine::Download,
                                &Machine::DownloadRaw,
                                &Machine::DownloadRawFuture,
                                &Machine::CompleteFuture,
                                &Machine::CopyToDevice,
                                &Machine::CopyToMemory,
                                &Machine::Bitcast,
                                &Machine::Donate,
                                &Machine::CompleteDependency,
                                &Machine::ChangeExternalReferences,
                                &Machine::CreateTransfer,
                                &Machine::Transfer,
                                &Machine::TransferLiteral,
                                &Machine::RetrieveTransfer,
                                &Machine::EndTransfer,
                                &Machine::DmaMap,
                                &Machine::UserData,
                                &Machine::CreateContext,
                                &Machine::DestroyContext,
                                &Machine::CompileForTopology,
                                &Machine::CreateTopology,
                                &Machine::CopyTopology,
                                &Machine::DestroyTopology,
                                &Machine::LoadExecutable,
                                &Machine::CopyExecutable,
                                &Machine::GetExecutable,
                                &Machine::DestroyExecutable,
                                &Machine::DestroyLoaded,
                                &Machine::DeleteLoaded,
                                &Machine::InspectBuffer,
                                &Machine::InspectClient,
                                &Machine::InspectDevice,
                                &Machine::InspectMemory,
                                &Machine::InspectExecutable,
                                &Machine::InspectLoaded,
                                &Machine::InspectTopology,
                                &Machine::InspectLayouts,
                                &Machine::CreateEvent,
                                &Machine::SetEvent,
                                &Machine::QueryEvent,
                                &Machine::CallBackEvent,
                                &Machine::DestroyEvent,
                                &Machine::RunWork};
  ResetBackend(in_.U8());
  CreateClient();
  for (int calls = 0; calls < 400 && !in_.empty(); ++calls) (this->*kOps[in_.Below(std::size(kOps))])();
  End();
}

void Machine::End() {
  // Who waits for the caller stops waiting.
  if (clients_.empty() && !promises_.empty()) {
    FUZZ_ARGS(PJRT_Client_Create, create);
    if (!FUZZ_PLAIN(PJRT_Client_Create, create)) std::abort();
    clients_.push_back({create.client, {}, {}});
  }
  for (PJRT_FulfillAliasBufferCallback* promise : promises_) Fulfill(promise, nullptr);
  promises_.clear();
  for (const Future& future : futures_) Complete(future, PJRT_Error_Code_OK);
  futures_.clear();
  for (const Dependency& dependency : dependencies_) Complete(dependency, PJRT_Error_Code_CANCELLED);
  dependencies_.clear();
  while (!unset_.empty()) SetOwnEvent();
  // Any order of destruction is legal.
  const size_t first = in_.Below(4);
  for (size_t i = 0; i < 4; ++i) {
    switch ((first + i) % 4) {
      case 0:
        while (!clients_.empty()) DestroyClient();
        break;
      case 1:
        while (!buffers_.empty()) DestroyBuffer(TakeOne(buffers_));
        while (!transfers_.empty()) EndTransfer();
        break;
      case 2:
        while (!loaded_.empty()) DestroyLoaded();
        while (!executables_.empty()) DestroyExecutable();
        while (!topologies_.empty()) DestroyTopology();
        break;
      case 3:
        while (!events_.empty()) DestroyEvent();
        while (!contexts_.empty()) DestroyContext();
        break;
    }
    Settle();
  }
  if (!NothingLives()) std::abort();
  for (void* block : mapped_) std::free(block);
}

}  // namespace tenon::fuzz
