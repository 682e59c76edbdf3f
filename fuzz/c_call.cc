#include "fuzz/c_call.h"

namespace tenon::fuzz {

bool TakeError(PJRT_Error* error, std::string_view function) {
  if (error == nullptr) return false;
  const PJRT_Api* api = Api();
  auto code = ZeroArgs<PJRT_Error_GetCode_Args>(PJRT_Error_GetCode_Args_STRUCT_SIZE);
  code.error = error;
  PJRT_Error* inner = api->PJRT_Error_GetCode(&code);
  auto message = ZeroArgs<PJRT_Error_Message_Args>(PJRT_Error_Message_Args_STRUCT_SIZE);
  message.error = error;
  api->PJRT_Error_Message(&message);
  const bool good = inner == nullptr && code.code > PJRT_Error_Code_OK &&
                    code.code <= PJRT_Error_Code_UNAUTHENTICATED && message.message != nullptr;
  // Reads every byte, and the same through the error's own table.
  const std::string_view text(message.message, message.message_size);
  const char* own_text = nullptr;
  size_t own_size = 0;
  error->vtable->message(error, &own_text, &own_size);
  if (!good || error->vtable->get_code(error) != code.code || std::string_view(own_text, own_size) != text) {
    std::fprintf(stderr, "%.*s made a broken error, code %d\n", static_cast<int>(function.size()), function.data(),
                 static_cast<int>(code.code));
    std::abort();
  }
  auto destroy = ZeroArgs<PJRT_Error_Destroy_Args>(PJRT_Error_Destroy_Args_STRUCT_SIZE);
  destroy.error = error;
  api->PJRT_Error_Destroy(&destroy);
  return true;
}

size_t CallerSize(std::string_view struct_name, size_t current, ByteInput& in, size_t* oldest) {
  struct Row {
    std::string_view name;
    size_t size;
  };
  static constexpr Row kRows[] = {
#define PJRT_SIZE(type, since, size) {#type, size},
#include "tenon/abi/struct_sizes.def"
#undef PJRT_SIZE
  };
  const Row* first =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.name == struct_name; });
  size_t count = 0;
  while (first + count != std::end(kRows) && first[count].name == struct_name) ++count;
  *oldest = count == 0 ? sizeof(size_t) : first->size;
  const size_t choice = in.Below(8);
  if (choice == 7) return current + 8 * (1 + in.Below(4));
  if (choice < 4 || count == 0) return current;
  return first[in.Below(count)].size;
}

}  // namespace tenon::fuzz
