// Package token turns text into token ids and back.
//
// A Spec says everything a model file records about its tokenizer, whatever
// the container. New checks it and builds a Vocab, which has every token and
// encodes text by one of three families: merging (byte-level BPE and
// SentencePiece BPE), unigram, and WordPiece. A Decoder turns a stream of ids
// back into text without ever cutting a character in half.
package token

import (
	"quern/engine/token/internal/pretoken"
	"quern/formats/weights"
)

// An ID numbers a token, from 0. Functions that may have none return None.
type ID = int32

// None stands for the absence of a token.
const None ID = -1

var (
	// ErrFormat marks a tokenizer description that contradicts itself.
	ErrFormat = weights.Malformed("tokenizer")
	// ErrUnsupported marks a valid description of a tokenizer we do not have.
	ErrUnsupported = pretoken.ErrUnsupported
)

// A Kind is the kind of a token. The numbers are GGUF's.
type Kind uint8

// The kinds. A token of the zero Kind is treated as Normal.
const (
	Normal      Kind = iota + 1
	Unknown          // stands for text the vocabulary cannot spell
	Control          // structure, never produced by plain text
	UserDefined      // matched in text before anything else
	Unused           // reserved
	Byte             // one byte, spelled <0xXX>
)

func (k Kind) String() string {
	switch k {
	case Normal:
		return "normal"
	case Unknown:
		return "unknown"
	case Control:
		return "control"
	case UserDefined:
		return "user-defined"
	case Unused:
		return "unused"
	case Byte:
		return "byte"
	}
	return "undefined"
}

// A Role is a job that a model file gives to one token.
type Role uint8

// The roles. FIM roles mark the parts of a fill-in-the-middle prompt.
const (
	BOS Role = iota
	EOS
	EOT // end of a turn
	EOM // end of a message that expects a tool's answer
	UNK
	SEP
	PAD
	CLS
	MASK
	FIMPrefix
	FIMSuffix
	FIMMiddle
	FIMPad
	FIMRepo
	FIMFile
	roles
)

var roleNames = [roles]string{
	"BOS", "EOS", "EOT", "EOM", "UNK", "SEP", "PAD", "CLS", "MASK",
	"FIM prefix", "FIM suffix", "FIM middle", "FIM pad", "FIM repository", "FIM file",
}

func (r Role) String() string {
	if r < roles {
		return roleNames[r]
	}
	return "undefined"
}
