package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// pace measures lines a second of a batch that has a server to itself, and the time to the
// first token of chats beside a batch and without one, in turns.
func pace(ctx context.Context, o *options) error {
	q, err := newQuern(o, "quern")
	if err != nil {
		return err
	}
	defer q.kill()
	if err := q.start(ctx); err != nil {
		return err
	}
	bases := []string{q.base}
	began := time.Now()
	b, err := begin(ctx, patient(bases), o.lines, o.tokens)
	if err != nil {
		return err
	}
	if err := finish(ctx, bases, b.ID, o.lines); err != nil {
		return err
	}
	fmt.Printf("%.0f lines a second, %d tokens each\n", float64(o.lines)/time.Since(began).Seconds(), o.tokens)

	const turns = 4
	var first [2][]time.Duration // without and with a batch
	for turn := range 2 * turns {
		with := turn % 2
		if with == 1 {
			if b, err = begin(ctx, patient(bases), 50_000, o.tokens); err != nil {
				return err
			}
			if err := running(ctx, bases, b.ID); err != nil {
				return err
			}
		}
		for i := range o.chats / turns {
			took, err := firstToken(ctx, q.base, fmt.Sprintf("Tell me about %d in the turn %d.", i, turn))
			if err != nil {
				return err
			}
			first[with] = append(first[with], took)
		}
		if with == 1 {
			if now, err := look(ctx, bases, b.ID); err != nil || now.Status != "in_progress" {
				return fmt.Errorf("the batch was %s when the chats were over (%v); ask fewer chats", now.Status, err)
			}
			if _, err := call(ctx, bases, "POST", "/v1/batches/"+b.ID+"/cancel", "", nil); err != nil {
				return err
			}
			if err := ended(ctx, bases, b.ID); err != nil {
				return err
			}
		}
	}
	for i := range first {
		slices.Sort(first[i])
	}
	at := func(l []time.Duration, p int) time.Duration { return l[min(len(l)*p/100, len(l)-1)] }
	for _, p := range []int{50, 95} {
		without, with := at(first[0], p), at(first[1], p)
		fmt.Printf("first token, %d of 100: %v without a batch, %v with: %.2f times\n", p, without.Round(time.Microsecond), with.Round(time.Microsecond), float64(with)/float64(without))
	}
	return nil
}

// running waits until lines of a batch run.
func running(ctx context.Context, bases []string, id string) error {
	for {
		b, err := look(ctx, bases, id)
		if err != nil || b.Counts.Completed > 0 {
			return err
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func ended(ctx context.Context, bases []string, id string) error {
	for {
		b, err := look(ctx, bases, id)
		if err != nil || b.Status == "cancelled" {
			return err
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// firstToken is how long a chat takes to say something.
func firstToken(ctx context.Context, base, text string) (time.Duration, error) {
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":%q}],"max_tokens":8,"stream":true}`, text)
	r, err := http.NewRequestWithContext(ctx, "POST", base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	began := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return 0, fmt.Errorf("a chat was answered %s", resp.Status)
	}
	var took time.Duration
	s := bufio.NewScanner(resp.Body)
	for s.Scan() {
		if took == 0 && strings.Contains(s.Text(), `"content":"`) && !strings.Contains(s.Text(), `"content":""`) {
			took = time.Since(began)
		}
	}
	if took == 0 {
		return 0, fmt.Errorf("a chat said nothing: %v", s.Err())
	}
	return took, nil
}
