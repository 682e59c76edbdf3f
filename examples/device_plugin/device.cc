#include "device.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

bool Send(int socket, const void* data, uint64_t size) {
  for (const char* at = static_cast<const char*>(data); size > 0;) {
    const ssize_t n = send(socket, at, size, MSG_NOSIGNAL);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<uint64_t>(n);
  }
  return true;
}

bool Receive(int socket, void* data, uint64_t size) {
  for (char* at = static_cast<char*>(data); size > 0;) {
    const ssize_t n = recv(socket, at, size, 0);
    if (n <= 0) return false;
    at += n;
    size -= static_cast<uint64_t>(n);
  }
  return true;
}

template <class T>
static void Compute(Op op, const void* left, const void* right, void* result, uint64_t elements) {
  const T *a = static_cast<const T*>(left), *b = static_cast<const T*>(right);
  T* const out = static_cast<T*>(result);
  for (uint64_t i = 0; i < elements; ++i) {
    out[i] = op == Op::kCopy ? a[i] : op == Op::kAdd ? a[i] + b[i] : op == Op::kSubtract ? a[i] - b[i] : a[i] * b[i];
  }
}

void RunDevice(int socket) {
  std::map<uint64_t, std::vector<char>> memory;
  Message m;
  while (Receive(socket, &m, sizeof(m))) {
    std::vector<char>& block = memory[m.handle];
    if (m.command == Command::kAllocate) {
      block.resize(m.size);
    } else if (m.command == Command::kFree) {
      memory.erase(m.handle);
    } else if (m.command == Command::kWrite) {
      if (!Receive(socket, block.data() + m.offset, m.size)) return;
    } else if (m.command == Command::kRead) {
      if (!Send(socket, block.data() + m.offset, m.size)) return;
    } else {
      std::vector<Instruction> program(m.size / sizeof(Instruction));
      if (!Receive(socket, program.data(), m.size)) return;
      for (const Instruction& i : program) {
        const auto compute = i.is_float != 0 ? Compute<float> : Compute<uint32_t>;  // integers wrap around
        compute(i.op, memory[i.left].data(), memory[i.right].data(), memory[i.result].data(), i.elements);
      }
      const int32_t well = 0;
      if (!Send(socket, &well, sizeof(well))) return;
    }
  }
}
