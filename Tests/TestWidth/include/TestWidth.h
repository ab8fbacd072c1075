// Limits how many tests run at once. Linked into the tests, and called by nobody.
