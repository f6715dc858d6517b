package io.bloomery.jni;

import io.bloomery.ResourceError;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Loads the engine once per class loader. The libraries come out of the jar into a private folder
 * whose name carries this process's id, and are deleted as soon as they are mapped; what a killed
 * process left behind is swept by the next one. {@code -Dbloomery.native.path} or the environment
 * variable {@code BLOOMERY_NATIVE_PATH} names a folder to load from instead.
 */
public final class NativeLoader {
  private static final String LIBRARY = "libbloomery.so";

  /** Found by the library's RUNPATH, which is its own folder. */
  private static final List<String> COMPANIONS =
      List.of("libgomp.so.1", "libdnnl.so.3", "libarrow.so.2500", "libparquet.so.2500");

  private static final String RESOURCES = "/lib/linux/x86_64/";
  private static final String FOLDER_PREFIX = "bloomery-native-";
  private static boolean loaded = false;

  private NativeLoader() {}

  /** Loads the engine, or says what is missing; a second call does nothing. */
  public static synchronized void load() {
    if (loaded) {
      return;
    }
    Platform.unsupported(System.getProperty("os.name"), System.getProperty("os.arch"), cpuFlags())
        .ifPresent(
            reason -> {
              throw new ResourceError(reason);
            });
    Optional<String> override = overridePath();
    if (override.isPresent()) {
      loadFrom(Path.of(override.get()));
    } else {
      loadFromJar();
    }
    loaded = true;
  }

  private static Optional<String> overridePath() {
    return Optional.ofNullable(System.getProperty("bloomery.native.path"))
        .or(() -> Optional.ofNullable(System.getenv("BLOOMERY_NATIVE_PATH")))
        .filter(path -> !path.isEmpty());
  }

  private static void loadFrom(Path folder) {
    Path library = folder.resolve(LIBRARY).toAbsolutePath();
    if (!Files.isRegularFile(library)) {
      throw new ResourceError(
          "bloomery.native.path names a folder without " + LIBRARY + ": " + folder);
    }
    try {
      System.load(library.toString());
    } catch (UnsatisfiedLinkError error) {
      ResourceError explained = new ResourceError(Platform.explain(error.getMessage()));
      explained.initCause(error);
      throw explained;
    }
  }

  private static void loadFromJar() {
    Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
    StaleFolders.sweep(temporary, FOLDER_PREFIX);
    try {
      Files.createDirectories(temporary);
      Path folder =
          Files.createTempDirectory(
              temporary, FOLDER_PREFIX + ProcessHandle.current().pid() + "-");
      try {
        unpackInto(folder);
        loadFrom(folder);
      } finally {
        StaleFolders.delete(folder);
      }
    } catch (IOException error) {
      ResourceError explained =
          new ResourceError(
              "Bloomery's native library cannot be unpacked; free some space or point"
                  + " -Djava.io.tmpdir elsewhere: "
                  + error);
      explained.initCause(error);
      throw explained;
    }
  }

  private static void unpackInto(Path folder) throws IOException {
    for (String name : COMPANIONS) {
      unpack(name, folder);
    }
    if (!unpack(LIBRARY, folder)) {
      throw new ResourceError(
          "This Bloomery jar was built without its native library; build it with scripts/package"
              + " or set -Dbloomery.native.path: no "
              + RESOURCES
              + LIBRARY);
    }
  }

  /** A companion that is not in the jar must be on the machine; the linker will say so. */
  private static boolean unpack(String name, Path folder) throws IOException {
    try (InputStream resource = NativeLoader.class.getResourceAsStream(RESOURCES + name)) {
      if (resource == null) {
        return false;
      }
      Files.copy(resource, folder.resolve(name));
      return true;
    }
  }

  private static String cpuFlags() {
    try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"))) {
      return lines.filter(line -> line.startsWith("flags")).findFirst().orElse("");
    } catch (IOException error) {
      return "";
    }
  }
}
