package aac

// The choice of windows: short ones where the sound rises so suddenly that the noise of
// long ones would be heard before it.
const (
	cuts      = 8 // of a frame, whose energies are compared
	cutLength = maxFrame / cuts

	attackRatio = 6    // to the mean of the three cuts before
	attackFloor = 1e-6 // of a sample: about -60 dB of full scale
	groupRatio  = 3    // between windows of a group
)

// An onset watches the energy of a channel.
type onset struct {
	last   float32
	energy [3 * cuts]float64 // of the cuts of three frames, the low end taken off
}

// push takes the samples of the next frame.
func (o *onset) push(x []float32) {
	copy(o.energy[:], o.energy[cuts:])
	for i := range cuts {
		sum := float32(0)
		for _, v := range x[i*cutLength:][:cutLength] {
			d := v - o.last
			o.last = v
			sum += float32(d * d)
		}
		o.energy[2*cuts+i] = float64(sum)
	}
}

// attack tells whether the sound rises within the short windows of a unit that begins with
// the second frame: from the middle of that one to the middle of the next.
func (o *onset) attack() bool {
	e := &o.energy
	for k := cuts + cuts/2; k < 2*cuts+cuts/2; k++ {
		if e[k] > attackFloor*cutLength && e[k]*3 > attackRatio*(e[k-1]+e[k-2]+e[k-3]) {
			return true
		}
	}
	return false
}

// grouped writes how many of eight short windows with these spectra are in each group:
// neighbours of about the same energy share scalefactors.
func grouped(group []int, spectra [][]float32) []int {
	const width = maxFrame / 8
	group = group[:0]
	mean, n := 0.0, 0
	for i := range 8 {
		sum := 0.0
		for _, x := range spectra {
			for _, v := range x[i*width:][:width] {
				sum += float64(v) * float64(v)
			}
		}
		if n > 0 && sum < groupRatio*mean && mean < groupRatio*sum {
			mean = (mean*float64(n) + sum) / float64(n+1)
			n++
			group[len(group)-1]++
			continue
		}
		mean, n = sum, 1
		group = append(group, 1)
	}
	return group
}
