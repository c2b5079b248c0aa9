//go:build !js

package page

import (
	"embed"
	"io/fs"
)

// dist is what build.mjs makes of src. It is committed, so that building quern needs
// neither Node nor the network.
//
//go:embed dist
var dist embed.FS

// Files are the files of the page, index.html at the root. Beside a name that ends in
// .html, .js, .css, .svg or .txt lie its .br and .gz.
func Files() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is a constant
	}
	return sub
}
