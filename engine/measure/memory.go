package measure

import "quern/engine/device"

// memorySample is larger than caches are.
const memorySample = 512 << 20

// ReadBandwidth is how fast threads of the CPU read memory, in bytes a second, without
// computing; 0 threads are one per core.
func ReadBandwidth(threads int) (float64, error) {
	b, _, err := device.Open("cpu", device.Options{Threads: threads})
	if err != nil {
		return 0, err
	}
	defer b.Close()
	data := make([]byte, memorySample)
	for i := 0; i < len(data); i += 4096 {
		data[i] = 1 // or it would all be one page of zeros
	}
	return b.ReadBandwidth([][]byte{data}), nil
}
