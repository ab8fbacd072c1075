// Limits how many tests run at once, and keeps the proxies of the environment from them. Linked into the tests, and called by nobody.
