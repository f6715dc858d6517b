package org.apache.spark.bloomery

import java.net.{Inet4Address, InetAddress, NetworkInterface}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.{SparkConf, SparkEnv}
import org.apache.spark.sql.SparkSession

import io.bloomery.UserError

/**
 * How workers reach each other, as the Spark conf and the session have it: where an executor listens, and whether they
 * encrypt.
 */
private[bloomery] object WorkerNetwork {
  val EncryptKey = "spark.bloomery.network.encrypt"
  val InterfaceKey = "spark.bloomery.network.interface"

  /** What encrypts Spark's own RPC, and so asks for the same between workers. */
  private val SparkKeys =
    Seq("spark.network.crypto.enabled", "spark.ssl.rpc.enabled", "spark.authenticate.enableSaslEncryption")

  /** The Spark conf with what the session says on top; but what the conf turns on, no session turns off. */
  def conf(session: SparkSession): SparkConf = {
    val conf = session.sparkContext.conf
    val settings = for {
      key <- Seq(EncryptKey, InterfaceKey) if key != EncryptKey || !flag(conf, EncryptKey)
      value <- session.conf.getOption(key)
    } yield key -> value
    conf.clone().setAll(settings)
  }

  /** Whether anything asks for it: what one key turns on, no other turns off. */
  def encrypts(conf: SparkConf): Boolean = flag(conf, EncryptKey) || rpcEncrypts(conf)

  /** What the user should know about the keys' way from the driver to the workers. */
  def warnings(conf: SparkConf): Seq[String] =
    if (!encrypts(conf) || rpcEncrypts(conf) || isOneProcess(conf)) Seq.empty
    else {
      Seq(
        "Workers encrypt what they send each other, but their keys travel from the driver in plain text, as all RPC of" +
          s" Spark does here: set ${SparkKeys.head} or ${SparkKeys(1)}, too")
    }

  /** Where the other workers reach this executor: the address that Spark itself uses, unless told otherwise. */
  def host(env: SparkEnv, interface: Option[String]): String =
    interface match {
      case Some(name) => addressOf(name)
      case None if isOneProcess(env.conf) => "127.0.0.1"
      case None => InetAddress.getByName(env.blockManager.blockManagerId.host).getHostAddress
    }

  /** The name or an address of the interface that workers meet on, where one is chosen. */
  def interface(conf: SparkConf): Option[String] = conf.getOption(InterfaceKey).map(_.trim).filter(_.nonEmpty)

  /** Of an interface, by its name or by one of its addresses. */
  private[bloomery] def addressOf(name: String): String = {
    val interfaces = NetworkInterface.getNetworkInterfaces.asScala.toSeq
    val addresses = interfaces.filter(_.getName == name).flatMap(_.getInetAddresses.asScala)
    val found = addresses.sortBy(preference).headOption.orElse(literalAddress(name, interfaces))
    found.map(textOf).getOrElse {
      val known = interfaces.map(_.getName).sorted.mkString(", ")
      val what = if (interfaces.exists(_.getName == name)) "Interface without an address" else "No such interface"
      throw new UserError(s"$what on this executor: '$name', it has $known; set $InterfaceKey to one of them")
    }
  }

  /** Only an address that an interface has, so that no name is looked up. */
  private def literalAddress(text: String, interfaces: Seq[NetworkInterface]): Option[InetAddress] =
    Option
      .when(text.matches("[0-9.]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(%\\w+)?"))(text)
      .flatMap(literal => Try(InetAddress.getByName(literal)).toOption)
      .flatMap(address => interfaces.flatMap(_.getInetAddresses.asScala).find(_ == address))

  /** The JVM names the interface with every IPv6 address, the system takes it only with those of a link. */
  private def textOf(address: InetAddress): String =
    if (address.isLinkLocalAddress) address.getHostAddress else address.getHostAddress.takeWhile(_ != '%')

  /** An address of the link alone is good only where there is no other; else as the JVM prefers. */
  private def preference(address: InetAddress): (Boolean, Boolean) = {
    val wantsIpv6 = sys.props.get("java.net.preferIPv6Addresses").contains("true")
    (address.isLinkLocalAddress, address.isInstanceOf[Inet4Address] == wantsIpv6)
  }

  private def rpcEncrypts(conf: SparkConf): Boolean = SparkKeys.exists(flag(conf, _))

  private def flag(conf: SparkConf, key: String): Boolean =
    conf.getOption(key).exists { text =>
      text.trim.toLowerCase.toBooleanOption.getOrElse {
        throw new UserError(s"Neither true nor false: '$text', set as $key")
      }
    }

  private def isOneProcess(conf: SparkConf): Boolean = conf.get("spark.master", "").matches("local(\\[.*\\])?")
}
