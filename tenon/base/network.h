#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/base/status.h"

struct addrinfo;
struct sockaddr_storage;

namespace tenon {

struct FreeAddresses {
  void operator()(addrinfo* first) const;
};
/// What getaddrinfo gives, of either version of IP; never empty.
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// Asks the system, which may take its time, for TCP addresses of a host: to listen at (`passive`) or to connect to.
/// UNAVAILABLE with what the system says, without the name.
Result<Addresses> Resolve(const std::string& host, const std::string& port, bool passive);

uint16_t PortOf(const sockaddr_storage& address);

/// Whether two texts are equal, in a time that does not tell where they differ.
bool EqualInConstantTime(std::string_view a, std::string_view b);

}  // namespace tenon
