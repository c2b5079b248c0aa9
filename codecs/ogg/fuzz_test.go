package ogg

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
)

// FuzzReader puts right the checksums that mutation spoils: without that nearly
// every page would be thrown away.
func FuzzReader(f *testing.F) {
	for _, name := range []string{"silk.opus", "celt.opus", "vorbis.ogg", "flac.oga"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		for at := 0; at+headerSize <= len(b); at++ {
			p := b[at:]
			if string(p[:4]) != magic || len(p) < headerSize+int(p[26]) {
				continue
			}
			n := headerSize + int(p[26])
			for _, l := range p[headerSize:n] {
				n += int(l)
			}
			if n <= len(p) {
				binary.LittleEndian.PutUint32(p[22:], checksum(p[:n]))
				at += n - 1
			}
		}
		d, err := NewReader(bytes.NewReader(b))
		if err != nil {
			return
		}
		buf := make([]float32, 8192)
		for {
			n, err := d.Read(buf)
			if n%d.Channels() != 0 {
				t.Fatalf("%d samples of %d channels", n, d.Channels())
			}
			if err != nil {
				return
			}
		}
	})
}
