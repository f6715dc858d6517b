package io.bloomery.jni;

import java.util.Optional;

/** Says in one sentence why the native library cannot run here; pure functions of what was found. */
final class Platform {
  private Platform() {}

  /** Why this machine cannot run the engine at all, or nothing. */
  static Optional<String> unsupported(String os, String architecture, String cpuFlags) {
    if (!os.equals("Linux") || !(architecture.equals("amd64") || architecture.equals("x86_64"))) {
      return Optional.of(
          "Bloomery's native library runs on Linux x86_64 only, and this is: "
              + os
              + " "
              + architecture);
    }
    if (!hasFlag(cpuFlags, "avx2") || !hasFlag(cpuFlags, "fma")) {
      return Optional.of(
          "Bloomery's native library needs a CPU with AVX2 and FMA (any since 2015), which"
              + " /proc/cpuinfo does not list here; run the executors on newer machines.");
    }
    return Optional.empty();
  }

  /** What the linker's complaint means for the user. */
  static String explain(String linkError) {
    Optional<String> version = between(linkError, "version `", "' not found");
    if (version.isPresent()) {
      String needed = version.get();
      String library =
          needed.startsWith("GLIBCXX") || needed.startsWith("CXXABI") ? "libstdc++" : "glibc";
      return "Bloomery's native library needs a newer "
          + library
          + " than this machine has (Debian 12, Ubuntu 22.04, RHEL 9 or later have it): "
          + needed
          + " not found";
    }
    Optional<String> missing = missingLibrary(linkError);
    if (missing.isPresent()) {
      return "Bloomery's native library needs a shared library that is neither in the jar nor on"
          + " this machine; install it or add it to the folder of -Dbloomery.native.path: "
          + missing.get();
    }
    if (linkError.contains("undefined symbol")) {
      return "Bloomery's native library found another version of a library it needs; look for an"
          + " LD_LIBRARY_PATH or LD_PRELOAD that hides the one in the jar: "
          + linkError;
    }
    if (linkError.contains("Operation not permitted")
        || linkError.contains("failed to map segment")) {
      return "Bloomery's native library cannot be loaded from a folder mounted with noexec; point"
          + " -Djava.io.tmpdir or -Dbloomery.native.path elsewhere: "
          + linkError;
    }
    if (linkError.contains("already loaded in another classloader")) {
      return "Bloomery's native library was loaded from bloomery.native.path by another class loader"
          + " of this JVM, which only the copy in the jar allows; unset it: "
          + linkError;
    }
    return "Bloomery's native library cannot be loaded: " + linkError;
  }

  /** The first flags line of /proc/cpuinfo decides: all cores of a machine have the same. */
  private static boolean hasFlag(String cpuFlags, String flag) {
    return (" " + cpuFlags.replace('\n', ' ').replace('\t', ' ') + " ").contains(" " + flag + " ");
  }

  private static Optional<String> missingLibrary(String linkError) {
    String ending = ": cannot open shared object file";
    int end = linkError.indexOf(ending);
    if (end < 0) {
      return Optional.empty();
    }
    String before = linkError.substring(0, end);
    return Optional.of(before.substring(before.lastIndexOf(' ') + 1));
  }

  private static Optional<String> between(String text, String from, String to) {
    int start = text.indexOf(from);
    int end = start < 0 ? -1 : text.indexOf(to, start);
    return end < 0 ? Optional.empty() : Optional.of(text.substring(start + from.length(), end));
  }
}
