// The client against a server that says what it is told to, cut off, late or wrong.
#include "object/http/client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/clock.h"

namespace aquifer::object::http {
namespace {

// What to do with one request: read it up to `readBody` bytes of body, say `answer`, then go on or close.
struct Step {
  std::string answer;
  bool close = false;
  size_t readBody = 0;
  int waitMs = 0;      // before the answer
  bool reset = false;  // close with a reset
};

class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<Step> script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedServer() {
    stop_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  uint16_t port = 0;
  std::atomic<int> connections{0}, requests{0};
  std::string lastHead;

 private:
  void serve() {
    while (!stop_) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      connections++;
      while (!stop_ && one(fd)) {
      }
      ::close(fd);
    }
  }

  bool one(int fd) {
    std::string text;
    char c = 0;
    while (!text.ends_with("\r\n\r\n")) {
      if (::recv(fd, &c, 1, 0) != 1) return false;
      text += c;
    }
    lastHead = text;
    const auto step = script_[std::min<size_t>(static_cast<size_t>(requests++), script_.size() - 1)];
    std::string body(step.readBody, '\0');
    if (!body.empty() && ::recv(fd, body.data(), body.size(), MSG_WAITALL) != static_cast<ssize_t>(body.size())) return false;
    for (int i = 0; i < step.waitMs && !stop_; i += 10) sleepMs(10);
    (void)!::send(fd, step.answer.data(), step.answer.size(), MSG_NOSIGNAL);
    if (step.reset) {
      const linger hard{1, 0};
      ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    }
    return !step.close && !step.reset;
  }

