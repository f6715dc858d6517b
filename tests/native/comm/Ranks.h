// N ranks as N threads of the test, over either transport.
#pragma once

#include <exception>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/Cancellation.h"
#include "base/Error.h"
#include "comm/Communicator.h"
#include "comm/Credentials.h"
#include "comm/gloo/GlooConnector.h"
#include "comm/local/LocalGroup.h"

namespace bloomery::comm {

using Communicators = std::vector<std::unique_ptr<Communicator>>;
using Clock = std::chrono::steady_clock;

inline double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

using OnOneMachine = GlooConnector::OnOneMachine;

inline Communicators connectOverLoopback(int size, bool encrypt = false, const std::string& host = "127.0.0.1",
                                         OnOneMachine onOneMachine = OnOneMachine::kShareMemory) {
  std::vector<std::unique_ptr<GlooConnector>> connectors;
  std::vector<std::string> addresses, credentials = issueCredentials(size, 0, encrypt);
  for (int rank = 0; rank < size; ++rank) {
    connectors.push_back(std::make_unique<GlooConnector>(rank, size, host, Timeout(20000), onOneMachine));
    addresses.push_back(connectors.back()->address());
  }
  Cancellation cancellation;
  Log log;
  std::vector<std::future<std::unique_ptr<Communicator>>> connecting;
  for (size_t rank = 0; rank < connectors.size(); ++rank) {
    connecting.push_back(std::async(std::launch::async, [&, rank] {
      return connectors[rank]->connect(addresses, credentials[rank], cancellation, log);
    }));
  }
  Communicators ranks;
  for (auto& one : connecting) ranks.push_back(one.get());
  return ranks;
}

// Calls body(communicator) for all ranks at once; each rank's failure, or nullptr.
template <typename Body>
std::vector<std::exception_ptr> failuresOf(Communicators& ranks, Body body) {
  std::vector<std::exception_ptr> failures(ranks.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        body(ranks[i]);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

template <typename Body>
void onAllRanks(Communicators& ranks, Body body) {
  for (auto& failure : failuresOf(ranks, [&](auto& rank) { body(*rank); })) {
    if (failure) std::rethrow_exception(failure);
  }
}

struct Failure {
  std::string kind = "none";
  std::string text;
};

inline Failure describe(const std::exception_ptr& failure) {
  if (failure == nullptr) return {};
  try {
    std::rethrow_exception(failure);
  } catch (const PeerLost& error) {
    return {"PeerLost", error.what()};
  } catch (const Cancelled& error) {
    return {"Cancelled", error.what()};
  } catch (const UserError& error) {
    return {"UserError", error.what()};
  } catch (const InternalError& error) {
    return {"InternalError", error.what()};
  } catch (const std::exception& error) {
    return {"other", error.what()};
  }
}

template <typename Body>
Failure failureOf(Body body) {
  try {
    body();
    return {};
  } catch (...) {
    return describe(std::current_exception());
  }
}

}  // namespace bloomery::comm
