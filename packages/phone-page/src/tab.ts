const KEY = 'bonded-request'

/** What a tab remembers of the requests that it has shown. */
export interface TabMemory {
  /**
   * Records that the tab shows this session's request.
   *
   * @returns whether it showed another one before. That stays true for this session after a reload
   */
  isAnotherRequest(sessionId: string): boolean
}

interface Remembered {
  readonly id: string
  readonly isAnother: boolean
}

/** A memory in the tab's session storage; without storage it remembers nothing. */
export function createTabMemory(page: Pick<Window, 'sessionStorage'>): TabMemory {
  return {
    isAnotherRequest(id) {
      try {
        const known = JSON.parse(page.sessionStorage.getItem(KEY) ?? 'null') as Remembered | null
        const isAnother = known !== null && (known.id !== id || known.isAnother)
        const remembered: Remembered = { id, isAnother }
        page.sessionStorage.setItem(KEY, JSON.stringify(remembered))
        return isAnother
      } catch {
        // A browser that blocks storage throws at the first access.
        return false
      }
    },
  }
}
