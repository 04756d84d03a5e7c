// exec and attach through a server with clients that speak WebSockets and SPDY: output, input, exit codes, terminals, rights.
#include <csignal>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <thread>

#include "tests/support/kube_servers.h"
#include "tests/support/stream_clients.h"
#include "tests/support/stream_lab.h"

namespace fleetadm::sandbox {
namespace {

using namespace std::chrono_literals;
using testkit::eventually;
using testkit::SpdyClient;
using testkit::StreamLab;
using testkit::WebSocketClient;

std::string escaped_word(const std::string& word) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string text;
  for (const char c : word) {
    const auto value = static_cast<unsigned char>(c);
    text += '%';
    text += kHex[value / 16];
    text += kHex[value % 16];
  }
  return text;
}

class Exec : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    slot() = std::make_unique<StreamLab>();
    lab().add_pod("p", "export CHILD=1; exec sleep 1000", {{"env", Json::array({{{"name", "GREETING"}, {"value", "hello"}}})}});
    lab().add_pod("foreign", "", Json::object(), Json::object(), "nginx:1");
  }
  static void TearDownTestSuite() { slot().reset(); }
  static std::unique_ptr<StreamLab>& slot() {
    static std::unique_ptr<StreamLab> the_lab;
    return the_lab;
  }
  static StreamLab& lab() { return *slot(); }

  static std::string target(const std::string& pod, const std::vector<std::string>& command, const std::string& streams) {
    std::string text = "/api/v1/namespaces/default/pods/" + pod + "/exec?" + streams;
    for (const auto& word : command) text += "&command=" + escaped_word(word);
    return text;
  }
  /// One whole exec over a WebSocket; `say` speaks to the command.
  static WebSocketClient::Heard exec(const std::vector<std::string>& command,
                                     const std::string& streams = "stdout=true&stderr=true",
                                     const std::function<void(WebSocketClient&)>& say = {}, const std::string& pod = "p",
                                     const std::string& protocol = "v5.channel.k8s.io") {
    const auto raw = lab().client();
    WebSocketClient client(*raw);
    EXPECT_EQ(client.open(target(pod, command, streams), protocol), 101) << client.head() << client.rest();
    if (say) say(client);
    return client.hear();
  }
  static std::string exit_code_of(const Json& status) {
    for (const Json& cause : list_at(status, {"details", "causes"})) {
      if (str(cause, {"reason"}) == "ExitCode") return str(cause, {"message"});
    }
    return str(status, {"status"});
  }
};

TEST_F(Exec, GivesBothOutputsAndSuccess) {
  const auto heard = exec({"sh", "-c", "echo out; echo err >&2"});
  EXPECT_EQ(heard.output, "out\n");
  EXPECT_EQ(heard.errors, "err\n");
  EXPECT_EQ(heard.status, Json({{"metadata", Json::object()}, {"status", "Success"}}));
  EXPECT_EQ(heard.statuses, 1);
  EXPECT_EQ(heard.close_code, 1000U);
}

TEST_F(Exec, TellsTheExitCode) {
  const auto heard = exec({"sh", "-c", "exit 7"});
  EXPECT_EQ(str(heard.status, {"status"}), "Failure");
  EXPECT_EQ(str(heard.status, {"reason"}), "NonZeroExitCode");
  EXPECT_EQ(exit_code_of(heard.status), "7");
  EXPECT_EQ(exit_code_of(exec({"sh", "-c", "kill -9 $$"}).status), "137");
}

TEST_F(Exec, RunsInTheContainersPlace) {
  EXPECT_EQ(exec({"sh", "-c", "echo $GREETING; [ $PWD = $HOME ] && echo home"}).output, "hello\nhome\n");
  // "fleetadm" is what the container runs: here the shell.
  EXPECT_EQ(exec({"/fleetadm", "-c", "echo $0 shell"}).output, "/bin/sh shell\n");
}

