#include "tenon/base/network.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace tenon {

void FreeAddresses::operator()(addrinfo* first) const { ::freeaddrinfo(first); }

Result<Addresses> Resolve(const std::string& host, const std::string& port, bool passive) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = passive ? AI_PASSIVE : AI_ADDRCONFIG;
  addrinfo* first = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &first); failed != 0)
    return Unavailable(::gai_strerror(failed));
  return Addresses(first);
}

uint16_t PortOf(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

bool EqualInConstantTime(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char differs = 0;
  for (size_t i = 0; i < a.size(); ++i) differs = static_cast<unsigned char>(differs | (a[i] ^ b[i]));
  return differs == 0;
}

}  // namespace tenon
