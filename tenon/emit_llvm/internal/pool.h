#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace tenon::emit_llvm {

/// Runs the tasks on the calling thread and the process's codegen threads (one less than there are cores, started at
/// the first need) and returns when all have run. The caller works too, so that nothing waits for a thread to wake, and
/// progress needs no pool: a forked child, whose threads are gone, runs everything itself. Tasks must not call
/// RunOnPool; what they throw is dropped.
void RunOnPool(std::vector<std::function<void()>> tasks);

/// How many tasks can run at once: what was set, else the number of CPUs that the process may run on.
unsigned PoolWidth();
void SetPoolWidth(unsigned width);

/// Joins the threads; a later RunOnPool starts new ones.
void StopPool();

/// The threads stay for as long as anybody holds one of these; whoever lets the last one go joins them.
std::shared_ptr<void> KeepPool();

}  // namespace tenon::emit_llvm
