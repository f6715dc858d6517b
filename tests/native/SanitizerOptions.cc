// Linked into every test when sanitizers are on: they ask the program for its wishes by these names.
#define VISIBLE extern "C" __attribute__((visibility("default"), used))

VISIBLE const char* __ubsan_default_options() { return "print_stacktrace=1"; }

// An allocation that is too large fails as it does without a sanitizer.
VISIBLE const char* __asan_default_options() { return "allocator_may_return_null=1"; }
VISIBLE const char* __tsan_default_options() { return "allocator_may_return_null=1:print_suppressions=0"; }

// Gloo and Arrow are not compiled for ThreadSanitizer, which therefore does not see how their reference counts order
// things: with Arrow, the last use of a buffer and its being freed.
VISIBLE const char* __tsan_default_suppressions() { return "race:gloo::\nrace:arrow::BaseMemoryPoolImpl\n"; }
