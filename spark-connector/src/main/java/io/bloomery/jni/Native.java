package io.bloomery.jni;

/**
 * The engine's native functions: the only seam between the JVM and C++. Handles are opaque positive
 * numbers; every failure arrives as one of the exceptions of {@code io.bloomery}. Call {@link
 * NativeLoader#load()} first.
 */
public final class Native {
  private Native() {}

  /** Versions and instruction set of the engine, as JSON. */
  public static native String engineInfo();

  /** Shapes, parameters, operations and memory of a task's network, as JSON. */
  public static native String describe(String task);

  /** A task's network with its weights, which are safetensors, as the bytes of an ONNX file. */
  public static native byte[] exportOnnx(String task, byte[] weights);

  /** Opens the trainer of one worker and starts its threads; weights are safetensors or empty. */
  public static native long openTrainer(String task, byte[] weights);

  /**
   * Opens a trainer of the rows of one that is finished, which may be closed then. Their tasks keep
   * rows alike: what describe calls kindOfRows is equal.
   */
  public static native long openTrainerOverRows(long finished, String task, byte[] weights);

  /** Where this worker listens; blocks until it does, and is empty for a single worker. */
  public static native byte[] trainerAddress(long trainer);

  /**
   * Makes what the workers of one attempt at a training prove themselves to each other with, in the
   * order of their ranks: secret, to be handed to each its own only.
   */
  public static native byte[][] issueCredentials(int numWorkers, int attempt, boolean encrypt);

  /**
   * Connects this worker to all others, whose addresses come in the order of their ranks;
   * credentials are its own, and empty for a single worker.
   */
  public static native void connectTrainer(long trainer, byte[][] addresses, byte[] credentials);

  /** The log of a poll alone, as JSON: for when there is nothing else to poll yet. */
  public static native String takeLog(long trainer);

  /** Tells the trainer its columns; consumes the C ArrowSchema at this address. */
  public static native void ingestSchema(long trainer, long arrowSchema);

  /** Copies the rows of a C ArrowArray, which is released before this returns. */
  public static native void ingest(long trainer, long arrowArray, int partition, long firstRow);

  /**
   * Opens a scan of Parquet files for a trainer, read ahead by so many threads. Consumes two C
   * ArrowSchemas: the columns of the files, and those that are constant in each, which is 0 for none.
   */
  public static native long openScan(long trainer, long fileColumns, long constantColumns, int threads);

  /** Opens a scan of Parquet files for rows to predict; consumes the C ArrowSchema of the files' columns. */
  public static native long openPredictScan(long fileColumns);

  /**
   * The address of a C ArrowArray with a scan's next rows, valid till the next call; 0 when none came in
   * this time.
   */
  public static native long nextOfScan(long scan, long waitMillis);

  /** How many rows that gave last. */
  public static native long scannedRows(long scan);

  /**
   * Adds row groups of a file to a scan; its index is that of its rows' ids. Constants are a C
   * ArrowArray of one row, copied and released before this returns, or 0.
   */
  public static native void scanFile(
      long scan,
      ByteSource source,
      String name,
      long size,
      int index,
      int[] rowGroups,
      long constants);

  /** Adds further row groups of the file that was added last. */
  public static native void scanMore(long scan, int[] rowGroups);

  /** Says that a scan has got all of its files. */
  public static native void finishScan(long scan);

  /** Gives a scan's next batch to a trainer; the number of rows, 0 when none came in this time. */
  public static native long ingestScan(long trainer, long scan, long waitMillis);

  /** How many of a scan's files, in the order given, are read no more. */
  public static native long scannedFiles(long scan);

  /**
   * Opens the way of rows that are picked from a scan's files, beside columns of their own. Consumes two C
   * ArrowSchemas: the columns of the files, and their own, of which the last is the row's number in its
   * file.
   */
  public static native long openPicks(long scan, long fileColumns, long ownColumns);

  /**
   * Picks rows of the file with this index, in ascending order: a C ArrowArray of their own columns,
   * consumed. Their row groups were added to the scan, in that order.
   */
  public static native void pick(long picks, long arrowArray, int file);

  /**
   * Gives the next picked rows to a trainer, the first of them as this row of the partition; their
   * number, 0 when none came in this time.
   */
  public static native long ingestPicks(
      long trainer, long picks, int partition, long firstRow, long waitMillis);

  /** Frees picked rows, before their scan; harmless when repeated. */
  public static native void closePicks(long picks);

  /** Stops a scan, joins its threads and frees it; harmless when repeated. */
  public static native void closeScan(long scan);

  /** Says that this worker has received all of its rows. */
  public static native void finishIngest(long trainer);

  /** Progress since the last call, as JSON; waits a while for news and throws the first error. */
  public static native String pollTrainer(long trainer, long waitMillis);

  /** Tells a trainer that asks, after an epoch, whether to stop. */
  public static native void answerTrainer(long trainer, boolean stop);

  /** The trained weights as safetensors, once the state is "finished". */
  public static native byte[] trainerWeights(long trainer);

  /** Adds bytes of a checkpoint: of what all workers share, or of this worker's own. */
  public static native void addToState(long trainer, boolean shared, byte[] bytes);

  /**
   * Before connecting: takes up the state whose bytes were added, or its weights alone. `recovers`: the fit that goes on
   * made it itself.
   */
  public static native void restoreTrainer(long trainer, boolean weightsOnly, boolean recovers);

  /** Waits a while for a copy of the training's state; its place and sizes as JSON, or empty. */
  public static native String awaitCheckpoint(long trainer, long waitMillis);

  /** A piece of that copy; what all workers share is with rank 0. */
  public static native byte[] checkpointBytes(
      long trainer, boolean shared, long offset, int length);

  /** Says that the copy is not needed any more, so that another one may be made. */
  public static native void releaseCheckpoint(long trainer);

  /** Asks the trainer to stop; may be called from any thread. */
  public static native void cancelTrainer(long trainer);

  /** Stops the trainer if it still runs, joins its threads and frees it; harmless when repeated. */
  public static native void closeTrainer(long trainer);

  /** Opens a predictor, which any number of threads may use at once. */
  public static native long openPredictor(String task, byte[] weights);

  /** Predicts the rows of an exported batch into two float arrays of rows times classes. */
  public static native void predict(
      long predictor,
      long arrowSchema,
      long arrowArray,
      int partition,
      long firstRow,
      long raw,
      long probability);

  /** Frees a predictor. */
  public static native void closePredictor(long predictor);

  /** Opens an evaluator, which measures rows with labels; used by one thread. */
  public static native long openEvaluator(String task, byte[] weights);

  /** Adds the rows of an exported batch to an evaluator's sums. */
  public static native void evaluate(
      long evaluator, long arrowSchema, long arrowArray, int partition, long firstRow);

  /** What an evaluator has counted; sums of several add up. */
  public static native double[] evaluatorSums(long evaluator);

  /** Frees an evaluator. */
  public static native void closeEvaluator(long evaluator);

  /** Loss and metrics from such sums, as JSON; an empty array stands for no rows. */
  public static native String measures(String task, double[] sums);

  /** Handles, Arrow bytes and threads that are alive in the engine, as JSON. */
  public static native String liveResources();

  /** Memory of rows that closed trainers left for the next one. */
  public static native long restingBytes();

  /** Gives back to the system what of that has rested for so long. */
  public static native void returnRestedMemory(long ageMillis);
}
