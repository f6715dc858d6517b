#include "tools/RankProcesses.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "base/Error.h"
#include "comm/Credentials.h"

namespace bloomery::tools {

namespace {

void sendAll(int socket, const void* data, size_t bytes) {
  for (const char* from = static_cast<const char*>(data); bytes > 0;) {
    ssize_t sent = ::send(socket, from, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) throw PeerLost("A rank of the benchmark has ended early; its own message says why");
    from += sent;
    bytes -= static_cast<size_t>(sent);
  }
}

void receiveAll(int socket, void* data, size_t bytes) {
  for (char* to = static_cast<char*>(data); bytes > 0;) {
    ssize_t received = ::recv(socket, to, bytes, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) throw PeerLost("A rank of the benchmark has ended early; its own message says why");
    to += received;
    bytes -= static_cast<size_t>(received);
  }
}

void sendText(int socket, const std::string& text) {
  uint64_t length = text.size();
  sendAll(socket, &length, sizeof(length));
  sendAll(socket, text.data(), text.size());
}

std::string receiveText(int socket) {
  uint64_t length = 0;
  receiveAll(socket, &length, sizeof(length));
  std::string text(length, '\0');
  receiveAll(socket, text.data(), text.size());
  return text;
}

}  // namespace

RankProcesses::RankProcesses(int size) : size_(size) {
  for (int rank = 1; rank < size; ++rank) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      throw ResourceError(message("Cannot make a socket: ", std::strerror(errno)));
    }
    pid_t process = fork();
    if (process < 0) throw ResourceError(message("Cannot make a process: ", std::strerror(errno)));
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (int socket : sockets_) ::close(socket);
      ::close(ends[0]);
      rank_ = rank;
      sockets_ = {ends[1]};
      processes_.clear();
      return;
    }
    ::close(ends[1]);
    sockets_.push_back(ends[0]);
    processes_.push_back(process);
  }
}

RankProcesses::~RankProcesses() {
  for (int socket : sockets_) ::close(socket);
  for (pid_t process : processes_) waitpid(process, nullptr, 0);
}

std::vector<std::string> RankProcesses::gather(const std::string& own) {
  std::vector<std::string> all = {own};
  if (rank_ == 0) {
    for (int socket : sockets_) all.push_back(receiveText(socket));
    for (int socket : sockets_) {
      for (const std::string& one : all) sendText(socket, one);
    }
    return all;
  }
  sendText(sockets_[0], own);
  all.clear();
  for (int i = 0; i < size_; ++i) all.push_back(receiveText(sockets_[0]));
  return all;
}

std::string RankProcesses::credentials(bool encrypt) {
  if (rank_ > 0) return receiveText(sockets_[0]);
  std::vector<std::string> issued = comm::issueCredentials(size_, 0, encrypt);
  for (size_t i = 0; i < sockets_.size(); ++i) sendText(sockets_[i], issued[i + 1]);
  return issued[0];
}

std::string RankProcesses::fromFirst(const std::string& own) {
  if (rank_ > 0) return receiveText(sockets_[0]);
  for (int socket : sockets_) sendText(socket, own);
  return own;
}

}  // namespace bloomery::tools
