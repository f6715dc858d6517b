package org.apache.spark.bloomery

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, ExecutionContextExecutorService, Future}
import scala.util.{Success, Try}
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.rpc.RpcCallContext
import org.apache.spark.util.ThreadUtils

import io.bloomery.UserError

/** How a fit keeps checkpoints; `resume` is auto, weights or never. */
final case class CheckpointRequest(path: String, keep: Int, resume: String)

/** What workers tell the driver about checkpoints, and ask it. */
private[bloomery] sealed trait CheckpointMessage extends Serializable

/** My part of a checkpoint is written, or, when `problem` says why, not. */
private[bloomery] final case class PartWritten(
    checkpoint: String,
    rank: Int,
    file: String,
    bytes: Long,
    checksum: Long,
    problem: String)
    extends CheckpointMessage

/** Are all parts written? Answered with none till every worker has told of its own; then all, or a problem. */
private[bloomery] final case class AskParts(checkpoint: String) extends CheckpointMessage

/** Where do I start? Answered with a checkpoint and whether only its weights are meant, or none. */
private[bloomery] final case class AskStart(attempt: Int) extends CheckpointMessage

/** Something about checkpoints that the user should know. */
private[bloomery] final case class CheckpointNote(text: String) extends CheckpointMessage

/**
 * The driver's side of a fit's checkpoints: decides for all workers of an attempt which one they
 * start from, and knows which parts of a new one are written. Replies are of Scala's own types, as
 * those of the control channel, which it is a part of. `note` tells the user.
 */
