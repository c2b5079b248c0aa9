import type { FunctionComponent } from 'preact'
import * as icons from './ui/icons'

// A View is one of the things the page does. Its code is fetched when it is first opened.
export interface View {
  id: string // in the address: #/id
  title: string
  icon: icons.Icon
  load: () => Promise<{ default: FunctionComponent<ViewProps> }>
}

// ViewProps are what a view is given: the parts of the address after its id.
export interface ViewProps {
  rest: string[]
}

// views are in the order of the navigation; the first is where the page opens. To add
// one is to write src/views/ID.tsx and its row.
export const views: View[] = [
  { id: 'chat', title: 'Chat', icon: icons.chat, load: () => import('./views/chat') },
  { id: 'listen', title: 'Listen', icon: icons.listen, load: () => import('./views/listen') },
  { id: 'speak', title: 'Speak', icon: icons.speak, load: () => import('./views/speak') },
  { id: 'talk', title: 'Talk', icon: icons.talk, load: () => import('./views/talk') },
  { id: 'models', title: 'Models', icon: icons.models, load: () => import('./views/models') },
  { id: 'server', title: 'Server', icon: icons.server, load: () => import('./views/server') },
  { id: 'use', title: 'Use it', icon: icons.use, load: () => import('./views/use') },
]
