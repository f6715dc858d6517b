import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A real HDFS of two data nodes in this process, until it is told to end. See scripts/minihdfs. */
public final class MiniHdfs {
  private static final int DATA_NODES = 2;

  /** The folder to keep all data in; its file "url" appears when the file system can be used. */
  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    Configuration configuration = new Configuration();
    configuration.set("hdfs.minidfs.basedir", folder.resolve("data").toString());
    configuration.setInt("dfs.replication", DATA_NODES);
    // Small blocks, so that small files have several.
    configuration.setLong("dfs.namenode.fs-limits.min-block-size", 1 << 20);
    configuration.setLong("dfs.blocksize", 1 << 20);
    configuration.setBoolean("dfs.permissions.enabled", false);
    MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(configuration).numDataNodes(DATA_NODES).format(true).build();
    cluster.waitActive();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> cluster.shutdown(true)));
    Path part = folder.resolve("url.part");
    Files.writeString(part, "hdfs://localhost:" + cluster.getNameNodePort() + "\n");
    Files.move(part, folder.resolve("url"), StandardCopyOption.ATOMIC_MOVE);
    Thread.currentThread().join();
  }
}
