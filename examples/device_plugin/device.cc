#include "device.h"

#include <map>
#include <vector>

template <class T>
static void Compute(const Instruction& instruction, const void* left, const void* right, void* result) {
  const T *a = static_cast<const T*>(left), *b = static_cast<const T*>(right);
  T* const out = static_cast<T*>(result);
  const Op op = instruction.op;
  for (uint64_t i = 0; i < instruction.elements; ++i) {
    const T x = a[i % instruction.left_elements];
    out[i] = op == Op::kCopy ? x : op == Op::kAdd ? x + b[i] : op == Op::kSubtract ? x - b[i] : x * b[i];
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
        compute(i, memory[i.left].data(), memory[i.right].data(), memory[i.result].data());
      }
      if (const int32_t well = 0; !Send(socket, &well, sizeof(well))) return;
    }
  }
}
