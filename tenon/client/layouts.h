#pragma once

#include <string>

#include "tenon/base/shape.h"

namespace tenon::client {

class Buffer;
class Client;
class Topology;

// The layouts extension, in its own text form: "{1,0}", "{1,0:T(8,128)}" (TiledLayout::Parse reads it). UNIMPLEMENTED
// without it.

/// Layout of a buffer.
Result<std::string> BufferLayout(const Buffer& buffer);
/// Layout that the client chooses for arrays of this shape.
Result<std::string> DefaultLayout(const Client& client, const Shape& shape);
/// Layout that devices of the topology choose.
Result<std::string> DefaultLayout(const Topology& topology, const Shape& shape);

}  // namespace tenon::client
