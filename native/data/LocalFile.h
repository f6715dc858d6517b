// A file of this machine as a ByteSource. Open from the beginning to the end of its life.
#pragma once

#include "data/ByteSource.h"

namespace bloomery::data {

class LocalFile : public ByteSource {
 public:
  explicit LocalFile(std::string path);  // UserError when it cannot be opened
  ~LocalFile() override;
  LocalFile(const LocalFile&) = delete;
  LocalFile& operator=(const LocalFile&) = delete;

  const std::string& name() const override { return path_; }
  int64_t size() const override { return size_; }
  bool isLocal() const override { return true; }
  void read(int64_t position, std::span<std::byte> into) override;

 private:
  std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace bloomery::data
