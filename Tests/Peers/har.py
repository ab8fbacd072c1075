"""Reads a HAR file with haralyzer and prints a JSON list of its entries."""
import json
import sys

from haralyzer import HarParser

parser = HarParser.from_file(sys.argv[1])
assert parser.version == "1.2" and parser.creator["name"] == "EKNetwork"
(page,) = parser.pages
entries = []
for entry in page.entries:
    request, response = entry.request, entry.response
    assert entry.startTime.tzinfo and isinstance(entry.cache, dict) and set(entry.timings) >= {"send", "wait", "receive"}
    # Everything that HAR 1.2 requires; a missing member is a KeyError.
    for message in request, response:
        assert message["cookies"] == [] and message["headersSize"] == -1 and message["bodySize"] >= -1
        assert isinstance(message.httpVersion, str) and all(field.keys() == {"name", "value"} for field in message.headers)
    entries.append({
        "method": request.method,
        "url": request.url,
        "query": [item["value"] for item in request.queryString],
        "accept": request.accept,
        "sent": request.text,
        "status": entry.status,
        "type": response.mimeType,
        "size": response.contentSize,
        "text": response.text,
        "encoding": response.textEncoding,
        "redirect": response.redirectURL,
        "time": entry.time,
    })
    parser.create_asset_timeline([entry])
print(json.dumps(entries))
