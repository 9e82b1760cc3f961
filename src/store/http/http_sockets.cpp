#ifdef PENSTOCK_WITH_CURL
#include "store/http/http_sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace penstock {
namespace {

using NameFunction = int(int, sockaddr*, socklen_t*);

// The port of this end (getsockname) or of the other one (getpeername); -1 if it has none.
int port_of(curl_socket_t socket, NameFunction* name) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  void* const place = &address;
  if (name(socket, static_cast<sockaddr*>(place), &length) != 0) return -1;
  if (address.ss_family == AF_INET) return ntohs(static_cast<const sockaddr_in*>(place)->sin_port);
  if (address.ss_family == AF_INET6) return ntohs(static_cast<const sockaddr_in6*>(place)->sin6_port);
  return -1;
}

}  // namespace

curl_socket_t HttpSockets::open(const curl_sockaddr& address) {
  const curl_socket_t socket = ::socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
  if (socket != CURL_SOCKET_BAD) open_.push_back({socket});
  return socket;
}

int HttpSockets::close(void* self, curl_socket_t socket) {
  std::erase_if(static_cast<HttpSockets*>(self)->open_, [&](const Socket& one) { return one.number == socket; });
  return ::close(socket);
}

bool HttpSockets::has_unasked_bytes(int local_port, int remote_port) {
  for (Socket& socket : open_) {
    if (port_of(socket.number, &getsockname) != local_port || port_of(socket.number, &getpeername) != remote_port)
      continue;
    pollfd state{socket.number, POLLIN, 0};
    if (socket.was_used && poll(&state, 1, 0) > 0) return true;
    socket.was_used = true;
  }
  return false;
}

}  // namespace penstock
#endif
