#include "kubeclient/transport/trust_store.h"

#include <gtest/gtest.h>

#include "kubeclient/pki/pki.h"

namespace fleetadm::kube {
namespace {

TEST(TrustStore, IsSharedByThoseWhoTrustTheSame) {
  const auto ca = pki::make_ca("one", std::chrono::hours(1));
  const auto other = pki::make_ca("other", std::chrono::hours(1));
  ASSERT_TRUE(ca && other);
  auto store = trust_store(ca->certificate);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(trust_store(ca->certificate), store);
  EXPECT_NE(trust_store(other->certificate), store);
  EXPECT_EQ(sk_X509_OBJECT_num(X509_STORE_get0_objects(trust_store(ca->certificate + other->certificate).get())), 2);
  const std::weak_ptr<X509_STORE> left = store;
  store.reset();
  EXPECT_TRUE(left.expired()) << "nobody trusts it any more";
}

TEST(TrustStore, LeavesWhatItCannotReadToLibcurl) {
  const auto ca = pki::make_ca("one", std::chrono::hours(1));
  ASSERT_TRUE(ca);
  EXPECT_EQ(trust_store(""), nullptr);
  EXPECT_EQ(trust_store("no PEM"), nullptr);
  EXPECT_EQ(trust_store(ca->key), nullptr);
  EXPECT_EQ(trust_store("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), nullptr);
  EXPECT_EQ(trust_store(ca->certificate + "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n"), nullptr);
}

}  // namespace
}  // namespace fleetadm::kube
