package aac

import "fmt"

// Elements of a raw_data_block, as the stream numbers them.
const (
	elementSCE  = iota // a channel
	elementCPE         // a pair of channels
	elementCCE         // coupling
	elementLFE         // low frequencies
	elementDSE         // data
	elementPCE         // configuration
	elementFill        // padding and extensions
	elementEnd
)

// readBlock reads the spectra of all channels.
//
// ISO/IEC 14496-3, table 4.3, raw_data_block().
func (d *Decoder) readBlock() error {
	b := &d.bits
	start := b.pos
	var seen uint // elements of the configuration, a bit each
	for {
		if b.over() {
			return errShort
		}
		switch kind := b.read(3); kind {
		case elementSCE, elementCPE, elementLFE:
			tag := b.read(4)
			i := d.element(kind, tag, seen)
			if i < 0 {
				return fmt.Errorf("%w: %s %d is not in the configuration", ErrFormat, elementNames[kind], tag)
			}
			seen |= 1 << i
			if err := d.readElement(&d.elements[i]); err != nil {
				return err
			}
		case elementCCE:
			return fmt.Errorf("%w: coupling channels", ErrUnsupported)
		case elementDSE:
			d.skipData()
		case elementPCE:
			// It repeats what is known, or describes the next program.
			if _, err := readProgram(b, start); err != nil {
				return err
			}
		case elementFill:
			d.skipFill()
		case elementEnd:
			b.align()
			if b.over() {
				return errShort
			}
			if seen != 1<<len(d.elements)-1 {
				return fmt.Errorf("%w: unit without all of its channels", ErrFormat)
			}
			return nil
		}
	}
}

var elementNames = [...]string{"channel", "channel pair", "", "low-frequency channel"}

// element finds the element of the configuration that the next one of a unit
// is, or -1.
func (d *Decoder) element(kind, tag int, seen uint) int {
	for i, e := range d.elements {
		if e.kind == kind && seen>>i&1 == 0 && (e.tag == tag || e.tag < 0) {
			return i
		}
	}
	return -1
}

// readElement reads an element after its tag.
func (d *Decoder) readElement(e *element) error {
	l := d.channels[e.out[0]]
	if e.kind != elementCPE {
		if err := d.readChannel(l, false); err != nil {
			return err
		}
		d.fillNoise(l, nil, nil)
		l.shape()
		return nil
	}
	r := d.channels[e.out[1]]
	common := d.bits.flag()
	if common {
		if err := d.readLayout(&l.layout); err != nil {
			return err
		}
		r.layout = l.layout
		d.readPairing(&d.joint, &l.layout)
	}
	if err := d.readChannel(l, common); err != nil {
		return err
	}
	if err := d.readChannel(r, common); err != nil {
		return err
	}
	if common {
		d.fillNoise(l, r, &d.joint)
		d.joint.unpair(l, r)
	} else {
		d.fillNoise(l, nil, nil)
		d.fillNoise(r, nil, nil)
	}
	l.shape()
	r.shape()
	return nil
}

// skipData passes over data_stream_element().
func (d *Decoder) skipData() {
	b := &d.bits
	b.skip(4)
	align := b.flag()
	n := b.read(8)
	if n == 255 {
		n += b.read(8)
	}
	if align {
		b.align()
	}
	b.skip(8 * n)
}

// Extensions in a fill element that mean HE-AAC.
const (
	fillSBR    = 13
	fillSBRCRC = 14
)

// skipFill passes over fill_element(), noting what it extends.
func (d *Decoder) skipFill() {
	b := &d.bits
	n := b.read(4)
	if n == 15 {
		n += b.read(8) - 1
	}
	if n == 0 {
		return
	}
	if t := b.read(4); t == fillSBR || t == fillSBRCRC {
		d.sbr = true
	}
	b.skip(8*n - 4)
}
