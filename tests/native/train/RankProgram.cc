// One worker of a training in a process of its own, to be disturbed: `train_rank RANK SIZE FOLDER STEP_TIMEOUT EPOCHS
// CHECKPOINTS [RESUME]`. Meets the others through files in FOLDER, saves its state below the folder CHECKPOINTS, goes
// on from the folder RESUME, and leaves its weights and its log in FOLDER. SIGUSR1 shuts all its connections. Ends with
// 0, with 3 after PeerLost, with 5 after another error that names its cause, and says on standard output what it was.
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "comm/Credentials.h"
#include "tools/CheckpointFile.h"
#include "tools/Files.h"
#include "train/ArrowRows.h"
#include "train/Trainer.h"

namespace {

using namespace bloomery;
namespace files = std::filesystem;
using std::chrono::milliseconds;

constexpr auto kMeeting = std::chrono::seconds(20);
constexpr uint64_t kRows = 400;

struct Arguments {
  int rank, size;
  files::path folder;
  std::string stepTimeout, epochs;
  files::path checkpoints, resume;
};

files::path own(const Arguments& arguments, const char* what) {
  return arguments.folder / message(arguments.rank, what);
}

// Waits for the file of another rank; one that failed before says so.
std::string meet(const Arguments& arguments, int peer) {
  auto start = std::chrono::steady_clock::now();
  files::path address = arguments.folder / message(peer, ".address");
  while (!files::exists(address)) {
    if (files::exists(arguments.folder / message(peer, ".failed"))) {
      throw PeerLost(message("Lost contact with rank ", peer, " before it came: it failed"));
    }
    if (std::chrono::steady_clock::now() - start > kMeeting) {
      throw PeerLost(message("Lost contact with rank ", peer, " before it came: no address"));
    }
    std::this_thread::sleep_for(milliseconds(2));
  }
  return tools::readFile(address.string());
}

// Rank 0 makes them for all, before its address tells that it has come.
void issueCredentials(const Arguments& arguments) {
  if (arguments.rank > 0) return;
  std::vector<std::string> issued = comm::issueCredentials(arguments.size, 0, false);
  for (size_t peer = 0; peer < issued.size(); ++peer) {
    tools::writeFile((arguments.folder / message(peer, ".credentials")).string(), issued[peer]);
  }
}

void shutConnections() {
  for (const auto& entry : files::directory_iterator("/proc/self/fd")) {
    shutdown(std::atoi(entry.path().filename().c_str()), SHUT_RDWR);  // of anything else it does nothing
  }
}

// Every thread that is started later has the signal blocked as well; one of them waits for it.
void shutConnectionsOn(int number) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    int received = 0;
    while (sigwait(&signals, &received) == 0) shutConnections();
  }).detach();
}

// The shared part is in rank 0's file.
void restore(const Arguments& arguments, train::Trainer& trainer) {
  if (arguments.resume.empty()) return;
  train::SavedState saved = tools::readCheckpoint((arguments.resume / std::to_string(arguments.rank)).string());
  saved.shared = tools::readCheckpoint((arguments.resume / "0").string()).shared;
  saved.recovers = true;
  trainer.saved() = std::move(saved);
  trainer.restore();
}

void save(const Arguments& arguments, train::Trainer& trainer) {
  const train::Snapshot* snapshot = trainer.checkpoints().await(milliseconds(0));
  if (snapshot == nullptr) return;
  char name[64];
  std::snprintf(name, sizeof(name), "%03d-%06d", static_cast<int>(snapshot->epoch), static_cast<int>(snapshot->step));
  files::create_directories(arguments.checkpoints / name);
  tools::writeCheckpoint((arguments.checkpoints / name / std::to_string(arguments.rank)).string(), *snapshot);
  trainer.checkpoints().release();
}

void run(const Arguments& arguments) {
  std::string training =
      message(R"({"batchSize": 4, "seed": 3, "optimizer": "adam", "epochs": )", arguments.epochs, "}");
  std::string sections = message(train::kImageColumns, R"(, "checkpoint": {"steps": 20})");
  train::Trainer trainer(
      train::taskJson(training, arguments.rank, arguments.size, sections, train::smallNetwork(), arguments.stepTimeout),
      {});
  restore(arguments, trainer);
  issueCredentials(arguments);
  tools::writeFile(own(arguments, ".address").string(), trainer.address());
  std::vector<std::string> addresses;
  for (int peer = 0; peer < arguments.size; ++peer) addresses.push_back(meet(arguments, peer));
  trainer.connect(addresses, tools::readFile(own(arguments, ".credentials").string()));
  train::ArrowRows rows(train::idRange(static_cast<uint64_t>(arguments.rank) << 40, kRows));
  trainer.ingestSchema(rows.schema());
  trainer.ingest(rows.array(), arguments.rank, 0);
  trainer.finishIngest();
  tools::writeFile(own(arguments, ".running").string(), "");
  std::ofstream log(own(arguments, ".log"));
  for (Json news = Json::object(); news.value("state", "") != "finished";) {
    news = trainer.poll(milliseconds(5));
    for (const Json& line : news.at("log")) log << line.get<std::string>() << "\n";
    save(arguments, trainer);
  }
  save(arguments, trainer);
  tools::writeFile(own(arguments, ".weights").string(), trainer.weights());
}

}  // namespace

int main(int count, char** words) {
  shutConnectionsOn(SIGUSR1);
  Arguments arguments{std::atoi(words[1]),      std::atoi(words[2]), words[3], words[4], words[5], words[6],
                      count > 7 ? words[7] : ""};
  try {
    run(arguments);
    return 0;
  } catch (const PeerLost& error) {
    std::printf("%s\n", error.what());
    return 3;
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
    std::ofstream(own(arguments, ".failed")) << error.what();
    return 5;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 4;
  }
}
