// Limits how many tests run at once, keeps the proxies of the environment from them, and allows them descriptors. Linked into the tests, and called by nobody.
