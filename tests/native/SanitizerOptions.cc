// Linked into every test when sanitizers are on: they ask the program for its wishes by these names.
#define VISIBLE extern "C" __attribute__((visibility("default"), used))

VISIBLE const char* __ubsan_default_options() { return "print_stacktrace=1"; }

// Gloo forgets what getaddrinfo gave it when it cannot bind.
VISIBLE const char* __lsan_default_suppressions() { return "leak:gloo::transport::tcp::CreateDeviceAttr\n"; }

VISIBLE const char* __lsan_default_options() { return "print_suppressions=0"; }