TEST_F(Exec, ReadsItsInputToTheEnd) {
  const std::string much(100'000, 'x');
  const auto heard = exec({"sh", "-c", "cat; echo end"}, "stdin=true&stdout=true", [&](WebSocketClient& client) {
    EXPECT_TRUE(client.say(0, "hello "));
    EXPECT_TRUE(client.say(0, much));
    EXPECT_TRUE(client.say(0, "x") && client.say(0, ""));
    EXPECT_TRUE(client.say(255, std::string(1, '\0')));
    EXPECT_TRUE(client.say(0, "late"));
  });
  EXPECT_EQ(heard.output, "hello " + much + "xend\n");
  EXPECT_EQ(exit_code_of(heard.status), "Success");
}

TEST_F(Exec, HoldsAClientBackWhoseInputIsNotRead) {
  const auto raw = lab().client();
  WebSocketClient client(*raw);
  ASSERT_EQ(client.open(target("p", {"sh", "-c", "sleep 0.3; wc -c"}, "stdin=true&stdout=true"), "v5.channel.k8s.io"), 101);
  const std::string piece(30'000, 'x');
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.say(0, piece));  // more than any pipe or socket holds
  ASSERT_TRUE(client.say(255, std::string(1, '\0')));
  EXPECT_EQ(client.hear().output, "3000000\n");
}

TEST_F(Exec, GivesMuchOutputInOrder) {
  const auto heard = exec({"sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"});
  std::string expected;
  for (int i = 0; i < 20000; ++i) expected += "line " + std::to_string(i) + "\n";
  EXPECT_EQ(heard.output.size(), expected.size());
  EXPECT_TRUE(heard.output == expected);
}

TEST_F(Exec, AnswersPingsWhileTheCommandIsSilent) {
  const auto raw = lab().client();
  WebSocketClient client(*raw);
  ASSERT_EQ(client.open(target("p", {"sleep", "1000"}, "stdout=true"), "v5.channel.k8s.io"), 101);
  const auto ready = client.next();
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->payload, "\x01");  // the empty message that says that the channels are there
  ASSERT_TRUE(client.send("are you there", 9));
  const auto pong = client.next();
  ASSERT_TRUE(pong);
  EXPECT_EQ(pong->opcode, 10U);
  EXPECT_EQ(pong->payload, "are you there");
}

TEST_F(Exec, EndsTheCommandWithItsClient) {
  const auto file = (lab().folder() / "pid").string();
  {
    const auto raw = lab().client();
    WebSocketClient client(*raw);
    ASSERT_EQ(client.open(target("p", {"sh", "-c", "echo $$ > " + file + "; echo up; exec sleep 1000"}, "stdout=true"),
                          "v5.channel.k8s.io"),
              101);
    EXPECT_EQ(client.hear_until("up").output, "up\n");
  }
  int pid = 0;
  std::ifstream(file) >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(eventually([&] { return ::kill(pid, 0) != 0; }, 10s));
}

TEST_F(Exec, EndsTheCommandWithItsContainer) {
  lab().add_pod("short", "exec sleep 1000");
  const auto raw = lab().client();
  WebSocketClient client(*raw);
  ASSERT_EQ(client.open(target("short", {"sh", "-c", "echo up; exec sleep 1000"}, "stdout=true"), "v5.channel.k8s.io"), 101);
  EXPECT_EQ(client.hear_until("up").output, "up\n");
  lab().stop_pod("short");
  EXPECT_EQ(exit_code_of(client.hear().status), "137");
  // And nothing can be started in it any more.
  const auto late = lab().client();
  WebSocketClient refused(*late);
  EXPECT_EQ(refused.open(target("short", {"true"}, "stdout=true"), "v5.channel.k8s.io"), 500);
}

