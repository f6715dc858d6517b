#include "data/RowReader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/Error.h"
#include "base/NamedThread.h"

namespace bloomery::data {

namespace {

using Clock = std::chrono::steady_clock;

// A disk that has one read rests from its end till a thread has a core and asks for the next.
constexpr size_t kReadsAtOnce = 2;

constexpr size_t kCacheLine = 64;
// Of each column of a row; the processor itself fetches what follows.
constexpr size_t kFetched = 4 * kCacheLine;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

// Two windows: the one in use, and the one that is read ahead. A window belongs to the reading threads from the moment
// it is wanted till it is read, and to the owner of the RowReader for the rest of the time.
struct RowReader::Ahead {
  struct Window {
    int64_t number = -1;      // of the order; -1: free
    bool isComplete = false;  // else buffers were out
    std::vector<std::pair<int64_t, ChunkMemory>> chunks;
  };

  explicit Ahead(const RowStore& store) : rows(store), space(*store.space_) {
    for (Window& window : windows) window.chunks.reserve(static_cast<size_t>(Order::kMaxBlocksPerWindow));
    missing.reserve(static_cast<size_t>(Order::kMaxBlocksPerWindow));
  }

  ~Ahead() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    for (std::thread& thread : threads) {
      if (thread.joinable()) thread.join();
    }
    for (Window& window : windows) release(window);
  }

  void start();
  void run(Cipher* cipher);
  void readNext(std::unique_lock<std::mutex>& lock, Cipher* cipher);
  bool isAllTaken() const { return numTaken == missing.size(); }
  void findMissing(const Window& window);
  void release(Window& window);
  void waitUntilRead();
  // Has the reading threads fill the free window with this one.
  void want(int64_t number);
  // Has them read what the window lacks.
  void read(Window& window);
  Window* find(int64_t number);

  const RowStore& rows;
  SpillSpace& space;
  std::optional<Order> order;
  int64_t position = 0;
  int64_t current = -1;  // the window that is read, with the next one on its way
  std::array<Window, 2> windows;
  // By block: where it was read to, nullptr where it was not. Changes only while nothing is wanted.
  std::vector<const std::byte*> places;

  std::mutex mutex;
  std::condition_variable changed;
  Window* wanted = nullptr;  // what is to be read
  Clock::time_point wantedSince;
  std::vector<std::pair<int64_t, SpillSpace::Place>> missing;  // blocks of it; changes only while nothing is wanted
  size_t numTaken = 0;                                         // how many of them somebody began
  size_t numReading = 0;                                       // and did not end
  std::exception_ptr failure;
  bool stopping = false;
  double seconds = 0;
  std::array<std::thread, kReadsAtOnce> threads;
};

void RowReader::Ahead::start() {
  for (std::thread& thread : threads) {
    thread = namedThread("bloomery-read", [this, cipher = space.makeCipher()] { run(cipher.get()); });
  }
}

void RowReader::Ahead::run(Cipher* cipher) {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return stopping || (wanted != nullptr && !isAllTaken()); });
    if (stopping) return;
    readNext(lock, cipher);
    if (!isAllTaken() || numReading > 0) continue;
    wanted = nullptr;
    seconds += secondsSince(wantedSince);
    changed.notify_all();
  }
}

void RowReader::Ahead::readNext(std::unique_lock<std::mutex>& lock, Cipher* cipher) {
  ChunkMemory memory = space.borrow();
  if (memory == nullptr) {
    wanted->isComplete = false;
    numTaken = missing.size();
    return;
  }
  auto [block, onDisk] = missing[numTaken++];
  ++numReading;
  lock.unlock();
  std::exception_ptr failed;
  try {
    space.read(onDisk, memory, cipher);
  } catch (...) {
    failed = std::current_exception();
  }
  lock.lock();
  --numReading;
  wanted->chunks.emplace_back(block, std::move(memory));
  if (failed == nullptr) return;
  failure = failed;
  numTaken = missing.size();
}

void RowReader::Ahead::findMissing(const Window& window) {
  missing.clear();
  int64_t end = order->firstPlace(window.number + 1);
  for (int64_t place = order->firstPlace(window.number); place < end; ++place) {
    int64_t block = order->blockAt(place);
    if (places[static_cast<size_t>(block)] != nullptr) continue;
    std::lock_guard lock(rows.chunksMutex_);
    const RowStore::Chunk& chunk = rows.chunks_[static_cast<size_t>(block)];
    if (chunk.memory == nullptr) missing.emplace_back(block, chunk.place);
  }
}

void RowReader::Ahead::release(Window& window) {
  for (auto& [block, memory] : window.chunks) {
    places[static_cast<size_t>(block)] = nullptr;
    space.giveBack(std::move(memory));
  }
  window.chunks.clear();
  window.number = -1;
  window.isComplete = false;
}

void RowReader::Ahead::waitUntilRead() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return wanted == nullptr; });
  if (failure != nullptr) std::rethrow_exception(failure);
  lock.unlock();
  for (const Window& window : windows) {
    for (const auto& [block, memory] : window.chunks) places[static_cast<size_t>(block)] = memory.get();
  }
}

RowReader::Ahead::Window* RowReader::Ahead::find(int64_t number) {
  for (Window& window : windows) {
    if (window.number == number) return &window;
  }
  return nullptr;
}

void RowReader::Ahead::want(int64_t number) {
  Window* window = find(-1);
  if (window == nullptr || number >= order->numWindows()) return;
  window->number = number;
  read(*window);
}

