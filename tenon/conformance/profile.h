#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/status.h"

namespace tenon::conformance {

/// What is known of one plugin. Text form, one item per line, '#' begins a comment:
///   name NAME
///   match file GLOB | match version GLOB     file name, or platform version; one of them suffices
///   device none                              no device on test machines: client creation must fail
///   topology NAME                            for PJRT_TopologyDescription_Create
///   option NAME TYPE VALUE                   for PJRT_Client_Create; TYPE is string, int, bool or float
///   env NAME=VALUE                           set before the plugin is loaded, unless set already
///   known GLOB : REASON                      does not pass, and why; what was seen says whether it is missing or wrong
struct Profile {
  struct Option {
    std::string name, type, value;
  };
  struct Entry {
    std::string glob;
    std::string reason;
  };
  std::string name = "none";
  std::string text;  // what it was read from
  std::vector<std::string> files, versions;
  bool device = true;
  std::string topology;
  std::vector<Option> options;
  std::vector<std::string> env;
  std::vector<Entry> entries;

  /// The first entry that matches, or null.
  const Entry* Find(std::string_view test) const;
};

/// INVALID_ARGUMENT with the line's number for text that is not a profile.
Result<Profile> ParseProfile(std::string_view text);

/// The profiles that the library was built with.
const std::vector<Profile>& BuiltInProfiles();

/// The text of the one among them that is for a plugin by its file's name; empty: there is none.
std::string ProfileTextOfFile(std::string_view path);

/// * matches any text, ? any character.
bool GlobMatch(std::string_view glob, std::string_view text);

}  // namespace tenon::conformance
