const NAMES: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Whether the host of a URL is this machine, which no other one reaches by that name. */
export function isThisMachine(hostname: string): boolean {
  return NAMES.includes(hostname)
}

/** What Node listens on for the host of a setting. */
export function listeningHost(host: string): string {
  // For this name, fastify would add a second server at ::1. That server would have none of the
  // connection limits and guards, so the service listens at one address only.
  if (host === 'localhost') return '127.0.0.1'
  // Without a host, Node listens on every address also where the kernel has no IPv6. `::` fails
  // there, and the files in `deploy` have it, because it is right for every other network.
  return host === '::' ? '' : host
}
