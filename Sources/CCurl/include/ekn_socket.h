// What the kernel says of a TCP connection, and of the networks.
#ifndef EKN_SOCKET_H
#define EKN_SOCKET_H

#if defined(__linux__)

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  // The bytes that are still to be sent, or that the peer has not confirmed.
  uint64_t queued;
  // The bytes that the peer has confirmed since the connection was opened; 0 where the kernel does not say (Linux before 4.1).
  uint64_t confirmed;
} ekn_socket_output;

ekn_socket_output ekn_socket_get_output(int socket);

typedef enum {
  // There is nothing to be read for now.
  EKN_SOCKET_QUIET,
  EKN_SOCKET_READABLE,
  // The peer has closed its side, and everything that it sent has been read; or the connection is broken.
  EKN_SOCKET_AT_END,
} ekn_socket_input;

ekn_socket_input ekn_socket_get_input(int socket);
// The local port; 0 where it has none.
int ekn_socket_local_port(int socket);

// A socket that hears what the kernel says of networks (rtnetlink), in these groups; -1 where there is none.
int ekn_socket_open_netlink(uint32_t groups);

#endif
#endif
