// The sockets of an HTTP store, to look whether one has bytes that nobody asked for.
//
// A server that sends more than its answer leaves bytes on a connection that is kept. They would be read as the
// beginning of the next answer, which belongs to another object. Before a request goes out on a kept connection,
// nothing may be waiting there. libcurl checks that itself from version 8.1 on.
// Belongs to the store's thread. curl calls closed() when it closes a socket, so this must outlive its handles.
#pragma once

#include <curl/curl.h>

#include <vector>

namespace penstock {

class HttpSockets {
 public:
  // A socket for curl to connect; CURL_SOCKET_BAD where the system gives none.
  curl_socket_t open(const curl_sockaddr& address);
  // For CURLOPT_CLOSESOCKETFUNCTION, with this object as its data.
  static int close(void* self, curl_socket_t socket);

  // A request is about to go out on the connection between these ports: is anything waiting there to be read? The
  // first request on a connection is not held up: what waits then belongs to setting up the encryption.
  bool has_unasked_bytes(int local_port, int remote_port);

 private:
  struct Socket {
    curl_socket_t number;
    bool was_used = false;
  };
  std::vector<Socket> open_;
};

}  // namespace penstock
