package aac

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	maxChannels = 8 // 7.1

	// Rates a configuration may spell out: those of the tables, with room.
	minRate, maxRate = 4000, 192000
)

// Audio object types. ISO/IEC 14496-3, table 1.17.
const (
	objectLC     = 2
	objectSBR    = 5
	objectPS     = 29
	objectEscape = 31
)

// objectNames names types that are refused.
var objectNames = map[int]string{
	1:  "AAC Main",
	3:  "AAC SSR",
	4:  "AAC LTP",
	6:  "AAC Scalable",
	7:  "TwinVQ",
	8:  "CELP",
	9:  "HVXC",
	17: "ER AAC LC",
	19: "ER AAC LTP",
	20: "ER AAC Scalable",
	21: "ER TwinVQ",
	22: "ER BSAC",
	23: "ER AAC LD",
	32: "MPEG-1/2 Layer I",
	33: "MPEG-1/2 Layer II",
	34: "MPEG-1/2 Layer III",
	35: "DST",
	36: "MPEG-4 ALS",
	37: "MPEG-4 SLS",
	39: "ER AAC ELD",
	42: "USAC (xHE-AAC)",
}

// Extensions of AAC-LC that a configuration can name.
const (
	noExtension = iota
	sbrExtension
	psExtension
)

// A config is what a decoder has to know about a stream.
type config struct {
	rate      int
	rateIndex int // of the tables for rate
	frame     int // frames of a unit: 1024 or 960
	extension int
	elements  []element // in the order of a unit; none if channels are unknown
	count     int       // channels
}

// An element is one of those a unit is made of.
type element struct {
	kind int
	tag  int    // -1: any
	at   [2]int // places of its channels in the room
	out  [2]int // and in the output
}

// Places of channels, in the order they have in WAVE files.
const (
	frontLeft = iota
	frontRight
	frontCentre
	lowFrequency
	backLeft
	backRight
	frontLeftOfCentre
	frontRightOfCentre
	backCentre
	sideLeft
	sideRight
	topFrontLeft  = 12
	topFrontRight = 14
	elsewhere     = 32 // and above: in the order of the stream
)

// roomElements are the elements of a channelConfiguration. The standard gives
// number 7 two pairs in front and none at the sides, but encoders use it for
// 7.1 with the pairs in this order, and players follow them.
//
// ISO/IEC 14496-3, table 1.19.
var roomElements = [16][]element{
	1:  {centre},
	2:  {front},
	3:  {centre, front},
	4:  {centre, front, behind},
	5:  {centre, front, back},
	6:  {centre, front, back, low},
	7:  {centre, front, side, back, low},
	11: {centre, front, side, behind, low},
	12: {centre, front, side, back, low},
	14: {centre, front, back, low, top},
}

var (
	centre = element{kind: elementSCE, tag: -1, at: [2]int{frontCentre}}
	front  = element{kind: elementCPE, tag: -1, at: [2]int{frontLeft, frontRight}}
	inner  = element{kind: elementCPE, tag: -1, at: [2]int{frontLeftOfCentre, frontRightOfCentre}}
	side   = element{kind: elementCPE, tag: -1, at: [2]int{sideLeft, sideRight}}
	back   = element{kind: elementCPE, tag: -1, at: [2]int{backLeft, backRight}}
	behind = element{kind: elementSCE, tag: -1, at: [2]int{backCentre}}
	low    = element{kind: elementLFE, tag: -1, at: [2]int{lowFrequency}}
	top    = element{kind: elementCPE, tag: -1, at: [2]int{topFrontLeft, topFrontRight}}
)

