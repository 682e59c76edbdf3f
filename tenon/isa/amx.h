#pragma once

namespace tenon::isa {

/// Whether this process may use matrix tiles with products of 8-bit integers and of bf16 (Intel AMX): the CPU has them,
/// the operating system saves them and has agreed, and TENON_MAX_ISA is not set, whose levels all lie below.
///
/// The first call asks the operating system, for the whole process: from then on signal handlers need stacks with room
/// for tiles (sysconf(_SC_SIGSTKSZ)), so ask only when there is something to multiply. Where a thread has a smaller
/// alternate stack already, the answer is no. Thread-safe; the answer never changes.
bool AmxUsable();

}  // namespace tenon::isa
