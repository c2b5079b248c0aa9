// Package speakers makes speakers and their turns from what models find in windows of sound: it
// joins embeddings of voices to speakers (linkage.go, agglomerate.go, vbx.go), puts the
// windows' local speakers on one timeline (timeline.go), gives words and segments their
// speakers (words.go), and scores the outcome (rate.go). It imports no models; package
// diarize runs those.
package speakers
