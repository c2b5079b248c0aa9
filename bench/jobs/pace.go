package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// pace measures lines a second of a batch that has a server to itself, and what chats wait for
// beside a batch and without one, in turns. Chats come one after the other at random
// times, so that they find whatever the batch is doing.
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
	var first, whole [2][]time.Duration // without and with a batch
	var lines int
	var during time.Duration
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
		began, before := time.Now(), 0
		if with == 1 {
			if b, err = look(ctx, bases, b.ID); err != nil {
				return err
			}
			before = b.Counts.Completed
		}
		r := rand.New(rand.NewPCG(o.seed, uint64(turn/2))) // the same times with and without
		for i := range o.chats / turns {
			if err := wait(ctx, time.Duration(r.ExpFloat64()*float64(o.pause))); err != nil {
				return err
			}
			one, all, err := chat(ctx, q.base, fmt.Sprintf("Tell me about %d in the turn %d.", i, turn))
			if err != nil {
				return err
			}
			first[with] = append(first[with], one)
			whole[with] = append(whole[with], all)
		}
		if with == 1 {
			now, err := look(ctx, bases, b.ID)
			if err != nil || now.Status != "in_progress" {
				return fmt.Errorf("the batch was %s when the chats were over (%v); ask fewer chats", now.Status, err)
			}
			lines += now.Counts.Completed - before
			during += time.Since(began)
			if _, err := call(ctx, bases, "POST", "/v1/batches/"+b.ID+"/cancel", "", nil); err != nil {
				return err
			}
			if err := ended(ctx, bases, b.ID); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%.1f lines a second beside chats\n", float64(lines)/during.Seconds())
	for _, of := range []struct {
		what string
		took [2][]time.Duration
	}{{"first token", first}, {"whole answer", whole}} {
		for i := range of.took {
			slices.Sort(of.took[i])
		}
		for _, p := range []int{50, 95, 99} {
			at := func(l []time.Duration) time.Duration { return l[min(len(l)*p/100, len(l)-1)] }
			without, with := at(of.took[0]), at(of.took[1])
			fmt.Printf("%s, %d of 100: %v without a batch, %v with: %.2f times\n", of.what, p, without.Round(time.Microsecond), with.Round(time.Microsecond), with.Seconds()/without.Seconds())
		}
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

// chat is how long one takes to say something, and all of its 8 tokens.
func chat(ctx context.Context, base, text string) (first, whole time.Duration, err error) {
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":%q}],"max_tokens":8,"ignore_eos":true,"stream":true}`, text)
	r, err := http.NewRequestWithContext(ctx, "POST", base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	began := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return 0, 0, fmt.Errorf("a chat was answered %s", resp.Status)
	}
	s := bufio.NewScanner(resp.Body)
	for s.Scan() {
		if first == 0 && strings.Contains(s.Text(), `"content":"`) && !strings.Contains(s.Text(), `"content":""`) {
			first = time.Since(began)
		}
	}
	if first == 0 {
		return 0, 0, fmt.Errorf("a chat said nothing: %v", s.Err())
	}
	return first, time.Since(began), nil
}
