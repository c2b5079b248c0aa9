package eleven

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// A vendorVoice describes a voice. ElevenLabs' client needs only its id.
type vendorVoice struct {
	ID          string            `json:"voice_id"`
	Name        string            `json:"name"`
	Category    string            `json:"category"`
	Labels      map[string]string `json:"labels"`
	Description string            `json:"description"`
	Preview     *string           `json:"preview_url"`
	Settings    voiceSettings     `json:"settings"`
	Models      []string          `json:"high_quality_base_model_ids"`
	Samples     *[]string         `json:"samples"`
}

type voiceSettings struct {
	Stability  float64 `json:"stability"`
	Similarity float64 `json:"similarity_boost"`
	Style      float64 `json:"style"`
	Boost      bool    `json:"use_speaker_boost"`
	Speed      float64 `json:"speed"`
}

var usualSettings = voiceSettings{Stability: 0.5, Similarity: 0.75, Speed: 1}

var accents = map[string]string{"en-us": "american", "en-gb": "british"}

// premade is the category of every voice here.
const premade = "premade"

func newVendorVoice(v engine.Voice) vendorVoice {
	language, _, _ := strings.Cut(v.Language, "-")
	labels := map[string]string{"gender": v.Gender, "language": language}
	if a := accents[v.Language]; a != "" {
		labels["accent"] = a
	}
	return vendorVoice{ID: v.ID, Name: v.Name, Category: premade, Labels: labels, Description: v.Description, Settings: usualSettings, Models: []string{v.Model}}
}

// says reports whether a voice's description contains a text.
func (v *vendorVoice) says(text string) bool {
	all := strings.Join([]string{v.ID, v.Name, v.Description, v.Category, v.Labels["gender"], v.Labels["accent"], v.Labels["language"]}, "\n")
	return strings.Contains(strings.ToLower(all), strings.ToLower(text))
}

// vendorVoices answers GET /v1/voices: all of them. Names that stand for a voice are
// valid but not listed.
func (a api) vendorVoices(c *server.Call) error {
	list := []vendorVoice{}
	for _, v := range a.Options.Engine.Voices() {
		if v.AliasOf == "" {
			list = append(list, newVendorVoice(v))
		}
	}
	return a.WriteJSON(c, 200, map[string]any{"voices": list})
}

// maxVoicePage is the vendor's largest page, and here the page of requests that name none:
// of the vendor's own voices the first page holds as many as there are.
const maxVoicePage = 100

// A voiceFilter keeps voices that have one of the values given.
type voiceFilter struct {
	name string
	has  func(v *vendorVoice, value string) bool
	of   []string // the values there can be; nil is any
}

func label(name string) func(*vendorVoice, string) bool {
	return func(v *vendorVoice, value string) bool { return strings.EqualFold(v.Labels[name], value) }
}

func never(*vendorVoice, string) bool { return false }

// voiceFilters are the query parameters of GET /v2/voices that choose. No voice here
// has an age or a use, was cloned, or is in a collection.
var voiceFilters = []voiceFilter{
	{"search", (*vendorVoice).says, nil},
	{"category", func(v *vendorVoice, value string) bool { return v.Category == value }, []string{premade, "cloned", "generated", "professional", "famous", "high_quality"}},
	{"voice_type", func(_ *vendorVoice, value string) bool { return value == "default" }, []string{"personal", "community", "default", "workspace", "non-default", "non-community", "saved"}},
	{"gender", label("gender"), nil},
	{"language", label("language"), nil},
	{"accent", label("accent"), nil},
	{"age", never, nil},
	{"use_cases", never, nil},
	{"collection_id", never, nil},
	{"fine_tuning_state", never, nil},
	{"high_quality", func(_ *vendorVoice, value string) bool { return value == "false" }, []string{"true", "false"}},
}

