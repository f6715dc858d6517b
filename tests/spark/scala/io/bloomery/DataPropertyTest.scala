package io.bloomery

import java.sql.Date

import io.bloomery.engine.Safetensors
import io.bloomery.network._
import io.bloomery.optim.{PiecewiseConstantDecay, SGD}
import org.apache.spark.ml.linalg.{SQLDataTypes, Vectors}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._
import scala.util.Random

/**
 * Whatever the columns, the partitions, the batch size and the number of workers: every row is used once an epoch, and
 * the workers' gradients add up to those of a single one. Every case is drawn from a seed, which the failure names.
 */
class DataPropertyTest extends AnyFunSuite with InputPaths {
  import DataPropertyTest.Part

  override def master: String = "local[4]"

  /** Which row this is, one input for each: its weight moves when the row is used and at no other time. */
  private def mark(random: Random, rows: Int): Part = {
    def hot(row: Int): Seq[Int] = Seq.tabulate(rows)(i => if (i == row) 1 else 0)
    val (dataType, values) = random.nextInt(6) match {
      case 0 => (ArrayType(FloatType), (row: Int) => hot(row).map(_.toFloat))
      case 1 => (ArrayType(DoubleType), (row: Int) => hot(row).map(_.toDouble))
      case 2 => (ArrayType(ByteType), (row: Int) => hot(row).map(_.toByte))
      case 3 => (ArrayType(LongType), (row: Int) => hot(row).map(_.toLong))
      case 4 => (SQLDataTypes.VectorType, (row: Int) => Vectors.dense(hot(row).map(_.toDouble).toArray))
      case _ => (SQLDataTypes.VectorType, (row: Int) => Vectors.sparse(rows, Array(row), Array(1.0)))
    }
    Part("mark", dataType, rows, values)
  }

  private def number(random: Random, name: String): Part = {
    val seed = random.nextInt()
    def small(row: Int): Int = new Random(seed + row).nextInt(3)
    val (dataType, values) = random.nextInt(9) match {
      case 0 => (BooleanType, (row: Int) => small(row) == 1)
      case 1 => (ByteType, (row: Int) => small(row).toByte)
      case 2 => (ShortType, (row: Int) => small(row).toShort)
      case 3 => (IntegerType, (row: Int) => small(row))
      case 4 => (LongType, (row: Int) => small(row).toLong)
      case 5 => (FloatType, (row: Int) => small(row) / 2f)
      case 6 => (DoubleType, (row: Int) => small(row) / 2.0)
      case 7 => (DecimalType(5, 1), (row: Int) => java.math.BigDecimal.valueOf(small(row).toLong, 1))
      case _ => (DateType, (row: Int) => Date.valueOf(s"1970-01-0${1 + small(row)}"))
    }
    Part(name, dataType, 1, values)
  }

  private final class Case(seed: Int) {
    val random = new Random(seed)
    val rows: Int = if (random.nextInt(5) == 0) 1 + random.nextInt(3) else 4 + random.nextInt(60)
    val workers: Int = 1 + random.nextInt(4)
    val batchSize: Int = 1 + random.nextInt(25)
    val parts: Seq[Part] =
      random.shuffle(mark(random, rows) +: Seq.tabulate(random.nextInt(4))(i => number(random, s"number$i")))
    val inputs: Int = parts.map(_.width).sum
    val marksFrom: Int = parts.takeWhile(_.name != "mark").map(_.width).sum

    /** Of each partition; some have none. */
    val partitions: Seq[Seq[Int]] = {
      val count = 1 + random.nextInt(9)
      val dealt = (0 until rows).groupBy(_ => random.nextInt(count))
      Seq.tabulate(count)(dealt.getOrElse(_, Seq.empty))
    }
    val data: DataFrame = {
      val schema = StructType(parts.map(part => StructField(part.name, part.dataType)) ++
        Seq(StructField("label", DoubleType), StructField("w", DoubleType)))
      val made = partitions.map(_.map(row => Row.fromSeq(parts.map(_.values(row)) ++ Seq(1.0, 1.0 + row % 3))))
      val rdd = spark.sparkContext
        .parallelize(made.indices, made.size)
        .mapPartitionsWithIndex((partition, _) => made(partition).iterator)
      spark.createDataFrame(rdd, schema)
    }
    private val shuffle = random.nextBoolean()
    private val buffer = 1 + random.nextInt(40)

    def regressor(layers: Layer*): NeuralNetRegressor =
      new NeuralNetRegressor()
        .setNetwork(Sequential("drawn")(Input(inputs) +: layers: _*))
        .setFeaturesCols(parts.map(_.name).toArray)
        .setNumWorkers(workers)
        .setBatchSize(batchSize)
        .setShuffle(shuffle)
        .setShuffleBuffer(buffer)
        .setSeed(seed.toLong)
        .setVerbose(0)

