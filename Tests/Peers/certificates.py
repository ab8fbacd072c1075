#!/usr/bin/env python3
"""Creates certificates for tests: certificates.py OUTDIR. Requires the package `cryptography`.

For each NAME it writes NAME.pem (for leaves with the chain that a server sends) and NAME.key:
  ca           the root that tests can trust
  good         a leaf of ca for localhost, 127.0.0.1 and ::1
  wrong-host   a leaf of ca for elsewhere.invalid
  expired      a leaf of ca that expired yesterday
  not-yet      a leaf of ca that becomes valid next year
  self-signed  a self-signed certificate for localhost
  unknown-ca   a root that is not trusted
  unknown-root a leaf of unknown-ca for localhost
  client       a client certificate of ca
  other-client another
"""

import datetime
import ipaddress
import os
import pathlib
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NOW = datetime.datetime.now(datetime.timezone.utc)
DAY = datetime.timedelta(days=1)
LOCAL = ["localhost", "127.0.0.1", "::1"]


def alternative(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def make(name, hosts=(), issuer=None, authority=False, client=False, begin=-DAY, end=30 * DAY):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"EKNetwork test {name}")])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + begin)
        .not_valid_after(NOW + end)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if issuer:
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer[1].public_key())
        builder = builder.add_extension(identifier, critical=False)
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([alternative(h) for h in hosts]), critical=False)
    if not authority:
        usage = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    return builder.sign(issuer[1] if issuer else key, hashes.SHA256()), key


def write(folder, name, certificate, key, chain=()):
    pem = serialization.Encoding.PEM
    (folder / f"{name}.pem").write_bytes(b"".join(c.public_bytes(pem) for c in (certificate, *chain)))
    path = folder / f"{name}.key"
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def make_all(folder):
    folder = pathlib.Path(folder)
    os.makedirs(folder, exist_ok=True)
    ca = make("ca", authority=True)
    unknown = make("unknown-ca", authority=True)
    write(folder, "ca", *ca)
    write(folder, "unknown-ca", *unknown)
    write(folder, "good", *make("good", LOCAL, ca))
    write(folder, "wrong-host", *make("wrong-host", ["elsewhere.invalid"], ca))
    write(folder, "expired", *make("expired", LOCAL, ca, begin=-30 * DAY, end=-DAY))
    write(folder, "not-yet", *make("not-yet", LOCAL, ca, begin=365 * DAY, end=400 * DAY))
    write(folder, "self-signed", *make("self-signed", LOCAL))
    write(folder, "unknown-root", *make("unknown-root", LOCAL, unknown), chain=[unknown[0]])
    for name in ("client", "other-client"):
        write(folder, name, *make(name, [], ca, client=True))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    make_all(sys.argv[1])