// searchVoices answers GET /v2/voices: the voices the query asks for, a page at a time.
func (a api) searchVoices(c *server.Call) error {
	q := c.R.URL.Query()
	bad := func(name, format string, args ...any) error {
		return fault.New(engine.CodeInvalidValue, name, name+" "+format, args...)
	}
	var list []vendorVoice
	ids := voiceIDs(q)
	for _, v := range a.Options.Engine.Voices() {
		// By its id a voice is found under any name it has.
		if ids == nil && v.AliasOf == "" || slices.Contains(ids, v.ID) {
			list = append(list, newVendorVoice(v))
		}
	}
	for _, f := range voiceFilters {
		values := slices.DeleteFunc(slices.Clone(q[f.name]), func(s string) bool { return s == "" })
		for _, value := range values {
			if f.of != nil && !slices.Contains(f.of, value) {
				return bad(f.name, "must be one of %s, got %.60q", strings.Join(f.of, ", "), value)
			}
		}
		if len(values) > 0 {
			list = slices.DeleteFunc(list, func(v vendorVoice) bool {
				return !slices.ContainsFunc(values, func(value string) bool { return f.has(&v, value) })
			})
		}
	}
	switch by := q.Get("sort"); by {
	case "name":
		slices.SortStableFunc(list, func(a, b vendorVoice) int { return strings.Compare(a.Name, b.Name) })
	case "", "created_at_unix": // all came with the model
	default:
		return bad("sort", "must be name or created_at_unix, got %.60q", by)
	}
	switch way := q.Get("sort_direction"); way {
	case "desc":
		slices.Reverse(list)
	case "", "asc":
	default:
		return bad("sort_direction", "must be asc or desc, got %.60q", way)
	}
	size := maxVoicePage
	if s := q.Get("page_size"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxVoicePage {
			return bad("page_size", "must be a whole number from 1 to %d, got %.60q", maxVoicePage, s)
		}
		size = n
	}
	total := len(list)
	// A page is named by the voice the one before it ended with.
	if last := q.Get("next_page_token"); last != "" {
		i := slices.IndexFunc(list, func(v vendorVoice) bool { return v.ID == last })
		if i < 0 {
			return bad("next_page_token", "is of another list; begin without it")
		}
		list = list[i+1:]
	}
	answer := struct {
		Voices []vendorVoice `json:"voices"`
		More   bool          `json:"has_more"`
		Total  int           `json:"total_count"`
		Next   *string       `json:"next_page_token"`
	}{list, len(list) > size, total, nil}
	if answer.More {
		answer.Voices = list[:size]
		answer.Next = &list[size-1].ID
	}
	if answer.Voices == nil {
		answer.Voices = []vendorVoice{}
	}
	return a.WriteJSON(c, 200, answer)
}

// voiceIDs are the ids a query asks for; nil when it asks for none.
func voiceIDs(q url.Values) []string {
	var ids []string
	for _, v := range q["voice_ids"] {
		for id := range strings.SplitSeq(v, ",") {
			if id != "" {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// findVoice finds a voice by any name it has.
func (a api) findVoice(id string) (engine.Voice, error) {
	for _, v := range a.Options.Engine.Voices() {
		if v.ID == id {
			return v, nil
		}
	}
	return engine.Voice{}, fault.New(engine.CodeVoiceNotFound, "voice_id", "there is no voice %.100q; GET /v1/voices lists those there are", id)
}

// vendorVoice describes one voice.
func (a api) vendorVoice(c *server.Call) error {
	v, err := a.findVoice(c.Params.ByName("voice_id"))
	if err != nil {
		return err
	}
	return a.WriteJSON(c, 200, newVendorVoice(v))
}

// vendorVoiceSettings answers …/voices/VOICE/settings and …/voices/settings/default.
func (a api) vendorVoiceSettings(c *server.Call) error {
	id, sub := c.Params.ByName("voice_id"), c.Params.ByName("sub")
	switch {
	case id == "settings" && sub == "default":
	case sub == "settings":
		if _, err := a.findVoice(id); err != nil {
			return err
		}
	default:
		return fault.New(fault.CodeUnknownURL, "", "there is no endpoint at %s %.200s; check the base URL and the path", c.R.Method, c.R.URL.Path)
	}
	return a.WriteJSON(c, 200, usualSettings)
}
