package io.bloomery.jni;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.OptionalLong;

/**
 * Removes folders named {@code <prefix><process id>-<anything>} whose process is gone. A young one
 * stays: containers that share a temporary folder do not see each other's processes.
 */
final class StaleFolders {
  private static final Duration YOUNG = Duration.ofMinutes(10);

  private StaleFolders() {}

  static void sweep(Path parent, String prefix) {
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(parent, prefix + "*")) {
      for (Path folder : folders) {
        OptionalLong owner = owner(folder.getFileName().toString(), prefix);
        Instant old = Instant.now().minus(YOUNG);
        if (owner.isPresent()
            && ProcessHandle.of(owner.getAsLong()).isEmpty()
            && Files.getLastModifiedTime(folder).toInstant().isBefore(old)) {
          delete(folder);
        }
      }
    } catch (IOException error) {
      // Somebody else's folder, or none yet: nothing of ours is lost.
    }
  }

  /** Deletes a flat folder; what cannot be deleted stays for the next sweep. */
  static void delete(Path folder) {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      for (Path file : files) {
        Files.deleteIfExists(file);
      }
      Files.deleteIfExists(folder);
    } catch (IOException error) {
      // The next process sweeps it.
    }
  }

  static OptionalLong owner(String name, String prefix) {
    int end = name.indexOf('-', prefix.length());
    String digits = end < 0 ? "" : name.substring(prefix.length(), end);
    return digits.matches("[0-9]{1,18}")
        ? OptionalLong.of(Long.parseLong(digits))
        : OptionalLong.empty();
  }
}
