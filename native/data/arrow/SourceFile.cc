#include "data/arrow/SourceFile.h"

#include <arrow/buffer.h>

#include <algorithm>
#include <span>
#include <utility>

#include "data/arrow/RecyclingPool.h"

namespace bloomery::data {

using BufferFuture = arrow::Future<std::shared_ptr<arrow::Buffer>>;

SourceFile::SourceFile(std::shared_ptr<ByteSource> source) : source_(std::move(source)) {}

void SourceFile::rethrowFailure() const {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

arrow::Status SourceFile::Close() {
  source_.reset();
  return arrow::Status::OK();
}

arrow::Status SourceFile::Seek(int64_t position) {
  if (position < 0) return arrow::Status::Invalid("Position before the file's start: ", position);
  position_ = position;
  return arrow::Status::OK();
}

arrow::Result<int64_t> SourceFile::GetSize() {
  if (closed()) return arrow::Status::Invalid("File is closed");
  return source_->size();
}

arrow::Result<int64_t> SourceFile::Read(int64_t count, void* out) {
  ARROW_ASSIGN_OR_RAISE(int64_t read, ReadAt(position_, count, out));
  position_ += read;
  return read;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> SourceFile::Read(int64_t count) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, count));
  position_ += buffer->size();
  return buffer;
}

// A damaged file may name any range.
int64_t SourceFile::available(int64_t position, int64_t count) const {
  return std::clamp<int64_t>(source_->size() - position, 0, std::max<int64_t>(count, 0));
}

arrow::Result<int64_t> SourceFile::ReadAt(int64_t position, int64_t count, void* out) {
  if (closed()) return arrow::Status::Invalid("File is closed");
  if (position < 0 || count < 0) return arrow::Status::Invalid("Range outside of the file");
  count = available(position, count);
  try {
    if (count > 0) source_->read(position, std::span(static_cast<std::byte*>(out), static_cast<size_t>(count)));
    return count;
  } catch (...) {
    if (failure_ == nullptr) failure_ = std::current_exception();
    return arrow::Status::IOError("Source of bytes failed");
  }
}

arrow::Result<std::shared_ptr<arrow::Buffer>> SourceFile::ReadAt(int64_t position, int64_t count) {
  if (closed()) return arrow::Status::Invalid("File is closed");
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(available(position, count), recyclingPool()));
  ARROW_ASSIGN_OR_RAISE(int64_t read, ReadAt(position, buffer->size(), buffer->mutable_data()));
  if (read != buffer->size()) return arrow::Status::IOError("Range outside of the file");
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

BufferFuture SourceFile::ReadAsync(const arrow::io::IOContext&, int64_t position, int64_t count) {
  return BufferFuture::MakeFinished(ReadAt(position, count));
}

BufferFuture SourceFile::ReadAsync(const arrow::io::IOContext&, int64_t position, int64_t count, bool allowShortRead) {
  return BufferFuture::MakeFinished(ReadAt(position, count, allowShortRead));
}

}  // namespace bloomery::data
