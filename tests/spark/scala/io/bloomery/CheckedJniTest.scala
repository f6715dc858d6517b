package io.bloomery

import java.nio.file.Files
import java.util.concurrent.TimeUnit

import io.bloomery.engine.{Engine, NativeTrainer}
import org.apache.spark.sql.SparkSession
import org.scalatest.funsuite.AnyFunSuite
import scala.jdk.CollectionConverters._
import scala.util.Using

/** Calls every native method once, in a JVM that checks how the engine uses JNI. */
object CheckedJni {
  def main(arguments: Array[String]): Unit = {
    val spark = SparkSession.builder().master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    val data = Tiny.data(spark)
    val model = Tiny.classifier.setNumWorkers(2).setEpochs(1).fit(data)
    model.transform(data).collect()
    val parquet = Files.createTempDirectory("checked").resolve("data").toString
    data.write.partitionBy("label").parquet(parquet)
    val classifier = Tiny.classifier.setNumWorkers(2).setEpochs(1)
    assert(classifier.fitOnParquet(parquet).summary.input.startsWith("parquet"))
    val files = spark.read.parquet(parquet)
    assert(classifier.fit(files.where("id % 2 = 0")).summary.input.startsWith("mixed"))
    model.transform(files).select("prediction").collect()
    model.evaluate(files)
    try Engine.describe("{}")
    catch { case _: UserError => () }
    Using.resource(NativeTrainer.open(s"""{"network":${Tiny.network.toJson},"training":{}}""", Array.emptyByteArray))(
      _.cancel())
    println(s"checked ${Engine.info} ${Diagnostics.liveResources()}")
    spark.stop()
  }
}

class CheckedJniTest extends AnyFunSuite {
  test("the JVM finds no fault in our use of JNI") {
    val options = java.lang.management.ManagementFactory.getRuntimeMXBean.getInputArguments.asScala
    val output = Files.createTempFile("checked", ".txt")
    val command = Seq(s"${System.getProperty("java.home")}/bin/java", "-Xcheck:jni") ++ options ++
      Seq("-cp", System.getProperty("java.class.path"), CheckedJni.getClass.getName.stripSuffix("$"))
    val process = new ProcessBuilder(command: _*).redirectErrorStream(true).redirectOutput(output.toFile).start()
    try assert(process.waitFor(180, TimeUnit.SECONDS))
    finally process.destroyForcibly()
    val lines = Files.readAllLines(output).asScala.toSeq
    assert(process.exitValue() == 0, lines.takeRight(40).mkString("\n"))
    assert(lines.exists(_.startsWith("checked ")), lines.takeRight(40).mkString("\n"))
    // A warning is followed by the stack of the thread it was found on.
    val warnings = lines.tails.collect {
      case block if block.headOption.exists(_.matches("^(WARNING|FATAL ERROR) in native method.*")) => block.take(6)
    }.filter(_.exists(_.contains("bloomery")))
    assert(warnings.isEmpty, warnings.map(_.mkString("\n")).mkString("\n\n"))
  }
}
