// The "hardware": a process of its own, which alone has the memory of the device. What crosses the socket is this page.
#pragma once

#include <sys/socket.h>

#include <cstdint>

enum class Command : uint64_t { kAllocate, kFree, kWrite, kRead, kRun };

// A command; `size` bytes of data follow kWrite, and Instructions follow kRun. kRead is answered with the bytes, kRun
// with one int32_t: 0 when it went well. Commands are done in order.
struct Message {
  Command command;
  uint64_t handle;        // a block of device memory: a number, no address
  uint64_t offset, size;  // bytes
};

// result[i] = left[i % left_elements] op right[i]. kCopy, which has no right, repeats.
enum class Op : uint32_t { kCopy, kAdd, kSubtract, kMultiply };
struct Instruction {
  Op op;
  uint32_t is_float;             // elements are float, else int32_t
  uint64_t result, left, right;  // handles
  uint64_t elements, left_elements;
};

// The device's main loop; returns when the other end of the socket closes.
void RunDevice(int socket);

// All of `size` bytes, or false.
inline bool Send(int socket, const void* data, uint64_t size) {
  return size == 0 || send(socket, data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}
inline bool Receive(int socket, void* data, uint64_t size) {
  return size == 0 || recv(socket, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}
