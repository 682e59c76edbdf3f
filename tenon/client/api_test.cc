#include "tenon/client/api.h"

#include <set>

#include "tenon/abi/tenon_signature.h"
#include "tenon/client/testing/fake.h"

namespace tenon::client {
namespace {

using testing::AlteredTable;
using testing::FakePlugin;

TEST(Api, EveryEntryOfTheFakeIsThere) {
  const Plugin plugin = FakePlugin();
  const auto entries = plugin.api().Entries();
  EXPECT_EQ(entries.size(), (PJRT_Api_STRUCT_SIZE - offsetof(PJRT_Api, PJRT_Error_Destroy)) / sizeof(void*));
  for (const TableEntry& entry : entries) EXPECT_TRUE(entry.present) << entry.name << ": " << entry.reason;
}

TEST(Api, RefusesTablesThatItCannotRead) {
  const PJRT_Api* const good = FakePlugin().api().raw();
  EXPECT_FAILS(Api::Wrap(nullptr, "x"), kInvalidArgument, "no table");
  AlteredTable tiny(good, 117);
  tiny.table.struct_size = 8;
  EXPECT_FAILS(Api::Wrap(&tiny.table, "x"), kInvalidArgument, "8 bytes");
  AlteredTable major(good, 117);
  major.table.pjrt_api_version.major_version = 1;
  EXPECT_FAILS(Api::Wrap(&major.table, "x"), kFailedPrecondition, "1.117");
  for (const int minor : {29, 53, 56}) {
    const AlteredTable old(good, minor);
    EXPECT_FAILS(Api::Wrap(&old.table, "x"), kFailedPrecondition, "0." + std::to_string(minor));
  }
}

TEST(Api, OldVersionsLackNewEntriesAndSaySo) {
  const PJRT_Api* const good = FakePlugin().api().raw();
  for (const int minor : {54, 55, 57, 67, 81, 90, 116}) {
    // An old plugin's memory simply ends somewhere: entries that it lacks must not even be looked at.
    AlteredTable old(good, minor);
    auto api = Api::Wrap(&old.table, "old");
    ASSERT_TRUE(api.ok());
    for (const TableEntry& entry : (*api)->Entries()) {
      EXPECT_EQ(entry.present, entry.since_minor <= minor) << entry.name << " at 0." << minor;
      if (!entry.present) {
        EXPECT_THAT(entry.reason, ::testing::HasSubstr("0." + std::to_string(entry.since_minor)));
      }
    }
  }
}

TEST(Api, ShortTablesAndNullSlotsAreUnimplemented) {
  const PJRT_Api* const good = FakePlugin().api().raw();
  AlteredTable shorter(good, 117, offsetof(PJRT_Api, PJRT_Event_Create));
  shorter.table.PJRT_Client_Devices = nullptr;
  auto api = Api::Wrap(&shorter.table, "short");
  ASSERT_TRUE(api.ok());
  EXPECT_FALSE((*api)->Has<PJRT_Event_Create_Args>());
  auto create = MakeArgs<PJRT_Event_Create_Args>();
  EXPECT_FAILS((*api)->Call(create), kUnimplemented,
               "short does not have PJRT_Event_Create: the plugin's table ends before it");
  auto devices = MakeArgs<PJRT_Client_Devices_Args>();
  EXPECT_FAILS((*api)->Call(devices), kUnimplemented, "PJRT_Client_Devices: its slot is null");
  EXPECT_TRUE((*api)->Has<PJRT_Client_Create_Args>());
}

TEST(Api, RefusesExtensionsWithoutEnd) {
  AlteredTable altered(FakePlugin().api().raw(), 117);
  PJRT_Extension_Base circle[3] = {};
  for (size_t i = 0; i < std::size(circle); ++i)
    circle[i] = {sizeof(PJRT_Extension_Base), PJRT_Extension_Type_Example, i == 2 ? &circle[1] : &circle[i + 1]};
  altered.table.extension_start = circle;
  EXPECT_FAILS(Api::Wrap(&altered.table, "round"), kFailedPrecondition, "round: the chain of extensions has no end");
  circle[2].next = nullptr;
  ASSERT_OK_AND_ASSIGN(const Api* const api, Api::Wrap(&altered.table, "straight"));
  EXPECT_EQ(api->Extensions().size(), std::size(circle));
  EXPECT_EQ(api->FindExtension(PJRT_Extension_Type_FFI), nullptr);
}

// Tables before 0.57 understate their size by four entries.
TEST(Api, UnderstatedSizesOfOldTablesDoNotHideEntries) {
  AlteredTable old(FakePlugin().api().raw(), 54);
  old.table.struct_size = 808;
  auto api = Api::Wrap(&old.table, "old");
  ASSERT_TRUE(api.ok());
  EXPECT_TRUE((*api)->Has<PJRT_ExecuteContext_Destroy_Args>());
  EXPECT_FALSE((*api)->Has<PJRT_Buffer_CopyRawToHost_Args>());
}

TEST(Api, ErrorsBecomeStatuses) {
  const Plugin plugin = FakePlugin();
  ASSERT_OK_AND_ASSIGN(const Client client, plugin.CreateClient());
  auto args = MakeArgs<PJRT_Client_LookupDevice_Args>();
  args.client = client.get();
  args.id = 77;
  const Status status = plugin.api().Call(args);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("PJRT_Client_LookupDevice"));
  EXPECT_OK(plugin.api().TakeError(nullptr));
}

TEST(Api, PayloadsComeWithErrors) {
  static AlteredTable altered(FakePlugin().api().raw(), 117);
  altered.table.PJRT_Error_ForEachPayload = [](PJRT_Error_ForEachPayload_Args* args) -> PJRT_Error* {
    args->visitor("key", 3, "value", 5, args->user_arg);
    args->visitor("k2", 2, "", 0, args->user_arg);
    return nullptr;
  };
  ASSERT_OK_AND_ASSIGN(const Plugin plugin, Plugin::FromApi(&altered.table, "payloads"));
  auto args = MakeArgs<PJRT_TopologyDescription_Deserialize_Args>();
  args.serialized_topology = "x";
  args.serialized_topology_size = 1;
  const Status status = plugin.api().TakeError(altered.table.PJRT_TopologyDescription_Deserialize(&args), "context");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(std::vector<Status::Payload>(status.payloads().begin(), status.payloads().end()),
            (std::vector<Status::Payload>{{"key", "value"}, {"k2", ""}}));
}

// A plugin may answer every question about an error with another one.
TEST(Api, ErrorsWhosePayloadsFailAreTakenAllTheSame) {
  static const PJRT_Api* const good = FakePlugin().api().raw();
  static const auto refuse = [] {
    auto args = MakeArgs<PJRT_TopologyDescription_Deserialize_Args>();
    args.serialized_topology = "x";
    args.serialized_topology_size = 1;
    return good->PJRT_TopologyDescription_Deserialize(&args);
  };
  static AlteredTable altered(good, 117);
  altered.table.PJRT_Error_ForEachPayload = [](PJRT_Error_ForEachPayload_Args*) { return refuse(); };
  ASSERT_OK_AND_ASSIGN(const Plugin plugin, Plugin::FromApi(&altered.table, "refuses payloads"));
  const Status status = plugin.api().TakeError(refuse(), "context");
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(status.payloads().empty());
}

TEST(Api, ExtensionsAreFoundBySizeToo) {
  const Api& api = FakePlugin().api();
  EXPECT_NE(api.FindExtension(PJRT_Extension_Type_Layouts), nullptr);
  EXPECT_EQ(api.FindExtension(PJRT_Extension_Type_Layouts, 1 << 20), nullptr);
  EXPECT_EQ(api.FindExtension(PJRT_Extension_Type_Megascale), nullptr);
  std::set<uint32_t> types;
  for (const auto& [type, size] : api.Extensions()) {
    EXPECT_GE(size, sizeof(PJRT_Extension_Base));
    types.insert(type);
  }
  EXPECT_TRUE(types.contains(PJRT_Extension_Type_FFI));
  EXPECT_EQ(ExtensionName(PJRT_Extension_Type_Shardings), "Shardings");
  EXPECT_EQ(ExtensionName(TENON_EXTENSION_TYPE_SIGNATURE), "TenonSignature");
  EXPECT_EQ(ExtensionName(99), "99");
}

// Every args struct is paired with its own function, which only its size can tell apart here.
TEST(Api, StructSizesAreThoseOfTheInterface) {
#define PJRT_FN(function, args_type, since, owner)                               \
  EXPECT_EQ(MakeArgs<args_type>().struct_size, size_t{args_type##_STRUCT_SIZE}); \
  EXPECT_STREQ(EntryOf<args_type>::kName, #function);
#include "tenon/abi/api.def"
#undef PJRT_FN
}

}  // namespace
}  // namespace tenon::client
