package audio

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"quern/bench/fixtures"
)

// wav reads the samples of a fixture, which stand behind a header of 44 bytes.
func wav(t *testing.T, name string) (x []float32) {
	t.Helper()
	data, err := os.ReadFile(fixtures.Path(t, "diarise", "signals", name+".wav"))
	if err != nil {
		t.Fatal(err)
	}
	for data = data[44:]; len(data) > 1; data = data[2:] {
		x = append(x, float32(int16(binary.LittleEndian.Uint16(data)))/32768)
	}
	return x
}

// Features are those of the programs that trained the networks, as the fixtures have
// them in float64. Steady bands are divided by almost nothing in the normalised
// features of the tones, where the mean difference counts.
func TestFeatures(t *testing.T) {
	data, err := os.ReadFile(fixtures.Path(t, "diarise", "features", "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index map[string]struct {
		Signal, Features string
		Shape            []int
	}
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for file, c := range index {
		f, err := NewFeatures(c.Features)
		if err != nil {
			continue // sherpa's of NeMo
		}
		compared++
		golden, err := os.ReadFile(fixtures.Path(t, "diarise", file))
		if err != nil {
			t.Fatal(err)
		}
		got := f.Of(wav(t, c.Signal))
		if n := c.Shape[0] * c.Shape[1]; len(got) != n || len(golden) != 4*n || f.Bands() != c.Shape[1] {
			t.Errorf("%s: %d numbers, want shape %v", file, len(got), c.Shape)
			continue
		}
		most, sum := 0.0, 0.0
		for i, v := range got {
			d := math.Abs(float64(v - math.Float32frombits(binary.LittleEndian.Uint32(golden[4*i:]))))
			most, sum = max(most, d), sum+d
		}
		mean := sum / float64(len(got))
		if c.Signal == "tones" && strings.HasPrefix(c.Features, "nemo") {
			if mean > 1e-2 {
				t.Errorf("%s: mean difference %g", file, mean)
			}
		} else if most > 1e-2 || mean > 1e-4 {
			t.Errorf("%s: differences up to %g, mean %g; want 1e-2 and 1e-4", file, most, mean)
		}
		t.Logf("%s: up to %.2g, mean %.2g", file, most, mean)
	}
	if compared != 18 {
		t.Errorf("%d goldens, want 18", compared)
	}
}

// Short audio, silence and a name there is not.
func TestFeaturesAtTheEdges(t *testing.T) {
	for _, v := range variants {
		f, err := NewFeatures(v.name)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 159, 160, 399, 400, 1000} {
			for _, x := range f.Of(make([]float32, n)) {
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					t.Fatalf("%s of %d silent samples: %g", v.name, n, x)
				}
			}
		}
		plain := f.Plain().Of(make([]float32, 1600))
		if want := float32(v.log(0)); len(plain) == 0 || plain[0] != want {
			t.Errorf("%s of silence, plain: %v, want %v", v.name, plain[0], want)
		}
	}
	if _, err := NewFeatures("mfcc"); err == nil {
		t.Error("features of any name")
	}
}
