// Package resample changes the sampling rate of audio and mixes channels down.
package resample

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"quern/kernels/dot"
	"quern/kernels/quant"
)

// ErrRate is wrapped by the error for rates that are out of bounds.
var ErrRate = errors.New("sampling rate out of bounds")

const (
	minRate = 1000
	maxRate = 1 << 20

	// The filter: a sinc with so many zero crossings on either side of its
	// middle, cut at rollOff of the lower Nyquist frequency, under a Kaiser
	// window. Going to 16 kHz it takes 0.4 dB at 7.5 kHz and leaves less than
	// -110 dB of what lies above 8.5 kHz.
	zeros   = 64
	beta    = 11
	rollOff = 0.965

	// maxPhases bounds the table of a ratio of large coprime numbers. Between
	// its phases coefficients are interpolated, with an error below -115 dB.
	maxPhases = 1024

	lanes = 16 // rows are as long as so many: what is left of a sum is not vectors' work
)

// A Resampler converts a stream from one rate to another. Output sample k lies
// at the time of input sample k·in/out: there is no delay, and n input frames
// give ⌈n·out/in⌉. Not safe for concurrent use.
//
// Smith, "Digital Audio Resampling", ccrma.stanford.edu/~jos/resample.
type Resampler struct {
	up, down int // out and in, without common factors
	channels int
	half     int // input samples on either side that the filter reaches
	taps     int // coefficients of a row: 2·half, and zeros behind them
	phases   int
	table    []float32   // phases rows of taps, one row more when interpolated
	blend    bool        // interpolate rows
	between  [2]float32  // the results of two rows
	hist     [][]float32 // per channel, the input from the first sample that is still needed
	pos      int         // of the next output's first tap in hist
	frac     int         // of up: the next output lies so far behind that
	in, out  int64       // frames so far
	flushed  bool
}

// New returns a Resampler for interleaved frames. It panics unless channels is
// positive; rates come from files, so a bad one is an error.
func New(in, out, channels int) (*Resampler, error) {
	if channels <= 0 {
		panic(fmt.Sprintf("resample: %d channels", channels))
	}
	for _, rate := range []int{in, out} {
		if rate < minRate || rate > maxRate {
			return nil, fmt.Errorf("%w: %d Hz is not between %d and %d", ErrRate, rate, minRate, maxRate)
		}
	}
	g := gcd(in, out)
	r := &Resampler{up: out / g, down: in / g, channels: channels}
	r.hist = make([][]float32, channels)
	if r.up == r.down {
		return r, nil
	}
	cut := min(1, float64(out)/float64(in)) // of the input's Nyquist frequency
	r.half = int(math.Ceil(zeros / cut))
	r.taps = (2*r.half + lanes - 1) / lanes * lanes
	// The lower the cut-off, the slower coefficients change from phase to phase.
	limit := max(32, int(math.Ceil(maxPhases*cut)))
	r.phases, r.blend = r.up, false
	if r.up > limit {
		r.phases, r.blend = limit, true
	}
	r.table = table(r.half, r.taps, r.phases, r.blend, cut*rollOff)
	for c := range r.hist {
		// Silence before the start, so that the first output has its left side.
		r.hist[c] = make([]float32, r.half-1)
	}
	return r, nil
}

