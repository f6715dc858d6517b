#include "train/Trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <future>

#include "base/NamedThread.h"
#include "checkpoint/Safetensors.h"
#include "comm/Credentials.h"
#include "comm/Relay.h"
#include "train/ArrowRows.h"
#include "train/Predictor.h"

namespace bloomery::train {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

void feed(Trainer& trainer, int partition, const std::vector<uint64_t>& ids) {
  ArrowRows rows(ids);
  trainer.ingestSchema(rows.schema());
  trainer.ingest(rows.array(), partition, 0);
  trainer.finishIngest();
  EXPECT_TRUE(rows.released());
}

std::string trainToTheEnd(Trainer& trainer) {
  while (trainer.poll(milliseconds(100)).at("state") != "finished") {
  }
  return trainer.weights();
}

std::span<const std::byte> bytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

// Two trainers over Gloo, as two executors have them, in two threads.
std::vector<std::string> trainPair(const std::string& training, bool encrypt = false, bool withStrangers = false) {
  std::vector<std::unique_ptr<Trainer>> trainers;
  std::vector<std::string> addresses, credentials = comm::issueCredentials(2, 0, encrypt);
  for (int rank = 0; rank < 2; ++rank) {
    trainers.push_back(
        std::make_unique<Trainer>(taskJson(training, rank, 2, kImageColumns), std::span<const std::byte>()));
    addresses.push_back(trainers.back()->address());
  }
  std::vector<comm::Socket> strangers;
  for (size_t rank = 0; withStrangers && rank < 2; ++rank) {
    for (const std::string& said : {std::string("nonsense"), std::string(200000, '\x5a'), std::string()}) {
      strangers.push_back(comm::connectTo(comm::socketAddressOf(addresses[rank])));
      comm::sendAll(strangers.back(), said);
    }
  }
  std::vector<std::future<std::string>> weights;
  for (int rank = 0; rank < 2; ++rank) {
    weights.push_back(std::async(std::launch::async, [&, rank] {
      Trainer& trainer = *trainers[static_cast<size_t>(rank)];
      trainer.connect(addresses, credentials[static_cast<size_t>(rank)]);
      std::string log = trainer.takeLog().dump();
      EXPECT_EQ(log.find("Refused a connection") != std::string::npos, withStrangers && rank == 0) << log;
      feed(trainer, rank, idRange(static_cast<uint64_t>(rank) << 40, rank == 0 ? 50 : 33));
      return trainToTheEnd(trainer);
    }));
  }
  std::vector<std::string> results;
  for (auto& one : weights) results.push_back(one.get());
  return results;
}

TEST(Trainer, twoWorkersOverGlooEndWithTheSameWeightsTwice) {
  std::string training = R"({"epochs": 3, "globalBatchSize": 12, "optimizer": "adadelta", "seed": 4})";
  auto first = trainPair(training), second = trainPair(training);
  EXPECT_EQ(first[0], first[1]);
  EXPECT_EQ(first[0], second[0]);
  EXPECT_EQ(countNamedThreads(), 0);
  EXPECT_EQ(data::arrowBytesAllocated(), 0);
}

TEST(Trainer, neitherEncryptionNorStrangersChangeTheResult) {
  std::string training = R"({"epochs": 2, "globalBatchSize": 12, "optimizer": "adadelta", "seed": 4})";
  auto undisturbed = trainPair(training);
  EXPECT_EQ(trainPair(training, true), undisturbed);
  EXPECT_EQ(trainPair(training, false, true), undisturbed);
  EXPECT_EQ(trainPair(training, true, true), undisturbed);
}

// A worker that asks whether to go on; what it was told of when it did.
std::vector<int64_t> trainAsking(int rank, std::vector<std::unique_ptr<Trainer>>& trainers,
                                 const std::vector<std::string>& addresses, const std::vector<std::string>& credentials,
                                 int64_t stopAfter, std::string& weights) {
  Trainer& trainer = *trainers[static_cast<size_t>(rank)];
  trainer.connect(addresses, credentials[static_cast<size_t>(rank)]);
  feed(trainer, rank, idRange(static_cast<uint64_t>(rank) << 40, 40));
  std::vector<int64_t> told, asked;
  for (Json news; news.is_null() || news.at("state") != "finished";) {
    news = trainer.poll(milliseconds(20));
    for (const Json& epoch : news.at("history")) told.push_back(epoch.at("epoch").get<int64_t>());
    if (!news.at("asks").get<bool>()) continue;
    asked.push_back(told.back());
    // Longer than a step may take: nobody is taken for dead.
    if (asked.size() == 1) std::this_thread::sleep_for(milliseconds(2500));
    trainer.answer(told.back() == stopAfter);
  }
  weights = trainer.weights();
  return asked;
}

TEST(Trainer, asksItsOwnerAfterEveryEpochAndAllStopWhenToldTo) {
  for (auto [stopAfter, epochs] : {std::pair(3, 3), std::pair(100, 4)}) {
    std::vector<std::unique_ptr<Trainer>> trainers;
    std::vector<std::string> addresses, credentials = comm::issueCredentials(2, 0, false);
    for (int rank = 0; rank < 2; ++rank) {
      std::string task = taskJson(R"({"epochs": 4, "batchSize": 10})", rank, 2, kImageColumns, smallNetwork(), "2");
      task.replace(task.find("\"stepTimeout\""), 0, "\"asksAfterEpoch\": true, ");
      trainers.push_back(std::make_unique<Trainer>(task, std::span<const std::byte>()));
      addresses.push_back(trainers.back()->address());
    }
    std::string weights[2];
    auto other = std::async(std::launch::async,
                            [&] { return trainAsking(1, trainers, addresses, credentials, stopAfter, weights[1]); });
    std::vector<int64_t> asked = trainAsking(0, trainers, addresses, credentials, stopAfter, weights[0]);
    EXPECT_EQ(asked.size(), static_cast<size_t>(epochs));
    EXPECT_TRUE(other.get().empty());
    EXPECT_EQ(weights[0], weights[1]);
  }
}

TEST(Trainer, beginsWithTheWeightsThatItIsGivenAndMakesTheOthers) {
  std::string network = smallNetwork(), changed = network;
  changed.replace(changed.find(R"("units": 3)"), 0, R"("name": "head", )");
  std::string training = R"({"epochs": 1, "optimizer": {"kind": "sgd", "learningRate": 1e-30}})";
  auto trained = [&](const std::string& which, const std::string& weights, uint64_t seed) {
    std::string text = training;
    text.insert(1, message(R"("seed": )", seed, ", "));
    Trainer trainer(taskJson(text, 0, 1, kImageColumns, which), bytesOf(weights));
    trainer.connect({""}, "");
    feed(trainer, 0, idRange(0, 20));
    return trainToTheEnd(trainer);
  };
  auto kernels = [&](const std::string& which, const std::string& weights) {
    ArenaLayout layout = TaskSpec::parse(taskJson("{}", 0, 1, kImageColumns, which)).graph.parameters().layout();
    Arena arena(layout);
    checkpoint::readSafetensors(bytesOf(weights), layout, arena);
    auto span = arena.view(layout.slices()[0]).span(),
         last = arena.view(layout.slices()[layout.slices().size() - 2]).span();
    return std::pair(std::vector<float>(span.begin(), span.end()), std::vector<float>(last.begin(), last.end()));
  };
  auto first = kernels(network, trained(network, "", 1)), other = kernels(network, trained(network, "", 2));
  ASSERT_NE(first, other);
  EXPECT_EQ(kernels(network, trained(network, trained(network, "", 1), 2)), first);
  auto tuned = kernels(changed, trained(changed, trained(network, "", 1), 2));
  EXPECT_EQ(tuned.first, first.first);
  EXPECT_NE(tuned.second, first.second);
  // Of other sizes under the same name, or nothing in common.
  std::string wider = network;
  wider.replace(wider.find(R"("units": 16)"), 11, R"("units": 17)");
  EXPECT_THROW(trained(wider, trained(network, "", 1), 2), UserError);
  EXPECT_THROW(trained(R"({"layers": [{"kind": "Input", "shape": [36], "dtype": "uint8"},
                          {"kind": "Dense", "units": 3, "activation": "softmax", "name": "only"}]})",
                       trained(network, "", 1), 2),
               UserError);
}

