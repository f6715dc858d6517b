package io.bloomery.jni;

import java.io.IOException;
import java.nio.ByteBuffer;

/** A file that the engine reads from; its threads come here, several at once. */
public interface ByteSource {

  /** Fills all of a direct buffer with the bytes from this position on. */
  void read(long position, ByteBuffer into) throws IOException;

  /** Whether small reads are as good as large ones, as of a file of this machine. */
  boolean isLocal();

  /** Makes reads that wait, and all later ones, fail; comes from the thread that closes the scan. */
  void cancel();
}
