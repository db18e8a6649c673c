const NAMES: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Whether the host of a URL is this machine, which no other one reaches by that name. */
export function isThisMachine(hostname: string): boolean {
  return NAMES.includes(hostname)
}
