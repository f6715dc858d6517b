// A ByteSource as Arrow's libraries read files. Every read happens on the calling thread, also those that Arrow asks
// for ahead of need, so that no thread of Arrow's ever enters a source. What a source throws is kept, since it must not
// travel through Arrow: `rethrowFailure` brings it back.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/util/future.h>

#include <exception>
#include <memory>

#include "data/ByteSource.h"

namespace bloomery::data {

class SourceFile : public arrow::io::RandomAccessFile {
 public:
  explicit SourceFile(std::shared_ptr<ByteSource> source);

  bool isLocal() const { return source_->isLocal(); }
  // Throws what the source threw first, if it did.
  void rethrowFailure() const;

  using RandomAccessFile::ReadAsync;
  using RandomAccessFile::ReadAt;
  arrow::Status Close() override;
  bool closed() const override { return source_ == nullptr; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override;
  arrow::Result<int64_t> GetSize() override;
  arrow::Result<int64_t> Read(int64_t count, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override;
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t count) override;
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext&, int64_t position,
                                                          int64_t count) override;
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext&, int64_t position, int64_t count,
                                                          bool allowShortRead) override;

 private:
  int64_t available(int64_t position, int64_t count) const;

  std::shared_ptr<ByteSource> source_;  // shared with whoever may cancel it
  int64_t position_ = 0;
  std::exception_ptr failure_;
};

}  // namespace bloomery::data
