package psycho

// Kinds of blocks, as the streams of MP3 and AAC number them: long windows, those that
// lead to short ones and back, and short windows.
const (
	Long = iota
	Start
	Short
	Stop
)

// NextBlock returns the kind of a block that wants to be short or not, after one of
// kind last and before one that will want to be short or not.
//
// ISO/IEC 11172-3, C.1.5.3.4; ISO/IEC 14496-3, 4.6.11.3.
func NextBlock(last int, short, then bool) int {
	switch {
	case short, last == Short && then:
		return Short
	case then:
		return Start
	case last == Short:
		return Stop
	}
	return Long
}
