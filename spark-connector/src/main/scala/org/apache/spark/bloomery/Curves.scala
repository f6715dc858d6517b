package org.apache.spark.bloomery

import java.util.Locale

import scala.xml.{Node, NodeSeq}

/** A small picture of numbers by epoch, as SVG: no script, no style sheet. */
private[bloomery] object Curves {
  private val Width = 340
  private val Height = 210
  private val Left = 70
  private val Right = 12
  private val Top = 30
  private val Bottom = 30
  private val Colours = Seq("#1f77b4", "#ff7f0e")

  /** `lines` are by name, each with a value, or none, for every epoch. */
  def draw(title: String, epochs: Seq[Int], lines: Seq[(String, Seq[Option[Double]])]): Node = {
    // A loss may be NaN, for which there is no place.
    val finite = lines.map { case (name, values) =>
      name -> values.zip(epochs).collect {
        case (Some(value), epoch) if java.lang.Double.isFinite(value) => (epoch, value)
      }
    }
    val values = finite.flatMap(_._2.map(_._2))
    val scale = Scale(epochs, values)
    <svg width={Width.toString} height={Height.toString} class="bloomery-curves" role="img" aria-label={title}
         style="margin-right: 1em">
      <text x={Left.toString} y="16" font-size="14" font-weight="bold">{title}</text>
      {axes(scale)}
      {
      finite.zip(Colours).zipWithIndex.map { case (((name, points), colour), index) =>
        line(name, points, colour, index, scale)
      }
    }
    </svg>
  }

  private def line(
      name: String,
      points: Seq[(Int, Double)],
      colour: String,
      index: Int,
      scale: Scale): NodeSeq = {
    val places = points.map { case (epoch, value) => (scale.x(epoch), scale.y(value)) }
    val path = places.map { case (x, y) => s"${number(x)},${number(y)}" }.mkString(" ")
    val dots = places.zip(points).map { case ((x, y), (epoch, value)) =>
      <circle cx={number(x)} cy={number(y)} r="3" fill={colour}><title>{
        s"$name, epoch $epoch: ${text(value)}"
      }</title></circle>
    }
    val legend = Width - Right - 150 + index * 75
    <g>
      <polyline points={path} fill="none" stroke={colour} stroke-width="1.5"/>
      {dots}
      <text x={legend.toString} y="16" font-size="11" fill={colour}>{name}</text>
    </g>
  }

  private def axes(scale: Scale): NodeSeq = {
    val bottom = Height - Bottom
    val grid = Seq(scale.low, (scale.low + scale.high) / 2, scale.high).map { value =>
      val y = scale.y(value)
      <g>
        <line x1={Left.toString} x2={(Width - Right).toString} y1={number(y)} y2={number(y)} stroke="#ddd"/>
        <text x={(Left - 6).toString} y={number(y + 4)} font-size="11" text-anchor="end">{text(value)}</text>
      </g>
    }
    val ends = Seq(scale.first, scale.last).distinct.map { epoch =>
      <text x={number(scale.x(epoch))} y={(bottom + 16).toString} font-size="11" text-anchor="middle">{epoch}</text>
    }
    <g>{grid}{ends}<text x={((Left + Width - Right) / 2).toString} y={(bottom + 26).toString} font-size="11"
      text-anchor="middle">epoch</text></g>
  }

  private final case class Scale(first: Int, last: Int, low: Double, high: Double) {
    def x(epoch: Int): Double =
      if (first == last) (Left + Width - Right) / 2.0
      else Left + (epoch - first).toDouble / (last - first) * (Width - Right - Left)

    def y(value: Double): Double = Height - Bottom - (value - low) / (high - low) * (Height - Bottom - Top)
  }

  private object Scale {
    def apply(epochs: Seq[Int], values: Seq[Double]): Scale = {
      val low = values.minOption.getOrElse(0.0)
      val high = values.maxOption.getOrElse(1.0)
      // Equal values lie in the middle.
      val room = if (high > low) 0.0 else math.max(math.abs(low) * 0.1, 1e-6)
      Scale(epochs.min, epochs.max, low - room, high + room)
    }
  }

  private def number(value: Double): String = String.format(Locale.ROOT, "%.1f", Double.box(value))
  private def text(value: Double): String = String.format(Locale.ROOT, "%.4g", Double.box(value))
}
