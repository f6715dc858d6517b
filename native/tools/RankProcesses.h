// The ranks of a benchmark as processes: this one is rank 0, the others are forked from it and go on at the same place.
// They meet through rank 0. A rank that ends early ends the others, with an error.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bloomery::tools {

class RankProcesses {
 public:
  // Forks: to be made before the first thread.
  explicit RankProcesses(int size);
  // Rank 0 waits till the others have ended.
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Everybody's, by rank, for all.
  std::vector<std::string> gather(const std::string& own);
  // What this rank proves itself to the others with; rank 0 makes them.
  std::string credentials(bool encrypt);
  // What rank 0 gave, for all.
  std::string fromFirst(const std::string& own);

 private:
  int rank_ = 0;
  int size_;
  std::vector<int> sockets_;  // of rank 0: to the others in order; of the others: to rank 0
  std::vector<pid_t> processes_;
};

}  // namespace bloomery::tools
