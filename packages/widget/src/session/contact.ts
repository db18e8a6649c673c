/** Reports the loss of contact with the service, and its return. */
export interface Contact {
  /** The service responded. Contact is lost if it does not respond again within this time. */
  readonly renew: (limitMs: number) => void
  readonly stop: () => void
}

/** Contact that is not yet lost. */
export function createContact(onContact: (hasContact: boolean) => void): Contact {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isLost = false
  return {
    renew(limitMs) {
      clearTimeout(timer)
      if (isLost) onContact(true)
      isLost = false
      timer = setTimeout(() => {
        isLost = true
        onContact(false)
      }, limitMs)
    },
    stop: () => clearTimeout(timer),
  }
}