  const std::vector<Step> script_;
  int listener_ = -1;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class ClientTest : public testing::Test {
 protected:
  Result<Response> get(std::vector<Step> script, int timeoutMs = 5000, size_t room = 0, size_t bodyLimit = 1000) {
    start(std::move(script));
    return again(timeoutMs, room, bodyLimit);
  }
  void start(std::vector<Step> script) {
    client_.reset();
    server_ = std::make_unique<ScriptedServer>(std::move(script));
    client_ = *Client::make({.host = "127.0.0.1", .port = server_->port}, {});
  }
  Result<Response> again(int timeoutMs = 5000, size_t room = 0, size_t bodyLimit = 1000) {
    into_.assign(room, '?');
    return client_->send({.method = "GET", .target = "/", .into = std::as_writable_bytes(std::span(into_)), .bodyLimit = bodyLimit,
                          .timeoutMs = timeoutMs});
  }
  std::string into_;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<Client> client_;
};

constexpr const char* kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

TEST_F(ClientTest, ConnectionsAreKept) {
  for (int i = 0; i < 5; i++) EXPECT_EQ((i ? again() : get({{kHello}}))->body, "hello");
  EXPECT_EQ(server_->connections, 1);
  EXPECT_EQ(server_->lastHead, "GET / HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server_->port) + "\r\n\r\n");
}

TEST_F(ClientTest, AKeptConnectionThatWasClosedIsReplaced) {
  ASSERT_TRUE(get({{.answer = kHello, .close = true}}));
  for (int i = 0; i < 3; i++) {
    if (i) sleepMs(20);  // once without: the close may come while the request is on its way
    EXPECT_TRUE(again());
  }
  EXPECT_EQ(server_->requests, 4);
  EXPECT_EQ(server_->connections, 4);
}

TEST_F(ClientTest, ConnectionCloseIsObeyed) {
  ASSERT_TRUE(get({{.answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", .close = true}}));
  EXPECT_EQ(again()->body, "hello");
  EXPECT_EQ(server_->connections, 2);
}

TEST_F(ClientTest, BodyGoesIntoTheCallersMemory) {
  const auto answer = get({{kHello}}, 5000, 8);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->stored, 5u);
  EXPECT_EQ(into_, "hello???");
  EXPECT_EQ(answer->body, "");
}

TEST_F(ClientTest, MoreThanThereIsRoomForIsCut) {
  for (size_t room : {0u, 3u}) {
    const auto answer = get({{kHello}}, 5000, room, 3);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->cut);
    EXPECT_EQ(room ? into_ : answer->body, "hel");
    EXPECT_TRUE(again(5000, 5));  // the rest did not get into the next answer
    EXPECT_EQ(into_, "hello");
  }
  const auto endless = get({{"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + std::string(100000, 'x')}}, 5000, 10);
  ASSERT_TRUE(endless);
  EXPECT_TRUE(endless->cut);
}

TEST_F(ClientTest, ErrorsDoNotGetIntoTheCallersMemory) {
  const auto answer = get({{"HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\ngone"}}, 5000, 8);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "gone");
  EXPECT_EQ(into_, "????????");
}

TEST_F(ClientTest, ChunkedBodies) {
  const std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: t\r\n\r\n";
  for (int i = 0; i < 2; i++) {
    const auto answer = i ? again() : get({{chunks}});
    ASSERT_TRUE(answer) << answer.status().text();
    EXPECT_EQ(answer->body, "hello");
    EXPECT_TRUE(answer->sized);
  }
  EXPECT_EQ(server_->connections, 1);
  EXPECT_TRUE(get({{.answer = chunks.substr(0, chunks.size() - 20), .close = true}}).is(Code::unavailable));
  for (const char* bad : {"zz\r\nhel\r\n0\r\n\r\n", "3\r\nhello\r\n0\r\n\r\n", "-3\r\nhel\r\n0\r\n\r\n"})
    EXPECT_TRUE(get({{.answer = std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") + bad, .close = true}}).is(Code::io)) << bad;
}

TEST_F(ClientTest, InterimAnswersAreSkipped) {
  EXPECT_EQ(get({{std::string("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\n") + kHello}})->body, "hello");
  std::string endless;
  for (int i = 0; i < 20; i++) endless += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_TRUE(get({{endless}}).is(Code::io));
}

TEST_F(ClientTest, NoBodyWhereThereCannotBeOne) {
  EXPECT_EQ(get({{"HTTP/1.1 204 No Content\r\n\r\n"}})->status, 204);
  start({{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"}});
  EXPECT_EQ(*client_->send({.method = "HEAD", .target = "/"})->header("content-length"), "5");
  EXPECT_TRUE(client_->send({.method = "HEAD", .target = "/"}));
  EXPECT_EQ(server_->connections, 1);
}

TEST_F(ClientTest, CutOffBodies) {
  for (bool reset : {false, true}) {
    const std::string part = "HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n" + std::string(100000, 'x');
    EXPECT_TRUE(get({{.answer = part, .close = true, .reset = reset}}, 5000, 500000).is(Code::unavailable));
    EXPECT_TRUE(get({{.answer = "HTTP/1.1 200 OK\r\nConten", .close = true, .reset = reset}}).is(Code::unavailable));
    EXPECT_TRUE(get({{.answer = "", .close = true, .reset = reset}}).is(Code::unavailable));
    EXPECT_EQ(server_->requests, 1);  // a fresh connection is not tried twice
  }
}

TEST_F(ClientTest, StallsEndAtTheDeadline) {
  const int64_t start = monotonicNanos();
  EXPECT_TRUE(get({{.answer = kHello, .waitMs = 10000}}, 200).is(Code::timedOut));
  EXPECT_TRUE(get({{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"}}, 200, 5).is(Code::timedOut));
  EXPECT_LT(monotonicNanos() - start, 3'000'000'000);
}

TEST_F(ClientTest, AnAnswerBeforeTheBodyIsThrough) {
  start({{.answer = "HTTP/1.1 403 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno", .close = true}});
  const std::string body(50 << 20, 'b');
  const auto answer = client_->send({.method = "PUT", .target = "/", .body = std::as_bytes(std::span(body))});
  // The server closes with bytes unread, so the kernel may drop its answer: then the connection is what failed.
  if (answer) EXPECT_EQ(answer->status, 403);
  else EXPECT_TRUE(answer.is(Code::unavailable)) << answer.status().text();
}

TEST_F(ClientTest, BodiesAreSentWhole) {
  start({{.answer = kHello, .readBody = 5'000'000}});
  const std::string body(5'000'000, 'b');
  for (int i = 0; i < 2; i++) EXPECT_TRUE(client_->send({.method = "PUT", .target = "/", .body = std::as_bytes(std::span(body))}));
  EXPECT_NE(server_->lastHead.find("Content-Length: 5000000\r\n"), std::string::npos);
  EXPECT_EQ(server_->connections, 1);
}

TEST_F(ClientTest, WhatIsNotHttpIsRefused) {
  for (const char* text : {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"})
    EXPECT_TRUE(get({{text}}).is(Code::io)) << text;
  EXPECT_TRUE(get({{.answer = "HTTP/1.1 200 OK\r\nA: " + std::string(200000, 'a'), .close = true}}).is(Code::io));
}

TEST_F(ClientTest, NobodyThere) {
  start({{kHello}});
  const uint16_t port = server_->port;
  server_.reset();
  auto client = *Client::make({.host = "127.0.0.1", .port = port}, {});
  EXPECT_TRUE(client->send({.method = "GET", .target = "/"}).is(Code::unavailable));
}

TEST_F(ClientTest, NoLineBreaksIntoHeaders) {
  start({{kHello}});
  EXPECT_TRUE(client_->send({.method = "GET", .target = "/", .headers = {{"A", "b\r\nC: d"}}}).is(Code::invalid));
  EXPECT_EQ(server_->requests, 0);
}

}  // namespace
}  // namespace aquifer::object::http
