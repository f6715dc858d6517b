package io.bloomery

import org.apache.spark.sql.types._

/** Spark's images: what its data source "image" reads, raw bytes with the channels blue, green, red. */
object Images {
  private val parts =
    Map("height" -> IntegerType, "width" -> IntegerType, "nChannels" -> IntegerType, "data" -> BinaryType)

  def isImage(dataType: DataType): Boolean = dataType match {
    case StructType(fields) =>
      parts.forall { case (name, wanted) =>
        fields.exists(field => field.name == name && field.dataType == wanted)
      }
    case _ => false
  }
}
