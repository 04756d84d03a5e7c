// A body on its way between two threads, piece by piece and bounded: of a request, from the server to the handler; of an answer,
// from a handler that writes at its own pace to the server.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/serve/http/message.h"

namespace fleetadm::serve {

namespace detail {
struct BodyPipeState;
}

/// Any thread, one at a time. The destructor of an end that was not finished cuts the body.
class BodyWriter {
 public:
  enum class Outcome { kTaken, kFull, kAbandoned };  // kAbandoned: the reader is gone, and nothing more is wanted

  explicit BodyWriter(std::shared_ptr<detail::BodyPipeState> state) : state_(std::move(state)) {}
  ~BodyWriter() { cut(); }
  BodyWriter(const BodyWriter&) = delete;
  BodyWriter& operator=(const BodyWriter&) = delete;

  /// All of it, without waiting, for writers that look at has_room() first: it may go beyond the window by one piece.
  void push(std::string_view bytes);
  /// Waits up to `patience` until all of it was taken; takes it off `bytes` as it goes.
  Outcome write(std::string_view& bytes, std::chrono::milliseconds patience);
  bool has_room() const;
  /// What was read since the last call.
  std::size_t take_consumed();
  /// The proper end. Nothing comes behind it.
  void finish();
  /// The end of a body that is not whole; nothing after finish().
  void cut();

 private:
  std::shared_ptr<detail::BodyPipeState> state_;
};

/// Holds the reader of a body back. Called on the reader's thread.
class BodyPace {
 public:
  virtual ~BodyPace() = default;
  /// How many bytes may be read now.
  virtual std::size_t room() = 0;
  virtual void was_read(std::size_t bytes) = 0;
  /// There is no room: `wake` is called when there may be some again.
  virtual void on_room(std::function<void()> wake) = 0;
};

/// Any thread, one at a time; read() never waits. Its end tells the writer that nothing more is wanted.
class BodyReader final : public BodyStream {
 public:
  explicit BodyReader(std::shared_ptr<detail::BodyPipeState> state) : state_(std::move(state)) {}
  ~BodyReader() override;
  BodyReader(const BodyReader&) = delete;
  BodyReader& operator=(const BodyReader&) = delete;

  /// kCut: the body broke off (the client is gone, or broke the protocol); what had come before is not given any more.
  More read(std::string& into, std::size_t most) override;
  void on_ready(std::function<void()> wake) override;
  /// read(), which waits up to `patience` for something; kLater where nothing came.
  More wait(std::string& into, std::size_t most, std::chrono::milliseconds patience);
  /// From now on, no more is read at a time than the pace has room for.
  void keep_pace(std::shared_ptr<BodyPace> pace);
  /// The bytes that were read so far. It changes on the reader's thread, and outlives the reader.
  std::shared_ptr<const std::uint64_t> count() const;

 private:
  More take(std::string& into, std::size_t most, std::chrono::milliseconds patience);

  std::shared_ptr<detail::BodyPipeState> state_;
  std::shared_ptr<BodyPace> pace_;  // null: as fast as it comes
};

struct BodyPipe {
  std::shared_ptr<BodyWriter> writer;
  std::shared_ptr<BodyReader> reader;
};

/// `window`: the bytes that are held. `drained` is called on the reader's thread whenever some were read, or it is gone.
BodyPipe make_body_pipe(std::size_t window, std::function<void()> drained = {});

}  // namespace fleetadm::serve
