package codecs_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"quern/bench/fixtures"
	"quern/codecs"
)

// Whole files are not called cut, and files that end in the middle are.
func TestCut(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Path(t, "audio"), "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	// Of these nothing tells: they neither say their length nor end with a mark or in
	// a frame. MP4 is not opened when its header was at the end.
	untold := map[string]bool{"wav_stream_ffffffff.wav": true, "m4a_frag.mp4": true, "mr_chrome_opus_first2.webm": true,
		"mr_chrome_opus_ts1000.mp4": true, "mr_ff_opus.webm": true, "webm_live_opus.webm": true}
	told := 0
	for _, file := range files {
		name := filepath.Base(file)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := codecs.Open(bytes.NewReader(data), codecs.Options{})
		if err != nil {
			continue // the notes beside them
		}
		whole := play(t, s)
		if read, claimed, cut := s.Cut(); cut || (whole-read).Abs() > time.Millisecond {
			t.Errorf("%s is whole: read %v of %v, %v", name, read, claimed, cut)
		}
		if told := s.Missing(); told != "" {
			t.Errorf("%s is whole: %s", name, told)
		}
		if s, err = codecs.Open(bytes.NewReader(data[:len(data)*57/100]), codecs.Options{}); err != nil || untold[name] {
			continue
		}
		rest := play(t, s)
		read, claimed, cut := s.Cut()
		if !cut || read < rest-time.Millisecond || read >= whole || claimed != 0 && claimed <= read {
			t.Errorf("%s, the first half: read %v of %v, cut: %v; whole it is %v", name, read, claimed, cut, whole)
		}
		told++
	}
	if told < 30 {
		t.Errorf("%d files were found to be cut", told)
	}
}

// play reads s to its end and returns how long it is.
func play(t *testing.T, s *codecs.Stream) time.Duration {
	t.Helper()
	buf, n := make([]float32, 4096*s.Channels()), 0
	for {
		k, err := s.Read(buf)
		n += k / s.Channels()
		if err == io.EOF {
			return time.Duration(float64(n) / float64(s.Rate()) * float64(time.Second))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
