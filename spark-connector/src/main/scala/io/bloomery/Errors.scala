package io.bloomery

/** What the engine and the connector throw; the engine makes them by name, from a message alone. */
sealed abstract class BloomeryException(message: String) extends RuntimeException(message) {

  /** The same of one among several things that were asked for. */
  def of(what: String): BloomeryException = {
    val text = s"$message, $what"
    val named = this match {
      case _: UserError => new UserError(text)
      case _: PeerLost => new PeerLost(text)
      case _: Cancelled => new Cancelled(text)
      case _: ResourceError => new ResourceError(text)
      case _: InternalError => new InternalError(text)
    }
    named.initCause(this)
    named
  }
}

/** A network, a param, a column or a value that the user has to change. */
final class UserError(message: String) extends BloomeryException(message)

/** A worker went away or fell silent; Spark tries the stage again. */
final class PeerLost(message: String) extends BloomeryException(message)

/** Somebody asked for the work to stop. */
final class Cancelled(message: String) extends BloomeryException(message)

/** The machine or the cluster lacks what the work needs. */
final class ResourceError(message: String) extends BloomeryException(message)

/** A mistake of Bloomery's own. */
final class InternalError(message: String) extends BloomeryException(message)