    override def toString: String =
      s"seed $seed: $rows rows in partitions of ${partitions.map(_.size).mkString(", ")}, $workers workers, batches of" +
        s" $batchSize, columns ${parts.map(part => s"${part.name} ${part.dataType.sql}").mkString(", ")}"
  }

  private def fit(regressor: NeuralNetRegressor, data: DataFrame): NeuralNetRegressionModel =
    failAfter(60.seconds)(regressor.fit(data))

  private def weights(model: NeuralNetRegressionModel): Seq[Float] =
    Safetensors.read(model.weights).toSeq.sortBy(_._1).flatMap(_._2.values)

  private def cases: Iterator[Case] = Iterator.range(1, 17).map(new Case(_))

  private val line = Dense(1, useBias = false, kernelInitializer = "zeros")

  private def assertAllMoved(drawn: Case, model: NeuralNetRegressionModel): Unit = {
    val marks = weights(model).slice(drawn.marksFrom, drawn.marksFrom + drawn.rows)
    assert(marks.map(_ > 1e-7f) == Seq.fill(drawn.rows)(true))
  }

  /** One epoch, in which as many rows were used as there are, and all of them: each once. */
  private def assertEachOnce(drawn: Case, data: DataFrame): NeuralNetRegressionModel = {
    val model = fit(drawn.regressor(line).setEpochs(1).setOptimizer(SGD(learningRate = 1e-3)), data)
    assert(model.summary.history.map(_.samples) == Seq(drawn.rows.toLong))
    assert(model.summary.workerHistory.map(_.head.rows).sum == drawn.rows)
    assertAllMoved(drawn, model)
    model
  }

  test("every row is used once an epoch, the first one and later ones") {
    cases.foreach { drawn =>
      withClue(drawn) {
        val first = assertEachOnce(drawn, drawn.data)
        // The first epoch leaves no trace here.
        val rates = PiecewiseConstantDecay(
          boundaries = Seq(first.summary.history.head.steps.toInt - 1),
          values = Seq(1e-12, 1e-3))
        val second = fit(drawn.regressor(line).setEpochs(2).setOptimizer(SGD(learningRate = rates)), drawn.data)
        assert(second.summary.history.map(_.samples) == Seq.fill(2)(drawn.rows.toLong))
        assertAllMoved(drawn, second)
      }
    }
    assertNothingIsAlive()
  }

  test("so is every row of Parquet files, whichever way it takes") {
    Iterator.range(21, 29).map(new Case(_)).foreach { drawn =>
      val folder = temporary("drawn").resolve("data").toString
      drawn.data.write
        .option("parquet.block.size", (500 + drawn.random.nextInt(5000)).toString)
        .option("parquet.page.size.row.check.min", "4")
        .option("parquet.page.size.row.check.max", "4")
        .parquet(folder)
      val files = spark.read.parquet(folder)
      // Spark makes numbers of decimals, row by row.
      val isComputed = drawn.parts.exists(_.dataType.isInstanceOf[DecimalType])
      val ways = Seq("parquet" -> files, "mixed" -> files.where("label > 0"), "rows" -> files) ++
        Option.unless(isComputed)("columnar" -> files)
      ways.foreach { case (way, data) =>
        withClue(s"$way, $drawn") {
          val model = taking(way)(assertEachOnce(drawn, data))
          assert(model.summary.input.startsWith(s"$way: "))
        }
      }
    }
    assertNothingIsAlive()
  }

  test("the gradients of all workers add up to those of a single one") {
    cases.foreach { drawn =>
      withClue(drawn) {
        // One step of a rate of 1 moves the weights by the gradient itself.
        def gradient(workers: Int): Seq[Float] = {
          val regressor = drawn
            .regressor(Dense(5, activation = "tanh"), Dense(1))
            .setNumWorkers(workers)
            .setBatchSize(drawn.rows)
            .setEpochs(1)
            .setOptimizer(SGD(learningRate = 1.0))
          val weighted = if (drawn.rows % 2 == 0) regressor.setWeightCol("w") else regressor
          val model = fit(weighted, drawn.data)
          assert(model.summary.history.map(_.steps) == Seq(1))
          weights(model)
        }
        val (together, alone) = (gradient(drawn.workers), gradient(1))
        assert(together.zip(alone).map { case (a, b) => math.abs(a - b).toDouble }.max < 1e-5)
      }
    }
    assertNothingIsAlive()
  }
}

object DataPropertyTest {

  /** A column of the DataFrame and how many of the network's inputs it fills; `values` are those of a row. */
  final case class Part(name: String, dataType: DataType, width: Int, values: Int => Any)
}
