import { CHANNEL, nameOf, entryOf, type Entry, type NewEntry, parseRequestLine } from './entries.ts'

/** How many entries the strip shows. */
const MAX_ENTRIES = 80

/** What browser, bank, phone and service did, newest last. */
export interface Activity {
  entries(): readonly Entry[]
  add(entry: NewEntry): void
  /** Adds the entry of a line of the service's log, if the line is of interest. */
  addLogLine(line: string): void
  /** Calls the listener after each new entry. Returns a function that removes it. */
  onChange(listener: () => void): () => void
}

export interface ActivityOptions {
  /** The state of a session now, to say what a request led to. */
  readonly stateOf: (sessionId: string) => Promise<string | undefined>
}

/** Creates the list of recent activity. */
export function createActivity({ stateOf }: ActivityOptions): Activity {
  const entries: Entry[] = []
  const listeners = new Set<() => void>()
  const watchedSessions = new Set<string>()
  let lastId = 0
  // Entries wait for one another, so that reading a state never changes their order.
  let queue = Promise.resolve()

  const append = (entry: NewEntry) => {
    entries.push({ ...entry, id: ++lastId, at: new Date().toISOString() })
    if (entries.length > MAX_ENTRIES) entries.shift()
    for (const listener of listeners) listener()
  }
  return {
    entries: () => entries,
    add: (entry) => {
      queue = queue.then(() => append(entry))
    },
    addLogLine(text) {
      const line = parseRequestLine(text)
      if (line === undefined) return
      const { sessionId = '' } = line
      // A browser or a phone opens a new channel after each lost connection.
      if (nameOf(line) === CHANNEL && line.status < 400) {
        if (watchedSessions.has(sessionId)) return
        watchedSessions.add(sessionId)
      }
      queue = queue.then(async () => {
        const entry = entryOf(line, await stateOf(sessionId).catch(() => undefined))
        if (entry !== undefined) append(entry)
      })
    },
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
