// A device process that answers with rubbish: random bytes all over the memory of the link, false positions, and
// descriptors that are no shared memory.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <random>

#include "tenon/channel/link.h"
#include "tenon/wire/codec.h"

using namespace tenon;  // NOLINT(google-build-using-namespace): a main program.

int main() {
  const char* text = std::getenv("TENON_RUBBISH_SEED");
  const int seed = text == nullptr ? 0 : std::atoi(text);
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  struct stat info;
  if (::fstat(channel::kLinkFd, &info) != 0) return 2;
  const auto size = static_cast<size_t>(info.st_size);
  (void)!::ftruncate(channel::kLinkFd, 0);  // Must not succeed: the host would die of reading.
  char* memory = static_cast<char*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, channel::kLinkFd, 0));
  channel::Link link(std::move(channel::SharedMemory::Map(channel::Fd(::dup(channel::kLinkFd)), size)).value());
  switch (seed % 4) {
    case 0: {  // Well-formed frames that say nothing sensible.
      for (int i = 0; i < 50; ++i) {
        std::string message(random() % 200, '\0');
        for (char& c : message) c = static_cast<char>(random());
        const auto verb = static_cast<wire::Verb>(random() % 2 == 0 ? 64 + random() % 4 : random() % 300);
        (void)link.replies().Write(verb, random() % 3, message);
      }
      break;
    }
    case 1:  // Bytes anywhere.
      for (int i = 0; i < 100000; ++i) memory[random() % size] = static_cast<char>(random());
      break;
    case 2: {  // Positions and lengths.
      auto* words = reinterpret_cast<uint64_t*>(memory);
      for (int i = 0; i < 20000; ++i) words[random() % (size / 8)] = random() % 5000;
      break;
    }
    default: {
      const char junk[] = "not a notice";
      (void)!::send(channel::kControlFd, junk, sizeof(junk), MSG_NOSIGNAL);
    }
  }
  for (int i = 0; i < 5; ++i) {
    (void)!::send(channel::kControlFd, memory, 16, MSG_NOSIGNAL);
    ::usleep(1000);
  }
  // Whoever sleeps on a word is woken, to see what there is.
  channel::Link waker(std::move(channel::SharedMemory::Map(channel::Fd(::dup(channel::kLinkFd)), size)).value());
  waker.replies().Close();
  ::usleep(20000);
  return 0;
}
