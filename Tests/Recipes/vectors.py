#!/usr/bin/env python3
"""Writes signatures by Amazon's own implementation to Tests/RecipesTests/vectors.json: vectors.py. Requires botocore."""
import datetime, json, pathlib

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

DATE = datetime.datetime(2015, 8, 30, 12, 36, 0)
# The credentials of Amazon's published test suite.
KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
CASES = [
    # service, method, URL, fields, body, session token
    ("service", "GET", "https://example.amazonaws.com/", {}, "", None),
    ("service", "POST", "https://example.amazonaws.com/", {}, "", None),
    ("service", "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", {}, "", None),
    ("service", "GET", "https://example.amazonaws.com/?Param1=value2&Param1=value1", {}, "", None),
    ("service", "GET", "https://example.amazonaws.com/?Param1=", {}, "", None),
    ("service", "GET", "https://example.amazonaws.com/?a=b%20c&d=e%2Ff%3D&%C3%A9=%E1%88%B4", {}, "", None),
    ("service", "GET", "https://example.amazonaws.com/a%20b/%E1%88%B4", {}, "", None),
    ("service", "GET", "https://example.amazonaws.com:8443/path", {}, "", None),
    ("service", "POST", "https://example.amazonaws.com/",
        {"Content-Type": "application/x-www-form-urlencoded"}, "Param1=value1", None),
    ("service", "PUT", "https://example.amazonaws.com/x", {"X-Amz-Target": "  A   b "}, "{}", "a/session+token=="),
    ("s3", "GET", "https://bucket.s3.amazonaws.com/a%20folder/file%2B.txt?versionId=1", {}, "", None),
    ("s3", "PUT", "https://bucket.s3.amazonaws.com/file", {"Content-Type": "text/plain"}, "Wörter", "token"),
]


class Fixed(datetime.datetime):
    @classmethod
    def utcnow(cls):
        return DATE

    @classmethod
    def now(cls, tz=None):
        return DATE.replace(tzinfo=tz)


def signature(service, method, url, fields, body, token):
    request = AWSRequest(method=method, url=url, data=body.encode(), headers=fields)
    signer = botocore.auth.S3SigV4Auth if service == "s3" else botocore.auth.SigV4Auth
    signer(Credentials(KEY, SECRET, token), service, "us-east-1").add_auth(request)
    assert request.headers["X-Amz-Date"] == "20150830T123600Z"
    return request.headers["Authorization"]


def main():
    if hasattr(botocore.auth, "get_current_datetime"):
        botocore.auth.get_current_datetime = lambda remove_tzinfo=True: DATE
    else:
        botocore.auth.datetime = type("module", (), {"datetime": Fixed})
    names = ("service", "method", "url", "fields", "body", "token")
    vectors = [dict(zip(names, case)) | {"authorization": signature(*case)} for case in CASES]
    path = pathlib.Path(__file__).parent / "Tests/RecipesTests/vectors.json"
    path.write_text(json.dumps(vectors, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
