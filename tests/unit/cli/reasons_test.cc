// The words that say why a command failed: errors carry no other, and every one is explained.
#include "commands/framework/reasons.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <regex>
#include <set>

#include "cli/render/errors.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/transport/answer_limit.h"
#include "kubeclient/transport/curl_errors.h"
#include "tests/support/source_folder.h"

namespace fleetadm::cli {
namespace {

// Whatever a server or a connection says, the reason that is printed is a word of the table.
TEST(ReasonsTest, ReasonsAreThoseOfTheTable) {
  std::set<std::string> words;
  for (const commands::Reason& reason : commands::error_reasons()) {
    EXPECT_TRUE(words.insert(std::string(reason.word)).second) << reason.word;
    EXPECT_FALSE(reason.cause.empty() || reason.remedy.empty()) << reason.word;
    for (const std::string_view text : {reason.cause, reason.remedy}) {
      EXPECT_NE(text.back(), '.') << text;
      EXPECT_EQ(text.find('|'), std::string::npos) << text;
    }
  }
  const auto known = [&](const Error& error) {
    const Json document = error_document(error, "");
    return words.contains(str(document, {"reason"})) && find(document, {"serverReason"}) == nullptr;
  };
  for (int category = 0; category <= static_cast<int>(Category::kUnsupported); ++category)
    EXPECT_TRUE(known(fail(static_cast<Category>(category), "m").value())) << category;
  for (int code = 400; code < 600; ++code) {
    for (const kube::Method method : {kube::Method::kGet, kube::Method::kPost}) {
      kube::Request request;
      request.method = method;
      kube::Response response;
      response.status = code;
      EXPECT_TRUE(known(kube::error_of(response, request))) << code;
    }
  }
  for (int code = CURLE_OK + 1; code < CURL_LAST; ++code) {
    for (const char* detail : {"", "subject name", "wrong version number", "alert bad certificate", "reset by peer", "CONNECT"}) {
      for (const long os : {0L, static_cast<long>(ECONNREFUSED)}) {
        for (const long verify : {0L, 9L, 10L, 20L}) {
          kube::CurlFailure failure;
          failure.code = static_cast<CURLcode>(code);
          failure.detail = detail;
          failure.os_error = os;
          failure.verify_result = verify;
          EXPECT_TRUE(known(kube::error_of_curl(failure))) << code << " " << detail;
        }
      }
    }
  }
  for (const std::string_view reason : {kube::kUnknownPath, kube::kAnswerTooLong}) {
    Error error;
    error.reason = reason;
    EXPECT_TRUE(known(error)) << reason;
  }
  Error webhook = fail(Category::kAuth, "m").value();
  webhook.reason = "NotOnFridays";
  const Json document = error_document(webhook, "");
  EXPECT_EQ(str(document, {"reason"}), "Auth");
  EXPECT_EQ(str(document, {"serverReason"}), "NotOnFridays");
}

// Words that the sources give errors themselves.
TEST(ReasonsTest, TheSourcesMakeUpNoOtherReason) {
  const std::regex assigned(R"rx(error\.reason = (?:[^;"({]*)"(\w+)"|make\(Category::\w+,\s+"(\w+)")rx");
  std::size_t seen = 0;
  for (const char* room : {"kubeclient", "core/registration", "commands", "cli"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(testkit::source_folder()) / room)) {
      if (entry.path().extension() != ".cc") continue;
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
      for (std::sregex_iterator at(text.begin(), text.end(), assigned), none; at != none; ++at) {
        ++seen;
        Error error;
        error.reason = (*at)[1].matched ? (*at)[1].str() : (*at)[2].str();
        EXPECT_EQ(commands::reason_of(error).word, error.reason) << entry.path();
      }
    }
  }
  EXPECT_GT(seen, 20U) << "the sources are where they are looked for";
}

}  // namespace
}  // namespace fleetadm::cli
