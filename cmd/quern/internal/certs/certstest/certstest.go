// Package certstest makes certificates for tests.
package certstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// A CA signs certificates.
type CA struct {
	PEM []byte

	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes a CA of a name.
func New(t testing.TB, name string) *CA {
	t.Helper()
	ca := &CA{t: t}
	ca.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	ca.PEM, _, ca.key = ca.sign(ca.cert, nil)
	return ca
}

// Pool trusts the CA.
func (ca *CA) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(ca.PEM)
	return p
}

// Sign makes a certificate of this machine, for servers and clients, and its key.
func (ca *CA) Sign(name string) (cert, key []byte) {
	ca.t.Helper()
	cert, key, _ = ca.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, ca.key)
	return cert, key
}

// Pair is Sign's, as a connection takes it.
func (ca *CA) Pair(name string) tls.Certificate {
	ca.t.Helper()
	p, err := tls.X509KeyPair(ca.Sign(name))
	if err != nil {
		ca.t.Fatal(err)
	}
	return p
}

// sign makes a certificate by a key, by its own where that is nil.
func (ca *CA) sign(c *x509.Certificate, by *ecdsa.PrivateKey) (cert, key []byte, own *ecdsa.PrivateKey) {
	ca.t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		ca.t.Fatal(err)
	}
	if by == nil {
		by = own
	}
	der, err := x509.CreateCertificate(rand.Reader, c, ca.cert, &own.PublicKey, by)
	if err != nil {
		ca.t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		ca.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}), own
}
