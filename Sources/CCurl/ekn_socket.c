// Required by musl to declare struct tcp_info.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ekn_socket.h"

#if defined(__linux__)

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

// glibc's own header has an old struct tcp_info, and musl does not come with the kernel's headers.
#if defined(__GLIBC__)
#include <linux/tcp.h>
#else
#include <netinet/tcp.h>
#endif

ekn_socket_output ekn_socket_get_output(int socket) {
  ekn_socket_output output = {0, 0};
  int count = 0;
  if (ioctl(socket, SIOCOUTQ, &count) == 0 && count > 0) output.queued = (uint64_t)count;
  struct tcp_info info;
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
      size >= offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked) {
    output.confirmed = info.tcpi_bytes_acked;
  }
  return output;
}

bool ekn_socket_is_quiet(int socket) {
  char byte;
  ssize_t count = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

bool ekn_socket_wait_for_input(int socket, uint64_t nanoseconds) {
  struct pollfd entry = {socket, POLLIN, 0};
  struct timespec time = {0, (long)nanoseconds};
  return ppoll(&entry, 1, &time, NULL) > 0;
}

bool ekn_socket_is_writable(int socket) {
  struct pollfd entry = {socket, POLLOUT, 0};
  return poll(&entry, 1, 0) > 0;
}

typedef union {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
} any_address;

long ekn_socket_receive(int socket, void *bytes, size_t length) {
  ssize_t count;
  do count = recv(socket, bytes, length, MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  return count < 0 ? -errno : count;
}

long ekn_socket_send(int socket, const void *bytes, size_t length) {
  ssize_t count;
  do count = send(socket, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (count < 0 && errno == EINTR);
  return count < 0 ? -errno : count;
}

int ekn_socket_replace(int old) {
  int spare = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (spare < 0) return -1;
  int taken = fcntl(old, F_DUPFD_CLOEXEC, 0);
  if (taken >= 0 && dup3(spare, old, O_CLOEXEC) < 0) {
    close(taken);
    taken = -1;
  }
  close(spare);
  return taken;
}

void ekn_socket_close(int socket) { close(socket); }

bool ekn_socket_get_peer(int socket, char *text, size_t length) {
  any_address peer;
  socklen_t size = sizeof peer;
  if (getpeername(socket, &peer.any, &size) != 0) return false;
  const void *address = peer.any.sa_family == AF_INET ? (const void *)&peer.v4.sin_addr : (const void *)&peer.v6.sin6_addr;
  return inet_ntop(peer.any.sa_family, address, text, (socklen_t)length) != NULL;
}

int ekn_socket_open_netlink(uint32_t groups) {
  // struct sockaddr_nl, which only the kernel's headers declare. The kernel chooses the port.
  struct {
    sa_family_t family;
    unsigned short padding;
    uint32_t port;
    uint32_t groups;
  } address = {AF_NETLINK, 0, 0, groups};
  int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor >= 0 && bind(descriptor, (const struct sockaddr *)&address, sizeof address) != 0) {
    close(descriptor);
    return -1;
  }
  return descriptor;
}

#endif
