package formant

// A Voice is a throat: the numbers that make two speakers differ.
type Voice struct {
	ID          string
	Name        string
	British     bool // only says which pronunciation suits the voice
	Female      bool
	Description string

	Pitch  float64 // Hz, where a statement's declination ends up in the middle
	Range  float64 // excursion of the accents, 1 = neutral
	Tract  float64 // formant frequencies relative to a 17 cm vocal tract
	Open   float64 // share of the glottal cycle with open folds
	Tilt   float64 // pole of the source's low-pass: more is softer
	Breath float64 // noise in the voice
	Rate   float64 // tempo, 1 = neutral
	Gain   float64 // loudness, so that all ten sound equally loud
}

// Voices are the ten voices, under the ids of the product.
var Voices = []Voice{
	{ID: "af_bella", Name: "Bella", Female: true, Description: "American female, warm",
		Pitch: 190, Range: 1.1, Tract: 1.06, Open: 0.62, Tilt: 0.50, Breath: 1.0, Rate: 0.98, Gain: 0.99},
	{ID: "af_sarah", Name: "Sarah", Female: true, Description: "American female, clear",
		Pitch: 205, Range: 1.0, Tract: 1.07, Open: 0.55, Tilt: 0.38, Breath: 0.6, Rate: 1.0, Gain: 0.92},
	{ID: "af_nicole", Name: "Nicole", Female: true, Description: "American female, soft and breathy",
		Pitch: 175, Range: 0.8, Tract: 1.06, Open: 0.72, Tilt: 0.62, Breath: 3.0, Rate: 0.92, Gain: 1.03},
	{ID: "af_sky", Name: "Sky", Female: true, Description: "American female, bright and young",
		Pitch: 225, Range: 1.2, Tract: 1.08, Open: 0.55, Tilt: 0.35, Breath: 0.8, Rate: 1.04, Gain: 0.84},
	{ID: "am_adam", Name: "Adam", Description: "American male, deep",
		Pitch: 98, Range: 0.9, Tract: 0.96, Open: 0.52, Tilt: 0.25, Breath: 0.5, Rate: 0.97, Gain: 1.26},
	{ID: "am_michael", Name: "Michael", Description: "American male, even",
		Pitch: 116, Range: 1.0, Tract: 1.00, Open: 0.50, Tilt: 0.10, Breath: 0.5, Rate: 1.0, Gain: 1.17},
	{ID: "bf_emma", Name: "Emma", British: true, Female: true, Description: "British female, composed",
		Pitch: 198, Range: 1.0, Tract: 1.06, Open: 0.58, Tilt: 0.42, Breath: 0.8, Rate: 0.97, Gain: 0.95},
	{ID: "bf_isabella", Name: "Isabella", British: true, Female: true, Description: "British female, lively",
		Pitch: 214, Range: 1.25, Tract: 1.08, Open: 0.60, Tilt: 0.45, Breath: 0.7, Rate: 1.03, Gain: 0.88},
	{ID: "bm_george", Name: "George", British: true, Description: "British male, measured",
		Pitch: 104, Range: 0.85, Tract: 0.98, Open: 0.55, Tilt: 0.25, Breath: 0.6, Rate: 0.94, Gain: 1.21},
	{ID: "bm_lewis", Name: "Lewis", British: true, Description: "British male, brisk",
		Pitch: 128, Range: 1.15, Tract: 1.03, Open: 0.50, Tilt: 0.10, Breath: 0.4, Rate: 1.06, Gain: 1.08},
}

// Find returns the voice with the given id.
func Find(id string) (*Voice, bool) {
	for i := range Voices {
		if Voices[i].ID == id {
			return &Voices[i], true
		}
	}
	return nil, false
}

// Mix returns a voice between others: every number is the weighted sum of
// theirs, kept within what a throat can do. Weights add up to 1.
func Mix(voices []*Voice, weight []float64) *Voice {
	var out Voice
	for i, v := range voices {
		w := weight[i]
		out.Pitch += w * v.Pitch
		out.Range += w * v.Range
		out.Tract += w * v.Tract
		out.Open += w * v.Open
		out.Tilt += w * v.Tilt
		out.Breath += w * v.Breath
		out.Rate += w * v.Rate
		out.Gain += w * v.Gain
	}
	limit := func(x *float64, least, most float64) { *x = min(max(*x, least), most) }
	limit(&out.Pitch, 60, 400)
	limit(&out.Range, 0, 2)
	limit(&out.Tract, 0.85, 1.35)
	limit(&out.Open, 0.3, 0.9)
	limit(&out.Tilt, 0, 0.9)
	limit(&out.Breath, 0, 5)
	limit(&out.Rate, 0.7, 1.4)
	limit(&out.Gain, 0.5, 2)
	return &out
}
