#include "cli/request_record.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/stat.h>

#include "kubeclient/base/json.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

kube::RequestFacts one_request() {
  kube::RequestFacts facts;
  facts.url = "https://hub:6443/api/v1/namespaces";
  facts.status = 200;
  facts.id = "7";
  facts.begun = std::chrono::steady_clock::now();
  facts.took = milliseconds(20);
  facts.received = 2048;
  return facts;
}

kube::RetryFacts retry(Duration waited, Duration delay) {
  Error error;
  error.code = 429;
  error.message = "too many requests";
  error.cluster = "hub";
  return {error, waited, delay, seconds(20)};
}

TEST(RequestRecordTest, ALongRetryIsToldOnceAndAShortOneNever) {
  std::vector<std::string> told;
  RequestRecord record([&](const std::string& line) { told.push_back(line); });
  record.retrying(retry(seconds(0), seconds(1)));
  record.retrying(retry(seconds(1), seconds(1)));
  EXPECT_TRUE(told.empty());
  record.retrying(retry(seconds(2), seconds(1)));
  record.retrying(retry(seconds(3), seconds(1)));
  EXPECT_EQ(told, std::vector<std::string>{"Throttled by hub (too many requests); trying again for up to 20s."});
}

TEST(RequestRecordTest, ATraceIsPrivateAndHasALinePerRequest) {
  const testkit::TemporaryFolder folder("trace");
  const std::string path = folder.write("trace", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  const auto record = RequestRecord::open(path, nullptr);
  ASSERT_TRUE(record) << record.error().message;
  (*record)->ended(one_request());
  kube::RequestFacts broken = one_request();
  broken.status = 0;
  broken.error = "refused";
  broken.took = milliseconds(30);
  (*record)->ended(broken);
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  std::ifstream file(path);
  std::string first;
  std::string second;
  std::getline(file, first);
  std::getline(file, second);
  const auto line = parse_json(first);
  ASSERT_TRUE(line) << first;
  EXPECT_EQ(str(*line, {"url"}), "https://hub:6443/api/v1/namespaces");
  EXPECT_EQ(num(*line, {"status"}), 200);
  EXPECT_EQ(num(*line, {"receivedBytes"}), 2048);
  EXPECT_EQ(str(*line, {"id"}), "7");
  EXPECT_NE(second.find("\"error\":\"refused\""), std::string::npos) << second;
  EXPECT_EQ((*record)->summary(),
            "2 requests, 50.0 ms in total, 4.0 KiB received; slowest 30.0 ms: GET https://hub:6443/api/v1/namespaces");
}

TEST(RequestRecordTest, AFullDiskIsToldAtTheEnd) {
  const auto record = RequestRecord::open("/dev/full", nullptr);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ((*record)->trouble(), "");
  (*record)->ended(one_request());
  EXPECT_NE((*record)->trouble().find("No space left"), std::string::npos);
}

}  // namespace
}  // namespace fleetadm::cli
