package org.apache.spark.bloomery

import java.util.Locale

import scala.xml.{Node, NodeSeq}

import jakarta.servlet.http.HttpServletRequest

import org.apache.spark.ui.{SparkUITab, UIUtils, WebUIPage}

import io.bloomery.EpochRecord

/** The fits of an application, the newest first; loads itself again while one runs. */
private[bloomery] final class FitsPage(tab: SparkUITab, application: String) extends WebUIPage("") {

  override def render(request: HttpServletRequest): Seq[Node] = {
    val fits = LiveFits.of(application)
    val content =
      if (fits.isEmpty) <p>No fit has been started by this driver.</p>
      else <div>{refresh(fits) ++ fits.flatMap(show)}</div>
    UIUtils.headerSparkPage(request, "Bloomery", content, tab)
  }

  private def refresh(fits: Seq[LiveFit]): NodeSeq =
    if (fits.exists(_.isRunning)) <meta http-equiv="refresh" content="3"/> else NodeSeq.Empty

  private def show(fit: LiveFit): NodeSeq =
    <div class="bloomery-fit" style="margin-bottom: 2.5em">
      <h4>{fit.network} <small>({fit.uid})</small></h4>
      <p><strong class="bloomery-state">{fit.state}</strong>, {summary(fit)}</p>
      {fit.failure.fold(NodeSeq.Empty)(why => <pre>{why}</pre>)}
      {curves(fit)}
      {workers(fit)}
      {events(fit)}
    </div>

  private def summary(fit: LiveFit): String = {
    val progress = fit.latest.filter(_.hasNumbers).map { latest =>
      ProgressLine.text(latest, fit.secondsLeft)
    }
    val workers = if (fit.numWorkers == 1) "1 worker" else s"${fit.numWorkers} workers"
    (Seq(workers, f"${fit.seconds(System.currentTimeMillis())}%.1f s") ++ progress).mkString(", ")
  }

  private def curves(fit: LiveFit): NodeSeq = {
    val history = FitsPage.thinned(fit.history)
    val names = "loss" +: history.headOption.toSeq.flatMap(_.metrics.keys.toSeq.sorted)
    if (history.isEmpty) NodeSeq.Empty
    else <div>{names.map(name => Curves.draw(name, history.map(_.epoch), lines(history, name)))}</div>
  }

  private def lines(history: Seq[EpochRecord], name: String): Seq[(String, Seq[Option[Double]])] = {
    def pick(loss: Option[Double], metrics: Map[String, Double]) = if (name == "loss") loss else metrics.get(name)
    Seq(
      "training" -> history.map(epoch => pick(Some(epoch.loss), epoch.metrics)),
      "validation" -> history.map(epoch => pick(epoch.validationLoss, epoch.validationMetrics)))
      .filter(_._2.exists(_.isDefined))
  }

  /** Where the time of each worker's last epoch went; most of these overlap. */
  private def workers(fit: LiveFit): NodeSeq = {
    val last = fit.epochs.toSeq.sortBy(_._1).flatMap { case (rank, epochs) => epochs.lastOption.map(rank -> _._2) }
    if (last.isEmpty) NodeSeq.Empty
    else
      <table class="table table-bordered table-sm bloomery-workers" style="width: auto">
        <thead><tr>{FitsPage.Titles.map(title => <th>{title}</th>)}</tr></thead>
        <tbody>{last.map { case (rank, epoch) => row(rank, epoch) }}</tbody>
      </table>
  }

  private def row(rank: Int, epoch: EpochRecord): Node = {
    val seconds = Seq(
      epoch.seconds,
      epoch.readSeconds,
      epoch.convertSeconds,
      epoch.assembleSeconds,
      epoch.waitSeconds,
      epoch.computeSeconds,
      epoch.allreduceSeconds,
      epoch.exposedAllreduceSeconds).map(value => String.format(Locale.ROOT, "%.3f", Double.box(value)))
    val cells = Seq(rank.toString, epoch.epoch.toString, epoch.rows.toString) ++ seconds
    <tr>{cells.map(cell => <td style="text-align: right">{cell}</td>)}</tr>
  }

  private def events(fit: LiveFit): NodeSeq =
    if (fit.events.isEmpty) NodeSeq.Empty else <ul>{fit.events.map(text => <li>{text}</li>)}</ul>
}

private[bloomery] object FitsPage {
  private val MaxPoints = 200

  /** As many as a picture can show, the last one with them. */
  def thinned[T](all: Seq[T]): Seq[T] = {
    val every = (all.length + MaxPoints - 1) / MaxPoints
    if (every <= 1) all
    else all.reverseIterator.zipWithIndex.collect { case (one, i) if i % every == 0 => one }.toSeq.reverse
  }

  private val Titles =
    Seq(
      "Worker",
      "Epoch",
      "Rows",
      "Epoch s",
      "Read s",
      "Convert s",
      "Assemble s",
      "Wait s",
      "Compute s",
      "Allreduce s") :+
      "Exposed s"
}
