package io.bloomery.optim

import io.bloomery.{NeuralNetClassifier, TaskJson, Tiny, UserError}
import io.bloomery.engine.Json
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks._

class OptimizerTest extends AnyFunSuite {

  private val optimizers = Table[Optimizer, String](
    ("optimizer", "json"),
    (SGD(), """{"kind":"sgd"}"""),
    (
      SGD(0.1, momentum = 0.9, nesterov = true, weightDecay = 0.5),
      """{"kind":"sgd","learningRate":0.1,"momentum":0.9,"nesterov":true,"weightDecay":0.5}"""),
    (
      Adam(0.01, beta1 = 0.8, beta2 = 0.9, epsilon = 0.1),
      """{"kind":"adam","learningRate":0.01,"beta1":0.8,"beta2":0.9,"epsilon":0.1}"""),
    (
      AdamW(0.01, 0.1, beta1 = 0.8, beta2 = 0.9, epsilon = 0.1),
      """{"kind":"adamw","learningRate":0.01,"beta1":0.8,"beta2":0.9,"epsilon":0.1,"weightDecay":0.1}"""),
    (
      Adadelta(rho = 0.9, epsilon = 0.1, weightDecay = 0.5),
      """{"kind":"adadelta","rho":0.9,"epsilon":0.1,"weightDecay":0.5}"""),
    (
      Adagrad(initialAccumulatorValue = 0.5, epsilon = 0.1),
      """{"kind":"adagrad","initialAccumulatorValue":0.5,"epsilon":0.1}"""),
    (
      RMSprop(rho = 0.5, momentum = 0.5, epsilon = 0.1, centered = true),
      """{"kind":"rmsprop","rho":0.5,"momentum":0.5,"epsilon":0.1,"centered":true}"""),
    (
      Lamb(beta1 = 0.8, beta2 = 0.9, epsilon = 0.1, weightDecay = 0.5),
      """{"kind":"lamb","beta1":0.8,"beta2":0.9,"epsilon":0.1,"weightDecay":0.5}"""))

  private val schedules = Table[Schedule, String](
    ("schedule", "json"),
    (Constant(0.5), """{"kind":"constant","initialLearningRate":0.5}"""),
    (
      Constant(0.5).withWarmup(steps = 10, startRate = 0.25),
      """{"kind":"constant","initialLearningRate":0.5,"warmupSteps":10,"warmupStartRate":0.25}"""),
    (
      StepDecay(0.5, everyEpochs = 30, factor = 0.5),
      """{"kind":"step","initialLearningRate":0.5,"everyEpochs":30.0,"factor":0.5}"""),
    (StepDecay(everySteps = 30), """{"kind":"step","everySteps":30}"""),
    (
      ExponentialDecay(0.5, 100, 0.9, staircase = true),
      """{"kind":"exponential","initialLearningRate":0.5,"decaySteps":100,"decayRate":0.9,"staircase":true}"""),
    (
      PolynomialDecay(0.5, 100, endLearningRate = 0.25, power = 2.0, cycle = true),
      """{"kind":"polynomial","initialLearningRate":0.5,"decaySteps":100,"endLearningRate":0.25,"power":2.0,"cycle":true}"""),
    (
      CosineDecay(0.5, decayEpochs = 30, alpha = 0.5).withWarmup(epochs = 2.5),
      """{"kind":"cosine","initialLearningRate":0.5,"decayEpochs":30.0,"alpha":0.5,"warmupEpochs":2.5}"""),
    (
      CosineDecay(0.5, 100, warmupTarget = 1.0, warmupSteps = 5),
      """{"kind":"cosine","initialLearningRate":0.5,"decaySteps":100,"warmupTarget":1.0,"warmupSteps":5}"""),
    (
      CosineDecayRestarts(0.5, 100, tMul = 1.5, mMul = 0.5, alpha = 0.5),
      """{"kind":"cosine_restarts","initialLearningRate":0.5,"firstDecaySteps":100,"tMul":1.5,"mMul":0.5,"alpha":0.5}"""),
    (
      PiecewiseConstantDecay(Seq(10, 20), Seq(1.0, 0.5, 0.25)),
      """{"kind":"piecewise","boundaries":[10,20],"values":[1.0,0.5,0.25]}"""),
    (
      PiecewiseConstantDecay(boundaryEpochs = Seq(10), values = Seq(1.0, 0.5)),
      """{"kind":"piecewise","boundaryEpochs":[10],"values":[1.0,0.5]}"""),
    (
      OneCycle(0.5, 100, pctStart = 0.5, annealStrategy = "linear", divFactor = 5.0, finalDivFactor = 7.0),
      """{"kind":"one_cycle","maxLearningRate":0.5,"totalSteps":100,"pctStart":0.5,"annealStrategy":"linear","divFactor":5.0,"finalDivFactor":7.0}"""),
    (
      ReduceOnPlateau(
        0.5,
        monitor = "loss",
        factor = 0.5,
        patience = 3,
        minDelta = 0.5,
        cooldown = 2,
        minLearningRate = 0.25),
      """{"kind":"reduce_on_plateau","initialLearningRate":0.5,"monitor":"loss","factor":0.5,"patience":3,"minDelta":0.5,"cooldown":2,"minLearningRate":0.25}"""))

  private def estimator: NeuralNetClassifier = new NeuralNetClassifier().setNetwork(Tiny.network)

  test("an optimizer writes what it was given and nothing else") {
    forAll(optimizers) { (optimizer, json) => assert(optimizer.toJson == json) }
  }

  test("a schedule writes what it was given and nothing else") {
    forAll(schedules) { (schedule, json) =>
      assert(SGD(schedule).toJson == s"""{"kind":"sgd","learningRate":$json}""")
    }
  }

  test("the params of updates reach the task") {
    val task = TaskJson.training(
      estimator
        .setOptimizer(Adam(CosineDecay(0.5, 10)))
        .setClipNorm(2.0)
        .setEmaMomentum(0.9)
        .setBackwardPassesPerStep(4)
        .setGradientCompression("bf16")
        .setLocalSteps(8))
    val training = Json.parse(task, "task").path("training")
    assert(training.path("optimizer").toString ==
      """{"kind":"adam","learningRate":{"kind":"cosine","initialLearningRate":0.5,"decaySteps":10}}""")
    assert(training.path("clipNorm").asDouble == 2.0)
    assert(training.path("emaMomentum").asDouble == 0.9)
    assert(training.path("backwardPassesPerStep").asInt == 4)
    assert(training.path("gradientCompression").asText == "bf16")
    assert(training.path("localSteps").asInt == 8)
    assert(!training.has("clipValue"))
  }

  test("a learning rate beside a schedule is refused") {
    val error = intercept[UserError] {
      TaskJson.training(estimator.setOptimizer(Adam(Constant(0.5))).setLearningRate(0.1))
    }
    assert(error.getMessage == "Both learningRate and the optimizer's schedule are set: keep one")
  }
}
