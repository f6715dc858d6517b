import java.io.File;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.PrivilegedExceptionAction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.minikdc.MiniKdc;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;

/** A real HDFS of two data nodes in this process, until it is told to end. See scripts/minihdfs. */
public final class MiniHdfs {
  private static final int DATA_NODES = 2;
  private static final String SERVICE = "hdfs/localhost", WEB = "HTTP/localhost", USER = "trainer";

  /**
   * The folder to keep all data in, and perhaps --kerberos; the folder's file "url" appears when the file system can be
   * used.
   */
  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    boolean isSecure = arguments.length > 1 && arguments[1].equals("--kerberos");
    Configuration server = isSecure ? secured(folder) : new Configuration();
    server.set("hdfs.minidfs.basedir", folder.resolve("data").toString());
    server.setInt("dfs.replication", DATA_NODES);
    // Small blocks, so that small files have several.
    server.setLong("dfs.namenode.fs-limits.min-block-size", 1 << 20);
    server.setLong("dfs.blocksize", 1 << 20);
    server.setBoolean("dfs.permissions.enabled", false);
    MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(server).numDataNodes(DATA_NODES).format(true).build();
    cluster.waitActive();
    Runtime.getRuntime().addShutdownHook(new Thread(() -> cluster.shutdown(true)));
    String url = "hdfs://localhost:" + cluster.getNameNodePort();
    if (isSecure) writeTokens(folder, url);
    Path part = folder.resolve("url.part");
    Files.writeString(part, url + "\n");
    Files.move(part, folder.resolve("url"), StandardCopyOption.ATOMIC_MOVE);
    Thread.currentThread().join();
  }

  /** Starts a key distribution centre, writes what clients need, and returns the settings of the servers. */
  private static Configuration secured(Path folder) throws Exception {
    Path keys = Files.createDirectories(folder.resolve("kdc"));
    MiniKdc kdc = new MiniKdc(MiniKdc.createConf(), keys.toFile());
    kdc.start();
    Runtime.getRuntime().addShutdownHook(new Thread(kdc::stop));
    Files.copy(kdc.getKrb5conf().toPath(), folder.resolve("krb5.conf"));
    File servers = folder.resolve("servers.keytab").toFile();
    kdc.createPrincipal(servers, SERVICE, WEB);
    kdc.createPrincipal(folder.resolve(USER + ".keytab").toFile(), USER);
    String service = SERVICE + "@" + kdc.getRealm();

    Configuration client = new Configuration(false);
    client.set("hadoop.security.authentication", "kerberos");
    client.set("dfs.namenode.kerberos.principal", service);
    client.set("dfs.data.transfer.protection", "authentication");
    Path site = siteIn(folder);
    Files.createDirectories(site.getParent());
    try (OutputStream out = Files.newOutputStream(site)) {
      client.writeXml(out);
    }

    Configuration server = clientOf(folder);
    server.setBoolean("hadoop.security.authorization", true);
    server.setBoolean("dfs.block.access.token.enable", true);
    server.setBoolean("ignore.secure.ports.for.testing", true);
    server.set("dfs.namenode.keytab.file", servers.getPath());
    server.set("dfs.datanode.kerberos.principal", service);
    server.set("dfs.datanode.keytab.file", servers.getPath());
    server.set("dfs.web.authentication.kerberos.principal", WEB + "@" + kdc.getRealm());
    server.set("dfs.web.authentication.kerberos.keytab", servers.getPath());
    UserGroupInformation.setConfiguration(server);
    return server;
  }

  private static Path siteIn(Path folder) {
    return folder.resolve("conf").resolve("core-site.xml");
  }

  private static Configuration clientOf(Path folder) {
    Configuration client = new Configuration();
    client.addResource(new org.apache.hadoop.fs.Path(siteIn(folder).toUri()));
    return client;
  }

  /** A delegation token of the user, for processes that have no key of their own. */
  private static void writeTokens(Path folder, String url) throws Exception {
    Configuration client = clientOf(folder);
    UserGroupInformation user =
        UserGroupInformation.loginUserFromKeytabAndReturnUGI(USER, folder.resolve(USER + ".keytab").toString());
    Credentials tokens = new Credentials();
    user.doAs((PrivilegedExceptionAction<Object>) () ->
        FileSystem.get(URI.create(url), client).addDelegationTokens(USER, tokens));
    tokens.writeTokenStorageFile(new org.apache.hadoop.fs.Path(folder.resolve("tokens").toUri()), client);
  }
}
