package transcript

import (
	"fmt"
	"math"
	"strings"

	"quern/engine"
)

// SRT spells segments as SubRip subtitles.
func SRT(segments []engine.Segment) string {
	var b strings.Builder
	for i, s := range segments {
		fmt.Fprintf(&b, "%d\n%s --> %s\n%s\n\n", i+1, stamp(s.Start, ","), stamp(s.End, ","), caption(s.Text))
	}
	return b.String()
}

// VTT spells segments as WebVTT (W3C, "WebVTT: The Web Video Text Tracks
// Format").
func VTT(segments []engine.Segment) string {
	var b strings.Builder
	b.WriteString("WEBVTT\n\n")
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	for _, s := range segments {
		fmt.Fprintf(&b, "%s --> %s\n%s\n\n", stamp(s.Start, "."), stamp(s.End, "."), escape.Replace(caption(s.Text)))
	}
	return b.String()
}

// caption is a segment's text on one line: an empty line would end the caption
// and an arrow begin another.
func caption(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "-->", "->")
}

// stamp spells seconds as hours, minutes, seconds and milliseconds.
func stamp(seconds float64, point string) string {
	ms := int64(math.Round(seconds * 1000))
	return fmt.Sprintf("%02d:%02d:%02d%s%03d", ms/3600000, ms/60000%60, ms/1000%60, point, ms%1000)
}
