#include "tenon/conformance/profile.h"

#include <fmt/format.h>

namespace tenon::conformance {

namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::string_view TakeWord(std::string_view& text) {
  text = Trim(text);
  size_t end = text.find(' ');
  std::string_view word = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : Trim(text.substr(end));
  return word;
}

Status ParseLine(std::string_view line, Profile& profile) {
  std::string_view rest = line;
  std::string_view key = TakeWord(rest);
  if (rest.empty()) return InvalidArgument(fmt::format("'{}' wants a value", key));
  if (key == "name") {
    profile.name = rest;
  } else if (key == "match") {
    std::string_view what = TakeWord(rest);
    if (what != "file" && what != "version")
      return InvalidArgument(fmt::format("match '{}', wanted file or version", what));
    (what == "file" ? profile.files : profile.versions).emplace_back(rest);
  } else if (key == "device") {
    if (rest != "none") return InvalidArgument(fmt::format("device '{}', wanted none", rest));
    profile.device = false;
  } else if (key == "topology") {
    profile.topology = rest;
  } else if (key == "env") {
    if (rest.find('=') == std::string_view::npos) return InvalidArgument("env wants NAME=VALUE");
    profile.env.emplace_back(rest);
  } else if (key == "option") {
    Profile::Option option;
    option.name = TakeWord(rest);
    option.type = TakeWord(rest);
    option.value = rest;
    if (option.type != "string" && option.type != "int" && option.type != "bool" && option.type != "float") {
      return InvalidArgument(fmt::format("option type '{}', wanted string, int, bool or float", option.type));
    }
    profile.options.push_back(std::move(option));
  } else if (key == "known") {
    size_t colon = rest.find(" : ");
    if (colon == std::string_view::npos) return InvalidArgument(fmt::format("'{}' wants GLOB : REASON", key));
    profile.entries.push_back({std::string(Trim(rest.substr(0, colon))), std::string(Trim(rest.substr(colon + 3)))});
  } else {
    return InvalidArgument(fmt::format("unknown item '{}'", key));
  }
  return OkStatus();
}

}  // namespace

const Profile::Entry* Profile::Find(std::string_view test) const {
  for (const Entry& entry : entries) {
    if (GlobMatch(entry.glob, test)) return &entry;
  }
  return nullptr;
}

Result<Profile> ParseProfile(std::string_view text) {
  Profile profile;
  profile.text = text;
  int number = 0;
  while (!text.empty()) {
    ++number;
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    line = Trim(line);
    if (line.empty() || line.front() == '#') continue;
    Status status = ParseLine(line, profile);
    if (!status.ok()) return status.WithContext(fmt::format("line {} of the profile", number));
  }
  return profile;
}

bool GlobMatch(std::string_view glob, std::string_view text) {
  size_t g = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (g < glob.size() && (glob[g] == '?' || (glob[g] == text[t] && glob[g] != '*'))) {
      ++g;
      ++t;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      mark = t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

std::string ProfileTextOfFile(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  std::string text;
  for (const Profile& profile : BuiltInProfiles()) {
    for (const std::string& glob : profile.files) {
      if (GlobMatch(glob, file)) text = profile.text;
    }
  }
  return text;
}

}  // namespace tenon::conformance
