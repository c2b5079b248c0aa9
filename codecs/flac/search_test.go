package flac

import (
	"bytes"
	"io"
	"math"
	"testing"
)

// TestSearch: of input made of beginnings of frames, each of which reads on into those behind
// it, no more is decoded than its size allows.
func TestSearch(t *testing.T) {
	var out bytes.Buffer
	e, err := NewWriter(&out, 16000, 8)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, blockSize*8)
	for i := range x {
		x[i] = float32(math.Sin(float64(i*i%9973))) / 2
	}
	if err := e.Write(x); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	frame := out.Bytes()[streamBlock:]
	out.Write(bytes.Repeat(frame[:40], 2000))
	hostile := out.Bytes()
	d, err := NewReader(bytes.NewReader(hostile))
	if err != nil {
		t.Fatal(err)
	}
	buf, n := make([]float32, 8000), 0
	for err == nil {
		var k int
		k, err = d.Read(buf)
		n += k
	}
	if n != len(x) || err != io.EOF || !d.Cut() {
		t.Errorf("%d values, %v, cut %v; want %d of the frame before", n, err, d.Cut(), len(x))
	}
	allowed := searchFree + searchRatio*d.in.total
	if last := int64(searchTry + len(frame) + blockSize*8); d.spent <= allowed || d.spent > allowed+last {
		t.Errorf("the search cost %d; want it to end at %d", d.spent, allowed)
	}
}
