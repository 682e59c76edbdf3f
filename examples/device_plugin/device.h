// The "hardware": a process of its own, which alone has the memory of the device. What crosses the socket is this page.
#pragma once

#include <cstdint>

enum class Command : uint32_t { kAllocate, kFree, kWrite, kRead, kRun };

// A command; `size` bytes of data follow kWrite, and Instructions follow kRun. kRead is answered with the bytes, kRun
// with one int32_t: 0 when it went well. Commands are done in order.
struct Message {
  Command command;
  uint32_t unused = 0;
  uint64_t handle = 0;  // a block of device memory: a number, no address
  uint64_t offset = 0;
  uint64_t size = 0;  // bytes
};

enum class Op : uint32_t { kCopy, kAdd, kSubtract, kMultiply };
struct Instruction {
  Op op;
  uint32_t is_float;             // elements are float, else int32_t
  uint64_t result, left, right;  // handles
  uint64_t elements;
};

// The device's main loop; returns when the other end of the socket closes.
void RunDevice(int socket);

// All of `size` bytes, or false.
bool Send(int socket, const void* data, uint64_t size);
bool Receive(int socket, void* data, uint64_t size);
