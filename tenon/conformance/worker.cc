#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "tenon/conformance/child.h"
#include "tenon/conformance/env.h"
#include "tenon/conformance/runner.h"
#include "tenon/conformance/test.h"

namespace tenon::conformance {

namespace {

std::string OneLine(std::string_view text) {
  std::string line;
  for (char c : text.substr(0, 2000)) {
    if (c == '\n') {
      line += "\\n";
    } else {
      line += static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~' ? '?' : c;
    }
  }
  return line;
}

// Whole lines, at once, so that a crash never cuts one.
void Send(int fd, const std::string& line) {
  std::string text = line + "\n";
  size_t sent = 0;
  while (sent < text.size()) {
    ssize_t n = write(fd, text.data() + sent, text.size() - sent);
    if (n <= 0) return;
    sent += static_cast<size_t>(n);
  }
}

Stop RunOne(Env& env, const Test& test) {
  try {
    if (test.needs == Needs::kAbsent && env.profile().device) {
      return {Observed::kNoDevice, "only where the profile says that there is no device"};
    }
    bool client = test.needs == Needs::kClient || test.needs == Needs::kDevices2;
    if (client && !env.profile().device) return {Observed::kNoDevice, "the profile says that there is no device"};
    if (client) env.client();
    if (test.needs == Needs::kDevices2 && env.devices().size() < 2)
      return {Observed::kUnimplemented, "the client has one device"};
    if (test.needs == Needs::kTopology && !env.profile().device && env.profile().topology.empty()) {
      return {Observed::kNoDevice, "no topology"};
    }
    (void)env.TakeNote();
    test.run(env);
    return {Observed::kPass, env.TakeNote()};
  } catch (const Stop& stop) {
    return stop;
  } catch (const std::exception& error) {
    return {Observed::kFail, std::string("the test threw: ") + error.what()};
  }
}

}  // namespace

int RunWorker(const std::string& plugin, int result_fd, const std::string& profile_text) {
  const Result<LoadedPlugin> loaded = LoadInChild(plugin, profile_text);
  if (!loaded.ok()) {
    // A bad profile is the caller's; what keeps a plugin from loading is said as the system says it.
    Send(result_fd, "X " + (loaded.status().code() == Code::kNotFound ? OneLine(loaded.status().message())
                                                                      : loaded.status().ToString()));
    return 2;
  }
  const Profile& profile = loaded->profile;
  const PJRT_Api* const api = loaded->api;
  Send(result_fd,
       fmt::format("I api_version {}.{}", api->pjrt_api_version.major_version, api->pjrt_api_version.minor_version));
  Env env(api, loaded->library, plugin, &profile);
  std::string name;
  while (std::getline(std::cin, name)) {
    if (name == "?") {  // Who are you?
      if (profile.device && env.ClientStatus().ok()) {
        Send(result_fd, "I platform_name " + OneLine(env.PlatformName()));
        Send(result_fd, "I platform_version " + OneLine(env.PlatformVersion()));
      }
      continue;
    }
    const Test* test = AllTests().Find(name);
    if (test == nullptr) continue;
    Send(result_fd, "B " + name);
    Stop stop = RunOne(env, *test);
    try {
      env.EndTest();
    } catch (const Stop& late) {
      stop = late;
    }
    Send(result_fd, fmt::format("E {} {}", static_cast<int>(stop.observed), OneLine(stop.message)));
  }
  Send(result_fd, "C");  // What happens from here on is the closing of the client.
  env.Close();
  Send(result_fd, "Z");
  fflush(nullptr);
  // Static destructors of plugins are theirs to survive, but not what the tests are about.
  _exit(0);
}

}  // namespace tenon::conformance
