// One rank in a process of its own: `comm_rank RANK SIZE FOLDER OPERATION STEPS TIMEOUT_MILLIS TRANSPORT`. Meets the
// others through files in FOLDER, which has each rank's credentials, then sums 1 MB (on "shared", in memory that the
// ranks share) or takes 40 MB from rank 0, STEPS times. Ends with 0, or 3 after PeerLost, whose text it prints.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/Error.h"
#include "comm/gloo/GlooConnector.h"

namespace {

using namespace bloomery;

std::string meet(const std::filesystem::path& file) {
  while (!std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void sum(comm::Communicator& communicator, std::span<float> values, int step, comm::Timeout timeout) {
  std::ranges::fill(values, static_cast<float>(communicator.rank() + step));
  communicator.allreduce(values, timeout);
  int size = communicator.size();
  float wanted = static_cast<float>(size * step + size * (size - 1) / 2);
  for (float value : values) check(value == wanted, "Wrong sum: ", value, ", wanted ", wanted);
}

void spread(comm::Communicator& communicator, int step, comm::Timeout timeout) {
  auto wanted = static_cast<std::byte>(step);
  std::vector<std::byte> bytes(40000000, communicator.rank() == 0 ? wanted : std::byte(0));
  communicator.broadcast(bytes, 0, timeout);
  check(bytes.front() == wanted && bytes.back() == wanted, "Wrong bytes in step ", step);
}

void run(int rank, int size, const std::filesystem::path& folder, const std::string& operation, int steps,
         comm::Timeout timeout, const std::string& transport) {
  auto onOneMachine = transport == "sockets" ? comm::GlooConnector::OnOneMachine::kConnections
                                             : comm::GlooConnector::OnOneMachine::kShareMemory;
  comm::GlooConnector connector(rank, size, "127.0.0.1", comm::Timeout(20000), onOneMachine);
  std::filesystem::path mine = folder / std::to_string(rank);
  std::ofstream(mine.string() + ".part", std::ios::binary) << connector.address();
  std::filesystem::rename(mine.string() + ".part", mine);
  std::vector<std::string> addresses;
  for (int peer = 0; peer < size; ++peer) addresses.push_back(meet(folder / std::to_string(peer)));
  Cancellation cancellation;
  Log log;
  auto communicator = connector.connect(addresses, meet(mine.string() + ".credentials"), cancellation, log);
  Arena values(250000, Arena::Memory::kShareable);
  if (transport == "shared") communicator->share(values, timeout);
  for (int step = 0; step < steps; ++step) {
    operation == "allreduce" ? sum(*communicator, values.all(), step, timeout) : spread(*communicator, step, timeout);
    if (step == 3) std::ofstream(mine.string() + ".running") << step;
  }
}

}  // namespace

int main(int, char** arguments) {
  try {
    run(std::atoi(arguments[1]), std::atoi(arguments[2]), arguments[3], arguments[4], std::atoi(arguments[5]),
        comm::Timeout(std::atoi(arguments[6])), arguments[7]);
    return 0;
  } catch (const PeerLost& error) {
    std::printf("%s\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 4;
  }
}
