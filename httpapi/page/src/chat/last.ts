import { signal } from '@preact/signals'
import type { Settings } from './types'

// last are the settings of the conversation that was shown last, for other views.
export const last = signal<Settings>({})