TEST(Trainer, oneWorkerTrainsAndItsWeightsPredict) {
  Trainer trainer(
      taskJson(R"({"epochs": 10, "optimizer": {"kind": "adam", "learningRate": 0.01}})", 0, 1, kImageColumns), {});
  EXPECT_EQ(trainer.address(), "");
  trainer.connect({""}, "");
  auto ids = idRange(0, 300);
  feed(trainer, 0, ids);
  std::string weights = trainToTheEnd(trainer);

  Predictor predictor(taskJson("{}", 0, 1, kImageColumns), bytesOf(weights));
  ArrowRows rows(ids);
  std::vector<float> raw(300 * 3), probability(300 * 3);
  predictor.predict(rows.schema(), rows.array(), 0, 0, raw.data(), probability.data());
  EXPECT_TRUE(rows.released());
  int correct = 0;
  for (size_t row = 0; row < 300; ++row) {
    const float* p = &probability[row * 3];
    EXPECT_NEAR(p[0] + p[1] + p[2], 1.0, 1e-5);
    auto best = std::max_element(p, p + 3) - p;
    correct += best == static_cast<int64_t>(philox(7, row, 0)[0] % 3) ? 1 : 0;
  }
  EXPECT_GT(correct, 280);
}

TEST(Trainer, aPlanThatIsMadeWhileOthersAreAwaitedTrainsTheSame) {
  auto trained = [](bool awaitsOthers) {
    Trainer trainer(taskJson(R"({"epochs": 2, "batchSize": 10})", 0, 1, kImageColumns), {});
    if (awaitsOthers) {
      EXPECT_EQ(trainer.address(), trainer.address());
    }
    trainer.connect({""}, "");
    feed(trainer, 0, idRange(0, 45));
    return trainToTheEnd(trainer);
  };
  EXPECT_EQ(trained(true), trained(false));
}