TEST_F(Exec, HasATerminalWithASize) {
  const auto raw = lab().client();
  WebSocketClient client(*raw);
  const std::string script = "test -t 0 && test -t 1 && echo terminal $TERM; read line; stty size; echo got $line; exit 3";
  ASSERT_EQ(client.open(target("p", {"sh", "-c", script}, "stdin=true&stdout=true&tty=true"), "v5.channel.k8s.io"), 101);
  EXPECT_EQ(client.hear_until("xterm\r\n").output, "terminal xterm\r\n");
  ASSERT_TRUE(client.say(4, R"({"Width":91,"He)") && client.say(4, "ight\":33}\n"));
  ASSERT_TRUE(client.say(0, "word\n"));
  const auto heard = client.hear();
  EXPECT_NE(heard.output.find("33 91\r\n"), std::string::npos) << heard.output;
  EXPECT_NE(heard.output.find("got word\r\n"), std::string::npos) << heard.output;
  EXPECT_EQ(exit_code_of(heard.status), "3");
}

TEST_F(Exec, ATerminalsEndOfInputIsAControlCharacter) {
  const auto heard = exec({"cat"}, "stdin=true&stdout=true&tty=true", [](WebSocketClient& client) {
    client.say(0, "line\n");
    client.say(255, std::string(1, '\0'));
  });
  EXPECT_NE(heard.output.find("line\r\nline\r\n"), std::string::npos) << heard.output;
  EXPECT_EQ(exit_code_of(heard.status), "Success");
}

TEST_F(Exec, SpeaksVersion4WithoutItsEndOfInput) {
  const auto heard = exec(
      {"sh", "-c", "read a; echo $a; exit 4"}, "stdin=true&stdout=true",
      [](WebSocketClient& client) { client.say(0, "one\ntwo\n"); }, "p", "v4.channel.k8s.io, x");
  EXPECT_EQ(heard.output, "one\n");
  EXPECT_EQ(exit_code_of(heard.status), "4");
}

TEST_F(Exec, SaysWhatCannotRun) {
  const auto missing = exec({"no-such-program"});
  EXPECT_EQ(str(missing.status, {"reason"}), "InternalError");
  EXPECT_EQ(num(missing.status, {"code"}), 500);
  EXPECT_NE(str(missing.status, {"message"}).find("exec: \"no-such-program\": executable file not found in $PATH"),
            std::string::npos)
      << dump_json(missing.status);
  const auto foreign = exec({"ls"}, "stdout=true", {}, "foreign");
  EXPECT_EQ(num(foreign.status, {"code"}), 500);
  EXPECT_NE(str(foreign.status, {"message"}).find("runs no process for the image \"nginx:1\""), std::string::npos)
      << dump_json(foreign.status);
}

TEST_F(Exec, RefusesWhatMakesNoSense) {
  const auto status_of = [](const std::string& path, const std::string& protocol = "v5.channel.k8s.io") {
    const auto raw = lab().client();
    WebSocketClient client(*raw);
    return client.open(path, protocol);
  };
  EXPECT_EQ(status_of(target("nobody", {"ls"}, "stdout=true")), 404);
  EXPECT_EQ(status_of(target("p", {"ls"}, "stdout=true&container=other")), 400);
  EXPECT_EQ(status_of(target("p", {"ls"}, "stdout=false")), 400);
  EXPECT_EQ(status_of(target("p", {}, "stdout=true")), 400);
  EXPECT_EQ(status_of(target("p", {"ls"}, "stdout=true&dryRun=All")), 400);
  EXPECT_EQ(status_of(target("p", {"ls"}, "stdout=true"), "v9.channel.k8s.io"), 403);
  const auto [status, body] = lab().ask("GET", target("p", {"ls"}, "stdout=true"));
  EXPECT_EQ(status, 400);
  EXPECT_NE(body.find("Upgrade request required"), std::string::npos) << body;
  EXPECT_EQ(lab().ask("PUT", target("p", {"ls"}, "stdout=true"), "{}").first, 405);
}

TEST_F(Exec, EndsAClientThatBreaksTheProtocol) {
  const auto raw = lab().client();
  WebSocketClient client(*raw);
  ASSERT_EQ(client.open(target("p", {"cat"}, "stdin=true&stdout=true"), "v5.channel.k8s.io"), 101);
  ASSERT_TRUE(client.send("text", 1));
  EXPECT_EQ(client.hear().close_code, 1003U);
  EXPECT_TRUE(raw->closed_within(10s));
}

