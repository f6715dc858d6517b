// Linked into every test when sanitizers are on: they ask the program for its wishes by these names.
#define VISIBLE extern "C" __attribute__((visibility("default"), used))

VISIBLE const char* __ubsan_default_options() { return "print_stacktrace=1"; }

// An allocation that is too large fails as it does without a sanitizer.
VISIBLE const char* __asan_default_options() { return "allocator_may_return_null=1"; }
VISIBLE const char* __tsan_default_options() { return "allocator_may_return_null=1:print_suppressions=0"; }

// Arrow is not compiled for ThreadSanitizer, which therefore does not see how its reference counts order the last use
// of a buffer, or of a type that arrays share, and its being freed, nor that its types are made once, by whoever asks
// first. Nor is oneDNN, whose plans share a cache of primitives: what one thread put there another compares with.
VISIBLE const char* __tsan_default_suppressions() {
  return "race:^dnnl::impl::\n"
         "race:arrow::BaseMemoryPoolImpl\nrace:_Sp_counted_ptr_inplace<arrow::ArrayData*::_M_dispose\n"
         "race:^arrow::binary()\nrace:^arrow::boolean()\nrace:^arrow::utf8()\nrace:^arrow::large_utf8()\n"
         "race:^arrow::int8()\nrace:^arrow::int16()\nrace:^arrow::int32()\nrace:^arrow::int64()\n"
         "race:^arrow::uint8()\nrace:^arrow::uint16()\nrace:^arrow::uint32()\nrace:^arrow::uint64()\n"
         "race:^arrow::float16()\nrace:^arrow::float32()\nrace:^arrow::float64()\n"
         "race:^arrow::date32()\nrace:^arrow::date64()\n";
}
