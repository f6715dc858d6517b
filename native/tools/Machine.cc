#include "tools/Machine.h"

#include <immintrin.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace bloomery::tools {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kChains = 12;  // enough independent sums to keep two units busy
constexpr int kRounds = 100000;

// Returns the operations done; the sums are looked at so that nobody leaves them out.
__attribute__((target("avx2,fma"))) double multiplyAddsAvx2(float& seen) {
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  __m256 factor = _mm256_set1_ps(0.999f), addend = _mm256_set1_ps(1.0f);  // the sums go to 1000
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, addend);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  seen = _mm256_cvtss_f32(sums[0]) * 1e-9f;
  return 2.0 * 8 * kChains * kRounds;
}

__attribute__((target("avx512f"))) double multiplyAddsAvx512(float& seen) {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  __m512 factor = _mm512_set1_ps(0.999f), addend = _mm512_set1_ps(1.0f);  // the sums go to 1000
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, addend);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  seen = _mm512_cvtss_f32(sums[0]) * 1e-9f;
  return 2.0 * 16 * kChains * kRounds;
}

}  // namespace

double peakGigaflops(int threads, double seconds) {
  auto* work = __builtin_cpu_supports("avx512f") ? multiplyAddsAvx512 : multiplyAddsAvx2;
  std::vector<double> operations(static_cast<size_t>(threads), 0.0);
  auto start = Clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::vector<std::thread> team;
  for (double& own : operations) {
    team.emplace_back([&] {
      float seen = 1.0f;
      while (elapsed() < seconds) own += work(seen);
    });
  }
  for (std::thread& thread : team) thread.join();
  double sum = 0, duration = elapsed();
  for (double own : operations) sum += own;
  return sum / duration / 1e9;
}

int64_t peakMemoryBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

}  // namespace bloomery::tools
