#pragma once

#include <string>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::sandbox {

/// Files and folders, with all that is in them; what does not exist is left out.
struct Paths {
  std::vector<std::string> readable;  // may be executed, too
  std::vector<std::string> writable;  // read, changed, made, removed; devices: controlled
  friend bool operator==(const Paths&, const Paths&) = default;
};

/// FAILED_PRECONDITION when this kernel cannot confine a process; says what is missing.
Status CheckSupport();

/// What a plugin needs that is in the file `plugin`: that file, the shared libraries beside it and in LD_LIBRARY_PATH,
/// the system's libraries, what tells of the processor, and devices such as /dev/null. No folder of users, no
/// configuration, no device of graphics.
Paths PathsOfPlugin(const std::string& plugin);

/// Confines the calling process and all that it starts, for good: no file is opened but `paths`, there is no new
/// socket, other processes cannot be signalled, read or traced, and rights beyond a plain user's are gone. What is open
/// stays so. Only while the process has one thread; others would not be confined. FAILED_PRECONDITION when the kernel
/// lacks what it takes: then the process should end, some of it may be in force.
Status Enter(const Paths& paths);

}  // namespace tenon::sandbox
