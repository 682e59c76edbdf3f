// What AddressSanitizer must know here: memory that no machine has comes back as NULL, which must become
// RESOURCE_EXHAUSTED; and LLVM's headers poison arenas that LLVM's own library, which is not instrumented, does not
// unpoison.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1:allow_user_poisoning=0"; }
