// The public suffix list (https://publicsuffix.org), read with libpsl, which is opened at run time.
#ifndef EKN_PSL_H
#define EKN_PSL_H

#if defined(__linux__)

#include <stdbool.h>

// Whether there is a list: the system's, or the one built into the library.
bool ekn_psl_available(void);

// Whether anyone may register names below this one. Names are in lower case, in UTF-8 or in IDNA's ASCII form.
bool ekn_psl_is_public_suffix(const char *domain);

// The registrable domain of a name, as a pointer into it: the public suffix and one label before it. NULL if the name
// is a public suffix itself.
const char *ekn_psl_registrable_domain(const char *domain);

#endif
#endif
