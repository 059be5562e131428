#include "common/io/name_lookup.h"

#include <asio/post.hpp>
#include <deque>
#include <mutex>

#include "common/io/side_thread.h"

namespace mcdtp {
namespace {

struct Question {
  std::string host;
  std::uint16_t port;
  int family;
  std::weak_ptr<const void> asker;
  NameLookup::Handler handler;
};

NameLookup::Answer answer(const Question& question) {
  try {
    return {resolve(question.host, question.port, question.family), {}};
  } catch (const Unresolved& failure) {
    return {{}, failure};
  }
}

NameLookup::Answer too_many(const std::string& host) {
  return {{}, Unresolved(host, "too many look-ups at once", Unresolved::Kind::kTemporary)};
}

}  // namespace

// Shared with the threads, which may outlive us: then nobody hears them.
struct NameLookup::Shared {
  std::mutex mutex;
  asio::io_context* io = nullptr;  // none: it is over
  std::deque<Question> waiting;
  std::size_t threads = 0;

  // A thread's life: questions until there are none.
  static void run(const std::shared_ptr<Shared>& shared) {
    for (;;) {
      Question question;
      {
        const std::lock_guard lock(shared->mutex);
        if (shared->io == nullptr || shared->waiting.empty()) {
          --shared->threads;
          return;
        }
        question = std::move(shared->waiting.front());
        shared->waiting.pop_front();
      }
      if (question.asker.expired()) continue;
      Answer found = answer(question);
      const std::lock_guard lock(shared->mutex);
      if (shared->io == nullptr) continue;
      asio::post(*shared->io, [handler = std::move(question.handler), found = std::move(found)]() mutable {
        handler(std::move(found));
      });
    }
  }
};

NameLookup::NameLookup(asio::io_context& io) : shared_(std::make_shared<Shared>()) { shared_->io = &io; }

NameLookup::~NameLookup() {
  const std::lock_guard lock(shared_->mutex);
  shared_->io = nullptr;
  shared_->waiting.clear();
}

void NameLookup::start(const std::string& host, std::uint16_t port, int family,
                       std::weak_ptr<const void> asker, Handler handler) {
  const std::lock_guard lock(shared_->mutex);
  std::deque<Question>& waiting = shared_->waiting;
  if (waiting.size() >= kMostWaiting)
    std::erase_if(waiting, [](const Question& q) { return q.asker.expired(); });
  if (waiting.size() >= kMostWaiting) {
    asio::post(*shared_->io, [ask = std::move(handler), host] { ask(too_many(host)); });
    return;
  }
  waiting.push_back({host, port, family, std::move(asker), std::move(handler)});
  if (shared_->threads == kMostThreads) return;
  if (start_side_thread([shared = shared_] { Shared::run(shared); })) {
    ++shared_->threads;
    return;
  }
  // One that runs takes it; where none does, it does not resolve now.
  if (shared_->threads > 0) return;
  Question question = std::move(shared_->waiting.back());
  shared_->waiting.pop_back();
  asio::post(*shared_->io, [ask = std::move(question.handler), host] { ask(too_many(host)); });
}

}  // namespace mcdtp
