#include "sim/engine/parallel.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace tessella {

std::size_t parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& task,
                         const std::atomic<bool>* stop) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::vector<std::exception_ptr> errors(count);
  std::vector<char> done(count, 0);
  const auto work = [&] {
    while (!failed.load() && !(stop && stop->load())) {
      const std::size_t i = next.fetch_add(1);
      if (i >= count) return;
      try {
        task(i);
        done[i] = 1;
      } catch (...) {
        errors[i] = std::current_exception();
        failed = true;
      }
    }
  };
  std::vector<std::thread> pool;
  const std::size_t extra = std::min<std::size_t>(std::max(1U, threads) - 1, count > 0 ? count - 1 : 0);
  for (std::size_t i = 0; i < extra; ++i) pool.emplace_back(work);
  work();
  for (std::thread& t : pool) t.join();
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
  return static_cast<std::size_t>(std::find(done.begin(), done.end(), 0) - done.begin());
}

} // namespace tessella