TEST(Trainer, epochsOfACheckpointAreInTheNextOneHoweverSoonThereIsAPoll) {
  std::string sections = message(kImageColumns, R"(, "checkpoint": {"epochs": 1})");
  SavedState saved;
  for (int epochs : {1, 2}) {
    Trainer trainer(taskJson(message(R"({"batchSize": 10, "epochs": )", epochs, "}"), 0, 1, sections), {});
    if (epochs == 2) {
      trainer.saved() = saved;
      trainer.restore();
      EXPECT_EQ(trainer.poll(milliseconds(0)).at("history").size(), 1u);
    }
    trainer.connect({""}, "");
    feed(trainer, 0, idRange(0, 45));
    const Snapshot* snapshot = trainer.checkpoints().await(std::chrono::seconds(20));
    ASSERT_NE(snapshot, nullptr);
    saved = {snapshot->shared, snapshot->own};
    EXPECT_EQ(savedEpochs(saved).size(), static_cast<size_t>(epochs));
    trainer.checkpoints().release();
    trainToTheEnd(trainer);
  }
}

TEST(Trainer, fillsAProfileOfItsStepsOnEveryDevice) {
  for (const char* device : {"cpu", "reference"}) {
    SCOPED_TRACE(device);
    StepProfile profile;
    std::string training = R"({"epochs": 2, "batchSize": 10})";
    Trainer trainer(taskJson(training, 0, 1, kImageColumns, smallNetwork(), "20", device), {});
    trainer.profileInto(profile);
    trainer.connect({""}, "");
    feed(trainer, 0, idRange(0, 45));
    trainToTheEnd(trainer);
    EXPECT_EQ(profile.steps, 10);
    EXPECT_EQ(profile.plan.forwardPasses, 10);
    EXPECT_EQ(profile.plan.backwardPasses, 10);
    EXPECT_GT(profile.lossSeconds, 0);
    EXPECT_GT(profile.updateSeconds, 0);
    EXPECT_GT(profile.allreduceSeconds, 0);
    double parts = profile.lossSeconds + profile.updateSeconds + profile.allreduceSeconds + profile.waitSeconds;
    for (const nn::LayerTimes& layer : profile.plan.layers) parts += layer.forwardSeconds + layer.backwardSeconds;
    EXPECT_LT(parts, profile.seconds);
  }
}

TEST(Trainer, slowRowsAreNotTakenForADeadPeer) {
  std::string training = R"({"epochs": 1, "batchSize": 8})";
  auto task = [&](int rank) {
    std::string text = taskJson(training, rank, 2, kImageColumns);
    return text.replace(text.find("\"stepTimeout\": 20"), 17, "\"stepTimeout\": 0.5");
  };
  Trainer quick(task(0), {}), slow(task(1), {});
  std::vector<std::string> addresses = {quick.address(), slow.address()};
  auto credentials = comm::issueCredentials(2, 0, false);
  auto other = std::async(std::launch::async, [&] { slow.connect(addresses, credentials[1]); });
  quick.connect(addresses, credentials[0]);
  other.get();
  feed(quick, 0, idRange(0, 20));
  std::this_thread::sleep_for(milliseconds(1500));
  feed(slow, 1, idRange(100, 20));
  EXPECT_EQ(trainToTheEnd(quick), trainToTheEnd(slow));
}

TEST(Trainer, cancelEndsWithinTwoSeconds) {
  auto trainer =
      std::make_unique<Trainer>(taskJson(R"({"epochs": 1000000})", 0, 1, kImageColumns), std::span<const std::byte>());
  trainer->connect({""}, "");
  feed(*trainer, 0, idRange(0, 500));
  std::this_thread::sleep_for(milliseconds(200));
  auto start = Clock::now();
  trainer->cancel();
  try {
    while (true) trainer->poll(milliseconds(100));
  } catch (const Cancelled& error) {
    EXPECT_STREQ(error.what(), "Training was cancelled") << "wherever it was";
  }
  trainer.reset();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2));
  EXPECT_EQ(countNamedThreads(), 0);
}

