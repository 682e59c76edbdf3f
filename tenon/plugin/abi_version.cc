#include "tenon/plugin/abi_version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace tenon::plugin {

uint64_t AbiVersion::PlatformId() const {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : platform) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string AbiVersion::Serialize() const {
  std::string bytes;
  protozero::pbf_writer w(bytes);
  w.add_uint64(1, PlatformId());
  for (const std::string& version : versions) w.add_bytes(2, version);
  w.add_string(3, platform);
  return bytes;
}

Result<AbiVersion> AbiVersion::Parse(std::string_view bytes) {
  AbiVersion parsed;
  uint64_t id = 0;
  try {
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case protozero::tag_and_type(1, protozero::pbf_wire_type::varint):
          id = reader.get_uint64();
          break;
        case protozero::tag_and_type(2, protozero::pbf_wire_type::length_delimited):
          parsed.versions.push_back(reader.get_string());
          break;
        case protozero::tag_and_type(3, protozero::pbf_wire_type::length_delimited):
          parsed.platform = reader.get_string();
          break;
        default:
          reader.skip();
      }
    }
  } catch (const protozero::exception&) {
    return InvalidArgument(fmt::format("these {} bytes are no serialized ABI version", bytes.size()));
  }
  if (parsed.platform.empty() || parsed.versions.empty() || id != parsed.PlatformId())
    return InvalidArgument("the serialized ABI version is another plugin's: it names no platform and version");
  return parsed;
}

Status AbiVersion::CheckOffers(const AbiVersion& needed) const {
  if (needed.platform != platform)
    return FailedPrecondition(
        fmt::format("made for the platform '{}', this runtime is '{}'", needed.platform, platform));
  for (const std::string& version : needed.versions) {
    if (std::find(versions.begin(), versions.end(), version) == versions.end()) {
      return FailedPrecondition(
          fmt::format("needs version '{}', this runtime offers '{}'", version, fmt::join(versions, "', '")));
    }
  }
  return OkStatus();
}

}  // namespace tenon::plugin
