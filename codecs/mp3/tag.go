package mp3

import (
	"encoding/binary"
	"math"
)

// info is what the first frame tells about the stream if it is a tag: Xing's
// and LAME's ("Xing", or "Info" where the bitrate is constant) or Fraunhofer's
// (VBRI).
type info struct {
	frames         int64 // of the stream, without the tag; 0 if it does not say
	delay, padding int   // samples the encoder put before and after; -1 if it does not say
}

// parseInfo reads the tag in frame f; false means that it holds sound.
//
// mpg123 plays VBRI's as one frame of silence.
//
// Layout as LAME's "mp3 info tag" revision 1 and Fraunhofer's VBRI header give it.
func parseInfo(f []byte, h header) (in info, ok bool) {
	in = info{delay: -1, padding: -1}
	be := binary.BigEndian
	if at := 4 + 32; len(f) >= at+18 && string(f[at:at+4]) == "VBRI" {
		in.frames = int64(be.Uint32(f[at+14:]))
		return in, true
	}
	at := 4 + h.side()
	if len(f) < at+8 || string(f[at:at+4]) != "Xing" && string(f[at:at+4]) != "Info" {
		return in, false
	}
	flags := be.Uint32(f[at+4:])
	f = f[at+8:]
	for bit, size := range []int{4, 4, 100, 4} { // frames, bytes, seek table, quality
		if flags>>bit&1 == 0 {
			continue
		}
		if len(f) < size {
			return in, true
		}
		if bit == 0 {
			in.frames = int64(be.Uint32(f))
		}
		f = f[size:]
	}
	// LAME's part: 9 bytes of name, 12 of settings, then delay and padding. An encoder
	// that leaves them zero has none, as mpg123 takes it.
	if len(f) >= 24 {
		v := int(f[21])<<16 | int(f[22])<<8 | int(f[23])
		in.delay, in.padding = v>>12, v&0xFFF
	}
	return in, true
}

// infoFrame is the tag frame of a stream at kbps of size bytes, the tag included:
// a frame whose side information says that it holds nothing. A stream whose frames
// are 0 does not say how many there are. A bitrate whose frames are too short for the
// tag is raised for this frame.
func infoFrame(h header, kbps int, in info, size int64) []byte {
	const fields = 8 + 8 + 36 // name and flags, frames and bytes, LAME's part
	at := 4 + h.side()
	for i := h.kbps(); i < 15; i++ {
		if h = h&^(15<<12) | header(i)<<12; h.size(0) >= at+fields {
			break
		}
	}
	f := make([]byte, h.size(0))
	be := binary.BigEndian
	be.PutUint32(f, uint32(h))
	t := append(f[at:at], "Info"...)
	if in.frames > 0 && in.frames <= math.MaxUint32 && size <= math.MaxUint32 {
		t = be.AppendUint32(be.AppendUint32(be.AppendUint32(t, 3), uint32(in.frames)), uint32(size))
	} else {
		t = be.AppendUint32(t, 0)
	}
	t = append(t, "LAMEquern"...)       // FFmpeg believes those who begin like this
	t = append(t, make([]byte, 11)...)  // revision, lowpass, gain, flags
	t = append(t, byte(min(kbps, 255))) // bitrate
	v := in.delay<<12 | in.padding
	t = append(t, byte(v>>16), byte(v>>8), byte(v))
	t = append(t, 0, 0, 0, 0)            // misc, gain, preset
	t = be.AppendUint32(t, uint32(size)) // of the music
	t = append(t, 0, 0)                  // its checksum, which is not kept
	be.PutUint16(f[at+len(t):], crc16(f[:at+len(t)]))
	return f
}

// crc16 is LAME's checksum of its tag: CRC-16/ARC.
func crc16(b []byte) (sum uint16) {
	for _, x := range b {
		sum ^= uint16(x)
		for range 8 {
			if sum&1 != 0 {
				sum = sum>>1 ^ 0xA001
			} else {
				sum >>= 1
			}
		}
	}
	return sum
}

// tagSize returns the length of the tag that b begins with: ID3v1, ID3v2, or
// APEv2. ok is false if it begins with none. b has at least 32 bytes, or all there are.
func tagSize(b []byte) (n int64, ok bool) {
	switch {
	case len(b) >= 3 && string(b[:3]) == "TAG":
		return 128, true
	case len(b) >= 10 && string(b[:3]) == "ID3" && b[3] != 0xFF && b[4] != 0xFF && (b[6]|b[7]|b[8]|b[9])&0x80 == 0:
		n = 10 + int64(b[6])<<21 + int64(b[7])<<14 + int64(b[8])<<7 + int64(b[9])
		if b[5]&0x10 != 0 {
			n += 10 // a footer
		}
		return n, true
	case len(b) >= 32 && string(b[:8]) == "APETAGEX":
		// The size counts items and footer; a header, if this is one, comes on top.
		n = 32
		if binary.LittleEndian.Uint32(b[20:])&(1<<29) != 0 {
			n += int64(binary.LittleEndian.Uint32(b[12:]))
		}
		return n, true
	}
	return 0, false
}
