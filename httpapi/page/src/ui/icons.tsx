import type { ComponentChildren, JSX } from 'preact'

export type Icon = () => JSX.Element

// Icons are drawn on 24 by 24 with lines of the text's colour.
const icon = (shape: ComponentChildren): Icon => () => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    {shape}
  </svg>
)

// Of the views.
export const chat = icon(<path d="M5 5h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-7l-5 4v-4H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2z" />)
export const listen = icon(<path d="M3 12h2M8 8v8M12 4v16M16 8v8M19 12h2" />)
export const speak = icon(<path d="M4 10v4h4l5 4V6l-5 4H4zM16.5 9a4 4 0 0 1 0 6M19 6.5a8 8 0 0 1 0 11" />)
export const talk = icon(<path d="M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4" />)
export const models = icon(<path d="M12 3l8 4.5v9L12 21l-8-4.5v-9L12 3zM4 7.5l8 4.5 8-4.5M12 12v9" />)
export const server = icon(<path d="M3 17l5-6 4 4 4-8 5 6M3 21h18" />)
export const use = icon(<path d="M8 7l-5 5 5 5M16 7l5 5-5 5M13.5 5l-3 14" />)

// Of what can be done.
export const plus = icon(<path d="M12 5v14M5 12h14" />)
export const send = icon(<path d="M12 19V5M6 11l6-6 6 6" />)
export const stop = icon(<rect x="7" y="7" width="10" height="10" rx="1.5" class="full" />)
export const attach = icon(<path d="M20 11l-8.5 8.5a5 5 0 0 1-7-7L13 4a3.3 3.3 0 0 1 4.7 4.7L9.3 17a1.6 1.6 0 0 1-2.3-2.3L14.5 7" />)
export const edit = icon(<path d="M4 20l1-4L16 5l3 3L8 19l-4 1zM14 7l3 3" />)
export const again = icon(<path d="M20 12a8 8 0 1 1-2.5-5.8M20 3v4h-4" />)
export const copy = icon(<path d="M9 9h11v11H9zM5 15H4V4h11v1" />)
export const check = icon(<path d="M5 12.5l4.5 4.5L19 7.5" />)
export const trash = icon(<path d="M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5" />)
export const search = icon(<path d="M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM15.5 15.5L21 21" />)
export const tune = icon(<path d="M4 7h9M17 7h3M15 4.5v5M4 17h3M11 17h9M9 14.5v5" />)
export const more = icon(<path d="M6 12h.01M12 12h.01M18 12h.01" class="dots" />)
export const left = icon(<path d="M14 6l-6 6 6 6" />)
export const right = icon(<path d="M10 6l6 6-6 6" />)
export const down = icon(<path d="M6 10l6 6 6-6" />)
export const close = icon(<path d="M6 6l12 12M18 6L6 18" />)
export const panel = icon(<path d="M4 5h16v14H4zM10 5v14" />)
export const file = icon(<path d="M6 3h8l4 4v14H6zM14 3v4h4" />)
export const save = icon(<path d="M12 4v11M7 11l5 5 5-5M5 20h14" />)
export const open = icon(<path d="M12 16V5M7 9l5-5 5 5M5 20h14" />)
export const tool = icon(<path d="M14 7a4 4 0 0 1 5-4l-2.5 3 1.5 1.5L21 5a4 4 0 0 1-5 5l-8.5 8.5a2 2 0 0 1-3-3L13 7z" />)
export const branch = icon(<path d="M7 4v16M7 14c0-5 10-3 10-9M14 7l3-3 3 3" />)
export const sun = icon(<path d="M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5" />)
export const moon = icon(<path d="M20 14A8.5 8.5 0 0 1 10 4a8.5 8.5 0 1 0 10 10z" />)
export const auto = icon(<path d="M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zM12 3v18M12 7h5M12 12h8M12 17h5" />)
export const quern = icon(<path d="M3.5 14.5h17v3a2.5 2.5 0 0 1-2.5 2.5H6a2.5 2.5 0 0 1-2.5-2.5v-3zM5.5 14.5v-2a3 3 0 0 1 3-3h7a3 3 0 0 1 3 3v2M10.5 9.5a1.5 1.5 0 0 1 3 0M16.2 9.5V4" />)