TEST(Trainer, closingOneOfTwoEndsTheOtherWithPeerLost) {
  std::string training = R"({"epochs": 1000000, "batchSize": 8})";
  auto first = std::make_unique<Trainer>(taskJson(training, 0, 2, kImageColumns), std::span<const std::byte>());
  Trainer second(taskJson(training, 1, 2, kImageColumns), {});
  std::vector<std::string> addresses = {first->address(), second.address()};
  auto credentials = comm::issueCredentials(2, 0, false);
  auto other = std::async(std::launch::async, [&] { second.connect(addresses, credentials[1]); });
  first->connect(addresses, credentials[0]);
  other.get();
  feed(*first, 0, idRange(0, 100));
  feed(second, 1, idRange(1000, 100));
  Json news;
  do news = first->poll(milliseconds(100));
  while (news.at("ownSteps") < 2);
  EXPECT_GT(news.at("ownSeconds"), 0.0);
  EXPECT_TRUE(news.at("doing").is_string());
  EXPECT_GE(news.at("doingSeconds"), 0.0);
  auto start = Clock::now();
  first.reset();
  try {
    while (true) second.poll(milliseconds(100));
  } catch (const PeerLost& error) {
    std::string text = error.what();
    EXPECT_TRUE(text.starts_with("Lost contact with rank 0 during allreduce of ")) << text;
    EXPECT_NE(text.find(", after step "), std::string::npos) << text;
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
}

TEST(Trainer, aTrainerThatWasNeverConnectedCloses) {
  Trainer trainer(taskJson("{}", 0, 2, kImageColumns), {});
  EXPECT_FALSE(trainer.address().empty());
}

TEST(Trainer, aTaskWithoutLabelColumnIsRefused) {
  try {
    Trainer trainer(taskJson("{}", 0, 1, R"(, "columns": {"features": "image"})"), {});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "No label column to train on: set columns.label, or columns.labels");
  }
}

// One output that ends in a sigmoid; labels 0, 1 and 2 are values to it.
TEST(Predictor, probabilitiesAreBehindTheTailAndRawValuesBeforeIt) {
  std::string network = R"({"layers": [{"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8"}, {"kind": "Flatten"},
                            {"kind": "Dense", "units": 1, "activation": "sigmoid"}]})";
  Trainer trainer(taskJson(R"({"loss": "mae", "metrics": ["mae"]})", 0, 1, kImageColumns, network), {});
  trainer.connect({""}, "");
  feed(trainer, 0, idRange(0, 40));
  std::string weights = trainToTheEnd(trainer);
  Predictor predictor(taskJson(R"({"loss": "mae"})", 0, 1, kImageColumns, network), bytesOf(weights));
  ArrowRows rows(idRange(0, 40));
  std::vector<float> raw(40), probability(40);
  predictor.predict(rows.schema(), rows.array(), 0, 0, raw.data(), probability.data());
  for (size_t row = 0; row < 40; ++row) {
    EXPECT_NEAR(probability[row], 1 / (1 + std::exp(-double{raw[row]})), 1e-6) << raw[row];
  }
}

// A label that is no probability, found while rows arrive.
TEST(Trainer, valuesAreCheckedByTheLossTheyAreFor) {
  std::string network = R"({"layers": [{"kind": "Input", "shape": [6, 6, 1], "dtype": "uint8"}, {"kind": "Flatten"},
                            {"kind": "Dense", "units": 1, "activation": "sigmoid"}]})";
  Trainer trainer(taskJson(R"({"loss": "binary_crossentropy"})", 0, 1, kImageColumns, network), {});
  ArrowRows rows(idRange(0, 40));
  trainer.ingestSchema(rows.schema());
  try {
    trainer.ingest(rows.array(), 0, 0);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()).find("Label is not in 0..1: 2, element 0, column 'label', row "), 0u)
        << error.what();
  }
  EXPECT_TRUE(rows.released());
}

TEST(Predictor, aBatchThatDoesNotFitIsReleased) {
  Trainer trainer(taskJson(R"({"epochs": 1})", 0, 1, kImageColumns), {});
  trainer.connect({""}, "");
  feed(trainer, 0, idRange(0, 4));
  std::string weights = trainToTheEnd(trainer);
  Predictor predictor(taskJson("{}", 0, 1, R"(, "columns": {"features": "picture"})"), bytesOf(weights));
  ArrowRows rows(idRange(0, 4));
  EXPECT_THROW(predictor.predict(rows.schema(), rows.array(), 0, 0, nullptr, nullptr), UserError);
  EXPECT_TRUE(rows.released());
}

TEST(Predictor, wrongWeightsAreAUserError) {
  std::string garbage = "not weights at all";
  EXPECT_THROW(Predictor(taskJson("{}"), bytesOf(garbage)), UserError);
}

}  // namespace
}  // namespace bloomery::train
