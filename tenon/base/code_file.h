#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// The file that holds the code at `address`: the program, or a library in it. Absolute, without symbolic links; empty
/// where the system does not say.
std::string FileOfCode(const void* address);

/// The folder of that file, without a slash at its end: what belongs to the code lies beside it. Empty as above.
std::string FolderOfCode(const void* address);

/// The path of `name`, which may begin with "../", as seen from that folder, whether there is such a file or not; empty
/// as above, so that nobody looks in a folder that is not meant.
std::string FileBeside(const void* address, std::string_view name);

}  // namespace tenon
