// The state of TCP connections and networks in the kernel.
#ifndef EKN_SOCKET_H
#define EKN_SOCKET_H

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  // The number of bytes that have yet to be sent, or that the peer has not acknowledged.
  uint64_t queued;
  // The number of bytes that the peer has acknowledged since the connection was opened; 0 if the kernel does not report
  // it (Linux before 4.1).
  uint64_t confirmed;
} ekn_socket_output;

ekn_socket_output ekn_socket_get_output(int socket);

// Whether there is nothing to read, and the connection has not ended.
bool ekn_socket_is_quiet(int socket);
// Waits until there is something to read or the connection has ended; false after so many nanoseconds, less than a second.
bool ekn_socket_wait_for_input(int socket, uint64_t nanoseconds);
// Whether the system has room for more output.
bool ekn_socket_is_writable(int socket);
// Receives without waiting: the number of bytes, 0 at the end, or a negative error.
long ekn_socket_receive(int socket, void *bytes, size_t length);
// Sends without waiting and without a signal: the number of bytes, or a negative error.
long ekn_socket_send(int socket, const void *bytes, size_t length);
// Moves a connection to a new descriptor, which is returned, and replaces the old one by one that is not connected. -1,
// with nothing changed, if there are no descriptors left.
int ekn_socket_replace(int socket);
void ekn_socket_close(int socket);
// The numeric address of the peer; false if it has none.
bool ekn_socket_get_peer(int socket, char *text, size_t length);

// A socket that receives the kernel's messages about networks (rtnetlink) in these groups; -1 if it cannot be opened.
int ekn_socket_open_netlink(uint32_t groups);

#endif
#endif
