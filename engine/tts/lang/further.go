//go:build !js

package lang

import "sync"

// further are languages that need what a browser is not given.
var further = []Entry{{"ja", sync.OnceValue(japaneseLang)}}
