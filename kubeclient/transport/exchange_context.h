// What all requests of one transport share; never changes after construction.
#pragma once

#include <memory>
#include <openssl/x509_vfy.h>
#include <string>

#include "kubeclient/config/rest_config.h"
#include "kubeclient/transport/curl_multi.h"
#include "kubeclient/transport/endpoint.h"
#include "kubeclient/transport/epoll_loop.h"
#include "kubeclient/transport/http2_pool.h"

namespace fleetadm::kube {

struct ExchangeContext {
  RestConfig config;
  Endpoint endpoint;
  std::string user_agent;
  std::string authority;  // of the URL: without the port where that is the usual one
  bool compress = true;   // ask for gzip
  /// trust_store() of the CA, where libcurl makes the connections: for each request.
  std::shared_ptr<X509_STORE> trusted;
  std::shared_ptr<EpollLoop> loop;
  std::shared_ptr<CurlMulti> multi;
  std::shared_ptr<Http2Pool> http2;  // null: libcurl sends all of them
};

}  // namespace fleetadm::kube
