package io.bloomery

/** What the engine and the connector throw; the engine makes them by name, from a message alone. */
sealed abstract class BloomeryException(message: String) extends RuntimeException(message)

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