TEST_F(Exec, NeedsTheRightToCreateWhateverTheVerb) {
  lab().allow("looker", {"get"}, {"pods", "pods/exec", "pods/attach", "pods/portforward"});
  lab().allow("doer", {"get", "create"}, {"pods/exec"});
  const auto status_for = [](const std::string& user, const std::string& path) {
    const auto raw = lab().client(user);
    WebSocketClient client(*raw);
    return client.open(path, "v5.channel.k8s.io, SPDY/3.1+portforward.k8s.io");
  };
  const std::string pod = "/api/v1/namespaces/default/pods/p";
  EXPECT_EQ(status_for("nobody", target("p", {"true"}, "stdout=true")), 403);
  EXPECT_EQ(status_for("looker", target("p", {"true"}, "stdout=true")), 403);
  EXPECT_EQ(status_for("looker", pod + "/attach?stdout=true"), 403);
  EXPECT_EQ(status_for("looker", pod + "/portforward"), 403);
  EXPECT_EQ(status_for("doer", target("p", {"true"}, "stdout=true")), 101);
  EXPECT_EQ(status_for("doer", pod + "/attach?stdout=true"), 403);
  EXPECT_EQ(status_for("doer", target("nobody", {"true"}, "stdout=true")), 404);
}

TEST_F(Exec, SpeaksSpdy) {
  const auto raw = lab().client();
  std::string head;
  std::string bytes;
  ASSERT_EQ(send_upgrade(*raw,
                         "POST " + target("p", {"sh", "-c", "cat; echo err >&2; exit 5"}, "stdin=true&stdout=true&stderr=true") +
                             " HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\ncontent-length: 0\r\n"
                             "x-stream-protocol-version: v5.channel.k8s.io\r\nx-stream-protocol-version: v4.channel.k8s.io\r\n",
                         head, bytes),
            101);
  EXPECT_NE(head.find("v4.channel.k8s.io"), std::string::npos) << head;
  SpdyClient client;
  const std::vector<std::string> types = {"error", "stdin", "stdout", "stderr"};
  for (std::uint32_t i = 0; i < types.size(); ++i) ASSERT_TRUE(raw->send(client.open(2 * i + 1, {{"streamtype", types[i]}})));
  ASSERT_TRUE(raw->send(SpdyClient::data(3, "over spdy\n") + SpdyClient::data(3, "", true)));
  std::map<std::uint32_t, std::string> heard;
  std::set<std::uint32_t> ended;
  int replies = 0;
  while (!ended.contains(1) || !ended.contains(5) || !ended.contains(7)) {
    const auto frame = SpdyClient::cut(bytes);
    if (!frame) {
      ASSERT_TRUE(raw->receive(bytes));
      continue;
    }
    if (frame->control && frame->type == 2) ++replies;
    if (frame->control) continue;
    heard[frame->stream] += frame->payload;
    if (frame->flags == 1) ended.insert(frame->stream);
  }
  EXPECT_EQ(replies, 4);
  EXPECT_EQ(heard[5], "over spdy\n");
  EXPECT_EQ(heard[7], "err\n");
  EXPECT_EQ(exit_code_of(*parse_json(heard[1])), "5");
  ASSERT_TRUE(raw->send(SpdyClient::go_away()));
  EXPECT_TRUE(raw->closed_within(10s));
}

TEST_F(Exec, RefusesSpdyWithoutAProtocol) {
  for (const auto& [headers, status] : std::map<std::string, int>{{"", 400}, {"x-stream-protocol-version: v9\r\n", 403}}) {
    const auto raw = lab().client();
    std::string head;
    std::string rest;
    EXPECT_EQ(send_upgrade(*raw,
                           "POST " + target("p", {"true"}, "stdout=true") +
                               " HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n" + headers,
                           head, rest),
              status);
  }
}

