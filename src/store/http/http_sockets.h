// The sockets of an HTTP store, which can tell whether a connection has bytes that no request asked for.
//
// A server that sends more than its answer leaves bytes on a connection that is reused. They would be read as the
// beginning of the next answer, which belongs to another object. So a request may go out on a reused connection only
// if no bytes are waiting there. libcurl checks that itself from version 8.1 on.
// Belongs to the store's thread. curl calls close() when it closes a socket, so this must outlive curl's handles.
#pragma once

#include <curl/curl.h>

#include <vector>

namespace penstock {

class HttpSockets {
 public:
  // Opens a socket for curl to connect; CURL_SOCKET_BAD if the system has none.
  curl_socket_t open(const curl_sockaddr& address);
  // For CURLOPT_CLOSESOCKETFUNCTION, with this object as its data.
  static int close(void* self, curl_socket_t socket);

  // Whether bytes are waiting on the connection between these ports, on which a request is about to go out. For the
  // first request on a connection the answer is no: bytes that wait then belong to the encryption handshake.
  bool has_unasked_bytes(int local_port, int remote_port);

 private:
  struct Socket {
    curl_socket_t number;
    bool was_used = false;
  };
  std::vector<Socket> open_;
};

}  // namespace penstock
