package ogg

// maxPacket bounds a packet. Audio packets have a few kilobytes and setup
// headers some hundred; only comments with a picture are longer, and
// comments are not read.
const maxPacket = 1 << 20

// packets puts the packets of one logical stream together.
type packets struct {
	partial []byte
	open    bool // partial is the start of a packet
}

// add calls f with every packet that ends on p, cut off at maxPacket bytes. The
// packet is valid during the call.
func (s *packets) add(p page, f func(packet []byte) error) error {
	continued := p.flags&flagContinued != 0
	if !continued {
		s.drop()
	}
	// What continues a packet whose start is missing is dropped with it.
	skip := continued && !s.open
	body := p.body
	for _, l := range p.lacing {
		part := body[:l]
		body = body[l:]
		if !skip {
			s.partial = append(s.partial, part[:min(len(part), maxPacket-len(s.partial))]...)
			s.open = true
		}
		if l == 255 {
			continue
		}
		if !skip {
			err := f(s.partial)
			s.drop()
			if err != nil {
				return err
			}
		}
		skip = false
	}
	return nil
}

// drop forgets the start of a packet.
func (s *packets) drop() { s.partial, s.open = s.partial[:0], false }
