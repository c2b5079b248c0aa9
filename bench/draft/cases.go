package main

import (
	_ "embed"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"unicode"

	"quern/engine/token"
)

// A task is a prompt and, where the reply does not depend on the model, the reply: it is
// held to it by a mask that leaves every token to be drawn.
type task struct {
	name          string
	prompt, reply []token.ID
}

var (
	//go:embed texts/edit.txt
	edit string
	//go:embed texts/summary.txt
	summary string
	//go:embed texts/chat.txt
	chat string
)

// mostSpecial bounds the numbers of special tokens in vocabularies of ggufgen.
const mostSpecial = 300

// special is the first token that a text may have; those of small vocabularies begin sooner.
func special(vocab int) int { return min(mostSpecial, vocab/4) }

// texts are the tasks that lookup is measured by, for a vocabulary of so many tokens.
func texts(vocab int) (list []task) {
	for _, t := range []struct{ name, text string }{{"code edit", edit}, {"summary with quotes", summary}, {"chat", chat}} {
		prompt, reply, _ := strings.Cut(t.text, "\n=====\n")
		list = append(list, task{t.name, pieces(prompt, vocab), pieces(reply, vocab)})
	}
	return append(list, adversary(vocab))
}

// pieces are the tokens of a text, at about the length that trained tokenizers give it: words
// with the blank before them, in parts of six letters, and what else there is by itself.
// The numbers are hashes, since random weights do not care.
func pieces(text string, vocab int) (ids []token.ID) {
	var part strings.Builder
	end := func() {
		if part.Len() > 0 {
			h := fnv.New32a()
			h.Write([]byte(part.String()))
			ids = append(ids, token.ID(special(vocab)+int(h.Sum32()>>1)%(vocab-special(vocab))))
			part.Reset()
		}
	}
	var last rune
	for _, c := range text {
		letter := unicode.IsLetter(c) || unicode.IsDigit(c)
		goesOn := letter && (last == ' ' || unicode.IsLetter(last) || unicode.IsDigit(last)) || c == last && unicode.IsSpace(c)
		if !goesOn || part.Len() >= 6 {
			end()
		}
		part.WriteRune(c)
		last = c
	}
	end()
	return ids
}

// adversary is a text that repeats all pairs of tokens and follows none of them by the same
// twice: all that lookup drafts is wrong. It is de Bruijn's sequence of order three.
func adversary(vocab int) task {
	const symbols, order = 12, 3
	first := special(vocab)
	each := (vocab - first) / symbols
	var out []token.ID
	word := make([]int, symbols*order)
	var visit func(t, p int)
	visit = func(t, p int) { // Fredricksen, Kessler and Maiorana, 1978
		if t > order {
			if order%p == 0 {
				for _, w := range word[1 : p+1] {
					out = append(out, token.ID(first+w*each))
				}
			}
			return
		}
		word[t] = word[t-p]
		visit(t+1, p)
		for j := word[t-p] + 1; j < symbols; j++ {
			word[t] = j
			visit(t+1, t)
		}
	}
	visit(1, 1)
	// In another order, since that one begins with runs of one symbol.
	mix := rand.New(rand.NewPCG(1, 2)).Perm(symbols)
	for i, id := range out {
		out[i] = token.ID(first + mix[(int(id)-first)/each])
	}
	return task{"adversarial", out[:len(out)/2], out[len(out)/2:]}
}

// random is a prompt that the model answers as it likes.
func random(n, vocab int) task {
	rng := rand.New(rand.NewPCG(3, 4))
	t := task{name: "random tokens"}
	for range n {
		t.prompt = append(t.prompt, token.ID(special(vocab)+rng.IntN(vocab-special(vocab))))
	}
	return t
}
