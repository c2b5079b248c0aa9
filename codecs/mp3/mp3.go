// Package mp3 reads and writes MPEG audio layer III: MPEG-1 (32, 44.1 and 48
// kHz), MPEG-2 (16, 22.05 and 24 kHz) and the unofficial MPEG-2.5 (8, 11.025
// and 12 kHz).
//
// ISO/IEC 11172-3:1993 and ISO/IEC 13818-3:1998; in comments, "the standard".
package mp3

import "quern/codecs/internal/fault"

var (
	// ErrFormat marks input that is no MPEG audio, or is broken beyond use.
	ErrFormat = fault.Malformed("MP3")
	// ErrUnsupported marks valid MPEG audio that this package does not read: layers
	// I and II, and a sample rate that changes on the way.
	ErrUnsupported = fault.Unsupported("MPEG audio")
)

// DecoderDelay is how many samples a decoder's filter banks add in front, as
// encoders and the LAME tag count it: 528 and one.
const DecoderDelay = 528 + 1

const (
	lines = 576 // spectral lines of a granule, and samples it stands for
	// maxFrame is the longest frame read, in bytes: mpg123 has the same bound for free
	// format; others end at 1441.
	maxFrame = 3456
	maxSide  = 32
)
