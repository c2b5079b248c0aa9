package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"quern/bench/internal/must"
	"quern/codecs"
)

// hearingRate is the sample rate of the recogniser's model, in Hz.
const hearingRate = 16000

// A recogniser is pocketsphinx with its US English model, as Debian packages them
// (pocketsphinx, pocketsphinx-en-us), with the options it has by default.
type recogniser struct {
	models string // folder of the model
	cache  string // folder of what was heard before, by hash of the samples; "" keeps nothing
}

// hear transcribes each recording, mono at hearingRate.
func (r *recogniser) hear(ctx context.Context, recordings [][]float32) (texts []string, err error) {
	defer must.Catch(&err)
	dir := must.Get(os.MkdirTemp("", "hear"))
	defer os.RemoveAll(dir)
	texts = make([]string, len(recordings))
	keys := make([]string, len(recordings))
	var list bytes.Buffer
	for i, x := range recordings {
		b := wave(x)
		sum := sha256.Sum256(b)
		keys[i] = hex.EncodeToString(sum[:12])
		if r.cache != "" {
			if t, err := os.ReadFile(filepath.Join(r.cache, keys[i])); err == nil {
				texts[i], keys[i] = string(t), ""
				continue
			}
		}
		must.Do(os.WriteFile(filepath.Join(dir, fmt.Sprint(i)+".wav"), b, 0o600))
		fmt.Fprintln(&list, i)
	}
	if list.Len() == 0 {
		return texts, nil
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	must.Do(os.WriteFile(in("list"), list.Bytes(), 0o600))
	cmd := exec.CommandContext(ctx, "pocketsphinx_batch", "-logfn", in("log"), "-adcin", "yes", "-adchdr", "44",
		"-hmm", filepath.Join(r.models, "en-us"), "-lm", filepath.Join(r.models, "en-us.lm.bin"), "-dict", filepath.Join(r.models, "cmudict-en-us.dict"),
		"-cepdir", dir, "-cepext", ".wav", "-ctl", in("list"), "-hyp", in("heard"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pocketsphinx_batch: %w: %s", err, out)
	}
	for line := range strings.Lines(string(must.Get(os.ReadFile(in("heard"))))) {
		// "the words (name score)"
		text, rest, _ := strings.Cut(line, "(")
		var i int
		if _, err := fmt.Sscan(rest, &i); err != nil || i < 0 || i >= len(texts) {
			return nil, fmt.Errorf("pocketsphinx_batch wrote %q", line)
		}
		texts[i] = strings.TrimSpace(text)
	}
	for i, k := range keys {
		if k != "" && r.cache != "" {
			must.Do(os.WriteFile(filepath.Join(r.cache, k), []byte(texts[i]), 0o600))
		}
	}
	return texts, nil
}

// wave returns samples as a WAV file of 16 bits at hearingRate.
func wave(x []float32) []byte {
	var b bytes.Buffer
	e := must.Get(must.Get(codecs.EncodingByName("wav")).Create(&b, hearingRate, 1, codecs.EncodeOptions{}))
	must.Do(e.Write(x))
	must.Do(e.Close())
	return b.Bytes()
}
