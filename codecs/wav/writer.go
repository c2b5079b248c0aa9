package wav

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"quern/codecs/pcm"
)

const headerSize = 44

// A Writer encodes one WAV file.
type Writer struct {
	w        io.Writer
	seek     io.Seeker // nil when sizes cannot be put in afterwards
	rate     int
	channels int
	format   pcm.Format
	begun    bool
	buffered bool
	buf      []byte
	size     int64 // bytes of data so far
}

// NewWriter returns a Writer that passes samples on as they come. If w can
// seek, Close puts the true sizes into the header; otherwise both sizes are
// 0xFFFFFFFF, which players take for a stream.
func NewWriter(w io.Writer, rate, channels int, format pcm.Format) *Writer {
	checkFormat(rate, channels, format)
	seek, _ := w.(io.Seeker)
	return &Writer{w: w, seek: seek, rate: rate, channels: channels, format: format}
}

// NewBufferedWriter returns a Writer that keeps the file in memory until Close,
// so that its sizes are true whatever w is.
func NewBufferedWriter(w io.Writer, rate, channels int, format pcm.Format) *Writer {
	checkFormat(rate, channels, format)
	return &Writer{w: w, rate: rate, channels: channels, format: format, buffered: true}
}

func checkFormat(rate, channels int, format pcm.Format) {
	if rate <= 0 || channels <= 0 || channels > maxChannels || tagOf(format) == 0 {
		panic(fmt.Sprintf("wav: writing %d Hz, %d channels of %s", rate, channels, format))
	}
}

func tagOf(f pcm.Format) uint16 {
	switch f {
	case pcm.U8, pcm.S16, pcm.S24, pcm.S32:
		return tagPCM
	case pcm.F32, pcm.F64:
		return tagFloat
	case pcm.ALaw:
		return tagALaw
	case pcm.MuLaw:
		return tagMuLaw
	}
	return 0
}

// Write encodes x, whole frames, interleaved. Samples that are not finite are an
// error; see pcm.Encode for those beyond full scale.
func (w *Writer) Write(x []float32) error {
	if len(x)%w.channels != 0 {
		panic(fmt.Sprintf("wav: Write of %d samples for %d channels", len(x), w.channels))
	}
	if err := pcm.Check(x); err != nil {
		return fmt.Errorf("wav: %w", err)
	}
	if !w.buffered {
		w.buf = w.buf[:0]
	}
	if !w.begun && !w.buffered {
		w.buf = w.header(w.buf, unknownSize)
	}
	w.begun = true
	w.buf = pcm.Encode(w.buf, x, w.format)
	w.size += int64(len(x) * w.format.Size())
	if w.buffered || len(w.buf) == 0 {
		return nil
	}
	_, err := w.w.Write(w.buf)
	return err
}

// Close ends the file; it does not close what it writes to.
func (w *Writer) Close() error {
	if w.buffered {
		b := w.header(make([]byte, 0, headerSize), w.size)
		if _, err := w.w.Write(b); err != nil {
			return err
		}
		if w.size&1 != 0 {
			w.buf = append(w.buf, 0)
		}
		_, err := w.w.Write(w.buf)
		return err
	}
	if !w.begun {
		if err := w.Write(nil); err != nil {
			return err
		}
	}
	if w.seek == nil {
		return nil
	}
	if w.size&1 != 0 {
		if _, err := w.w.Write([]byte{0}); err != nil {
			return err
		}
	}
	// The file may not start where the writer's destination does.
	end := headerSize + w.size + w.size&1
	if _, err := w.seek.Seek(-end, io.SeekCurrent); err != nil {
		return nil // not a file after all, a pipe: the header stays a stream's
	}
	if _, err := w.w.Write(w.header(nil, w.size)); err != nil {
		return err
	}
	_, err := w.seek.Seek(end-headerSize, io.SeekCurrent)
	return err
}

// header appends the header of a file with size bytes of data.
func (w *Writer) header(dst []byte, size int64) []byte {
	riff := size + size&1 + headerSize - 8
	if riff >= math.MaxUint32 {
		size, riff = unknownSize, unknownSize
	}
	le := binary.LittleEndian
	frame := w.channels * w.format.Size()
	dst = le.AppendUint32(append(dst, "RIFF"...), uint32(riff))
	dst = le.AppendUint32(append(dst, "WAVEfmt "...), 16)
	dst = le.AppendUint16(dst, tagOf(w.format))
	dst = le.AppendUint16(dst, uint16(w.channels))
	dst = le.AppendUint32(dst, uint32(w.rate))
	dst = le.AppendUint32(dst, uint32(w.rate*frame))
	dst = le.AppendUint16(dst, uint16(frame))
	dst = le.AppendUint16(dst, uint16(8*w.format.Size()))
	return le.AppendUint32(append(dst, "data"...), uint32(size))
}
