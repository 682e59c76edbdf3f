#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::conformance {

class Env;

/// What a test cannot do without.
enum class Needs {
  kTable,     // the function table
  kClient,    // a client, hence a device
  kDevices2,  // a client with two devices
  kTopology,  // a topology: that of the client, or one that the profile names
  kAbsent,    // a machine without this plugin's device: the profile says so
};

/// One rule of PJRT and how to check it. Ends well by returning; Env's functions end it otherwise.
struct Test {
  std::string name;  // area.case
  Needs needs;
  std::string rule;    // one line
  std::string source;  // where the rule comes from
  std::function<void(Env&)> run;

  std::string_view area() const { return std::string_view(name).substr(0, name.find('.')); }
};

/// The tests in the order in which they are reported. Names are unique.
class Suite {
 public:
  void Add(std::string_view name, Needs needs, std::string_view rule, std::string_view source,
           std::function<void(Env&)> run);
  const std::vector<Test>& tests() const { return tests_; }
  /// Null when there is none.
  const Test* Find(std::string_view name) const;

 private:
  std::vector<Test> tests_;
};

/// All tests; made once.
const Suite& AllTests();

// Sources of rules.
inline constexpr const char* kHeader = "PJRT C API header";
inline constexpr const char* kReference = "XLA's reference implementation";
inline constexpr const char* kClients = "PJRT clients (JAX, gopjrt, go-xla) rely on it";
inline constexpr const char* kRobust = "bad input gives an error and never ends the process";
inline constexpr const char* kStableHlo = "StableHLO specification";

// The areas; each adds its tests.
void AddLoadTests(Suite& suite);
void AddStructTests(Suite& suite);
void AddErrorTests(Suite& suite);
void AddClientTests(Suite& suite);
void AddDeviceTests(Suite& suite);
void AddMemoryTests(Suite& suite);
void AddBufferTests(Suite& suite);
void AddTypeTests(Suite& suite);
void AddLayoutTests(Suite& suite);
void AddAsyncTests(Suite& suite);
void AddEventTests(Suite& suite);
void AddCompileTests(Suite& suite);
void AddExecuteTests(Suite& suite);
void AddDonationTests(Suite& suite);
void AddMultiDeviceTests(Suite& suite);
void AddAotTests(Suite& suite);
void AddExtensionTests(Suite& suite);
void AddThreadTests(Suite& suite);
void AddTeardownTests(Suite& suite);
void AddSoakTests(Suite& suite);
void AddPerformanceTests(Suite& suite);
void AddOpTests(Suite& suite);

}  // namespace tenon::conformance
