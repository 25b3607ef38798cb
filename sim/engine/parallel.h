// Independent tasks on several threads. Tasks are numbered; a task may write only to what its number owns, so results
// do not depend on the number of threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace tessella {

// Runs task(0) ... task(count - 1), each once, on up to `threads` threads (the caller's is one of them). The first
// exception (lowest task number) is rethrown after all threads have stopped. When `stop` becomes true no further task
// starts; returns the number of leading tasks that are complete.
std::size_t parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& task,
                         const std::atomic<bool>* stop = nullptr);

} // namespace tessella