void RowReader::Ahead::read(Window& window) {
  findMissing(window);
  window.isComplete = true;
  if (missing.empty()) return;
  std::lock_guard lock(mutex);
  wanted = &window;
  wantedSince = Clock::now();
  numTaken = 0;
  changed.notify_all();
}

RowReader::RowReader(const RowStore& rows)
    : rows_(rows), cipher_(rows.space_ == nullptr ? nullptr : rows.space_->makeCipher()) {}

RowReader::~RowReader() = default;

void RowReader::begin(const Order* order) {
  end();
  if (order == nullptr || rows_.space_ == nullptr) return;
  bool spilled = [&] {
    auto held = lock();
    return rows_.numSpilled_ > 0;
  }();
  if (!spilled) return;
  if (ahead_ == nullptr) {
    auto ahead = std::make_unique<Ahead>(rows_);
    ahead->start();
    ahead_ = std::move(ahead);
  }
  ahead_->order = *order;
  ahead_->position = 0;
  ahead_->current = -1;
  ahead_->places.resize(static_cast<size_t>(order->numBlocks()), nullptr);
  ahead_->want(0);
}

void RowReader::advance(int64_t count) {
  if (ahead_ == nullptr || !ahead_->order || count == 0) return;
  Ahead& ahead = *ahead_;
  int64_t first = ahead.order->windowOf(ahead.position);
  int64_t last = ahead.order->windowOf(ahead.position + count - 1);
  ahead.position += count;
  if (first == ahead.current && last == ahead.current) return;
  ahead.waitUntilRead();
  for (Ahead::Window& window : ahead.windows) {
    if (window.number >= 0 && window.number < first) ahead.release(window);
  }
  for (int64_t window = first; window <= last; ++window) {
    Ahead::Window* found = ahead.find(window);
    if (found != nullptr && found->isComplete) continue;
    // What was read ahead had to do with the buffers that the window before left.
    if (found != nullptr) {
      ahead.read(*found);
    } else {
      ahead.want(window);
    }
    ahead.waitUntilRead();
  }
  if (ahead.find(last + 1) == nullptr) ahead.want(last + 1);
  ahead.current = first == last ? last : -1;
}

void RowReader::end() {
  if (ahead_ == nullptr || !ahead_->order) return;
  ahead_->waitUntilRead();
  for (Ahead::Window& window : ahead_->windows) ahead_->release(window);
  ahead_->order.reset();
}

StoredRow RowReader::row(int64_t row) {
  check(row >= 0 && row < rows_.numRows(), "No such row: ", row, " of ", rows_.numRows());
  int64_t block = row / rows_.rowsPerBlock_, index = row % rows_.rowsPerBlock_;
  const std::byte* bytes = chunkOf(block);
  if (bytes == nullptr) bytes = readRow(block, index);
  return {rows_, rows_.chunks_[static_cast<size_t>(block)], bytes, index};
}

const std::byte* RowReader::chunkOf(int64_t block) const {
  const std::byte* chunk = rows_.chunks_[static_cast<size_t>(block)].memory.get();
  if (chunk == nullptr && ahead_ != nullptr && ahead_->order) chunk = ahead_->places[static_cast<size_t>(block)];
  return chunk;
}

void RowReader::expect(int64_t row) const {
  int64_t block = row / rows_.rowsPerBlock_, index = row % rows_.rowsPerBlock_;
  const std::byte* chunk = chunkOf(block);
  if (chunk == nullptr) return;
  auto fetch = [&](const RowStore::Column& column) {
    const std::byte* from = chunk + column.offset + static_cast<size_t>(index) * column.stride;
    for (size_t i = 0; i < std::min(column.bytes, kFetched); i += kCacheLine) __builtin_prefetch(from + i);
  };
  for (const RowStore::Column& column : rows_.features_) fetch(column);
  for (const RowStore::Column& column : rows_.targets_) fetch(column);
  if (rows_.format_.hasWeights) fetch(rows_.weight_);
  if (rows_.chunks_[static_cast<size_t>(block)].hasIds) fetch(rows_.rowId_);
}

// The row's bytes at their own places in an image of the chunk, of which nothing else is right.
const std::byte* RowReader::readRow(int64_t block, int64_t index) {
  auto start = Clock::now();
  if (image_ == nullptr) image_ = allocateChunk(rows_.chunkBytes_);
  if (image_ == nullptr) throw ResourceError("Out of memory for reading rows from disk");
  const RowStore::Chunk& chunk = rows_.chunks_[static_cast<size_t>(block)];
  auto read = [&](const RowStore::Column& column) {
    size_t offset = column.offset + static_cast<size_t>(index) * column.stride;
    rows_.space_->read(chunk.place, static_cast<int64_t>(offset), {image_.get() + offset, column.bytes}, cipher_.get());
  };
  for (const RowStore::Column& column : rows_.features_) read(column);
  for (const RowStore::Column& column : rows_.targets_) read(column);
  read(rows_.weight_);
  if (chunk.hasIds) read(rows_.rowId_);
  ++numSingleRows_;
  rowSeconds_ += secondsSince(start);
  return image_.get();
}

double RowReader::takeReadSeconds() {
  double seconds = std::exchange(rowSeconds_, 0.0);
  if (ahead_ == nullptr) return seconds;
  std::lock_guard lock(ahead_->mutex);
  return seconds + std::exchange(ahead_->seconds, 0.0);
}

}  // namespace bloomery::data
