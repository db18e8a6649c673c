let names = 0

/** The id of a container, which gets one that no other container of the page had. */
export function nameContainer(container: HTMLElement): string {
  container.id ||= `pulse-bond-${Date.now().toString(36)}-${(names += 1)}`
  return container.id
}
