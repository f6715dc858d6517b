package io.bloomery.network

/** Every layer kind and option in one network: the same as in tests/golden/networks.py. */
object EveryKind {
  private val image = Input((8, 8, 4), dtype = "uint8", scale = 0.5, name = "image")
  private val tokens = Input(6, dtype = "int32", name = "tokens")

  private val scaled = Normalization(
    axis = Seq(-1),
    mean = Seq(0.5, 1.0, 1.5, 2.0),
    variance = Seq(0.25, 1.0, 4.0, 9.0))(image)

  private val convolved = Conv2D(
    8,
    (3, 2),
    strides = (2, 1),
    padding = "same",
    dilationRate = 1,
    groups = 2,
    activation = "elu",
    useBias = true,
    kernelInitializer = "he_normal",
    biasInitializer = "ones",
    kernelRegularizer = L2(1e-4),
    biasRegularizer = L1(1e-5),
    trainable = false,
    name = "first")(ZeroPadding2D(((1, 0), (0, 1)))(Rescaling(2.0, 0.25)(scaled)))

  private val normalized = BatchNormalization(
    momentum = 0.9,
    epsilon = 1e-5,
    center = true,
    scale = false,
    synchronized = true,
    trainable = true,
    name = "normalized")(convolved)

  private val depthwise = DepthwiseConv2D(
    3,
    strides = (1, 1),
    padding = "same",
    depthMultiplier = 2,
    dilationRate = (1, 2),
    activation = "silu",
    useBias = true,
    depthwiseInitializer = "lecun_normal",
    biasInitializer = "zeros",
    depthwiseRegularizer = L2(0.5),
    biasRegularizer = L1(0.25),
    trainable = true)(normalized)

  private val leaky = LeakyReLU(0.125)(
    AveragePool2D((1, 2), strides = 1, padding = "same")(
      MaxPool2D(2, strides = (1, 2), padding = "valid")(depthwise)))
  private val pooled = Multiply()(GlobalMaxPool2D()(leaky), GlobalAveragePool2D()(leaky))
  private val flat = Dense(6)(ELU(0.5)(Flatten()(ReLU()(leaky))))

  private val embedded = Embedding(
    10,
    4,
    embeddingsInitializer = "random_normal",
    embeddingsRegularizer = L1L2(1e-5, 1e-4),
    maskZero = true,
    trainable = true)(tokens)

  private val forward = LSTM(
    3,
    useBias = true,
    kernelInitializer = "glorot_normal",
    recurrentInitializer = "orthogonal",
    unitForgetBias = false,
    kernelRegularizer = L2(0.125),
    returnSequences = true,
    goBackwards = true,
    trainable = true)(Dropout(0.5)(embedded))

  private val both = Bidirectional(
    GRU(
      2,
      useBias = false,
      kernelInitializer = "he_uniform",
      recurrentInitializer = "glorot_uniform",
      kernelRegularizer = L2(0.25),
      returnSequences = true,
      goBackwards = false,
      trainable = true),
    name = "both")(
    LayerNormalization(epsilon = 1e-6, center = false, scale = true, trainable = true)(forward))

  private val steps = AveragePool1D(2)(
    MaxPool1D(2, strides = 1)(
      Conv1D(4, 2, strides = 1, padding = "same", activation = "tanh")(both)))
  private val ends = Concatenate(axis = -1)(GlobalMaxPool1D()(steps), GlobalAveragePool1D()(steps))

  private val shared = Dense(
    6,
    activation = "relu",
    useBias = true,
    kernelInitializer = "lecun_uniform",
    biasInitializer = "random_uniform",
    kernelRegularizer = L2(0.5),
    biasRegularizer = L2(0.5),
    trainable = true,
    name = "shared")

  private val sum =
    Add()(shared(Concatenate()(ends, pooled)), shared(Concatenate()(pooled, ends)), flat)
  private val scores = Softmax(name = "scores")(Activation("gelu")(Reshape((2, -1))(sum)))

  val network: Network = Model(Seq(image, tokens), Seq(scores, flat), name = "every-kind")
}