TEST(ExecLimits, SessionsAreCounted) {
  serve::HttpLimits limits;
  limits.upgrades = 1;
  StreamLab lab(limits);
  lab.add_pod("p", "exec sleep 1000");
  const std::string target = "/api/v1/namespaces/default/pods/p/exec?stdout=true&command=sleep&command=1000";
  const auto open = [&](testkit::RawClient& raw) { return WebSocketClient(raw).open(target, "v5.channel.k8s.io"); };
  auto first = lab.client();
  ASSERT_EQ(open(*first), 101);
  EXPECT_EQ(open(*lab.client()), 429);
  EXPECT_EQ(lab.ask("GET", "/version").first, 200);
  first.reset();
  EXPECT_TRUE(eventually([&] { return open(*lab.client()) == 101; }, 10s));
}

class Attach : public Exec {
 protected:
  static int open(WebSocketClient& client, const std::string& pod, const std::string& streams) {
    return client.open("/api/v1/namespaces/default/pods/" + pod + "/attach?" + streams, "v5.channel.k8s.io");
  }
};

TEST_F(Attach, GivesOutputFromNowOnUntilTheContainerEnds) {
  const auto file = (lab().folder() / "go").string();
  lab().add_pod("talker", "echo before; while [ ! -e " + file + " ]; do sleep 0.05; done; echo after; sleep 0.2; echo last >&2");
  ASSERT_TRUE(eventually([&] { return lab().ask("GET", "/api/v1/namespaces/default/pods/talker/log").second == "before\n"; }));
  const auto raw = lab().client();
  WebSocketClient client(*raw);
  ASSERT_EQ(open(client, "talker", "stdout=true&stderr=true"), 101) << client.rest();
  ASSERT_TRUE(client.next());  // the channels are there
  std::ofstream(file) << "x";
  EXPECT_EQ(client.hear_until("last\n").output, "after\nlast\n");
  std::jthread node([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      lab().sync_pod("talker");
      std::this_thread::sleep_for(20ms);
    }
  });
  const auto heard = client.hear();
  EXPECT_EQ(heard.output, "after\nlast\n");
  EXPECT_EQ(str(heard.status, {"status"}), "Success");
  EXPECT_EQ(heard.close_code, 1000U);
}

TEST_F(Attach, WritesTheInputOfAPodThatHasOne) {
  lab().add_pod("reader", "while read line; do echo got $line; done; echo end; exec sleep 1000",
                {{"stdin", true}, {"stdinOnce", true}});
  const auto raw = lab().client();
  WebSocketClient client(*raw);
  ASSERT_EQ(open(client, "reader", "stdin=true&stdout=true"), 101) << client.rest();
  ASSERT_TRUE(client.say(0, "one\ntwo\n"));
  EXPECT_EQ(client.hear_until("two").output.substr(0, 8), "got one\n");
  ASSERT_TRUE(client.say(255, std::string(1, '\0')));
  EXPECT_NE(client.hear_until("end\n").output.find("end\n"), std::string::npos);
}

TEST_F(Attach, TakesTurnsWithAnInputThatStays) {
  lab().add_pod("lasting", "while read line; do echo got $line; done; echo end", {{"stdin", true}});
  for (const std::string word : {"one", "two"}) {
    const auto raw = lab().client();
    WebSocketClient client(*raw);
    ASSERT_EQ(open(client, "lasting", "stdin=true&stdout=true"), 101) << client.rest();
    ASSERT_TRUE(client.say(0, word + "\n"));
    EXPECT_EQ(client.hear_until(word + "\n").output, "got " + word + "\n");
  }
}

TEST_F(Attach, RefusesWhatDoesNotRun) {
  const auto raw = lab().client();
  WebSocketClient client(*raw);
  ASSERT_EQ(open(client, "foreign", "stdout=true"), 101);
  EXPECT_EQ(num(client.hear().status, {"code"}), 500);
  lab().add_pod("over", "exit 0");
  ASSERT_TRUE(eventually([&] {
    lab().sync_pod("over");
    const auto again = lab().client();
    WebSocketClient late(*again);
    return open(late, "over", "stdout=true") == 500;
  }));
}

}  // namespace
}  // namespace fleetadm::sandbox
