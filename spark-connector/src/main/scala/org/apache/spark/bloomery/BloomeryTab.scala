package org.apache.spark.bloomery

import java.util.WeakHashMap

import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.ui.{SparkUI, SparkUITab}

/** The tab "Bloomery" of Spark's UI: the fits of this driver, with their curves and their workers' times. */
private[bloomery] final class BloomeryTab(parent: SparkUI, application: String) extends SparkUITab(parent, "bloomery") {
  override val name: String = "Bloomery"

  attachPage(new FitsPage(this, application))
}

private[bloomery] object BloomeryTab extends Logging {
  private val attached = new WeakHashMap[SparkUI, BloomeryTab]

  /** Once for each UI. A Spark whose UI has changed too much goes without the tab. */
  def attachTo(context: SparkContext): Unit = synchronized {
    context.ui.filterNot(attached.containsKey).foreach { ui =>
      try {
        val tab = new BloomeryTab(ui, context.applicationId)
        ui.attachTab(tab)
        attached.put(ui, tab)
        ()
      } catch {
        case error @ (NonFatal(_) | _: LinkageError) => logWarning("Spark's UI takes no further tab", error)
      }
    }
  }
}
