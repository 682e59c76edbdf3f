#pragma once

#include <string>

namespace tenon {

/// The file that holds the code at `address`: the program, or a library in it. Absolute, without symbolic links; empty
/// where the system does not say.
std::string FileOfCode(const void* address);

/// The folder of that file, without a slash at its end: what belongs to the code lies beside it. Empty as above.
std::string FolderOfCode(const void* address);

}  // namespace tenon
