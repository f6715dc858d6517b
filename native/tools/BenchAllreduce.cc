// Times sums over ranks, each a process of its own, of messages from 4 bytes up: the communicator that trainings use
// and plain Gloo, in turns. Writes a line of JSON for each size, with the seconds of one sum in each round.
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "base/Error.h"
#include "base/JsonValue.h"
#include "comm/gloo/GlooConnector.h"
#include "comm/gloo/PlainGloo.h"
#include "tools/BenchMain.h"
#include "tools/RankProcesses.h"

namespace {

using bloomery::tools::RankProcesses;
using Clock = std::chrono::steady_clock;

constexpr bloomery::comm::Timeout kTimeout{120'000};
constexpr const char* kHost = "127.0.0.1";

struct Options {
  int ranks = 2;
  int64_t largest = int64_t{256} << 20;
  int rounds = 7;
  double seconds = 0.05;  // of a round
};

constexpr const char* kUsage =
    "bloomery-bench-allreduce [--ranks 2] [--largest BYTES] [--rounds 7] [--seconds 0.05]\n"
    "Writes a line {\"bytes\": ..., \"bloomery\": [seconds...], \"gloo\": [seconds...]} for each size.\n";

Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; i += 2) {
    std::string name = words[i];
    if (i + 1 == count) throw bloomery::UserError(bloomery::message("Option without a value: ", name));
    std::string value = words[i + 1];
    if (name == "--ranks") {
      options.ranks = std::stoi(value);
    } else if (name == "--largest") {
      options.largest = std::stoll(value);
    } else if (name == "--rounds") {
      options.rounds = std::stoi(value);
    } else if (name == "--seconds") {
      options.seconds = std::stod(value);
    } else {
      throw bloomery::UserError(bloomery::message("Unknown option: ", name));
    }
  }
  if (options.ranks < 2) throw bloomery::UserError(bloomery::message("Fewer than 2 ranks: ", options.ranks));
  return options;
}

struct Runner {
  std::string name;
  std::function<void(std::span<float>)> sum;
};

double secondsOf(const Runner& runner, std::span<float> values, int64_t times) {
  Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < times; ++i) runner.sum(values);
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(times);
}

// What is timed has to be right, too.
void checkSum(const Runner& runner, const RankProcesses& ranks, std::span<float> values) {
  std::fill(values.begin(), values.end(), static_cast<float>(ranks.rank() + 1));
  runner.sum(values);
  float expected = static_cast<float>(ranks.size() * (ranks.size() + 1) / 2);
  bool right = std::all_of(values.begin(), values.end(), [&](float value) { return value == expected; });
  bloomery::check(right, "Wrong sum of ", runner.name, ": ", values[0], ", expected: ", expected);
  std::fill(values.begin(), values.end(), 0.0f);
}

bloomery::Json measure(const Options& options, RankProcesses& ranks, const std::vector<Runner>& runners,
                       std::span<float> values) {
  bloomery::Json line = {{"ranks", ranks.size()}, {"bytes", values.size_bytes()}};
  double longest = 0;
  for (const Runner& runner : runners) {
    checkSum(runner, ranks, values);
    longest = std::max(longest, secondsOf(runner, values, 3));
    line[runner.name] = bloomery::Json::array();
  }
  auto fitting = static_cast<int64_t>(options.seconds / longest);
  int64_t times = std::stoll(ranks.fromFirst(std::to_string(std::max<int64_t>(fitting, 1))));
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < runners.size(); ++i) {  // each of them is first in its turn
      const Runner& runner = runners[(i + static_cast<size_t>(round)) % runners.size()];
      line[runner.name].push_back(secondsOf(runner, values, times));
    }
  }
  return line;
}

void run(const Options& options) {
  RankProcesses ranks(options.ranks);
  bloomery::Cancellation never;
  bloomery::comm::GlooConnector connector(ranks.rank(), ranks.size(), kHost, kTimeout);
  bloomery::Log log;
  auto communicator = connector.connect(ranks.gather(connector.address()), ranks.credentials(false), never, log);
  bloomery::comm::GlooConnector socketConnector(ranks.rank(), ranks.size(), kHost, kTimeout,
                                                bloomery::comm::GlooConnector::OnOneMachine::kConnections);
  auto sockets = socketConnector.connect(ranks.gather(socketConnector.address()), ranks.credentials(false), never, log);
  bloomery::comm::GlooConnector encryptedConnector(ranks.rank(), ranks.size(), kHost, kTimeout);
  auto encrypted =
      encryptedConnector.connect(ranks.gather(encryptedConnector.address()), ranks.credentials(true), never, log);
  bloomery::comm::PlainGloo plain(ranks.rank(), ranks.size(), kHost);
  plain.connect(ranks.gather(plain.address()));
  std::vector<Runner> runners = {
      {"bloomery", [&](std::span<float> values) { communicator->allreduce(values, kTimeout); }},
      {"sockets", [&](std::span<float> values) { sockets->allreduce(values, kTimeout); }},
      {"encrypted", [&](std::span<float> values) { encrypted->allreduce(values, kTimeout); }},
      {"gloo", [&](std::span<float> values) { plain.allreduce(values); }},
  };
  // As gradients are.
  bloomery::Arena values(static_cast<size_t>(options.largest) / sizeof(float), bloomery::Arena::Memory::kShareable);
  communicator->share(values, kTimeout);
  for (size_t size = 1; size <= values.all().size(); size *= 2) {
    bloomery::Json line = measure(options, ranks, runners, values.all().first(size));
    if (ranks.rank() == 0) std::cout << line.dump() << std::endl;
  }
}

}  // namespace

int main(int count, char** words) {
  return bloomery::tools::benchMain(count, words, kUsage, [&] { run(parse(count, words)); });
}
