package asr

// A head is an attention head of the decoder.
type head struct{ layer, head int }

// knownHeads are the heads of published models whose attention follows the
// audio, for files that do not name them; by decoder layers, width and size of
// the vocabulary. Where two models share a shape, the later one counts.
//
// OpenAI, whisper, "alignment heads"; the same lists are in the
// generation_config.json files of Hugging Face.
var knownHeads = map[[3]int][]head{
	{4, 384, 51864}:   {{1, 0}, {2, 0}, {2, 5}, {3, 0}, {3, 1}, {3, 2}, {3, 3}, {3, 4}},                                                                                                                                                              // tiny.en
	{4, 384, 51865}:   {{2, 2}, {3, 0}, {3, 2}, {3, 3}, {3, 4}, {3, 5}},                                                                                                                                                                              // tiny
	{6, 512, 51864}:   {{3, 3}, {4, 7}, {5, 1}, {5, 5}, {5, 7}},                                                                                                                                                                                      // base.en
	{6, 512, 51865}:   {{3, 1}, {4, 2}, {4, 3}, {4, 7}, {5, 1}, {5, 2}, {5, 4}, {5, 6}},                                                                                                                                                              // base
	{12, 768, 51864}:  {{6, 6}, {7, 0}, {7, 3}, {7, 8}, {8, 2}, {8, 5}, {8, 7}, {9, 0}, {9, 4}, {9, 8}, {9, 10}, {10, 0}, {10, 1}, {10, 2}, {10, 3}, {10, 6}, {10, 11}, {11, 2}, {11, 4}},                                                            // small.en
	{12, 768, 51865}:  {{5, 3}, {5, 9}, {8, 0}, {8, 4}, {8, 7}, {8, 8}, {9, 0}, {9, 7}, {9, 9}, {10, 5}},                                                                                                                                             // small
	{24, 1024, 51864}: {{11, 4}, {14, 1}, {14, 12}, {14, 14}, {15, 4}, {16, 0}, {16, 4}, {16, 9}, {17, 12}, {17, 14}, {18, 7}, {18, 10}, {18, 15}, {20, 0}, {20, 3}, {20, 9}, {20, 14}, {21, 12}},                                                    // medium.en
	{24, 1024, 51865}: {{13, 15}, {15, 4}, {15, 15}, {16, 1}, {20, 0}, {23, 4}},                                                                                                                                                                      // medium
	{32, 1280, 51865}: {{10, 12}, {13, 17}, {16, 11}, {16, 12}, {16, 13}, {17, 15}, {17, 16}, {18, 4}, {18, 11}, {18, 19}, {19, 11}, {21, 2}, {21, 3}, {22, 3}, {22, 9}, {22, 12}, {23, 5}, {23, 7}, {23, 13}, {25, 5}, {26, 1}, {26, 12}, {27, 15}}, // large-v2
	{32, 1280, 51866}: {{7, 0}, {10, 17}, {12, 18}, {13, 12}, {16, 1}, {17, 14}, {19, 11}, {21, 4}, {24, 1}, {25, 6}},                                                                                                                                // large-v3
	{4, 1280, 51866}:  {{2, 4}, {2, 11}, {3, 3}, {3, 6}, {3, 11}, {3, 14}},                                                                                                                                                                           // large-v3-turbo
}

// maxHeads bounds how many heads take part in an alignment.
const maxHeads = 32

// alignmentHeads returns the heads words are aligned by: those the files name,
// those known, or the heads of the upper half of the decoder.
func alignmentHeads(c *config, named [][2]int) []head {
	var list []head
	for _, h := range named {
		if h[0] >= 0 && h[0] < c.decoder.layers && h[1] >= 0 && h[1] < c.decoder.heads && len(list) < maxHeads {
			list = append(list, head{h[0], h[1]})
		}
	}
	if len(list) > 0 {
		return list
	}
	if list = knownHeads[[3]int{c.decoder.layers, c.decoder.width, c.vocab}]; list != nil {
		return list
	}
	for l := c.decoder.layers / 2; l < c.decoder.layers; l++ {
		for h := range c.decoder.heads {
			if len(list) < maxHeads {
				list = append(list, head{l, h})
			}
		}
	}
	return list
}