private[bloomery] final class CheckpointBoard(
    folder: CheckpointFolder,
    request: CheckpointRequest,
    run: String,
    numWorkers: Int,
    source: String,
    epochs: Int,
    note: String => Unit)
    extends Logging
    with AutoCloseable {
  private implicit val threads: ExecutionContextExecutorService = ExecutionContext.fromExecutorService(
    ThreadUtils.newDaemonSingleThreadExecutor(CheckpointBoard.ThreadName))
  private val parts = mutable.Map.empty[String, mutable.Map[Int, Either[String, CheckpointFile]]]
  private val starts = mutable.Map.empty[Int, Future[Option[(String, Boolean)]]]
  @volatile private var first: Option[(String, Boolean)] = None
  @volatile private var passedOver = Set.empty[String]

  /** Those that were found to be other than they were written. */
  def damaged: Set[String] = passedOver

  /** Before the first attempt, on the thread that called fit: what it starts from, or a UserError. */
  def prepare(): Unit = first = request.resume match {
    case "never" => None
    case "weights" =>
      val newest = newestWhole(_ => true).getOrElse(throw CheckpointBoard.noWeights(request))
      note(s"Training starts with the weights of ${newest.place}, checkpoint ${newest.name}")
      Some(newest.name -> true)
    case _ =>
      val newest = newestWhole(fitsWorkers)
      newest.foreach { manifest =>
        checkSource(manifest)
        note(
          if (manifest.finished && manifest.epoch == epochs + 1L)
            s"Training had ended already, at ${manifest.place}, and nothing is left to do; raise epochs to go on"
          else if (manifest.finished) s"Training goes on from where it ended, ${manifest.place}"
          else s"Training goes on from ${manifest.place}, checkpoint ${manifest.name}")
      }
      if (newest.isEmpty) {
        checkNoneInsideEpochs()
        if (damaged.nonEmpty) {
          note(
            s"No whole checkpoint is left in ${request.path}: training starts over from the beginning, and its first" +
              " checkpoint takes the place of the damaged ones")
        }
      }
      newest.map(_.name -> false)
  }

  /** The same after an earlier job of this fit failed. */
  def prepareAgain(): Unit = {
    starts.clear()
    first = startAgain("The next job")
  }

  /** Called by the control channel, one message at a time. */
  def handle(message: CheckpointMessage, call: RpcCallContext): Unit = message match {
    case part: PartWritten =>
      record(part)
      call.reply(true)
    case AskParts(checkpoint) => call.reply(complete(checkpoint))
    case AskStart(attempt) =>
      start(attempt).onComplete {
        case Success(answer) => call.reply(answer)
        case failure =>
          logWarning(s"Cannot tell where attempt $attempt starts", failure.failed.get)
          call.reply(None)
      }
    case CheckpointNote(text) =>
      note(text)
      call.reply(true)
  }

  override def close(): Unit = {
    threads.shutdownNow()
    ()
  }

  private def record(part: PartWritten): Unit = {
    val result =
      if (part.problem.isEmpty) Right(CheckpointFile(part.file, part.bytes, part.checksum))
      else Left(s"worker ${part.rank}: ${part.problem}")
    parts.getOrElseUpdate(part.checkpoint, mutable.Map.empty)(part.rank) = result
  }

  private def complete(checkpoint: String): Option[Either[String, List[(String, Long, Long)]]] = {
    val known = parts.getOrElse(checkpoint, mutable.Map.empty[Int, Either[String, CheckpointFile]])
    Option.when(known.size == numWorkers) {
      parts.remove(checkpoint)
      known.values.collectFirst { case Left(problem) => problem }.toLeft {
        known.values.collect { case Right(file) => (file.name, file.bytes, file.checksum) }.toList
      }
    }
  }

  private def start(attempt: Int): Future[Option[(String, Boolean)]] =
    starts.getOrElseUpdate(
      attempt,
      if (attempt == 0) Future.successful(first) else Future(startAgain(s"Attempt ${attempt + 1}")))

  /** What this fit has saved itself comes first; else where it began. */
  private def startAgain(who: String): Option[(String, Boolean)] = {
    val newest =
      try newestWhole(manifest => fitsWorkers(manifest) && (manifest.run == run || request.resume == "auto"))
      catch {
        case NonFatal(error) =>
          note(s"Checkpoints cannot be read: ${request.path}, ${CheckpointFolder.reason(error)}")
          None
      }
    note(newest match {
      case Some(manifest) => s"$who goes on from ${manifest.place}, checkpoint ${manifest.name}"
      case None => s"$who starts over: no whole checkpoint of this fit is there"
    })
    newest.map(_.name -> false).orElse(first)
  }

  private def newestWhole(fits: Manifest => Boolean): Option[Manifest] = {
    val (listed, broken) = folder.list()
    val looked = LazyList.from(listed.filter(fits)).map(manifest => manifest -> folder.problem(manifest))
    val changed = looked.takeWhile(_._2.isDefined).collect { case (manifest, Some(text)) => manifest.name -> text }
    // The newest first, as their names have it.
    val problems = (broken ++ changed).toSeq.sorted.reverse
    problems.foreach { case (name, text) => note(s"Checkpoint is passed over: $name: $text") }
    passedOver ++= problems.map(_._1)
    looked.collectFirst { case (manifest, None) => manifest }
  }

  /** Inside an epoch every worker has a place of its own in the order of rows. */
  private def fitsWorkers(manifest: Manifest): Boolean = manifest.step == 0 || manifest.workers == numWorkers

  private def checkNoneInsideEpochs(): Unit =
    folder.list()._1.find(!fitsWorkers(_)).foreach { manifest =>
      throw new UserError(
        "Checkpoints lie inside epochs and were made by another number of workers:" +
          s" ${manifest.workers}, now $numWorkers, ${request.path}. Set numWorkers as it was, take another" +
          " checkpointPath, or set resume to \"weights\"")
    }

  /** Before anything is read; what rows hold is compared by the engine, whichever way they come. */
  private def checkSource(manifest: Manifest): Unit =
    if (source.nonEmpty && manifest.source.nonEmpty && manifest.source != source) {
      val (now, before) = (FitCheckpoints.inWords(source), FitCheckpoints.inWords(manifest.source))
      val difference = if (now == before) s"$now as before, but with other names or sizes" else s"$now, was $before"
      throw new UserError(
        s"Data differs from the checkpoint's: $difference. Take another checkpointPath, or set resume to \"weights\"")
    }
}

private[bloomery] object CheckpointBoard {
  val ThreadName = "bloomery-checkpoints"

  /** Refuses what can never run, before any job; what is refused leaves no folder behind. */
  def check(folder: CheckpointFolder, request: CheckpointRequest): Unit = {
    if (request.resume == "weights" && Try(folder.exists).toOption.contains(false)) throw noWeights(request)
    folder.checkWritable()
  }

  private def noWeights(request: CheckpointRequest): UserError =
    new UserError(
      s"resume is weights, but there is no whole checkpoint in ${request.path}; give the checkpointPath of an earlier" +
        " fit, or leave resume out")
}
