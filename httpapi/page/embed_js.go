package page

import (
	"embed"
	"io/fs"
)

// Files are none in a browser: the site that quern runs in has them.
func Files() fs.FS { return embed.FS{} }
