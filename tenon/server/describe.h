#pragma once

#include <vector>

#include "tenon/client/client.h"
#include "tenon/wire/messages.h"

namespace tenon::server {

// What the plugin says of its objects, as records. What a plugin does not implement is left empty.

std::vector<wire::Attribute> Describe(const std::vector<client::NamedValue>& values);
client::Options ToOptions(const std::vector<wire::Attribute>& attributes);

Result<wire::ClientText> Describe(const client::Client& client);
Result<wire::Topology> Describe(const client::Topology& topology);
/// Fails when the program cannot be run from elsewhere: layouts with tiles, or parameters that the plugin says nothing
/// of.
Result<wire::Executable> Describe(const client::Executable& executable);
/// The same with the devices that it is loaded on.
Result<wire::Executable> Describe(const client::LoadedExecutable& loaded);
/// Bytes in use, then a flag and a value for each optional figure in the order of their declaration.
std::vector<int64_t> Describe(const client::MemoryStats& stats);

}  // namespace tenon::server
