package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/tts"
	"quern/httpapi"
)

// get asks and decodes the answer.
func get(t *testing.T, a *httpapi.API, path string, v any) (status int) {
	t.Helper()
	w := onTape(t, a, httptest.NewRequest("GET", path, nil))
	if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
		t.Fatalf("%s: %v: %s", path, err, w.Body)
	}
	return w.Code
}

// The fields that the schemas of elevenlabs-js 2.73 do not call optional, with what
// they must be.
var (
	planFields = map[string]any{
		"tier": "", "character_count": 0.0, "character_limit": 0.0, "max_credit_limit_extension": "", "can_extend_character_limit": false,
		"allowed_to_extend_character_limit": false, "voice_slots_used": 0.0, "professional_voice_slots_used": 0.0,
		"professional_voice_slots_used_in_workspace": 0.0, "voice_limit": 0.0, "voice_add_edit_counter": 0.0, "professional_voice_limit": 0.0,
		"can_extend_voice_limit": false, "can_use_instant_voice_cloning": false, "can_use_professional_voice_cloning": false,
		"current_overage": map[string]any{"amount": "", "currency": ""}, "status": "",
	}
	userFields = map[string]any{
		"user_id": "", "workspace_id": "", "subscription": planFields, "is_new_user": false, "can_use_delayed_payment_methods": false,
		"is_onboarding_completed": false, "is_onboarding_checklist_completed": false, "created_at": 0.0, "seat_type": "",
	}
)

func wantFields(t *testing.T, where string, got, want map[string]any) {
	t.Helper()
	for name, w := range want {
		g := got[name]
		if fmt.Sprintf("%T", g) != fmt.Sprintf("%T", w) {
			t.Errorf("%s.%s is %T, want %T", where, name, g, w)
			continue
		}
		if inner, ok := w.(map[string]any); ok {
			wantFields(t, where+"."+name, g.(map[string]any), inner)
		}
	}
}

func TestVendorUser(t *testing.T) {
	a := newAPI(t, httpapi.Options{})
	for _, prefix := range []string{"", "/elevenlabs"} {
		var user, sub map[string]any
		get(t, a, prefix+"/v1/user", &user)
		wantFields(t, "user", user, userFields)
		get(t, a, prefix+"/v1/user/subscription", &sub)
		wantFields(t, "subscription", sub, planFields)
		wantFields(t, "subscription", sub, map[string]any{"open_invoices": []any{}, "has_open_invoices": false})
	}
}

// A choir has many voices.
type choir struct{ *fake }

func (choir) Voices() []engine.Voice {
	list := slices.Clone(fakeVoices)
	for i := range 150 {
		list = append(list, engine.Voice{Voice: tts.Voice{ID: fmt.Sprintf("af_v%03d", i), Name: fmt.Sprintf("V%03d", 149-i), Language: "en-us", Gender: "female"}, Model: voiceModel})
	}
	return append(list, engine.Voice{Voice: tts.Voice{ID: "21m00Tcm4TlvDq8ikWAM", Name: "Rachel", Language: "en-us", Gender: "female"}, Model: voiceModel, AliasOf: "af_bella", Opaque: true})
}

type voicePage struct {
	Voices []struct {
		ID   string `json:"voice_id"`
		Name string `json:"name"`
	}
	More  bool    `json:"has_more"`
	Total int     `json:"total_count"`
	Next  *string `json:"next_page_token"`
}