// setElements takes the channels of es into c, in the order of their places.
func (c *config) setElements(es []element) error {
	type place struct{ at, element, side int }
	var places []place
	es = slices.Clone(es)
	for i, e := range es {
		places = append(places, place{e.at[0], i, 0})
		if e.kind == elementCPE {
			places = append(places, place{e.at[1], i, 1})
		}
	}
	if len(places) > maxChannels {
		return fmt.Errorf("%w: %d channels", ErrUnsupported, len(places))
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	for out, p := range places {
		es[p.element].out[p.side] = out
	}
	c.elements, c.count = es, len(places)
	return nil
}

// setChannels takes a channelConfiguration other than 0.
func (c *config) setChannels(n int) error {
	if n >= len(roomElements) || roomElements[n] == nil {
		return fmt.Errorf("%w: channel configuration %d", ErrUnsupported, n)
	}
	return c.setElements(roomElements[n])
}

// parseConfig reads AudioSpecificConfig().
//
// ISO/IEC 14496-3, table 1.15.
func parseConfig(asc []byte) (config, error) {
	if len(asc) > maxUnit {
		return config{}, fmt.Errorf("%w: configuration of %d bytes", ErrFormat, len(asc))
	}
	var b bits
	b.set(asc)
	c := config{frame: maxFrame}
	object := readObject(&b)
	c.rate = readRate(&b)
	channels := b.read(4)
	if object == objectSBR || object == objectPS {
		c.extension = sbrExtension
		if object == objectPS {
			c.extension = psExtension
		}
		readRate(&b) // of the output with the extension
		object = readObject(&b)
	}
	if b.over() {
		return c, fmt.Errorf("%w: configuration ends early", ErrFormat)
	}
	if object != objectLC {
		name, ok := objectNames[object]
		if !ok {
			name = fmt.Sprintf("audio object type %d", object)
		}
		return c, fmt.Errorf("%w: %s", ErrUnsupported, name)
	}
	if c.rate == 0 {
		return c, fmt.Errorf("%w: no sampling rate", ErrFormat)
	}
	if c.rate < minRate || c.rate > maxRate {
		return c, fmt.Errorf("%w: %d Hz", ErrUnsupported, c.rate)
	}
	c.rateIndex = tableRate(c.rate)

	// GASpecificConfig().
	if b.flag() {
		c.frame = 960
	}
	if b.flag() {
		return c, fmt.Errorf("%w: AAC that depends on a core coder", ErrUnsupported)
	}
	b.skip(1) // extensionFlag: nothing follows for AAC-LC
	if channels == 0 {
		es, err := readProgram(&b, 0)
		if err != nil {
			return c, err
		}
		if err := c.setElements(es); err != nil {
			return c, err
		}
	} else if err := c.setChannels(channels); err != nil {
		return c, err
	}
	if c.extension == noExtension {
		c.readExtension(&b)
	}
	return c, nil
}

// What begins the extensions of a configuration.
const (
	syncSBR = 0x2b7
	syncPS  = 0x548
)

// readExtension looks for the extension that decoders of plain AAC pass over.
func (c *config) readExtension(b *bits) {
	if b.left() < 16 || b.read(11) != syncSBR || readObject(b) != objectSBR || !b.flag() {
		return
	}
	c.extension = sbrExtension
	readRate(b)
	if b.left() >= 12 && b.read(11) == syncPS && b.flag() {
		c.extension = psExtension
	}
}

// readObject reads an audio object type.
func readObject(b *bits) int {
	t := b.read(5)
	if t == objectEscape {
		t = 32 + b.read(6)
	}
	return t
}

// readRate reads a sampling rate in Hz, 0 for a reserved one.
func readRate(b *bits) int {
	i := b.read(4)
	if i == 15 {
		return b.read(24)
	}
	if i >= len(rates) {
		return 0
	}
	return rates[i]
}

// tableRate is the index of the rate whose tables are used at a rate that has
// no index.
//
// ISO/IEC 14496-3, table 4.82.
func tableRate(rate int) int {
	least := [12]int{92017, 75132, 55426, 46009, 37566, 27713, 23004, 18783, 13856, 11502, 9391, 0}
	if i := slices.Index(rates[:], rate); i >= 0 {
		return i
	}
	return slices.IndexFunc(least[:], func(l int) bool { return rate >= l })
}

// readProgram reads program_config_element(), in a structure that began at bit
// start, for the elements of a unit.
//
// ISO/IEC 14496-3, table 4.2.
func readProgram(b *bits, start int) ([]element, error) {
	b.skip(4 + 2 + 4) // tag, object type, rate: those around it count
	fronts, sides, backs, lows := b.read(4), b.read(4), b.read(4), b.read(2)
	data, coupled := b.read(3), b.read(4)
	if b.flag() {
		b.skip(4) // mono mixdown
	}
	if b.flag() {
		b.skip(4) // stereo mixdown
	}
	if b.flag() {
		b.skip(3) // matrix mixdown
	}
	read := func(n int) []element {
		es := make([]element, n)
		for i := range es {
			if b.flag() {
				es[i].kind = elementCPE
			}
			es[i].tag = b.read(4)
		}
		return es
	}
	inFront, beside, inBack := read(fronts), read(sides), read(backs)
	place(inFront, []element{centre}, []element{inner, front})
	place(beside, nil, []element{side})
	if len(beside) == 0 {
		place(inBack, []element{behind}, []element{side, back})
	} else {
		place(inBack, []element{behind}, []element{back})
	}
	es := slices.Concat(inFront, beside, inBack)
	for range lows {
		es = append(es, element{kind: elementLFE, tag: b.read(4), at: [2]int{lowFrequency}})
	}
	b.skip(4*data + 5*coupled)
	b.pos = start + (b.pos-start+7)&^7
	b.skip(8 * b.read(8)) // comment
	if b.over() {
		return nil, fmt.Errorf("%w: channel description ends early", ErrFormat)
	}
	return es, nil
}

// place gives the elements of one side of the room the places of singles and
// pairs, the last element the last place. Elements without one come after all places.
func place(es, singles, pairs []element) {
	for i := len(es) - 1; i >= 0; i-- {
		e := &es[i]
		places := &singles
		if e.kind == elementCPE {
			places = &pairs
		}
		e.at = [2]int{elsewhere + 2*i, elsewhere + 2*i + 1}
		if n := len(*places); n > 0 {
			e.at = (*places)[n-1].at
			*places = (*places)[:n-1]
		}
	}
}