// table returns the filter at phases positions between two input samples, and
// at the next sample too if last. Each row sums to 1.
func table(half, taps, phases int, last bool, cut float64) []float32 {
	rows := phases
	if last {
		rows++
	}
	t := make([]float32, rows*taps)
	row, peak := make([]float64, 2*half), bessel(beta)
	for p := range rows {
		sum := 0.0
		for k := range row {
			x := float64(k-half+1) - float64(p)/float64(phases)
			row[k] = cut * sinc(cut*x) * kaiser(x/float64(half), peak)
			sum += row[k]
		}
		for k, v := range row {
			t[p*taps+k] = float32(v / sum)
		}
	}
	return t
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// kaiser is the window at x, which is 0 outside (-1, 1); peak is bessel(beta).
func kaiser(x, peak float64) float64 {
	if x <= -1 || x >= 1 {
		return 0
	}
	return bessel(beta*math.Sqrt(1-x*x)) / peak
}

// bessel is the modified Bessel function of the first kind and order 0.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1; term > 1e-17*sum; k++ {
		term *= (x / 2 / float64(k)) * (x / 2 / float64(k))
		sum += term
	}
	return sum
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Process appends to dst the output that the frames of src complete. What the
// filter still needs of src is copied.
func (r *Resampler) Process(dst, src []float32) []float32 {
	if len(src)%r.channels != 0 || r.flushed {
		panic(fmt.Sprintf("resample: Process of %d samples for %d channels, flushed: %t", len(src), r.channels, r.flushed))
	}
	r.in += int64(len(src) / r.channels)
	if r.up == r.down {
		return append(dst, src...)
	}
	r.push(src)
	return r.pull(dst, math.MaxInt64)
}

// Flush appends what remains of the stream to dst; nothing may follow.
func (r *Resampler) Flush(dst []float32) []float32 {
	if r.flushed || r.up == r.down {
		r.flushed = true
		return dst
	}
	r.flushed = true
	want := (r.in*int64(r.up) + int64(r.down) - 1) / int64(r.down)
	r.push(make([]float32, (r.taps-r.half+1)*r.channels))
	return r.pull(dst, want)
}

// loudest bounds samples so that the filter's sums stay finite.
const loudest = 1e30

// push adds frames to the history of each channel.
func (r *Resampler) push(src []float32) {
	for c := range r.hist {
		h := slices.Grow(r.hist[c], len(src)/r.channels)
		for i := c; i < len(src); i += r.channels {
			v := src[i]
			if v > loudest || v < -loudest {
				v = min(max(v, -loudest), loudest)
			}
			h = append(h, v)
		}
		r.hist[c] = h
	}
}

// pull appends the output that the history is long enough for, up to a total of
// limit frames, and forgets the history that it no longer needs.
func (r *Resampler) pull(dst []float32, limit int64) []float32 {
	n := 0 // outputs: the last begins as many input samples on as room
	if room := len(r.hist[0]) - r.taps - r.pos; room >= 0 {
		n = int(min(int64(((room+1)*r.up-r.frac+r.down-1)/r.down), limit-r.out))
	}
	at := len(dst)
	dst = slices.Grow(dst, n*r.channels)[:at+n*r.channels]
	for c, h := range r.hist {
		if y := dst[at:]; r.blend {
			r.blended(y, h, n, c)
		} else {
			r.filter(y, h, n, c)
		}
	}
	r.out += int64(n)
	r.frac += n * r.down
	r.pos += r.frac / r.up
	r.frac %= r.up
	used := min(r.pos, len(r.hist[0]))
	for c, h := range r.hist {
		r.hist[c] = h[:copy(h, h[used:])]
	}
	r.pos -= used
	return dst
}

// filter computes channel c of n frames. Every up-th lies at the same phase, down input samples
// after the one before.
func (r *Resampler) filter(dst, h []float32, n, c int) {
	for k := range min(r.up, n) {
		at := r.frac + k*r.down
		row, x := r.table[at%r.up*r.taps:][:r.taps], h[r.pos+at/r.up:]
		dot.Rows(quant.F32, dst[k*r.channels+c:], r.up*r.channels, quant.Floats(row), 1, r.taps, quant.Floats(x), 4*r.down, (n-k+r.up-1)/r.up)
	}
}

// blended computes channel c of n frames, each between what the rows before and behind its phase
// give.
func (r *Resampler) blended(dst, h []float32, n, c int) {
	y := &r.between
	for k := range n {
		at := r.frac + k*r.down
		phase := float64(at%r.up) * float64(r.phases) / float64(r.up)
		p := int(phase)
		rows, x := r.table[p*r.taps:][:2*r.taps], h[r.pos+at/r.up:]
		dot.Rows(quant.F32, y[:], 2, quant.Floats(rows), 2, r.taps, quant.Floats(x), 0, 1)
		dst[k*r.channels+c] = y[0] + float32(phase-float64(p))*(y[1]-y[0])
	}
}