func TestVoicePages(t *testing.T) {
	a := newAPI(t, httpapi.Options{Engine: choir{&fake{}}})
	for _, tt := range []struct {
		query string
		pages []int // voices of each
	}{
		{"", []int{100, 52}},
		{"page_size=60", []int{60, 60, 32}},
		{"page_size=15&search=v00", []int{15, 5}},
		{"page_size=1&search=George", []int{1}},
		{"page_size=76&sort=name&sort_direction=desc", []int{76, 76}},
		{"search=nothing+like+it", []int{0}},
	} {
		q, err := url.ParseQuery(tt.query)
		if err != nil {
			t.Fatal(err)
		}
		var sizes []int
		seen := map[string]bool{}
		for len(sizes) < 10 {
			var p voicePage
			if status := get(t, a, "/v2/voices?"+q.Encode(), &p); status != 200 {
				t.Fatalf("%s: %d", tt.query, status)
			}
			sizes = append(sizes, len(p.Voices))
			for _, v := range p.Voices {
				if seen[v.ID] {
					t.Errorf("%s: %s comes twice", tt.query, v.ID)
				}
				seen[v.ID] = true
			}
			if p.More != (p.Next != nil) {
				t.Errorf("%s: has_more %v, next_page_token %v", tt.query, p.More, p.Next)
			}
			if p.Next == nil {
				if p.Total != len(seen) {
					t.Errorf("%s: total_count %d of %d", tt.query, p.Total, len(seen))
				}
				break
			}
			q.Set("next_page_token", *p.Next)
		}
		if !slices.Equal(sizes, tt.pages) {
			t.Errorf("%s: pages of %v, want %v", tt.query, sizes, tt.pages)
		}
	}
}

func TestVoiceSearch(t *testing.T) {
	a := newAPI(t, httpapi.Options{Engine: &fake{}})
	ask := func(query string) string {
		var p voicePage
		get(t, a, "/v2/voices?"+query, &p)
		var ids []string
		for _, v := range p.Voices {
			ids = append(ids, v.ID)
		}
		return strings.Join(ids, " ")
	}
	for query, want := range map[string]string{
		"":                                   "af_bella bm_george",
		"search=BRITISH":                     "bm_george",
		"search=premade":                     "af_bella bm_george",
		"gender=female":                      "af_bella",
		"accent=british":                     "bm_george",
		"language=en&language=fr":            "af_bella bm_george",
		"language=fr":                        "",
		"category=premade":                   "af_bella bm_george",
		"category=cloned":                    "",
		"voice_type=default":                 "af_bella bm_george",
		"voice_type=personal":                "",
		"high_quality=true":                  "",
		"age=young":                          "",
		"voice_ids=alloy":                    "alloy",
		"voice_ids=bm_george&voice_ids=none": "bm_george",
		"sort=name&sort_direction=desc":      "bm_george af_bella",
		"include_total_count=true&min_notice_period_days=1": "af_bella bm_george",
	} {
		if got := ask(query); got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"page_size=0", "page_size=101", "page_size=x", "sort=age", "sort_direction=up", "category=nice", "voice_type=x", "next_page_token=none"} {
		var e struct{ Detail []struct{ Loc []string } }
		name, _, _ := strings.Cut(query, "=")
		if status := get(t, a, "/v2/voices?"+query, &e); status != 422 || len(e.Detail) != 1 || !slices.Equal(e.Detail[0].Loc, []string{"query", name}) {
			t.Errorf("%s: %d %+v", query, status, e)
		}
	}
}

// Ids of stock voices are answered and not listed.
func TestStockVoiceIDs(t *testing.T) {
	a := newAPI(t, httpapi.Options{Engine: choir{&fake{}}})
	const rachel = "21m00Tcm4TlvDq8ikWAM"
	var v map[string]any
	if status := get(t, a, "/v1/voices/"+rachel, &v); status != 200 || v["name"] != "Rachel" || v["voice_id"] != rachel {
		t.Errorf("%d %v", status, v)
	}
	for _, path := range []string{"/v1/voices/" + rachel + "/settings", "/v1/voices/settings/default"} {
		var s map[string]any
		if status := get(t, a, path, &s); status != 200 || s["speed"] != 1.0 {
			t.Errorf("%s: %d %v", path, status, s)
		}
	}
	for _, path := range []string{"/v1/voices", "/v2/voices", "/v1/audio/voices"} {
		w := onTape(t, a, httptest.NewRequest("GET", path, nil))
		if w.Code != 200 || strings.Contains(w.Body.String(), rachel) {
			t.Errorf("%s: %d, lists %s", path, w.Code, rachel)
		}
	}
	for _, path := range []string{"/v1/voices/nobody/settings", "/v1/voices/af_bella/nothing"} {
		var e map[string]any
		if status := get(t, a, path, &e); status != 404 || e["detail"] == nil {
			t.Errorf("%s: %d %v", path, status, e)
		}
	}
}
