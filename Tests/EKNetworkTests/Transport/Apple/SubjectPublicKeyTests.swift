import Foundation
import Testing

@testable import EKNetwork

@Suite("Public key pinning")
struct SubjectPublicKeyTests {
  /// Made by OpenSSL, as were the pins below: `openssl x509 -pubkey`, `openssl pkey -pubin -outform der`, SHA-256.
  static let elliptic = """
    -----BEGIN CERTIFICATE-----
    MIIBgzCCASmgAwIBAgIUaSlz2uGZwwQnjx+BdN3pnNFcgQcwCgYIKoZIzj0EAwIw
    FjEUMBIGA1UEAwwLcGlubmVkLnRlc3QwIBcNMjYxMTIxMjA1OTUyWhgPMjEyNjEw
    MjgyMDU5NTJaMBYxFDASBgNVBAMMC3Bpbm5lZC50ZXN0MFkwEwYHKoZIzj0CAQYI
    KoZIzj0DAQcDQgAE/W8y1IRMp6SwWxJn5x79aDiTggMiyPBdrX7hqH4+x+LioKS6
    zYjx7tkEYOG1h8CtOp0v4c+xRugfm3bSDTULA6NTMFEwHQYDVR0OBBYEFM9rEe4Z
    5hCs6IR65rPoOUKbQgCVMB8GA1UdIwQYMBaAFM9rEe4Z5hCs6IR65rPoOUKbQgCV
    MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgRlJJmfzroPEpr4YW
    JBW9XWPY4nlP7c6oIQithsUWzS4CIQCDC/VyeMN3DnanhssoW9bzyp77YF1+8moP
    oxzg1rUHaw==
    -----END CERTIFICATE-----
    """
  static let rsa = """
    -----BEGIN CERTIFICATE-----
    MIICIjCCAYugAwIBAgIUO2QENtTMkf+jt9lNIGNoZq5lajowDQYJKoZIhvcNAQEL
    BQAwIjEUMBIGA1UEAwwLcGlubmVkLnRlc3QxCjAIBgNVBAoMAUEwIBcNMjYxMTIx
    MjA1OTUyWhgPMjEyNjEwMjgyMDU5NTJaMCIxFDASBgNVBAMMC3Bpbm5lZC50ZXN0
    MQowCAYDVQQKDAFBMIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDQrlCCEfg/
    UDjREDisrMqbXg5oatUPWlzZuu65Ad7m9kHPILkLaI0a4qvBdfMCsVXTPyxqJ/rm
    2c4nDxJkHPVEBbltbwJBffvUvcBtacqbWxnog5fdG5sHr6DueVovJJFPdum/H1/h
    GgBwMHyfOurYwgDRto01+moNZZ5DN1yiaQIDAQABo1MwUTAdBgNVHQ4EFgQUbooA
    4cwfklaa9oxstSF3X87jzNAwHwYDVR0jBBgwFoAUbooA4cwfklaa9oxstSF3X87j
    zNAwDwYDVR0TAQH/BAUwAwEB/zANBgkqhkiG9w0BAQsFAAOBgQA9ccOmbZOFAuSl
    yd9CFJJJgbYQgXOHn8y36gVBWiSsm4tMbhM/BSIFwmdPRwcnDMKuJMZ9+yZyTCiN
    bXRKVvhra7ydG8/mYS/FC28h/YFu/fWvI5FQOJi4TShX4NPCUBSfUXJRhkyT3YzI
    /xIji05YtIRHrnxVTw4DBIBff5xdbg==
    -----END CERTIFICATE-----
    """
  private static let ellipticPin = "zQVZLV1XNcfyhc074iRYGas+yyo+MNqgQmpkfZvS1Ng="
  private static let rsaPin = "DPwJiTo1e+dqgd+JuvzFerRWCNzLhnnDXjucDU4agXo="

  private func bytes(_ text: String) throws -> [UInt8] {
    [UInt8](try #require(PEMFile.certificates(in: text)?.first))
  }

  @Test(arguments: [(elliptic, ellipticPin), (rsa, rsaPin)])
  func pinMatchesPublicKey(text: String, pin: String) throws {
    let certificate = try bytes(text)
    #expect(SubjectPublicKey.isPinned(certificate, by: [pin]))
    #expect(SubjectPublicKey.isPinned(certificate, by: ["x", pin]))
    #expect(!SubjectPublicKey.isPinned(certificate, by: ["x"]))
    #expect(!SubjectPublicKey.isPinned(certificate, by: []))
  }

  @Test("Truncated or modified certificates are parsed within their bounds")
  func hostile() throws {
    let certificate = try bytes(Self.elliptic)
    for count in 0..<certificate.count {
      #expect(!SubjectPublicKey.isPinned(Array(certificate[..<count]), by: [Self.ellipticPin]))
    }
    for index in certificate.indices {
      for value: UInt8 in [0, 0x7F, 0x80, 0x84, 0xFF] {
        var changed = certificate
        changed[index] = value
        _ = SubjectPublicKey.bytes(inCertificate: changed)
      }
    }
    #expect(SubjectPublicKey.bytes(inCertificate: [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]) == nil)
    #expect(SubjectPublicKey.bytes(inCertificate: [0x30, 0x80]) == nil)
    let empty: [UInt8] = [0x30, 14, 0x30, 12, 2, 0, 0x30, 0, 0x30, 0, 0x30, 0, 0x30, 0, 0x30, 0]
    #expect(SubjectPublicKey.bytes(inCertificate: empty) == [0x30, 0])
  }

  @Test func indefiniteLengthIsRejected() {
    func key(_ key: [UInt8]) -> [UInt8]? {
      // Serial number, algorithm, issuer, validity and subject, then the key.
      let fields = [0x02, 0x01, 0x01, 0x30, 0x00, 0x30, 0x00, 0x30, 0x00, 0x30, 0x00] + key
      func sequence(_ content: [UInt8]) -> [UInt8] { [0x30, 0x82, 0, UInt8(content.count)] + content }
      return SubjectPublicKey.bytes(inCertificate: sequence(sequence(fields))).map(Array.init)
    }
    #expect(key([0x30, 0x01, 0xFF]) == [0x30, 0x01, 0xFF])
    #expect(key([0x30, 0x81, 0x00]) == [0x30, 0x81, 0x00])
    // X.690 §8.1.3.6 is not for distinguished encoding.
    #expect(key([0x30, 0x80] + [UInt8](repeating: 0, count: 128)) == nil)
  }

  @Test("A PEM file yields its certificates in order")
  func files() throws {
    let both = "Subject: CN=a\r\n\(Self.elliptic)\n\n\(Self.rsa)\n"
    #expect(try PEMFile.certificates(in: both) == [Data(bytes(Self.elliptic)), Data(bytes(Self.rsa))])
    #expect(PEMFile.certificates(in: "") == [])
    #expect(PEMFile.certificates(in: String(Self.rsa.dropLast(40))) == nil)
    #expect(PEMFile.certificates(in: "-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----") == nil)
    #expect(PEMFile.certificates(in: URL(fileURLWithPath: "/nowhere")) == nil)
  }
}
