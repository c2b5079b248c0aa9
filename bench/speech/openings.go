package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
)

// openings are how answers begin: as a chat writes them, as books do, with short sentences
// and long ones, numbers and names.
var openings = []string{
	firstSentence,
	"Sure! Here is a short explanation of how windmills work, from the sails down to the stones between which the grain is ground.",
	"Although none of the villagers had expected it to happen so late in the year, the river froze within a single night.",
	"Windmills were built in Holland to pump water out of the fields and to grind the grain that grew there.",
	"Yes, that works.",
	"On March 3rd, 2024, the temperature in Oslo rose to 12.5 degrees, which nobody there had seen so early.",
	"I'm sorry, but I could not find any flights from Berlin to Lisbon on that day.",
	"Photosynthesis converts carbon dioxide and water into glucose and oxygen with the energy of sunlight.",
	"What would you like to know about the history of the Byzantine Empire?",
	"Dr. Smith, who lives on Elm Street, has three dogs, two cats and a parrot that speaks Portuguese.",
}

// soon measures when the first sound of answers that begin in different ways leaves. Each
// goes on with a sentence, since answers do.
func soon(ctx context.Context, o options, out io.Writer) (err error) {
	defer must.Catch(&err)
	must.Get(speak(ctx, o, "Warm up.", "mp3"))
	w := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintf(w, "| answer begins |\tfirst byte of pcm, ms: median |\tworst |\tof mp3: median |\tworst |\n|---|\t---:|\t---:|\t---:|\t---:|\n")
	formats := []string{"pcm", "mp3"}
	every := make([][]float64, len(formats))
	for _, text := range openings {
		took := make([][]float64, len(formats))
		for range o.runs {
			for i, format := range formats {
				t := must.Get(speak(ctx, o, text+" The miller opens the gate every morning.", format))
				took[i] = append(took[i], float64(t.first)/float64(time.Millisecond))
			}
		}
		fmt.Fprintf(w, "| %.40s |", text)
		for i := range formats {
			fmt.Fprintf(w, "\t%.0f |\t%.0f |", stat.Median(took[i]), slices.Max(took[i]))
			every[i] = append(every[i], took[i]...)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| all |")
	for i := range formats {
		fmt.Fprintf(w, "\t%.0f |\t%.0f |", stat.Median(every[i]), slices.Max(every[i]))
	}
	fmt.Fprintln(w)
	return w.Flush()
}
