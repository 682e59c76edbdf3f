#include "tenon/channel/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tenon::channel {

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Result<void*> MapFd(int fd, size_t size_bytes) {
  void* data = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted(fmt::format("cannot map {} bytes of shared memory: {}", size_bytes, std::strerror(errno)));
  }
  return data;
}

}  // namespace

Result<SharedMemory> SharedMemory::Create(size_t size_bytes) {
  Fd fd(::memfd_create("tenon", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return ResourceExhausted(
        fmt::format("cannot make {} bytes of shared memory: {}", size_bytes, std::strerror(errno)));
  }
  TENON_ASSIGN_OR_RETURN(void* const data, MapFd(fd.get(), size_bytes));
  return SharedMemory(std::move(fd), data, size_bytes);
}

Result<SharedMemory> SharedMemory::Map(Fd fd, size_t size_bytes) {
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return DataLoss("shared memory without a file");
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) return DataLoss("shared memory whose size is not sealed");
  if (size_bytes == 0 || static_cast<uint64_t>(info.st_size) != size_bytes) {
    return DataLoss(fmt::format("shared memory of {} bytes, {} were announced", info.st_size, size_bytes));
  }
  TENON_ASSIGN_OR_RETURN(void* const data, MapFd(fd.get(), size_bytes));
  return SharedMemory(std::move(fd), data, size_bytes);
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace tenon::channel
