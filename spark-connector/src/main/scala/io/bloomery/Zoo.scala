package io.bloomery

import io.bloomery.network._

/** Networks that are used as yardsticks, ready to train. */
object Zoo {

  /** The convolutional network for MNIST: 28x28x1 bytes, ten classes, 1,199,882 parameters. */
  def mnistCnn: Network = Sequential("mnist-cnn")(
    Input((28, 28, 1), dtype = "uint8", scale = 1.0 / 255),
    Conv2D(32, 3, activation = "relu"),
    Conv2D(64, 3, activation = "relu"),
    MaxPool2D(2),
    Dropout(0.25),
    Flatten(),
    Dense(128, activation = "relu"),
    Dropout(0.5),
    Dense(10, activation = "softmax"))

  /**
   * ResNet v2 of depth 56 for CIFAR-10: 32x32x3 bytes, ten classes, 1,673,738 parameters, 1,663,338
   * trained.
   */
  def cifarResnet56v2: Network = {
    def convolution(x: Tensor, filters: Int, kernelSize: Int, strides: Int = 1): Tensor =
      Conv2D(
        filters,
        kernelSize,
        strides,
        "same",
        kernelInitializer = "he_normal",
        kernelRegularizer = L2(1e-4))(x)
    def activated(x: Tensor): Tensor = ReLU()(BatchNormalization()(x))

    val input = Input((32, 32, 3), dtype = "uint8", scale = 1.0 / 255)
    val blocks = for (stage <- 0 until 3; block <- 0 until 6) yield (stage, block)
    val body = blocks.foldLeft(activated(convolution(input, 16, 3))) { case (x, (stage, block)) =>
      val wide = 64 << stage
      val narrow = if (stage == 0) 16 else wide / 2
      val strides = if (stage > 0 && block == 0) 2 else 1
      val start = if (stage == 0 && block == 0) x else activated(x)
      val reduced = convolution(start, narrow, 1, strides)
      val y = convolution(activated(convolution(activated(reduced), narrow, 3)), wide, 1)
      val shortcut = if (block == 0) convolution(x, wide, 1, strides) else x
      Add()(shortcut, y)
    }
    val pooled = Flatten()(AveragePool2D(8)(activated(body)))
    val output = Dense(10, activation = "softmax", kernelInitializer = "he_normal")(pooled)
    Model(input, output, "cifar-resnet56v2")
  }

  /**
   * The next word of an image's caption, from the image's features and the words so far: 5,527,963
   * parameters.
   */
  def captioning: Network = {
    val features = Input(4096, name = "features")
    val tokens = Input(34, dtype = "int32", name = "tokens")
    val image = Dense(256, activation = "relu")(Dropout(0.5)(features))
    val words = Dropout(0.5)(Embedding(7579, 256, maskZero = true)(tokens))
    val joined = Add()(image, LSTM(256)(words))
    val output = Dense(7579, activation = "softmax")(Dense(256, activation = "relu")(joined))
    Model(Seq(features, tokens), Seq(output), name = "captioning")
  }

  /**
   * ResNet-34 for 197x148x1 bytes and nine classes: 21,300,041 parameters, 21,283,017 trained. It is
   * torchvision's: where a stride comes with padding, the zeros stand on both sides.
   */
  def fishResnet34: Network = {
    def convolution(x: Tensor, filters: Int, kernelSize: Int, strides: Int = 1): Tensor = {
      val padded = if (strides > 1 && kernelSize > 1) ZeroPadding2D(kernelSize / 2)(x) else x
      val y = Conv2D(
        filters,
        kernelSize,
        strides,
        if (strides == 1) "same" else "valid",
        useBias = false,
        kernelInitializer = "he_normal")(padded)
      BatchNormalization(momentum = 0.9, epsilon = 1e-5)(y)
    }

    val input = Input((197, 148, 1), dtype = "uint8", scale = 1.0 / 255)
    val start = ReLU()(convolution(input, 64, 7, 2))
    val blocks =
      for ((filters, count) <- Seq(64 -> 3, 128 -> 4, 256 -> 6, 512 -> 3); block <- 0 until count)
        yield (filters, if (filters > 64 && block == 0) 2 else 1)
    val body = blocks.foldLeft(MaxPool2D(3, 2)(ZeroPadding2D(1)(start))) {
      case (x, (filters, strides)) =>
        val y = convolution(ReLU()(convolution(x, filters, 3, strides)), filters, 3)
        val shortcut = if (strides > 1) convolution(x, filters, 1, strides) else x
        ReLU()(Add()(shortcut, y))
    }
    Model(input, Dense(9, activation = "softmax")(GlobalAveragePool2D()(body)), "fish-resnet34")
  }

  /**
   * A regression from 50 numbers, its hidden layers k times as wide as given: 183,511 parameters for
   * k = 10.
   */
  def solarMlp(k: Int = 1, hidden: Seq[Int] = Seq(50, 25, 13)): Network = {
    val layers = hidden.map(units => Dense(k * units, activation = "relu"))
    Sequential(s"solar-mlp-$k")(Input(50) +: layers :+ Dense(1): _*)
  }

  /** A regression from an image of 50x50x1 numbers: 4,352,641 parameters. */
  def solarCnn: Network = Sequential("solar-cnn")(
    Input((50, 50, 1)),
    Conv2D(32, 3, activation = "relu"),
    Conv2D(64, 3, activation = "relu"),
    MaxPool2D(2),
    Dropout(0.25),
    Flatten(),
    Dense(128, activation = "relu"),
    Dropout(0.5),
    Dense(1))
}
